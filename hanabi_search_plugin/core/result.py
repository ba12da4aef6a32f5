"""The result of one search decision. M = legal moves."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from hanabi_search_plugin.core.equality import EqualByValue
from hanabi_search_plugin.core.errors import ContractError
from hanabi_search_plugin.core.figures import blank_figure
from hanabi_search_plugin.core.game import BoolArray, FloatArray, Game, IntArray
from hanabi_search_plugin.core.html_tables import html_table
from hanabi_search_plugin.core.reprs import search_repr
from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.core.text_tables import text_table
from hanabi_search_plugin.core.words import counted

Reason = Literal[
    "improved",
    "tree_choice",
    "policy_step",
    "blueprint_best",
    "below_threshold",
    "single_move",
    "budget_too_small",
    "belief_too_small",
    "search_not_allowed",
]
"""Why a move was played:

* ``improved``: the search's move beats the blueprint's by more than the threshold
* ``tree_choice``: the tree's choice (most visits, or highest mean) is not the blueprint's move
* ``policy_step``: the improved policy drew another move than the blueprint's
* ``blueprint_best``: the blueprint's move has the highest estimate, or was chosen or drawn
* ``below_threshold``: another move looks better, but not by more than the threshold
* ``single_move``: there was nothing to choose
* ``budget_too_small``: too few rollouts to compare moves: the blueprint's move is played
* ``belief_too_small``: the belief found too few worlds: the blueprint's move is played
* ``search_not_allowed``: the protocol forbids a search here: the blueprint's move is played
"""

REASONS: tuple[str, ...] = get_args(Reason)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SearchResult(EqualByValue):
    """One decision of a search, over M legal moves. ``print`` shows a table of them.

    Equal to another where all figures are, nan to nan in the same place; ``words`` are left out.

    Means and gains are returns of the searching seat in score points, or in the units of the
    search's objective.

    * ``action``, ``blueprint_action``: the move to play, and what the blueprint would play
    * ``reason``: why this move; the words are those of ``Reason``
    * ``actions`` [M]: the legal moves; ``mean``, ``stderr``, ``count`` [M]: estimated return of
      each, its standard error, the rollouts spent on it; nan where never tried
    * ``gain``, ``gain_stderr``: estimated return of ``action`` less that of ``blueprint_action``,
      and the standard error, paired where both met the same worlds
    * ``rollouts``: spent at this decision; the iterations of a tree
    * ``belief_size``: worlds in the belief's support, or an upper bound
    * ``likelihoods``: policy evaluations of the belief since the game began; None: unknown
    * ``depth``: moves from the root of a tree to its deepest node; None: no tree
    * ``exact``: True if ``mean`` are exact values, without rollouts
    * ``policy`` [M]: what ``action`` was drawn from; None: it was not drawn
    * ``note``: anything unusual, such as a belief that had to recover
    * ``recovered``: True if the belief had lost every world before, since a partner made a move
      that it rules out; ``note`` says so, too
    * ``words`` [M]: the legal moves as ``game.action_to_string`` has them, to be shown; None: it
      was not said, as where a search was called without its agent, and numbers are shown

    Raises ConfigError for another ``reason``.
    """

    action: int
    blueprint_action: int
    reason: Reason
    actions: IntArray
    mean: FloatArray
    stderr: FloatArray
    count: IntArray
    gain: float
    gain_stderr: float
    rollouts: int
    belief_size: int
    likelihoods: int | None
    depth: int | None = None
    exact: bool = False
    policy: FloatArray | None = None
    note: str = ""
    recovered: bool = False
    words: tuple[str, ...] | None = dataclasses.field(default=None, compare=False)

    def __post_init__(self) -> None:
        require_choice("reason", self.reason, REASONS)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain JSON types, with None in place of nan; without ``words``, and without
        ``recovered``, which ``note`` says."""
        out = {name: getattr(self, name) for name in self.__dataclass_fields__}
        del out["words"], out["recovered"]
        for name in ("actions", "mean", "stderr", "count"):
            values = out[name].tolist()
            out[name] = [None if value != value else value for value in values]
        out["policy"] = None if self.policy is None else self.policy.tolist()
        for name in ("gain", "gain_stderr"):
            out[name] = None if out[name] != out[name] else out[name]
        return out

    def __repr__(self) -> str:
        return f"<{self._headline('+-')}>"

    def __str__(self) -> str:
        return self.to_text()

    def in_words(self, action: int) -> str:
        """An action as ``words`` has it, or else its number."""
        known = dict(zip(map(int, self.actions), self.words or (), strict=False))
        return known.get(action, str(action))

    def to_text(self, words: Callable[[int], str] | None = None) -> str:
        """A table of the moves, the best first, and the note.

        ``words`` names an action; None: ``in_words``.
        """
        words = words or self.in_words
        lines: list[tuple[str, ...]] = [("action", "estimated return", "rollouts", "")]
        lines += [(words(action), *cells) for action, *cells in self._rows("+-")]
        width = max(len(line[-1]) for line in lines)  # names of the players: to the left
        table = text_table([(*line[:-1], line[-1].ljust(width)) for line in lines])
        noted = [f"note: {self.note}"] if self.note else []
        return "\n".join([self._headline("+-", words), *table, *noted])

    def plot(self, words: Callable[[int], str] | None = None) -> Any:
        """A Matplotlib figure: the estimate of each move and its standard error, the best on top.

        ``words`` names an action; None: ``in_words``. Raises UnsupportedError without Matplotlib.
        """
        words = words or self.in_words
        figure, axes = blank_figure("a plot of a decision", 7, 1 + 0.28 * len(self.actions))
        order = self._best_first()[::-1]  # axes begin at the bottom
        for place, index in enumerate(order.tolist()):
            action = int(self.actions[index])
            chosen, base = action == self.action, action == self.blueprint_action
            mark = "*" if chosen else "D" if base else "o"
            axes.errorbar(
                self.mean[index],
                place,
                xerr=np.nan_to_num(self.stderr[index]),
                marker=mark,
                markersize=11 if chosen else 6,
                color="C4" if chosen else "C0" if base else "0.4",
                capsize=2,
            )
        axes.set_yticks(range(len(order)), [words(int(self.actions[index])) for index in order])
        axes.set_xlabel("estimated return (star: the search's move, diamond: the blueprint's)")
        axes.grid(axis="x", alpha=0.3)
        axes.set_title(self._headline(words=words), fontsize=10, wrap=True)
        return figure

    def _repr_html_(self) -> str:
        """For notebooks: the moves, the best first."""
        rows = list(self._rows())
        chosen = [number for number, row in enumerate(rows) if row[0] == self.action]
        return html_table(
            self._headline() + (f"; note: {self.note}" if self.note else ""),
            ("action", "estimated return", "rollouts", ""),
            [(self.in_words(action), *cells) for action, *cells in rows],
            strong=chosen,
        )

    def _rows(self, sign: str = "\u00b1") -> Iterator[tuple[int, str, str, str]]:
        """Action, estimated return, rollouts and who plays it, the best first."""
        roles = {"search": self.action, "blueprint": self.blueprint_action}
        for index in self._best_first().tolist():
            action, mean, stderr = int(self.actions[index]), self.mean[index], self.stderr[index]
            tried = not np.isnan(mean)
            error = f" {sign} {stderr:.3f}" if tried and not np.isnan(stderr) else ""
            yield (
                action,
                f"{mean:.3f}{error}" if tried else "not tried",
                f"{self.count[index]:,}",
                ", ".join(name for name, played in roles.items() if played == action),
            )

    def _best_first(self) -> IntArray:
        """[M] rows, by mean; those that were never tried come last."""
        means = np.where(np.isnan(self.mean), -np.inf, self.mean)
        return np.argsort(-means, kind="stable")

    def _headline(self, sign: str = "\u00b1", words: Callable[[int], str] | None = None) -> str:
        what = f"action {(words or self.in_words)(self.action)}: {self.reason.replace('_', ' ')}"
        if self.action != self.blueprint_action:
            error = "" if np.isnan(self.gain_stderr) else f" {sign} {self.gain_stderr:.3f}"
            what += f", gain {self.gain:+.3f}{error}"
        return f"{what}; {counted(self.rollouts, 'rollout')}, {counted(self.belief_size, 'world')}"


