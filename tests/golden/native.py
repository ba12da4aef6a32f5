"""SPARTA and joint SPARTA in native Hanabi, over exact and sampled beliefs and particles."""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Policy, UniformPolicy
from hanabi_search_plugin.hanabi.bots.compiled import SmartBot
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.registry import load_policy
from tests.golden.cases import Cases, Found, searched

CASES = Cases()

SMARTBOT = SmartBot()

TWO = HanabiGame(players=2, colors=2, ranks=3, hand_size=3, information_tokens=4, life_tokens=2)
THREE = HanabiGame(players=3, colors=2, ranks=3, hand_size=2, information_tokens=4)
TINY = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, information_tokens=2, life_tokens=1)
ODD = HanabiGame(
    players=3, colors=3, ranks=2, hand_size=2, random_start_player=True, bomb="keep",
    observation_type="minimal",
)  # fmt: skip


def sparta(rollouts: int = 300, **options: Any) -> Sparta:
    usual = {"errors": 0.0, "pruning": "paired", "min_rollouts": 5, "round_size": 10}
    return Sparta(rollouts=rollouts, **usual | options)


def second(game: Game, policy: Policy, agent: SearchAgent) -> tuple[Policy, ...]:
    """The agent at seat 1; others play the policy."""
    return tuple(agent if p == 1 else policy for p in range(game.num_players))


def of_policy(
    name: str, game: HanabiGame, search: Sparta, skip: int, keep: int = 1, **options: Any
) -> Found:
    policy = load_policy(name, game)
    agent = upgrade(policy, game, search, **options)
    return searched(game, second(game, policy, agent), skip=skip, keep=keep)


for number in (2, 3, 4, 5):
    full = HanabiGame(players=number)
    CASES.add(
        f"smartbot_{number}_players", lambda full=full: of_policy("smartbot", full, sparta(), 3)
    )
for name, number in (
    ("hatbot", 3), ("hatbot-b", 3), ("hatbot", 2), ("hatbot-b", 4), ("vdb", 2), ("piers", 3),
    ("evalfn-c", 2), ("rule-classifier", 3), ("risky:threshold=0.6:strict", 2),
):  # fmt: skip
    full = HanabiGame(players=number)
    CASES.add(
        f"{name.replace(':', '_')}_{number}_players",
        lambda name=name, full=full: of_policy(name, full, sparta(), 4),
    )
for name in ("random", "flawed", "smartbot"):
    for label, game in (("two", TWO), ("odd", ODD)):
        CASES.add(
            f"{name}_{label}", lambda name=name, game=game: of_policy(name, game, sparta(), 1)
        )
SETTINGS: dict[str, Any] = {
    "independent": {"pruning": "independent", "deviations": 1.0},
    "off": {"pruning": "off", "threshold": 0.0},
    "no_reallocation": {"reallocate": False},
    "two_threads": {"threads": 2, "threshold": 0.5},
    "noise": {"rollouts": 40, "min_rollouts": 100},
    "budget_too_small": {"rollouts": 2},
}
for label, settings in SETTINGS.items():
    CASES.add(
        f"sparta_{label}",
        lambda settings=settings: of_policy("iggi", TWO, sparta(**settings), 1),
    )


@CASES.case()
def continuations() -> Found:
    return of_policy("smartbot", TWO, sparta(600, continuation="iggi2,random"), 1)


@CASES.case()
def candidates() -> Found:
    return of_policy("random", TWO, sparta(candidates=3), 1)


@CASES.case()
def epsilon() -> Found:
    return of_policy("smartbot", TWO, sparta(), 1, 2, epsilon=0.1)


@CASES.case()
def uncertainty() -> Found:
    """Everybody searches by itself, so beliefs are wrong at times."""
    agent = upgrade(SMARTBOT, THREE, sparta(threshold=0.0), uncertainty=0.05)
    return searched(THREE, (agent,) * 3, skip=5, keep=3)


@CASES.case()
def recovered() -> Found:
    """The partner plays another policy than the belief is told of."""
    game = HanabiGame(players=2, colors=3, bomb="keep", life_tokens=9)
    agent = upgrade(SMARTBOT, game, sparta())
    return searched(game, (load_policy("iggi"), agent), seed=3, skip=1, keep=3)


@CASES.case()
def six_cards() -> Found:
    game = HanabiGame(players=2, hand_size=6)
    return of_policy("smartbot", game, sparta(), 0)


@CASES.case()
def seven_cards_sampled() -> Found:
    game = HanabiGame(players=2, hand_size=7, information_tokens=4)
    return of_policy("smartbot", game, sparta(), 1)


