"""Searches in games of other kinds: plain ones, OpenSpiel's, PettingZoo's."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as spiel_policy
from open_spiel.python.bots import uniform_random
from shimmy import OpenSpielCompatibilityV0

from hanabi_search_plugin.algorithms.ismcts import MoIsmcts, SoIsmcts
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.predictor import Predictor
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners
from hanabi_search_plugin.core.game import NOBODY, Game
from hanabi_search_plugin.core.plain_game import PlainGame
from hanabi_search_plugin.core.policy import Policy, UniformPolicy
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.wrappers.openspiel import (
    OpenSpielDealtGame,
    OpenSpielGame,
    as_policy,
    load_game,
)
from hanabi_search_plugin.wrappers.pettingzoo import AECAdapter, AECGame, DeterministicAECGame
from tests.golden.cases import Cases, Found, searched
from tests.golden.native import plain, remembering, second, sparta
from tests.golden.trees import SEARCHES

CASES = Cases()


class Guess(PlainGame):
    """Player 0 says one of three words about a number, player 1 guesses it, knowing its parity."""

    name, num_players, num_actions, return_range, max_length = "guess", 2, 9, (0.0, 1.0), 2
    public_actions = True

    def initial_states(self) -> Iterable[tuple[Any, float]]:
        return [((number, None, None), 1 / 9) for number in range(9)]

    def current_player(self, state: Any) -> int:
        return (0, 1, NOBODY)[2 - state.count(None)]

    def legal_actions(self, state: Any) -> Iterable[int]:
        return range(3) if self.current_player(state) == 0 else range(9)

    def next_states(self, state: Any, action: int) -> Iterable[tuple[Any, float]]:
        number, word, _ = state
        return [((number, action, None) if word is None else (number, word, action), 1.0)]

    def returns(self, state: Any) -> list[float]:
        number, _, guess = state
        return [float(number == guess)] * 2

    def observation(self, state: Any, player: int) -> list[int]:
        number, word, _ = state
        return [number if player == 0 else number % 2, -1 if word is None else word]


class Thirds(Policy):
    """Says the third that the number is in, guesses the middle of the third."""

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        number, word = view.observation("observation").T
        return number // 3 if view.player == 0 else 3 * word + 1


GAMES: dict[str, Game] = {
    "tiny_hanabi": OpenSpielGame("tiny_hanabi"),
    "leduc": OpenSpielGame("leduc_poker"),
    "goofspiel": load_game("goofspiel(num_cards=3,imp_info=true,points_order=descending)"),
    "box_pushing": load_game("coop_box_pushing(horizon=2)"),
    "hanabi": OpenSpielGame("hanabi(players=2,colors=2,ranks=2,hand_size=2)"),
}
TINY, LEDUC, HANABI = GAMES["tiny_hanabi"], GAMES["leduc"], GAMES["hanabi"]
UNIFORM = UniformPolicy()


def of_all(game: Game, policy: Policy, search: Any, keep: int = 1, **options: Any) -> Found:
    """Each seat's decisions in a game of its own, from the same deal."""
    agent = upgrade(policy, game, search, **options)
    found: Found = []
    for seat in range(game.num_players):
        seats = tuple(agent if p == seat else policy for p in range(game.num_players))
        found += searched(game, seats, seed=1, keep=keep)
    return found


@CASES.case()
def guess_by_thirds() -> Found:
    return of_all(Guess(), Thirds(), sparta(200, threshold=0.0))


@CASES.case()
def guess_together() -> Found:
    search = JointSparta(rollouts=90, min_rollouts=5, round_size=10, threshold=0.0)
    team = upgrade(Thirds(), Guess(), search)
    return searched(Guess(), (team, team))


@CASES.case()
def guess_by_a_tree() -> Found:
    return of_all(Guess(), UNIFORM, MoIsmcts(iterations=60))


for name, game in GAMES.items():
    CASES.add(f"sparta_{name}", lambda game=game: of_all(game, UNIFORM, sparta(60), keep=1))


@CASES.case()
def epsilon() -> Found:
    return of_all(TINY, UNIFORM, sparta(60), epsilon=0.2)


@CASES.case()
def callable_of_tensors() -> Found:
    policy = from_callable(plain, returns="logits", encoding="tensor")
    return of_all(LEDUC, policy, sparta(60), keep=1)


@CASES.case()
def callable_with_a_memory() -> Found:
    policy = from_callable(
        remembering, returns="logits", encoding="tensor", initial_state=np.zeros(1)
    )
    return of_all(TINY, policy, sparta(60))


def particles(game: Game) -> Any:
    def belief(blueprint: Any, view: Any) -> ParticleBelief:
        rng = np.random.default_rng(0)
        return ParticleBelief.start(game, blueprint, view, particles=25, rng=rng)

    return belief


for name in ("tiny_hanabi", "leduc", "hanabi"):
    CASES.add(
        f"particles_{name}",
        lambda game=GAMES[name]: of_all(game, UNIFORM, sparta(60), 1, belief=particles(game)),
    )


