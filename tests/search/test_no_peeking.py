"""Agents of many kinds decide the same, whatever lies behind what their seat has seen.

``test_no_peeking_matrix`` asks so of every search in every ecosystem. Here are blueprints, settings
and games by hand. ``testing.check_agent`` says so where this package plays. Where OpenSpiel asks
for a move, the game is played again on a twin: the same history for the seat that is to move, other
hidden cards. Histories hold random and searched moves.
"""

from __future__ import annotations

import importlib.util
import sys
import types
import zlib
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as spiel_policy
from open_spiel.python import rl_agent, rl_environment
from open_spiel.python.algorithms import random_agent
from shimmy import OpenSpielCompatibilityV0

from hanabi_search_plugin import Sparta, UniformPolicy, upgrade
from hanabi_search_plugin.algorithms.ismcts import MoIsmcts, RisMcts, TreeSearch
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.predictor import Predictor
from hanabi_search_plugin.beliefs.belief_model import BeliefModel, Grounded
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners
from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.errors import ContractError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.hanabi.beliefs.learned_partners import LearnedPartners, Recogniser
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import TABLE_II
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.registry import load_policy, policies
from hanabi_search_plugin.testing import check_agent
from hanabi_search_plugin.wrappers.openspiel import (
    OpenSpielGame,
    as_bot,
    as_policy,
    as_rl_agent,
    as_spiel_policy,
    history_of,
    hypothetical_state,
    initial_state,
    load_game,
    spiel_of,
)
from hanabi_search_plugin.wrappers.pettingzoo import (
    AECGame,
    DeterministicAECGame,
)
from tests.helpers.ecosystems import OwnHand, broken_wall, by_number
from tests.helpers.small_networks import random_network
from tests.helpers.twins import Peeked, require_same
from tests.wrappers.test_pettingzoo_games import OpenSpiel, TicTacToe