@CASES.case()
def mixed_table() -> Found:
    policies = (load_policy("smartbot"), load_policy("iggi"), UniformPolicy())
    return searched(THREE, second(THREE, policies[0], upgrade(policies, THREE, sparta())), keep=1)


@CASES.case()
def mixed_table_in_turn() -> Found:
    policies = (load_policy("hatbot"), load_policy("evalfn"), load_policy("cautious"))
    agent = upgrade(policies, THREE, sparta())
    return searched(THREE, (policies[0], policies[1], agent), skip=1)


# ------------------------------------------------------------------------ policies in plain Python


def numbers(obs: Any) -> Any:
    """One for each observation, of all its parts."""
    return np.cos(obs @ np.arange(1.0, obs.shape[1] + 1))[:, None]


def plain(obs: Any, mask: Any) -> Any:
    return 9 * numbers(obs) * np.arange(mask.shape[1])


def remembering(obs: Any, mask: Any, state: Any) -> Any:
    state = np.tanh(state + numbers(obs))
    return 9 * state * np.arange(mask.shape[1]), state


CALLABLES = {
    "plain": lambda: from_callable(plain, returns="logits"),
    "remembering": lambda: from_callable(remembering, returns="logits", initial_state=np.zeros(1)),
    "own_turns": lambda: from_callable(
        remembering, returns="logits", initial_state=np.zeros(1), sees="own turns"
    ),
}


def of_callable(kind: str, search: Sparta) -> Found:
    policy = CALLABLES[kind]()
    return searched(TINY, second(TINY, policy, upgrade(policy, TINY, search)), keep=1)


for kind in CALLABLES:
    CASES.add(f"callable_{kind}", lambda kind=kind: of_callable(kind, sparta(100)))


@CASES.case()
def callable_candidates() -> Found:
    return of_callable("plain", sparta(100, candidates=2))


class Echo(Policy):
    """Remembers all moves, and moves by their sum and by what it sees of the others' hints."""

    def start(self, view: Any) -> Any:
        return np.zeros(len(view), dtype=np.int64)

    def observe(self, view: Any, event: Any, memory: Any) -> Any:
        return 3 * memory + event.action + event.player

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        moves = [np.flatnonzero(row) for row in legal]
        return np.array([m[n % len(m)] for m, n in zip(moves, memory, strict=True)])


@CASES.case()
def a_policy_in_python_as_partner() -> Found:
    policies = (Echo(), SMARTBOT)
    return searched(TINY, (Echo(), upgrade(policies, TINY, sparta(100))))


# --------------------------------------------------------------------------------- other beliefs


@CASES.case()
def particles() -> Found:
    def belief(blueprint: Any, view: Any) -> ParticleBelief:
        rng = np.random.default_rng(0)
        return ParticleBelief.start(TWO, blueprint, view, particles=60, rng=rng, epsilon=0.05)

    agent = upgrade(SMARTBOT, TWO, sparta(), belief=belief)
    return searched(TWO, second(TWO, SMARTBOT, agent), skip=1)


# ------------------------------------------------------------------------------ searching together


def jointly(policy: Policy, game: HanabiGame, keep: int, **options: Any) -> Found:
    settings = {"rollouts": 200, "min_rollouts": 5, "round_size": 10, "max_range": 60}
    search = JointSparta(**settings | options)
    team = upgrade(policy, game, search)
    return searched(game, (team,) * game.num_players, skip=1, keep=keep)


@CASES.case()
def joint_two() -> Found:
    return jointly(SMARTBOT, TWO, 4)


@CASES.case()
def joint_two_paired() -> Found:
    return jointly(SMARTBOT, TWO, 4, pruning="paired")


@CASES.case()
def joint_two_in_a_queue() -> Found:
    return jointly(SMARTBOT, TWO, 5, max_range=6, seed=3)


@CASES.case()
def joint_two_uniform() -> Found:
    return jointly(UniformPolicy(), TINY, 4, threshold=0.0)


@CASES.case()
def joint_two_full() -> Found:
    return jointly(SMARTBOT, HanabiGame(players=2), 3, rollouts=100)


@CASES.case()
def joint_three() -> Found:
    return jointly(SMARTBOT, THREE, 5)


@CASES.case()
def joint_three_hats() -> Found:
    return jointly(load_policy("hatbot"), ODD, 4)


@CASES.case()
def joint_python() -> Found:
    return jointly(Echo(), TINY, 4, rollouts=60, max_range=20)
