"""What a judge says of a position: the value of every legal move, and the reward of one.

The *regret* of a move is what the best one was worth more, in the same worlds. The best of many
moves looks good by chance; so it is chosen in half of the worlds and compared in the other half,
both ways round (``MoveValues.lost``).

The *reward* is exp(-regret / scale): 1 for the best move, less the more points a move gives away,
never 0. A regret counts only where it is above 0 by ``SURE`` standard errors; else the move is as
good as the best one as far as the worlds can tell, and its reward is 1. Last, a move gets no more
than one that is worth more: rewards fall with values.

Letters: M legal moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hanabi_search_plugin.core.errors import IllegalActionError, RecordError
from hanabi_search_plugin.core.html_tables import html_table
from hanabi_search_plugin.core.text_tables import text_table
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.files.analysis import SURE, MoveValues
from hanabi_search_plugin.hanabi.files.move_names import move_name, read_move

Evidence = Literal["exact", "sample", "recovered", "partial", "hints"]
"""What a belief was made of.

``exact``: all moves of the game, from the deal on. ``sample``: the same, but hands were too many to
list. ``recovered``: a partner's move fitted no hand, so moves before it are no evidence.
``partial``: the moves of a history that begins in the middle of the game. ``hints``: no moves at
all, only the hints and the cards that the position shows.
"""

_HEADINGS = ("move", "value", "+-", "regret", "+-", "reward", "worlds")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The legal moves of one position, in points of the final score. ``print`` shows a table.

    A move is an action id, or text as ``hanabi.files.move_names.read_move`` has it: "(Play 2)",
    "play 2", "hint P1 red".
    """

    config: HanabiConfig  #: the rules of the game
    seat: int  #: whose move it is
    actions: tuple[int, ...]  #: [M] ids of the legal moves
    values: tuple[float, ...]  #: [M] the final score that is expected after each
    errors: tuple[float, ...]  #: [M] standard errors of ``values``
    counts: tuple[int, ...]  #: [M] worlds in which each was tried
    regrets: tuple[float, ...]  #: [M] points given away; noise makes some a little below 0; best: 0
    regret_errors: tuple[float, ...]  #: [M]
    rewards: tuple[float, ...]  #: [M] in (0, 1]
    best: int  #: the id of the move with the highest value
    blueprint: int  #: the id of the blueprint's move
    belief: Evidence  #: what the worlds were drawn by
    belief_size: int  #: hands, at most
    note: str  #: what the belief had to do; "" for nothing

    @property
    def moves(self) -> tuple[str, ...]:
        """[M] the legal moves by OpenSpiel's names."""
        return tuple(move_name(self.config, action) for action in self.actions)

    @property
    def best_move(self) -> str:
        """OpenSpiel's name of the move with the highest value."""
        return move_name(self.config, self.best)

    def action(self, move: int | str) -> int:
        """The id of a legal move.

        Raises RecordError for what is no move, IllegalActionError for one that is not legal.
        """
        legal = f"the legal moves here are {', '.join(self.moves)}"
        try:
            action = read_move(self.config, self.seat, move)
        except RecordError as error:
            raise RecordError(f"{error}: {legal}") from None
        if action not in self.actions:
            name = move_name(self.config, action)
            raise IllegalActionError(f"{name} is not legal in this position: {legal}")
        return action

    def value(self, move: int | str) -> float:
        """The final score that is expected after a move. Raises as ``action``."""
        return self.values[self._row(move)]

    def error(self, move: int | str) -> float:
        """The standard error of ``value``. Raises as ``action``."""
        return self.errors[self._row(move)]

    def regret(self, move: int | str) -> float:
        """The points that a move gives away to the best one. Raises as ``action``."""
        return self.regrets[self._row(move)]

    def reward(self, move: int | str, illegal: float | None = None) -> float:
        """The reward in (0, 1] of a move, 1 for the best.

        ``illegal`` is that of an illegal move and of text that is no move; None: raises as
        ``action``.
        """
        try:
            return self.rewards[self._row(move)]
        except (RecordError, IllegalActionError):
            if illegal is None:
                raise
            return illegal

    def _row(self, move: int | str) -> int:
        return self.actions.index(self.action(move))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; moves by OpenSpiel's names."""
        return {
            "seat": self.seat,
            "best": self.best_move,
            "blueprint": move_name(self.config, self.blueprint),
            "legal_moves": list(self.moves),
            "actions": list(self.actions),
            "values": [round(value, 4) for value in self.values],
            "errors": [round(error, 4) for error in self.errors],
            "counts": list(self.counts),
            "regrets": [round(regret, 4) for regret in self.regrets],
            "regret_errors": [round(error, 4) for error in self.regret_errors],
            "rewards": [round(reward, 4) for reward in self.rewards],
            "belief": self.belief,
            "belief_size": self.belief_size,
            "note": self.note,
        }

    def _table(self) -> list[tuple[str, ...]]:
        order = sorted(range(len(self.actions)), key=lambda row: -self.values[row])
        return [
            (
                self.moves[row],
                f"{self.values[row]:.2f}",
                f"{self.errors[row]:.2f}",
                f"{self.regrets[row]:.2f}",
                f"{self.regret_errors[row]:.2f}",
                f"{self.rewards[row]:.2f}",
                f"{self.counts[row]:,}",
            )
            for row in order
        ]

    def _title(self) -> str:
        return f"best {self.best_move}, belief {self.belief}, {counted(self.belief_size, 'hand')}"

    def __str__(self) -> str:
        return "\n".join([self._title(), *text_table([_HEADINGS, *self._table()])])

    def __repr__(self) -> str:
        return f"<Verdict: {counted(len(self.actions), 'move')}, {self._title()}>"

    def _repr_html_(self) -> str:
        """For notebooks: the table of ``print``."""
        return html_table(self._title(), _HEADINGS, self._table())