TWO = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3, life_tokens=2)
TINY = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, information_tokens=2, life_tokens=1)
THREE = HanabiGame(players=3, colors=2, ranks=2, hand_size=2, information_tokens=3)
FORGETFUL = HanabiGame(
    players=3, colors=2, ranks=2, hand_size=2, random_start_player=True, observation_type="minimal"
)
LEDUC = OpenSpielGame("leduc_poker")
GOOFSPIEL = load_game("goofspiel(num_cards=3,imp_info=true,points_order=descending)")
SPIEL = [
    OpenSpielGame("tiny_hanabi"),
    LEDUC,
    GOOFSPIEL,  # simultaneous, by turns
    load_game("coop_box_pushing(horizon=2)"),  # the same, with chance
    OpenSpielGame("hanabi(players=2,colors=2,ranks=2,hand_size=2)"),
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small are slowed down by more."""
    torch: Any = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 1
    if torch:
        torch.set_num_threads(1)
    yield
    if torch:
        torch.set_num_threads(before)


def searched(game: Game, blueprint: Policy | None = None, **options: Any) -> SearchAgent:
    search = Sparta(rollouts=24, min_rollouts=2, threshold=0.0)
    return upgrade(blueprint or UniformPolicy(), game, search, **options)


# -------------------------------------------------------------------------------- native Hanabi


@pytest.mark.parametrize("name", [entry.name for entry in policies()])
def test_policies_of_the_package(name: str) -> None:
    for game in (TWO, THREE):
        policy = load_policy(name, game)
        check_agent(game, policy)
        check_agent(game, searched(game, policy))


def jointly(game: Game, blueprint: Policy) -> SearchAgent:
    search = JointSparta(rollouts=24, min_rollouts=2, threshold=0.0, max_range=60)
    return upgrade(blueprint, game, search)


@pytest.mark.parametrize("name", ["smartbot", "iggi"])
def test_joint_searches(name: str) -> None:
    check_agent(TWO, jointly(TWO, load_policy(name)), games=2)
    check_agent(THREE, jointly(THREE, load_policy(name)), games=2)
    check_agent(SPIEL[0], jointly(SPIEL[0], UniformPolicy()))


@pytest.mark.parametrize("search", [MoIsmcts, RisMcts])
def test_tree_searches(search: type[TreeSearch]) -> None:
    rules = RuleAgent(TABLE_II, convention="any-giver")
    for game in (TWO, THREE):
        for guide in (None, rules):
            agent = upgrade(load_policy("vdb"), game, search(iterations=30, guide=guide))
            check_agent(game, agent)
        by_estimates = search(iterations=30, guide=load_policy("evalfn-c"), leaves="estimates")
        check_agent(game, upgrade(load_policy("vdb"), game, by_estimates))
    check_agent(SPIEL[0], upgrade(UniformPolicy(), SPIEL[0], search(iterations=30)))


def adapting(game: Game, *candidates: Policy) -> SearchAgent:
    unknown = UnknownPartners(candidates, epsilon=0.01)
    return upgrade(candidates[0], game, Predictor(iterations=30), belief=unknown)


def test_agents_that_do_not_know_their_partners() -> None:
    candidates = tuple(load_policy(name) for name in ("vdb", "smartbot", "cautious", "random"))
    for game in (TWO, THREE):
        check_agent(game, adapting(game, *candidates))
        unknown = UnknownPartners(candidates)
        check_agent(game, searched(game, candidates[0], belief=unknown), partner=candidates[1])
    check_agent(SPIEL[0], adapting(SPIEL[0], UniformPolicy()))


def test_agents_that_recognise_their_partners() -> None:
    names = ("vdb", "smartbot", "evalfn-c", "random")
    candidates = tuple(load_policy(name) for name in names)
    learned = LearnedPartners(candidates, Recogniser(random_network(outputs=4), names))
    for game in (TWO, THREE):
        for search in (Predictor(iterations=30), Sparta(rollouts=24, min_rollouts=2)):
            agent = upgrade(candidates[0], game, search, belief=learned)
            check_agent(game, agent, partner=candidates[1])


def learned(game: Game, policy: Policy, model: BeliefModel, depth: int | None) -> SearchAgent:
    search = Lbs(rollouts=24, min_rollouts=2, threshold=0.0, depth=depth)
    return upgrade(policy, game, search, belief=Learned(model))


@pytest.mark.parametrize("name", ["smartbot", "hatbot", "evalfn-c"])
def test_searches_over_grounded_beliefs(name: str) -> None:
    """By replay, and with a memory that is public."""
    for game in (TWO, THREE):
        check_agent(game, learned(game, load_policy(name), Grounded(game), None), games=2)


@pytest.mark.parametrize("game", [TWO, pytest.param(THREE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["masks", "public-lstm", "recurrent"])
def test_learned_beliefs(game: Game, name: str) -> None:
    """Of networks, over a network's critic or values, with its memory and with replays."""
    torch = pytest.importorskip("torch")
    from hanabi_search_plugin.networks.architectures import make_network
    from hanabi_search_plugin.networks.belief_files import NetworkBelief
    from hanabi_search_plugin.networks.nets.belief_net import BeliefNet
    from hanabi_search_plugin.networks.nets.critic_net import Critic
    from hanabi_search_plugin.networks.policy_of_network import network_policy

    torch.manual_seed(0)
    network = BeliefNet(game, hidden=8, decoder=8, embedding=4, listener="smartbot")
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    critic = Critic(game.config, hidden=8, deeper=8)
    made = make_network(name, game.config, {"hidden": 8})
    policy = network_policy(made, critic=None if name == "recurrent" else critic)
    agent = learned(game, policy, NetworkBelief(game, network), 3)
    check_agent(game, agent, games=1)


@pytest.mark.parametrize(
    "name", ["masks", "public-belief", "public-lstm", "feed-forward", "recurrent"]
)
def test_networks(name: str) -> None:
    torch = pytest.importorskip("torch")
    from hanabi_search_plugin.networks.architectures import make_network
    from hanabi_search_plugin.networks.policy_of_network import network_policy

    for game in (TWO, THREE):
        torch.manual_seed(0)
        network = make_network(name, game.config, {"hidden": 8})
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        check_agent(game, network_policy(network), games=2)


def test_a_networks_own_belief() -> None:
    torch = pytest.importorskip("torch")
    from hanabi_search_plugin.networks.architectures import make_network
    from hanabi_search_plugin.networks.own_belief import OwnBelief
    from hanabi_search_plugin.networks.policy_of_network import network_policy

    torch.manual_seed(0)
    network = make_network("public-belief", TWO.config, {"hidden": 8})
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    policy = network_policy(network)
    check_agent(TWO, learned(TWO, policy, OwnBelief(TWO, policy), 3), games=1)


def test_more_searches() -> None:
    check_agent(TWO, searched(TWO, load_policy("smartbot"), epsilon=0.1))
    mixed = (load_policy("smartbot"), load_policy("iggi"), UniformPolicy())
    check_agent(THREE, upgrade(mixed, THREE, Sparta(rollouts=24, min_rollouts=2)))


@pytest.mark.parametrize("search", [False, True])
def test_an_engine_that_shows_the_own_hand_is_caught(
    search: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_agent(TWO, OwnHand())
    broken_wall(monkeypatch)
    with pytest.raises(ContractError, match="cannot see"):
        check_agent(TWO, searched(TWO, OwnHand()) if search else OwnHand(), games=4)


# ------------------------------------------------------------------------- games of OpenSpiel


class ReadsTruth(Policy):
    """Plays by the whole states behind its view."""

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        return by_number([number_of(state) for state in view.states()], legal)


def number_of(state: Any) -> int:
    """By the whole of a state."""
    return zlib.crc32(f"{state}{state.history()}".encode())


@pytest.mark.parametrize("game", SPIEL, ids=str)
def test_games_of_openspiel(game: OpenSpielGame) -> None:
    check_agent(game, searched(game))
    check_agent(game, UniformPolicy())
    with pytest.raises(ContractError, match="cannot see"):
        check_agent(game, ReadsTruth(), games=4)


class ByState(spiel_policy.Policy):  # type: ignore[misc]
    """Plays by the whole state it is handed."""

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        legal = state.legal_actions()
        return {legal[number_of(state) % len(legal)]: 1.0}


class ByStateBot(pyspiel.Bot):  # type: ignore[misc]
    def __init__(self) -> None:
        pyspiel.Bot.__init__(self)

    def step(self, state: Any) -> int:
        return next(iter(ByState(state.get_game(), [0, 1]).action_probabilities(state)))


def ismcts(player: int, seed: int) -> Any:
    rollouts = pyspiel.RandomRolloutEvaluator(1, seed)
    most = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
    return pyspiel.ISMCTSBot(seed, rollouts, 2.0, 8, 8, most, False, False)


def dqn(game: Any) -> Any:
    pytest.importorskip("torch")
    made = pytest.importorskip("open_spiel.python.pytorch.dqn", exc_type=ImportError)
    return as_policy(made.DQN(0, size(game), game.num_actions, [8]), game, any_seat=True)


def ppo(game: Any) -> Any:
    pytest.importorskip("torch")
    made = pytest.importorskip("open_spiel.python.pytorch.ppo", exc_type=ImportError)
    agent = made.PPO((size(game),), game.num_actions, 2, agent_fn=made.PPOAgent)
    return as_policy(agent, game, any_seat=True)


def size(game: Any) -> int:
    environment = rl_environment.Environment(spiel(game))
    return int(environment.observation_spec()["info_state"][0])


def spiel(game: Any) -> Any:
    return spiel_of(game) if isinstance(game, HanabiGame) else game.spiel


BLUEPRINTS: dict[str, Callable[[Any], Policy]] = {
    "Policy": lambda game: as_policy(ByState(spiel(game), [0, 1]), game),
    "pyspiel.Policy": lambda game: as_policy(pyspiel.UniformPolicy(), game),
    "Bot": lambda game: as_policy(ByStateBot(), game),
    "made Bot": lambda game: as_policy(lambda player, seed: ByStateBot(), game),
    "agent": lambda game: as_policy(
        random_agent.RandomAgent(0, game.num_actions), game, any_seat=True
    ),
    "DQN": dqn,
    "PPO": ppo,
}


@pytest.mark.parametrize("game", [SPIEL[0], TINY], ids=str)
@pytest.mark.parametrize("kind", BLUEPRINTS)
def test_blueprints_of_openspiel(kind: str, game: Any) -> None:
    policy = BLUEPRINTS[kind](game)
    check_agent(game, policy)
    check_agent(game, searched(game, policy))


def test_more_blueprints_of_openspiel() -> None:
    for policy in (
        as_policy(spiel_policy.TabularPolicy(LEDUC.spiel), LEDUC),
        as_policy(ismcts, LEDUC),
    ):
        check_agent(LEDUC, policy)
    check_agent(GOOFSPIEL, searched(GOOFSPIEL, BLUEPRINTS["Policy"](GOOFSPIEL)))


@pytest.mark.parametrize("game", [LEDUC, OpenSpielGame("kuhn_poker")], ids=str)
def test_what_is_handed_the_true_state_is_caught(game: OpenSpielGame) -> None:
    thing = ByState(game.spiel, [0, 1])
    with pytest.raises(ContractError, match="cannot see"):
        check_agent(game, as_policy(thing, game, reads="information_state"), games=4)


# -------------------------------------------------------------------- asked by other frameworks


class Watcher(Policy):
    """Moves by every view and event it was ever shown."""

    def start(self, view: Any) -> Any:
        return [(key,) for key in view.keys()]

    def observe(self, view: Any, event: Any, memory: Any) -> Any:
        move = (int(event.player[0]), int(event.action[0]))
        return [(*row, move, key) for row, key in zip(memory, view.keys(), strict=True)]

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        return by_number([zlib.crc32(repr(seen).encode()) for seen in memory], legal)


def twin_of(game: Any, state: Any, seed: int) -> Any:
    """A state with the same history of the player to move."""
    player = state.current_player()
    if isinstance(game, HanabiGame):
        return hypothetical_state(history_of(state, player), seed)
    return game.hypothetical(state, player, seed)


def chance(state: Any, rng: np.random.Generator) -> None:
    while state.is_chance_node() and not state.is_terminal():
        actions, chances = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(actions, p=np.array(chances) / sum(chances))))


