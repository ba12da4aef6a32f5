"""What an evaluation found: its games, their figures, and the file that keeps them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.equality import EqualByValue
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.figures import blank_figure
from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.core.html_tables import html_table
from hanabi_search_plugin.core.plain_json import parse_object, typed
from hanabi_search_plugin.core.require import require_path, require_writable
from hanabi_search_plugin.core.whole_files import read_whole
from hanabi_search_plugin.core.words import counted, with_error
from hanabi_search_plugin.evaluation.frame import frame_of
from hanabi_search_plugin.evaluation.game_table import GameTable, column
from hanabi_search_plugin.evaluation.journal import RESULTS
from hanabi_search_plugin.evaluation.match import FailedGame, GameResult, Side
from hanabi_search_plugin.evaluation.provenance import versions
from hanabi_search_plugin.evaluation.summary import (
    as_text,
    baseline_label,
    headings,
    notes,
    rows,
    title,
)

if TYPE_CHECKING:
    import pandas as pd

_COSTS = ("cpu_seconds", "rollouts", "likelihoods", "searched_moves", "changed_moves")
_OUTCOMES = ("lives_left", "moves")  # of a game, beside its number and score
_BELIEFS = ("fallback_moves", "recovered_moves")
_KEPT = (*_OUTCOMES, *_COSTS, *_BELIEFS, "depth")  # where somebody searches
_PARAMETERS = ("game", "policies", "baseline", "seed", "critics")


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation(EqualByValue):
    """Results of N games. With a baseline, only games that both sides have finished count.

    A mean of no games, a standard error of fewer than two, and whatever is compared with a baseline
    where there is none are None. ``print`` shows the table of ``hanabi-search evaluate``.

    Equal to another where ``parameters``, the numbers of the games and both sides' scores are:
    what it cost, the versions and ``threads`` are left out, so what was loaded equals what was
    saved.
    """

    names: tuple[str, ...]  #: of the policies, one a seat, or one where all seats play the same
    baseline_names: tuple[str, ...] = ()  #: alike, where ``baseline`` was given
    parameters: dict[str, Any]  #: what decides on the results: game, policies, seed and so on
    games: Sequence[GameResult]  #: N finished games, in the order of their numbers
    baseline: Sequence[GameResult] | None  #: the same games, in the same order
    best: float  #: the highest possible return
    return_of: int | None  #: the seat whose returns the scores are; None: all are paid the same
    unit: str  #: what returns are counted in, as the game says
    searched: bool  #: True if a seat searched
    threads: int  #: that played; figures of time depend on them
    requested: int  #: games asked for; more than len(games) where interrupted or skipped
    skipped: tuple[FailedGame, ...] = ()  #: what failed, with ``skip_failed``
    peak_rss_mb: float  #: of the process so far
    compile_seconds: float  #: CPU seconds the process has spent on compiling so far
    versions: Mapping[str, str] = field(default_factory=versions)  #: of what the results depend on

    @property
    def interrupted(self) -> bool:
        """True if games are missing that were asked for, and did not fail."""
        skipped = {number for one in self.skipped for number in one.games}
        return len(self.games) + len(skipped) < self.requested

    def whole(self) -> Evaluation:
        """This, where it was not interrupted. Raises KeyboardInterrupt where it was: work of which
        it is a part ends, too."""
        if self.interrupted:
            raise KeyboardInterrupt
        return self

    @property
    def scores(self) -> FloatArray:
        """[N] score points."""
        return np.array(column(self.games, "score"))

    @property
    def blueprint_scores(self) -> FloatArray:
        """[N] score points; empty without a baseline."""
        return np.array(column(self.baseline or (), "score"))

    @property
    def mean(self) -> float | None:
        """Score points a game."""
        return _mean(self.scores)

    @property
    def sem(self) -> float | None:
        """Standard error of ``mean``."""
        return standard_error(self.scores)

    @property
    def perfect(self) -> float | None:
        """Share of games with the highest possible score."""
        return _mean(self.scores == self.best)

    @property
    def blueprint_mean(self) -> float | None:
        """Score points a game of the baseline."""
        return _mean(self.blueprint_scores)

    @property
    def blueprint_sem(self) -> float | None:
        """Standard error of ``blueprint_mean``."""
        return standard_error(self.blueprint_scores)

    @property
    def gain(self) -> float | None:
        """Score points a game that the policies gain over the baseline on the same decks."""
        return _mean(self._differences)

    @property
    def gain_sem(self) -> float | None:
        """Standard error of ``gain``, by the differences of paired games."""
        return standard_error(self._differences)

    @property
    def _differences(self) -> FloatArray:
        """[N] score points over the baseline's; empty without one."""
        return self.scores - self.blueprint_scores if self.baseline is not None else np.zeros(0)

    def _compared(self) -> list[Any]:
        sides = (self.games, self.baseline)
        columns = [
            None if side is None else np.array(column(side, name))
            for side in sides
            for name in ("game", "score")
        ]
        return [self.parameters, *columns]

    def __str__(self) -> str:
        return as_text(self.to_dict(), self.names, self.baseline_names)

    def __repr__(self) -> str:
        games = counted(len(self.games), "game")
        mean = with_error(self.mean, self.sem)
        return f"<Evaluation of {', '.join(self.names)}: {games}, mean {mean}>"

    def _repr_html_(self) -> str:
        """For notebooks: the table of ``print``."""
        figures = self.to_dict()
        lines = rows(figures, self.baseline_names)
        return html_table(
            title(figures, self.names),
            headings(figures),
            [(line.title, *line.cells) for line in lines],
            strong=[number for number, line in enumerate(lines) if line.strong],
            notes=notes(figures),
        )

    def plot(self) -> Any:
        """A Matplotlib figure: how often each score was reached, beside the baseline's.

        Raises UnsupportedError without Matplotlib.
        """
        figure, axes = blank_figure("a plot of an evaluation", 7, 3.6)
        sides = {"with search" if self.searched else "policies": self.scores}
        if self.baseline is not None:
            sides = {baseline_label(self.baseline_names): self.blueprint_scores} | sides
        every = np.concatenate(list(sides.values()))
        integral = len(every) > 0 and bool((every == np.round(every)).all())
        edges = np.arange(every.min() - 0.5, every.max() + 1) if integral else 20
        shares = [np.full(len(scores), 1 / max(len(scores), 1)) for scores in sides.values()]
        axes.hist(list(sides.values()), bins=edges, weights=shares, label=list(sides))
        axes.set_xlabel("score")
        axes.set_ylabel("share of games")
        axes.set_title(title(self.to_dict(), self.names), fontsize=10, wrap=True)
        axes.grid(axis="y", alpha=0.3)
        axes.legend()
        return figure

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with a row a game: docs/how_to/results.md names its columns.

        Raises MissingExtraError without pandas.
        """
        return frame_of(
            self.games,
            self.baseline,
            seed=self.parameters["seed"],
            best=self.best,
            searched=self.searched,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, as docs/how_to/results.md says.

        A mean of nothing, or a standard error of one game, is None.
        """
        out: dict[str, Any] = {"format": RESULTS}
        out |= {"games": len(self.games), "requested_games": self.requested}
        if self.skipped:
            out["skipped"] = [
                {"side": one.side, "games": list(one.games), "error": str(one)}
                for one in self.skipped
            ]
        out["return_of"] = self.return_of
        if self.unit:
            out["unit"] = self.unit
        out |= _summary(self.games, self.best)
        if self.baseline is not None:
            reference = _summary(self.baseline, self.best)
            out |= {f"blueprint_{name}": value for name, value in reference.items()}
            out |= {"gain": self.gain, "gain_sem": self.gain_sem}
        if self.searched:
            for name in _COSTS:
                values = column(self.games, name)
                out[f"{name}_per_game"] = None if _lacks(values) else _mean(values)
            moves = int(np.sum(column(self.games, "moves")))
            searched = int(np.sum(column(self.games, "searched_moves")))
            out["searched_share"] = searched / moves if moves else None
            fallbacks = column(self.games, "fallback_moves")
            out["fallback_share"] = int(np.sum(fallbacks)) / searched if searched else None
            out["fallback_games"] = _mean(np.array(fallbacks) > 0)
            recoveries = np.array(column(self.games, "recovered_moves"))
            out["recovered_share"] = int(np.sum(recoveries)) / searched if searched else None
            out["recovered_games"] = _mean(recoveries > 0)
            out["depth"] = _mean(
                [depth for depth in column(self.games, "depth") if depth is not None]
            )
        out |= {"numbers": np.array(column(self.games, "game"), dtype=np.int64).tolist()}
        out |= {"scores": self.scores.tolist()}
        if self.baseline is not None:
            out["blueprint_scores"] = self.blueprint_scores.tolist()
        out["per_game"] = _columns(self.games, _KEPT if self.searched else _OUTCOMES)
        if self.baseline is not None:
            out["blueprint_per_game"] = _columns(self.baseline, _OUTCOMES)
        out |= {"names": list(self.names), "baseline_names": list(self.baseline_names)}
        out |= {"best": self.best, "searches": self.searched}
        out |= {"peak_rss_mb": self.peak_rss_mb, "compile_seconds": self.compile_seconds}
        return out | self.parameters | {"threads": self.threads, "versions": dict(self.versions)}

    def to_json(self) -> str:
        """``to_dict`` as text, as ``hanabi-search evaluate --json`` writes it."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Evaluation:
        """The evaluation that ``save`` or ``hanabi-search evaluate --json`` wrote.

        All is as it was but for the moves of its games, which the file does not hold: ``actions``
        are empty. Raises RecordError for a file that is none, or of a version before 0.2.0 (which
        ``compare`` reads), and OSError for one that cannot be read.
        """
        if isinstance(path, Mapping):
            raise ConfigError(
                "path must be that of a file, got a dict: json.dump writes one of what to_dict gave"
            )
        require_path("path", path)
        try:
            return _loaded(parse_object(read_whole(path)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
            raise RecordError(
                f"{path}: expected what Evaluation.save or evaluate --json wrote: {reason}"
            ) from None

    def save(self, path: str | Path) -> None:
        """Write ``to_json`` to a file, which ``Evaluation.load`` and ``compare`` read.

        Raises ConfigError for a path that cannot be written.
        """
        require_writable("path", path)
        with atomic_write(path) as file:
            file.write(self.to_json().encode())


def _columns(games: Sequence[GameResult], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: np.asarray(column(games, name)).tolist() for name in names}


def _loaded(content: Mapping[str, Any]) -> Evaluation:
    """From what ``to_dict`` gave. Raises ValueError or KeyError for other things."""
    if content.get("format") != RESULTS:
        raise ValueError(f"format is {content.get('format')!r}, this version reads {RESULTS!r}")
    numbers = typed("numbers", content["numbers"], tuple[int, ...])
    sides: dict[Side, GameTable] = {}
    prefixes: dict[Side, str] = {"policies": "", "baseline": "blueprint_"}
    for side, prefix in prefixes.items():
        if side == "policies" or "gain" in content:
            columns = {"score": content[f"{prefix}scores"], **content[f"{prefix}per_game"]}
            sides[side] = GameTable.of_columns(side, numbers, columns)
    seed = typed("seed", content["seed"], int)
    skipped = []
    for one in content.get("skipped", ()):
        failed = FailedGame(
            one["side"], typed("games", one["games"], tuple[int, ...]), seed, Exception()
        )
        kind, _, text = one["error"].removeprefix(f"{failed.where}: ").partition(": ")
        error = type(kind, (Exception,), {})(text)  # shown as it was
        skipped.append(dataclasses.replace(failed, error=error))
    return Evaluation(
        names=typed("names", content["names"], tuple[str, ...]),
        baseline_names=typed("baseline_names", content["baseline_names"], tuple[str, ...]),
        parameters={name: content[name] for name in _PARAMETERS},
        games=sides["policies"],
        baseline=sides.get("baseline"),
        best=typed("best", content["best"], float),
        return_of=typed("return_of", content["return_of"], int | None),
        unit=typed("unit", content.get("unit", ""), str),
        searched=typed("searches", content["searches"], bool),
        threads=typed("threads", content["threads"], int),
        requested=typed("requested_games", content["requested_games"], int),
        skipped=tuple(skipped),
        peak_rss_mb=typed("peak_rss_mb", content["peak_rss_mb"], float),
        compile_seconds=typed("compile_seconds", content["compile_seconds"], float),
        versions=typed("versions", content["versions"], dict),
    )


def _summary(games: Sequence[GameResult], best: float) -> dict[str, Any]:
    scores = np.array(column(games, "score"))
    bombed = [lives == 0 for lives in column(games, "lives_left") if lives is not None]
    return {
        "mean": _mean(scores),
        "sem": standard_error(scores),
        "perfect": _mean(scores == best),
        "bombs": _mean(np.array(bombed)),
    }


def _lacks(values: NDArray[Any] | list[Any]) -> bool:
    """Is a value missing?"""
    return isinstance(values, list) and None in values


def _mean(values: Any) -> float | None:
    return float(np.mean(values)) if len(values) else None


def standard_error(values: Any) -> float | None:
    """Of the mean of some numbers; None for fewer than two."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