@CASES.case()
def grounded_leduc() -> Found:
    game = OpenSpielDealtGame("leduc_poker")
    belief = Learned(Grounded(game))
    return of_all(game, UNIFORM, Lbs(rollouts=60, min_rollouts=5, depth=None), 1, belief=belief)


@CASES.case()
def grounded_tiny_hanabi_drawn() -> Found:
    game = OpenSpielDealtGame("tiny_hanabi")
    belief = Learned(Grounded(game), listed=None)
    return of_all(game, UNIFORM, Lbs(rollouts=60, min_rollouts=5, depth=None), belief=belief)


for kind, search in SEARCHES.items():
    for name in ("tiny_hanabi", "leduc"):
        CASES.add(
            f"{kind}_{name}",
            lambda search=search, game=GAMES[name]: of_all(game, UNIFORM, search(iterations=40), 1),
        )
    CASES.add(
        f"{kind}_observations",
        lambda search=search: of_all(
            LEDUC, UNIFORM, search(iterations=40, nodes="observations", exploration=0.5), 1
        ),
    )


@CASES.case()
def trees_of_hidden_moves() -> Found:
    game = OpenSpielGame("phantom_ttt")
    return [
        entry
        for search in (SoIsmcts(iterations=20), MoIsmcts(iterations=20))
        for entry in searched(game, (upgrade(UNIFORM, game, search), UNIFORM), keep=1)
    ]


@CASES.case()
def unknown_partners() -> Found:
    candidates = (UNIFORM, from_callable(plain, returns="logits", encoding="tensor"))
    unknown = UnknownPartners(candidates)
    return of_all(TINY, UNIFORM, Predictor(iterations=40), belief=unknown)


def jointly(game: Game, keep: int) -> Found:
    search = JointSparta(
        rollouts=40, min_rollouts=5, round_size=10, threshold=0.0, max_range=20, seed=1
    )
    team = upgrade(UNIFORM, game, search)
    return searched(game, (team,) * game.num_players, keep=keep)


CASES.add("joint_tiny_hanabi", lambda: jointly(TINY, 2))
CASES.add("joint_hanabi", lambda: jointly(HANABI, 2))


# -------------------------------------------------------------------- OpenSpiel's own blueprints


class ByString(spiel_policy.Policy):  # type: ignore[misc]
    """Plays by what the player to move knows, written out."""

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        seen = sum(state.information_state_string(state.current_player()).encode())
        weights = {action: 1 + (seen + action) % 3 for action in state.legal_actions()}
        return {action: weight / sum(weights.values()) for action, weight in weights.items()}


def by_chance(player: int, seed: int) -> Any:
    return uniform_random.UniformRandomBot(player, np.random.RandomState(seed))


BLUEPRINTS: dict[str, Any] = {
    "policy": lambda game: as_policy(ByString(game.spiel, [0, 1]), game),
    "tabular": lambda game: as_policy(spiel_policy.TabularPolicy(game.spiel), game),
    "compiled": lambda game: as_policy(pyspiel.UniformPolicy(), game),
    "bots": lambda game: as_policy(by_chance, game),
}
for kind, make in BLUEPRINTS.items():
    CASES.add(
        f"blueprint_{kind}",
        lambda make=make: of_all(LEDUC, make(LEDUC), sparta(40), keep=1),
    )


# ------------------------------------------------------------------- environments of PettingZoo


class OfShimmy(AECAdapter):
    """A game that Shimmy wraps: the state, its generator, and what Shimmy keeps beside them."""

    def snapshot(self, env: Any) -> Any:
        generator = copy.deepcopy(env.np_random.bit_generator.state)
        return env.game_state.clone(), generator, env.game_length, dict(env.observations)

    def restore(self, env: Any, state: Any) -> None:
        game_state, generator, length, observations = state
        env.game_state = game_state.clone()
        env.np_random.bit_generator.state = generator
        env.game_length, env.observations = length, dict(observations)


@CASES.case()
def leduc_of_shimmy() -> Found:
    game = AECGame(
        OpenSpielCompatibilityV0(game_name="leduc_poker", config={"players": 2}),
        OfShimmy(),
        return_range=(-13, 13),
        max_length=8,
        rewards="zero_sum",
        public_actions=True,
    )
    agent = upgrade(UNIFORM, game, sparta(40), belief=particles(game))
    return searched(game, second(game, UNIFORM, agent))


@CASES.case()
def tic_tac_toe_of_shimmy() -> Found:
    game = DeterministicAECGame(
        OpenSpielCompatibilityV0(game_name="tic_tac_toe"),
        OfShimmy(),
        return_range=(-1, 1),
        max_length=9,
        rewards="zero_sum",
        public_actions=True,
    )
    return searched(game, second(game, UNIFORM, upgrade(UNIFORM, game, sparta(60))), skip=1)