def words_of(game: Game, seat: int, actions: IntArray) -> tuple[str, ...] | None:
    """The ``words`` of a SearchResult whose ``actions`` are those of ``seat``; None where the game
    fails to say them, which is no reason to lose a decision."""
    try:
        words = [str(game.action_to_string(seat, int(action))) for action in actions]
    except Exception:
        return None
    return tuple(map(sys.intern, words))  # decisions that are kept share them


def require_result(search: object, given: object, legal: BoolArray) -> SearchResult:
    """``given`` as a result of ``search`` where ``legal`` [A] actions are True.

    Raises ContractError for what is no SearchResult, for moves that are not legal, and for figures
    that are not one a legal move.
    """
    name = search_repr(search)
    if not isinstance(given, SearchResult):
        raise ContractError(
            f"{name} must return a SearchResult, got {type(given).__name__}: "
            "SearchResult(action=..., blueprint_action=..., reason=..., ...) of "
            "hanabi_search_plugin.core says what it found"
        )
    allowed = np.flatnonzero(legal)
    for field in ("action", "blueprint_action"):
        action = getattr(given, field)
        if isinstance(action, bool) or not isinstance(action, int | np.integer):
            raise ContractError(
                f"{name} must return an integer as {field}, got {type(action).__name__}"
            )
        if action not in allowed:
            raise ContractError(
                f"{name} must return one of the legal actions {allowed.tolist()} as {field}, got "
                f"{action}"
            )
    if np.shape(given.actions) != allowed.shape or (np.asarray(given.actions) != allowed).any():
        raise ContractError(
            f"{name} must return the legal actions {allowed.tolist()} as actions, got "
            f"{np.asarray(given.actions).tolist()}"
        )
    for field in ("mean", "stderr", "count"):
        if (shape := np.shape(getattr(given, field))) != allowed.shape:
            raise ContractError(
                f"{name} must return one {field} for each of {len(allowed)} legal actions, got the "
                f"shape {shape}"
            )
    return given