# Asked by OpenSpiel: (agent, game, policy) -> how a state is decided

Asked = Callable[[Any, Any], Callable[[Any], Hashable]]


def by_bot(policy: Policy, game: Any) -> Callable[[Any], Hashable]:
    bots = [as_bot(policy, game, p) for p in range(game.num_players)]

    def decide(state: Any) -> Hashable:
        bot = bots[state.current_player()]
        fresh = bot.clone()
        fresh.restart_at(state)
        assert fresh.step(state) == bot.step(state)
        return bot.step(state), tuple(bot.get_policy(state))

    return decide


def by_spiel_policy(policy: Policy, game: Any) -> Callable[[Any], Hashable]:
    out = as_spiel_policy(policy, game)
    return lambda state: tuple(out.action_probabilities(state).items())


def by_rl_agent(told: str) -> Asked:
    """Of an agent that is attached, sees whole states in time steps, or observations alone."""

    def asked(policy: Policy, game: Any) -> Callable[[Any], Hashable]:
        environment = rl_environment.Environment(
            spiel(game), include_full_state=told == "whole state"
        )

        def decide(state: Any) -> Hashable:
            player = state.current_player()
            agent = as_rl_agent(policy, game, player)
            if told == "attached":
                agent.attach(environment)
            for here in way_to(game, state):
                environment.set_state(here)
                output = agent.step(environment.get_time_step())
            return output.action, tuple(output.probs)

        return decide

    return asked


