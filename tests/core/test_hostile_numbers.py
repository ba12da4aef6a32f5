"""Numbers that break a contract are errors that name turn, seat and what came; never a result.

What a policy raises by itself goes on, with a note of seat and turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, Sparta, UniformPolicy, evaluate, load_policy, upgrade
from hanabi_search_plugin.algorithms.ismcts import MoIsmcts
from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.beliefs.particles import Particles
from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners
from hanabi_search_plugin.cli.searches import SEARCHES, make_search
from hanabi_search_plugin.core.errors import ContractError, IllegalActionError
from hanabi_search_plugin.core.policy import EstimatingGuide, Policy, Value, sample_actions
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.testing import check_game, check_policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.ecosystems import ECOSYSTEMS, Ecosystem
from tests.helpers.made_policies import MADE

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, information_tokens=2, life_tokens=1)
DECK = (0, 1, 2, 3, 0, 2, 0, 2)
TINY = OpenSpielGame("tiny_hanabi")

PLACED = r"(^turn \d+: seat \d: |\nin .*, seat \d, turn \d+)"
"""How a broken contract begins, or what a note says of an error that is a policy's own."""


def spoilt(chance: Any, how: str) -> Any:
    """Probabilities [B, A] that are none."""
    broken = chance.copy()
    if how == "nan":
        broken[:, :] = np.nan
    elif how == "one nan":
        broken[-1, -1] = np.nan
    elif how == "inf":
        broken[:, 0] = np.inf
    elif how == "negative":
        broken[np.arange(len(broken)), broken.argmax(axis=1)] = -1.0
    elif how == "sum of 2":
        broken *= 2
    elif how == "sum of 0":
        broken[:] = 0
    elif how == "wrong shape":
        return broken[:, 1:]
    elif how == "one row":
        return broken[0]
    elif how == "texts":
        return broken.astype(str)
    elif how == "None":
        return None
    else:
        raise ZeroDivisionError("by a policy")
    return broken


CHANCES = ("nan", "one nan", "inf", "negative", "sum of 2", "sum of 0", "wrong shape", "one row",
           "texts", "None", "raises")  # fmt: skip


class BadChances(Policy):
    """At seat 1 the probabilities are spoilt; it moves by them."""

    deterministic = False

    def __init__(self, how: str) -> None:
        self.how = how

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        return sample_actions(self.probabilities(view, legal, memory), rng)

    def probabilities(self, view: Any, legal: Any, memory: Any) -> Any:
        chance = legal / legal.sum(axis=1, keepdims=True)
        return spoilt(chance, self.how) if view.player == 1 else chance


class BadMoves(Policy):
    """At seat 1 the moves are spoilt."""

    def __init__(self, how: str) -> None:
        self.how = how

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        moves = legal.argmax(axis=1)
        if view.player == 0:
            return moves
        return {
            "illegal": lambda: np.where(legal.all(axis=1), -1, legal.argmin(axis=1)),
            "negative": lambda: -1 - moves,
            "too high": lambda: moves + legal.shape[1],
            "floats": lambda: moves.astype(float),
            "nan": lambda: moves * np.nan,
            "bool": lambda: moves > 0,
            "None": lambda: None,
            "wrong shape": lambda: moves[:, None],
            "too many": lambda: np.append(moves, 0),
            "raises": lambda: 1 // 0,
        }[self.how]()


MOVES = ("illegal", "negative", "too high", "floats", "nan", "bool", "None", "wrong shape",
         "too many", "raises")  # fmt: skip


