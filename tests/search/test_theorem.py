"""SPARTA's theorem with exact action values: a search never earns less than its blueprint.

Everything is enumerated: all deals, all that a seat may hold, all returns. The sums compared are of
integers.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Hashable, Iterable

import numpy as np
import pytest

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.core.belief import Belief, WrappedBelief
from hanabi_search_plugin.core.game import BoolArray, Event, IntArray, View, Worlds
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy, as_blueprint
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.rollout import action_values, choose, rollout, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.hanabi_bayes import Hashed

SMALL = HanabiGame(players=2, colors=1, ranks=3, hand_size=2, information_tokens=2, life_tokens=2)
DECKS = np.array(sorted(set(itertools.permutations([0, 0, 0, 1, 1, 2]))))  # all as likely


class Drawn(Hashed):
    """A deterministic policy drawn at random: another for each number."""

    def __init__(self, number: int) -> None:
        super().__init__(deterministic=True, remembers=False)
        self.number = number

    def _digest(self, view: View) -> IntArray:
        return (super()._digest(view) * (2 * self.number + 1) + 7919 * self.number) % (2**31 - 1)


def play(blueprint: Blueprint, seats: tuple[int, ...]) -> tuple[int, list[IntArray]]:
    """The sum of all decks' scores where ``seats`` search, and the moves of each deck.

    Worlds in which a seat has seen the same so far, everybody playing as they do, are that seat's
    belief. With several seats everyone knows how everyone has decided: multi-agent search.
    """
    worlds, numbers = SMALL.from_decks(DECKS), np.arange(len(DECKS))
    seen = [_number(worlds.view(p).keys()) for p in range(2)]
    total, moves = 0, []
    while len(worlds):
        mover = int(worlds.current_player[0])
        actions = choose(worlds, blueprint, (None, None), _streams(worlds))
        if mover in seats:
            actions = _best(worlds, blueprint, mover, seen[mover], actions)
        moves.append(np.full(len(DECKS), -1))
        moves[-1][numbers] = actions
        worlds.step(actions)
        total += int(worlds.returns[worlds.terminal, 0].sum())
        on = np.flatnonzero(~worlds.terminal)
        worlds, numbers = worlds.select(on), numbers[on]
        keys = [worlds.view(p).keys() for p in range(2)]
        seen = [
            _number(list(zip(seen[p][on].tolist(), actions[on].tolist(), keys[p], strict=True)))
            for p in range(2)
        ]
    return total, moves


def _best(
    worlds: HanabiWorlds, blueprint: Blueprint, mover: int, seen: IntArray, base: IntArray
) -> IntArray:
    """[B] the move with the highest sum of returns over what the mover may hold."""
    row, action = np.nonzero(worlds.legal)
    tried = worlds.select(row)
    tried.step(action)
    ended = rollout(tried, blueprint, (None, None), _streams(tried)).returns[:, mover]
    values = np.full((seen.max() + 1, SMALL.num_actions), -np.inf)
    values[seen[row], action] = 0.0
    np.add.at(values, (seen[row], action), ended)
    best = values.argmax(axis=1)[seen]
    return np.where(values[seen, best] > values[seen, base], best, base)


def _number(keys: Iterable[Hashable]) -> IntArray:
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)


def _streams(worlds: Worlds) -> Streams:
    return Streams(np.zeros(len(worlds), dtype=np.uint64))


@pytest.mark.parametrize("seats", [(0,), (1,), (0, 1)])
def test_a_search_of_hanabi_never_earns_less(seats: tuple[int, ...]) -> None:
    gains = []
    for number in range(100):
        blueprint = as_blueprint(Drawn(number), 2)
        gains.append(play(blueprint, seats)[0] - play(blueprint, ())[0])
    assert min(gains) >= 0
    assert np.count_nonzero(gains) > 80


# --------------------------------------------------------------------- the package's own searches


class Exact:
    """A search by exact means over the support of a belief of Hanabi and all orders of the deck."""

    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
        assert isinstance(belief, HandBelief)
        hands, weights = belief.support()
        actions = np.flatnonzero(belief.view.legal[0])
        stream = Streams(np.zeros(1, dtype=np.uint64))
        policy = belief.blueprint[belief.seat]
        choice = policy.act(belief.view, belief.view.legal, belief.memory, stream)
        means = np.zeros(len(actions))
        for row, weight in zip(hands.rows, weights, strict=True):
            rest = len(row) - SMALL.config.deck_size + int(row[DECK_NEXT])
            decks = sorted(set(itertools.permutations(row[rest:].tolist())))
            rows = np.tile(row, (len(decks), 1))
            rows[:, rest:] = decks
            worlds = HanabiWorlds(SMALL, rows)
            values = action_values(
                worlds, actions, belief.blueprint, (None, None), belief.seat, _streams(worlds)
            )
            means += weight * values.mean(axis=1)
        base = int(np.flatnonzero(actions == choice[0])[0])
        means = means.round(9)  # moves that are as good are equal
        best = base if means[base] == means.max() else int(means.argmax())
        nothing = np.zeros(len(actions))
        return SearchResult(
            action=int(actions[best]), blueprint_action=int(actions[base]), reason="improved",
            actions=actions, mean=means, stderr=nothing, count=nothing.astype(np.int64), gain=0.0,
            gain_stderr=0.0, rollouts=0, belief_size=belief.size, likelihoods=belief.likelihoods,
        )  # fmt: skip


@pytest.mark.parametrize("seat", [0, 1])
def test_an_agent_plays_what_was_enumerated(seat: int) -> None:
    changed = 0
    for number in range(3):
        blueprint = as_blueprint(Drawn(number), 2)
        policies = list(blueprint)
        policies[seat] = upgrade(blueprint, SMALL, search=Exact())
        moves, plain = (np.stack(play(blueprint, s)[1]) for s in ((seat,), ()))
        for deck in range(0, len(DECKS), 7):
            worlds = SMALL.from_decks(DECKS[[deck]])
            turns = play_game(worlds, tuple(policies), _streams(worlds), (0,))
            played = [turn.action for turn in turns]
            expected = [m for m in moves[:, deck].tolist() if m >= 0]
            assert played == expected
            changed += played != [m for m in plain[:, deck].tolist() if m >= 0]
    assert changed > 5


class Systematic(WrappedBelief):
    """A belief of few, equally likely worlds whose samples hold each of them as often."""

    def update(self, event: Event, view: View) -> Systematic:
        return Systematic(self.inner.update(event, view))

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        worlds, weights = self.inner.support()
        assert n % len(weights) == 0 and np.ptp(weights) < 1e-12
        return worlds.select(np.arange(n) % len(weights)), (None, None)


class Answers(Policy):
    """tiny_hanabi: a move for each observation."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.seed = int(rng.integers(2**31))

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        keys = [zlib.crc32(f"{self.seed} {key}".encode()) for key in list(view.keys())]
        return np.array([key % 3 for key in keys], dtype=np.int64)


@pytest.mark.parametrize("seat", [0, 1])
def test_sparta_by_whole_beliefs_never_earns_less(seat: int) -> None:
    """Two moves, cards and payoffs drawn at random: 6 worlds a move hold each card as often."""
    rng, gains = np.random.default_rng(1), []
    search = Sparta(rollouts=18, round_size=6, threshold=0.0, errors=0.0, pruning="off")
    for _ in range(100):
        payoff = ";".join(map(str, rng.integers(0, 11, size=81)))
        game = OpenSpielGame(f"tiny_hanabi(num_chance=3,num_actions=3,payoff={payoff})")
        blueprint = as_blueprint(Answers(rng), 2)
        policies = list(blueprint)
        policies[seat] = upgrade(
            blueprint,
            game,
            search=search,
            belief=lambda who, view: Systematic(EnumeratedBelief.start(view.game, who, view)),
        )
        deals = game.deal_scripts(list(itertools.product(range(3), repeat=2)))
        searched, plain = (
            rollout(deals, who, start_memories(deals, who), _streams(deals)).returns[:, 0].sum()
            for who in (tuple(policies), blueprint)
        )
        gains.append(int(searched) - int(plain))
    assert min(gains) >= 0
    assert np.count_nonzero(gains) > 80