def way_to(game: Any, state: Any) -> list[Any]:
    """Every decision on the way to a state, itself included."""
    here = spiel(game).new_initial_state()
    if isinstance(game, HanabiGame):
        first = next((i.player for i in state.full_history() if i.player >= 0), None)
        here = initial_state(game, state.current_player() if first is None else first)
    states = []
    for action in state.history():
        if not here.is_chance_node():
            states.append(here.clone())
        here.apply_action(action)
    return [*states, here]


def peeking_agent(policy: Policy, game: Any) -> Callable[[Any], Hashable]:
    """A learning agent that reads the other seats' part of a time step."""

    class Peeking(rl_agent.AbstractAgent):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

        def step(self, step: Any, is_evaluation: bool = False) -> Any:
            return sum(map(tuple, step.observations["info_state"]), ())

    environment = rl_environment.Environment(spiel(game))

    def decide(state: Any) -> Hashable:
        environment.set_state(state)
        return Peeking().step(environment.get_time_step())

    return decide


ASKED: dict[str, Asked] = {
    "bot": by_bot,
    "policy": by_spiel_policy,
    "attached": by_rl_agent("attached"),
    "whole state": by_rl_agent("whole state"),
    "observations": by_rl_agent("observations"),
}
PEEKING: dict[str, Asked] = {
    "bot": lambda policy, game: ByStateBot().step,
    "policy": lambda policy, game: ByState(spiel(game), [0, 1]).action_probabilities,
    "agent": peeking_agent,
}