class BadMemory(Policy):
    """Its memory fails, at the start or later."""

    def __init__(self, how: str) -> None:
        self.how = how

    def start(self, view: Any) -> Any:
        return [1 // (self.how != "start") for _ in range(len(view))]

    def observe(self, view: Any, event: Any, memory: Any) -> Any:
        return [1 // (self.how != "observe") for _ in range(len(view))]

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        return legal.argmax(axis=1)


BAD: dict[str, Policy] = {
    **{f"chances: {how}": BadChances(how) for how in CHANCES},
    **{f"moves: {how}": BadMoves(how) for how in MOVES},
    **{f"memory: {how}": BadMemory(how) for how in ("start", "observe")},
}
BROKEN = (ContractError, IllegalActionError)
RAISED = (*BROKEN, ZeroDivisionError, KeyError)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("game", [GAME, TINY], ids=["native", "OpenSpiel"])
def test_policies_in_evaluate(bad: str, game: Any) -> None:
    with pytest.raises(RAISED, match=PLACED) as raised:
        evaluate(game, BAD[bad], games=20)
    assert "\n" not in str(raised.value)
    with pytest.raises(RAISED, match=PLACED):  # one by one, beside a seat that searches
        search = Sparta(rollouts=40, min_rollouts=1)
        evaluate(game, (upgrade("random", game, search), BAD[bad]), games=20)


def small(name: str) -> Any:
    wanted = {"rollouts": 40, "iterations": 20, "min_rollouts": 1, "depth": 2, "evidence": True}
    settings = SEARCHES[name].settings
    known = {key: value for key, value in wanted.items() if key in settings}
    return make_search(
        name, {k: v for k, v in known.items() if settings[k].default is not None}, 1
    ).search


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", SEARCHES)
def test_blueprints_of_every_search(name: str, bad: str) -> None:
    """The others play well: only the search meets the blueprint."""
    search = small(name) if name != "lbs" else Lbs(rollouts=40, min_rollouts=1, depth=None)
    for game in (GAME, TINY):
        with pytest.raises(RAISED, match=PLACED):
            evaluate(game, (upgrade(BAD[bad], game, search), UniformPolicy()), games=20,
                     baseline="random")  # fmt: skip


@pytest.mark.parametrize("bad", [name for name in BAD if name.startswith("chances")])
@pytest.mark.parametrize(
    "belief",
    [Particles(20), Learned(Grounded(GAME)), UnknownPartners(["random", "cautious"])],
    ids=lambda belief: type(belief).__name__,
)
def test_blueprints_of_beliefs(belief: Any, bad: str) -> None:
    if isinstance(belief, UnknownPartners):
        belief = UnknownPartners([BAD[bad], UniformPolicy()])
    agent = upgrade(BAD[bad], GAME, Sparta(rollouts=40, min_rollouts=1), belief=belief)
    with pytest.raises(RAISED, match=PLACED):
        evaluate(GAME, (agent, UniformPolicy()), games=20, baseline="random")


@pytest.mark.parametrize("ecosystem", ECOSYSTEMS, ids=lambda e: e.name)
@pytest.mark.parametrize("bad", ["chances: nan", "chances: sum of 2", "moves: floats"])
def test_blueprints_in_every_ecosystem(ecosystem: Ecosystem, bad: str) -> None:
    agent = upgrade(BAD[bad], GAME, Sparta(rollouts=40, min_rollouts=1))
    with pytest.raises(BROKEN, match="seat 1: "):
        ecosystem.asks(agent, GAME)(DECK, [], 0)


def test_numbers_that_are_right_stay_so() -> None:
    """Floats of networks miss a sum of 1 by a little; integers are probabilities, too."""

    class Nearly(BadChances):
        def probabilities(self, view: Any, legal: Any, memory: Any) -> Any:
            return (legal / legal.sum(axis=1, keepdims=True)).astype(np.float32)

    class Certain(BadChances):
        def probabilities(self, view: Any, legal: Any, memory: Any) -> Any:
            return np.eye(legal.shape[1], dtype=np.int64)[legal.argmax(axis=1)]

    for policy in (Nearly(""), Certain("")):
        agent = upgrade(policy, GAME, Sparta(rollouts=40, min_rollouts=1))
        assert len(evaluate(GAME, (agent, policy), games=2).scores) == 2


# -------------------------------------------------------------------------- values and guides


class BadValues(UniformPolicy, Value):
    combine = "mean"

    def __init__(self, given: Callable[[int], Any], critic: bool = False) -> None:
        self.given, self.critic = given, critic

    def value(self, view: Any, memory: Any) -> Any:
        return self.given(len(view))

    @property
    def critic_id(self) -> str:
        return "bad" if self.critic else ""

    def world_value(self, worlds: Any, memories: Any, seat: int) -> Any:
        return self.given(len(worlds))


VALUES: dict[str, Callable[[int], Any]] = {
    "nan": lambda n: np.full(n, np.nan),
    "inf": lambda n: np.full(n, np.inf),
    "wrong shape": lambda n: np.zeros((n, 1)),
    "texts": lambda n: np.full(n, "much"),
    "None": lambda n: None,
    "raises": lambda n: 1 // 0,
}


@pytest.mark.parametrize("how", VALUES)
@pytest.mark.parametrize("critic", [False, True])
def test_values(how: str, critic: bool) -> None:
    agent = upgrade(BadValues(VALUES[how], critic), GAME, Lbs(rollouts=40, depth=2))
    with pytest.raises(RAISED, match=PLACED):
        evaluate(GAME, (agent, "random"), games=1)


class BadGuide(UniformPolicy, EstimatingGuide):
    def __init__(self, proposed: Any, estimates: Any) -> None:
        self.given = proposed, estimates

    def proposed(self, view: Any, legal: Any, memory: Any) -> Any:
        return self.given[0](legal)

    def estimates(self, view: Any, legal: Any, memory: Any) -> Any:
        return self.given[1](legal)


@pytest.mark.parametrize(
    ("proposed", "estimates"),
    [
        (lambda legal: np.ones_like(legal), np.zeros_like),
        (lambda legal: legal[:, 1:], np.zeros_like),
        (np.copy, lambda legal: np.full(legal.shape, np.nan)),
        (np.copy, lambda legal: 1 // 0),
    ],
)
def test_guides(proposed: Any, estimates: Any) -> None:
    search = MoIsmcts(iterations=20, guide=BadGuide(proposed, estimates))
    with pytest.raises(RAISED, match=PLACED):
        evaluate(GAME, (upgrade("random", GAME, search), "random"), games=1)


# -------------------------------------------------------------------------------------- games


@pytest.mark.parametrize("returns", [np.nan, np.inf, -np.inf])
def test_returns_of_games(returns: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one of them, at its ends alone."""
    true = HanabiWorlds.returns.fget  # type: ignore[attr-defined]

    def given(worlds: Any) -> Any:
        return np.where(worlds.terminal[:, None], returns, true(worlds))

    monkeypatch.setattr(HanabiWorlds, "returns", property(given))
    plain = from_callable(lambda obs, mask: mask.astype(float), returns="logits")
    for policies in (plain, (upgrade("smartbot", GAME, Sparta(rollouts=40)), "smartbot")):
        with pytest.raises(ContractError, match=r"^turn \d+: HanabiGame.* finite returns.*got \["):
            evaluate(GAME, policies, games=2)
    with pytest.raises(ContractError, match="finite returns"):  # in rollouts
        evaluate(GAME, (upgrade(plain, GAME, Sparta(rollouts=40)), plain), games=2)
    with pytest.raises(ContractError, match="finite returns"):
        check_game(GAME)


# ------------------------------------------------------------------------------ belief models


class BadModel(Grounded):
    def __init__(self, how: str) -> None:
        super().__init__(GAME)
        self.how = how

    def sample(self, view: Any, state: Any, rng: Any, n: int) -> Any:
        tokens = super().sample(view, state, rng, n)
        if self.how == "raises":
            raise KeyError("a model")
        return {
            "floats": tokens * 1.0, "nan": tokens * np.nan, "wrong shape": tokens[:, 1:],
            "too few": tokens[1:], "None": None,
        }[self.how]  # fmt: skip


@pytest.mark.parametrize("how", ["floats", "nan", "wrong shape", "too few", "None", "raises"])
def test_belief_models(how: str) -> None:
    belief = Learned(BadModel(how), listed=None)
    agent = upgrade("smartbot", GAME, Sparta(rollouts=40), belief=belief)
    with pytest.raises(RAISED, match=PLACED):
        evaluate(GAME, (agent, "smartbot"), games=1)


# ----------------------------------------------------------------- functions, modules, libraries


def test_a_belief_network_of_nan() -> None:
    torch = pytest.importorskip("torch")
    from hanabi_search_plugin.networks.belief_files import NetworkBelief
    from hanabi_search_plugin.networks.nets.belief_net import BeliefNet

    network = BeliefNet(GAME, hidden=8, decoder=8, embedding=4)
    for parameter in network.parameters():
        torch.nn.init.constant_(parameter, torch.nan)
    belief = Learned(NetworkBelief(GAME, network), listed=None)
    agent = upgrade("smartbot", GAME, Sparta(rollouts=40), belief=belief)
    with pytest.raises(ContractError, match=PLACED + ".*finite weights"):
        evaluate(GAME, (agent, "smartbot"), games=1)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_network_of_nan(temperature: float) -> None:
    torch = pytest.importorskip("torch")
    from hanabi_search_plugin.networks.architectures import make_network
    from hanabi_search_plugin.networks.policy_of_network import network_policy

    network = make_network("masks", GAME.config, {"hidden": 8})
    for parameter in network.parameters():
        torch.nn.init.constant_(parameter, torch.nan)
    with pytest.raises(ContractError, match=PLACED + ".*nan"):
        evaluate(GAME, network_policy(network, temperature=temperature), games=1)


FUNCTIONS = {
    "logits": lambda obs, mask: np.full(mask.shape, np.nan),
    "probabilities": lambda obs, mask: -mask.astype(float),
    "actions": lambda obs, mask: mask.argmin(axis=1),
}


@pytest.mark.parametrize("returns", FUNCTIONS)
def test_functions(returns: Any) -> None:
    for f in (FUNCTIONS[returns], lambda obs, mask: {}["key"]):
        policy = from_callable(f, returns=returns)
        with pytest.raises(RAISED, match=PLACED):
            evaluate(GAME, policy, games=1)
        with pytest.raises(RAISED, match=PLACED):
            evaluate(GAME, (upgrade(policy, GAME, Sparta(rollouts=40)), "random"), games=1,
                     baseline="random")  # fmt: skip


LIBRARIES = ("stable_baselines3", "rllib", "tianshou")


@pytest.mark.parametrize("library", LIBRARIES)
def test_models_of_libraries(library: str) -> None:
    torch = pytest.importorskip("torch")
    policy: Any = MADE[f"{library}.as_policy"](GAME)
    for parameter in policy._call.f.parameters():
        torch.nn.init.constant_(parameter, torch.nan)
    with pytest.raises((*RAISED, ValueError), match=PLACED):
        evaluate(GAME, policy, games=1)
    with pytest.raises((*RAISED, ValueError), match=PLACED):
        evaluate(GAME, (upgrade(policy, GAME, Sparta(rollouts=40)), "random"), games=1,
                 baseline="random")  # fmt: skip


# ------------------------------------------------------------------------------- the checkers


@pytest.mark.parametrize("bad", BAD)
def test_check_policy_sees_them(bad: str) -> None:
    """It raises what the policy does, or names the breach."""
    with pytest.raises(RAISED):
        check_policy(GAME, BAD[bad])


def test_compiled_bots_are_asked_as_before() -> None:
    assert evaluate(GAME, load_policy("smartbot", GAME), games=5).scores.shape == (5,)
