"""Measure what each way of not repeating work saves joint SPARTA (docs/results/sparta.md).

    python -m benchmarks.range_search --games 4 --max-range 80

The same games of 2-player SmartBot, searched jointly in five ways that decide alike, move by move
(the command fails if they do not). Counted are the rollouts of range searches alone: what the
movers spend on their own decisions is the same in all.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from hanabi_search_plugin import HanabiGame, JointSparta, SmartBot, upgrade
from hanabi_search_plugin.algorithms.range_search import RangeSearch
from hanabi_search_plugin.core import BoolArray, IntArray, PublicBelief
from hanabi_search_plugin.evaluation.match import deal_game
from hanabi_search_plugin.evaluation.playing import play_game

Seed = tuple[int, ...]


class Whole(RangeSearch):
    """Every information state is searched to its end."""

    def plays(
        self, public: PublicBelief, player: int, ids: IntArray, seed: Seed, observed: int
    ) -> tuple[BoolArray, int]:
        state = self.search(public, player, ids, seed)
        return state.chosen(self.threshold) == observed, state.rollouts


class Unpruned(Whole):
    """And no move is dropped on the way; the decision is that of the pruned search."""

    def plays(
        self, public: PublicBelief, player: int, ids: IntArray, seed: Seed, observed: int
    ) -> tuple[BoolArray, int]:
        state = self.search(public, player, ids, seed)
        moves = state.legal.sum(axis=1)
        whole = np.where(moves > 1, moves * state.share, 0)  # what all worlds of all moves take
        return state.chosen(self.threshold) == observed, int(whole.sum())


class ObservedFirst(RangeSearch):
    """The observed move alone, then all others together."""

    def plays(
        self, public: PublicBelief, player: int, ids: IntArray, seed: Seed, observed: int
    ) -> tuple[BoolArray, int]:
        state = self._begin(public, player, ids, seed)
        alone = np.arange(state.legal.shape[1]) == observed
        while (tried := state.open & alone).any():
            self._advance(public, player, state, tried)
        left = state.final(self.threshold)[:, observed] > -np.inf
        left |= state.base == observed
        while (tried := state.open & left[:, None]).any():
            self._advance(public, player, state, tried)
        plays = state.legal[:, observed] & left & (state.chosen(self.threshold) == observed)
        return plays, state.rollouts


class Forgetful(RangeSearch):
    """The blueprint's returns are found again for every rival that is tried later."""

    def _play(self, *where: Any) -> None:
        state, rows, number, n = where[2:6]
        start = state.rounds[number].start
        state.returns[rows, start : start + n] = np.nan
        super()._play(*where)


WAYS: dict[str, type[RangeSearch]] = {
    "every world of every move": Unpruned,
    "moves dropped on the way": Whole,
    "and the observed move first": ObservedFirst,
    "and rivals that are ahead next, until one wins": RangeSearch,
    "the last, the blueprint's returns not kept": Forgetful,
}


@dataclass(frozen=True, kw_only=True)
class OneWay(JointSparta):
    way: type[RangeSearch]

    @property
    def range_search(self) -> RangeSearch:
        plain = super().range_search
        return self.way(**{name: getattr(plain, name) for name in plain.__dataclass_fields__})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=4)
    parser.add_argument("--max-range", type=int, default=80)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    game = HanabiGame(players=2, bomb="zero")
    print(f"{'':<48}{'rollouts a game':>16}{'CPU s':>8}")
    decided: list[list[int]] = []
    for name, way in WAYS.items():
        search = OneWay(max_range=options.max_range, way=way)
        agent = upgrade(SmartBot(), game, search)
        spent, seconds, moves = 0, 0.0, []
        for index in range(-1, options.games):  # the first, which compiles, is not counted
            worlds, streams = deal_game(game, options.seed, max(index, 0))
            began, rollouts, actions = time.process_time(), 0, []
            for turn in play_game(worlds, (agent, agent), streams, (options.seed, index + 1)):
                assert turn.result is not None
                actions.append(turn.action)
                rollouts += turn.result.rollouts - int(turn.result.count.sum())
            if index >= 0:
                spent, seconds = spent + rollouts, seconds + time.process_time() - began
                moves += actions
        decided.append(moves)
        if moves != decided[0]:
            raise SystemExit(f"{name}: expected the same moves as before, got others")
        shown = f"{spent / options.games:,.0f}"
        cpu = "" if way is Unpruned else f"{seconds / options.games:.1f}"
        print(f"{name:<48}{shown:>16}{cpu:>8}", flush=True)


if __name__ == "__main__":
    main()