def check_asked(
    asked: Asked, policy: Policy, game: Any, seed: int = 0, *, forced: bool = True
) -> None:
    """One game for each seat, which is asked on its turns and moves so in half of them.

    All other moves are random. Without ``forced`` the seat moves as it is asked in all of them.
    """
    rng, decide, different = np.random.default_rng(seed), asked(policy, game), 0
    for seat in range(game.num_players):
        mover = as_bot(policy, game, seat)
        state = spiel(game).new_initial_state()
        chance(state, rng)
        while not state.is_terminal():
            move = int(rng.choice(state.legal_actions()))
            if state.current_player() == seat:
                twins = [twin_of(game, state, k) for k in range(2)]
                different += sum(str(twin) != str(state) for twin in twins)
                require_same(decide, state, twins)
                move = mover.step(state) if not forced or rng.random() < 0.5 else move
            state.apply_action(move)
            chance(state, rng)
    assert different > 0


@pytest.mark.parametrize("game", [SPIEL[0], LEDUC, GOOFSPIEL, TWO, THREE, FORGETFUL], ids=str)
@pytest.mark.parametrize("way", ASKED)
def test_agents_in_openspiel(way: str, game: Any) -> None:
    agents = [searched(game), Watcher()]
    if game is TWO:
        agents.append(jointly(game, load_policy("smartbot")))
        agents.append(adapting(game, load_policy("vdb"), UniformPolicy()))
    for policy in agents:
        check_asked(ASKED[way], policy, game, forced=way != "observations")


@pytest.mark.parametrize("way", ["bot", "policy", "observations"])
def test_lbs_in_openspiel(way: str) -> None:
    agent = learned(TINY, load_policy("smartbot"), Grounded(TINY), None)
    check_asked(ASKED[way], agent, TINY, forced=way != "observations")


@pytest.mark.parametrize("game", [LEDUC, TWO], ids=str)
@pytest.mark.parametrize("way", PEEKING)
def test_agents_that_peek_in_openspiel_are_caught(way: str, game: Any) -> None:
    with pytest.raises(Peeked):
        for seed in range(4):
            check_asked(PEEKING[way], UniformPolicy(), game, seed)