def verdict_of(
    config: HanabiConfig,
    seat: int,
    values: MoveValues,
    scale: float,
    *,
    belief: Evidence,
    belief_size: int,
    note: str,
) -> Verdict:
    """The verdict from the values of all moves in shared worlds."""
    actions = values.actions.tolist()
    worths = [_value(values, action) for action in actions]
    lost = [values.lost(each) if each != values.best else (0.0, 0.0) for each in actions]
    return Verdict(
        config=config,
        seat=seat,
        actions=tuple(actions),
        values=tuple(mean for mean, _ in worths),
        errors=tuple(error for _, error in worths),
        counts=tuple(map(values.count, actions)),
        regrets=tuple(regret for regret, _ in lost),
        regret_errors=tuple(error for _, error in lost),
        rewards=_rewards(worths, lost, scale),
        best=values.best,
        blueprint=values.blueprint_action,
        belief=belief,
        belief_size=belief_size,
        note=note,
    )


def _value(values: MoveValues, action: int) -> tuple[float, float]:
    """A move's value and its standard error.

    That is the best move's value in all worlds, less the mean difference in those in which both
    were tried: a move that was dropped early is not judged by other worlds than the best one.
    """
    best = values.values[values.actions.tolist().index(values.best)]
    own = values.values[values.actions.tolist().index(action)]
    shared = np.isfinite(own)
    behind = best[shared] - own[shared]
    n, of = len(best), len(behind)
    spread = np.cov(best[shared], behind)  # [2, 2]
    variance = best.var(ddof=1) / n + spread[1, 1] / of - 2 * spread[0, 1] / n
    return float(best.mean() - behind.mean()), math.sqrt(max(float(variance), 0.0))


def _rewards(
    worths: list[tuple[float, float]], lost: list[tuple[float, float]], scale: float
) -> tuple[float, ...]:
    """[M] see the head of this module."""
    counted_regret = np.array(
        [regret if regret > SURE * error else 0.0 for regret, error in lost], dtype=np.float64
    )
    order = np.argsort([-worth for worth, _ in worths], kind="stable")
    counted_regret[order] = np.maximum.accumulate(counted_regret[order])
    return tuple(math.exp(-regret / scale) for regret in counted_regret.tolist())