# ------------------------------------------------------------- other environments of PettingZoo


def leduc() -> AECGame:
    env = OpenSpielCompatibilityV0(game_name="leduc_poker", config={"players": 2})
    return AECGame(
        env,
        OpenSpiel(),
        return_range=(-13, 13),
        max_length=8,
        rewards="zero_sum",
        public_actions=True,
    )


class ReadsPositions(Policy):
    """Plays by the state behind its view of an environment."""

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        states = [position.state[1][0] for position in view._states]
        return by_number([number_of(state) for state in states], legal)


def test_other_environments() -> None:
    game = leduc()

    def belief(blueprint: Any, view: Any) -> ParticleBelief:
        rng = np.random.default_rng(0)
        return ParticleBelief.start(game, blueprint, view, particles=30, rng=rng)

    check_agent(game, searched(game, belief=belief))
    with pytest.raises(ContractError, match="cannot see"):
        check_agent(game, ReadsPositions(), games=4)


def test_a_classic_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("pygame") is None:  # which draws the board, no more
        monkeypatch.setitem(sys.modules, "pygame", types.ModuleType("pygame"))
    from pettingzoo.classic import tictactoe_v3

    game = DeterministicAECGame(
        tictactoe_v3.env(), TicTacToe(), return_range=(-1, 1), max_length=9, rewards="zero_sum",
        public_actions=True,
    )  # fmt: skip
    check_agent(game, searched(game))


# ----------------------------------------------------------------------------------- callables


def numbers(obs: Any) -> Any:
    """One for each observation, of all its parts."""
    flat = obs.reshape(len(obs), -1)
    return np.cos(flat @ np.arange(1.0, flat.shape[1] + 1))[:, None]


def plain(obs: Any, mask: Any) -> Any:
    return 9 * numbers(obs) * np.arange(mask.shape[1])


def remembering(obs: Any, mask: Any, state: Any) -> Any:
    state = np.tanh(state + numbers(obs))
    return 9 * state * np.arange(mask.shape[1]), state


def lstm(game: Any) -> Policy:
    torch = pytest.importorskip("torch")

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(size(game), 4)
            self.head = torch.nn.Linear(4, game.num_actions)

        def forward(self, obs: Any, mask: Any, state: Any) -> Any:
            output, state = self.lstm(obs.flatten(1)[None], state)
            return self.head(output[0]), state

    torch.manual_seed(0)
    zeros = lambda n: (torch.zeros(1, n, 4), torch.zeros(1, n, 4))  # noqa: E731
    return from_callable(Network(), returns="logits", initial_state=zeros, state_axis=1)


CALLABLES: dict[str, Callable[[Any], Policy]] = {
    "plain": lambda game: from_callable(plain, returns="logits"),
    "recurrent": lambda game: from_callable(
        remembering, returns="logits", initial_state=np.zeros(1)
    ),
    "own turns": lambda game: from_callable(
        remembering, returns="logits", initial_state=np.zeros(1), sees="own turns"
    ),
    "module": lstm,
}


@pytest.mark.parametrize("game", [LEDUC, TINY], ids=str)
@pytest.mark.parametrize("kind", CALLABLES)
def test_callables(kind: str, game: Any) -> None:
    policy = CALLABLES[kind](game)
    check_agent(game, policy)
    check_agent(game, searched(game, policy))


@pytest.mark.parametrize("kind", ["plain", "recurrent", "own turns"])
def test_callables_of_an_encoding_that_leaks_are_caught(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    show = OpenSpielGame.tensor
    monkeypatch.setattr(OpenSpielGame, "tensor", lambda game, state, p: show(game, state, 1 - p))
    with pytest.raises(ContractError, match="cannot see"):
        check_agent(LEDUC, CALLABLES[kind](LEDUC), games=6)
