"""Compare result files: game by game where they were played on the same decks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import ConfigError, RecordError, UnsupportedError
from hanabi_search_plugin.core.html_tables import html_table
from hanabi_search_plugin.core.plain_json import parse_json, typed
from hanabi_search_plugin.core.text_tables import text_table
from hanabi_search_plugin.core.whole_files import read_whole
from hanabi_search_plugin.core.words import an, counted, with_error
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation, standard_error
from hanabi_search_plugin.evaluation.journal import FORMAT, RESULTS, difference
from hanabi_search_plugin.evaluation.match import read_result

FREE = ("bomb", "observation_type")
"""Settings of Hanabi that have no say in what is dealt."""

HEADINGS = ("", "games", "mean", "difference", "pairs", "better", "worse")
"""Of a table of line-ups beside each other."""

_KINDS: dict[str, Any] = {
    "label": str,
    "games": int,
    "mean": float | None,
    "sem": float | None,
    "seed": int | None,
    "game": dict | None,
    "scores": dict | None,
}

_EXPECTED = "expected results of `evaluate --json`, of `reproduce`, or games that --resume has kept"


@dataclass(frozen=True, kw_only=True, repr=False)
class ResultGames:
    """Games of one line-up in a result file. Raises ValueError for values of other types."""

    path: str  #: of the file; the names of the policies where there is none
    label: str  #: of a row or curve of ``reproduce``; else ""
    games: int  #: that are finished
    mean: float | None  #: score points a game; None: no games, or not in the file
    sem: float | None  #: standard error of the mean
    seed: int | None = None  #: None: not in the file
    game: Mapping[str, Any] | None = None  #: its settings
    scores: Mapping[int, float] | None = None  #: by the number of a game; None: not in the file

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            typed(name, getattr(self, name), kind)
        for number, score in (self.scores or {}).items():
            typed("the number of a game", number, int)
            typed("the score of a game", score, float)

    @property
    def name(self) -> str:
        """The path, and the label where there is one."""
        return f"{self.path}: {self.label}" if self.label else self.path

    @property
    def row(self) -> tuple[str, ...]:
        """Name, games and mean, for a table under ``HEADINGS``."""
        return (self.name, f"{self.games:,}", with_error(self.mean, self.sem))

    def __repr__(self) -> str:
        mean = with_error(self.mean, self.sem)
        return f"<{self.name}: {counted(self.games, 'game')}, mean {mean}>"


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """How much more ``other`` scores than ``base``; ``print`` shows it as a table."""

    base: ResultGames  #: what it is compared with
    other: ResultGames  #: what is compared
    difference: float | None  #: score points a game
    sem: float | None  #: standard error of the difference; of paired games where there are pairs
    pairs: int  #: games on the same deck, which the difference is of; 0: it is of all, unpaired
    better: float | None  #: share of the pairs in which ``other`` scores more; None: no pairs
    worse: float | None  #: share in which it scores less; None: no pairs
    unpaired_because: str | None  #: None: the games are paired
    note: str | None = None  #: what else tells the two apart

    @property
    def row(self) -> tuple[str, ...]:
        """``other`` beside ``base``, for a table under ``HEADINGS``."""
        difference = with_error(self.difference, self.sem, "+")
        pairs = f"{self.pairs:,}" if self.pairs else "none"
        return (*self.other.row, difference, pairs, _share(self.better), _share(self.worse))

    @property
    def notes(self) -> list[str]:
        """Sentences: why the games are not paired, and what else tells the two apart."""
        why, note = self.unpaired_because, self.note
        notes = [] if why is None else [f"{self.other.path} is not paired: {why}"]
        return notes if note is None else [*notes, f"the scores may count differently: {note}"]

    def __str__(self) -> str:
        return "\n".join([*text_table((HEADINGS, self.base.row, self.row)), *self.notes])

    def _repr_html_(self) -> str:
        """For notebooks: the table of ``print``."""
        rows = (self.base.row, self.row)
        title = f"{self.other.name} less {self.base.name}"
        return html_table(title, HEADINGS, rows, notes=self.notes)

    def __repr__(self) -> str:
        difference = with_error(self.difference, self.sem, "+")
        games = counted(self.pairs, "pair") if self.pairs else "games that are not paired"
        return f"<Comparison: {self.other.name} less {self.base.name} {difference} in {games}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, without the games' own scores."""
        sides = {}
        for side in ("base", "other"):
            games: ResultGames = getattr(self, side)
            fields = ("path", "label", "games", "mean", "sem", "seed")
            sides[side] = {name: getattr(games, name) for name in fields}
        figures = {k: v for k, v in asdict(self).items() if k not in sides}
        return sides | figures


def read_results(path: str | Path) -> list[ResultGames]:
    """The line-ups of a result file, those of ``reproduce`` by their labels.

    Raises RecordError for a file that is none, OSError for one that cannot be read.
    """
    name, content = str(path), read_whole(path)
    try:
        first = parse_json(content.partition(b"\n")[0])
    except ValueError:
        first = None  # JSON of several lines

    def read() -> list[ResultGames]:
        if isinstance(first, dict) and first.get("format") == FORMAT:
            lines = content[: content.rfind(b"\n")].splitlines()[1:]  # whole ones
            return [_journal(name, first["parameters"], [parse_json(line) for line in lines])]
        results = parse_json(content)
        if not isinstance(results, dict):
            raise ValueError(f"it holds {an(type(results).__name__)}")
        if results.get("command") == "reproduce":
            return _reproduced(name, results)
        return [_evaluated(name, results)]

    return _understood(name, read)


def _understood(name: str, read: Callable[[], list[ResultGames]]) -> list[ResultGames]:
    """What ``read`` gives. Raises RecordError where it is no result."""
    try:
        return read()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
        raise RecordError(f"{name}: {_EXPECTED}: {reason}") from None


Comparable = Evaluation | Mapping[str, Any] | ResultGames | str | Path
"""What ``evaluate`` gave, its ``to_dict()``, a result file with one line-up, or a line-up of
``read_results``."""


def compare(base: Comparable, other: Comparable) -> Comparison:
    """``other`` beside ``base``: by the games that both have, if they are of the same decks.

    Each is what ``evaluate`` gave, a result file or a journal of ``resume``, or a line-up of
    ``read_results``. The difference is ``other`` less ``base``, in score points a game, with the
    standard error of paired games; without common decks of all games, unpaired. No randomness.
    Raises UnsupportedError for what is none of these, RecordError and OSError as ``read_results``,
    and ConfigError for a file of several line-ups, or what is surely no file.
    """
    base, other = _games_of(base), _games_of(other)
    if base.name == other.name:
        base, other = (
            replace(base, path=f"{base.path} (1)"),
            replace(other, path=f"{other.path} (2)"),
        )
    why, note = _apart(base, other)
    common = sorted((base.scores or {}).keys() & (other.scores or {}).keys()) if not why else []
    if not (why or common):
        why = "no game has the same number"
    if why:
        known = base.mean is not None and other.mean is not None
        errors = None not in (base.sem, other.sem)
        return Comparison(
            base=base,
            other=other,
            difference=other.mean - base.mean if known else None,  # type: ignore[operator]
            sem=math.hypot(base.sem, other.sem) if errors else None,  # type: ignore[arg-type]
            pairs=0,
            better=None,
            worse=None,
            unpaired_because=why,
            note=note,
        )
    assert base.scores is not None and other.scores is not None
    more = np.array([other.scores[i] - base.scores[i] for i in common])
    return Comparison(
        base=base,
        other=other,
        difference=float(more.mean()),
        sem=standard_error(more),
        pairs=len(common),
        better=float((more > 0).mean()),
        worse=float((more < 0).mean()),
        unpaired_because=None,
        note=note,
    )


def _apart(base: ResultGames, other: ResultGames) -> tuple[str | None, str | None]:
    """Why their games cannot be paired, and what else tells them apart."""
    for side in (base, other):
        if side.scores is None:
            return f"{side.path} does not have the scores of numbered games", None
    if base.seed != other.seed:
        return f"seed is {base.seed} in {base.path}, {other.seed} in {other.path}", None
    there, here = dict(base.game or {}), dict(other.game or {})
    notes = []
    for name in FREE:
        if there.get(name) != here.get(name):
            notes.append(
                f"{name} is {there.get(name)} in {base.path}, {here.get(name)} in {other.path}"
            )
        there.pop(name, None), here.pop(name, None)
    note = "; ".join(notes) or None
    found = difference(there, here)
    if found is not None:
        name, first, second = found
        return f"{name} of the game is {first} in {base.path}, {second} in {other.path}", note
    return None, note


def _journal(path: str, parameters: dict[str, Any], lines: list[dict[str, Any]]) -> ResultGames:
    results = [read_result(line) for line in lines]
    scores = {one.game: float(one.score) for one in results if one.side == "policies"}
    values = np.array([*scores.values()])
    return ResultGames(
        path=path,
        label="",
        games=len(scores),
        mean=float(values.mean()) if scores else None,
        sem=standard_error(values),
        seed=parameters["seed"],
        game=parameters["game"],
        scores=scores,
    )


def _games_of(given: Comparable) -> ResultGames:
    if isinstance(given, ResultGames):
        return given
    if isinstance(given, Evaluation):
        return _evaluated(", ".join(given.names), given.to_dict())
    if isinstance(given, Mapping):
        names = given.get("names")
        name = ", ".join(map(str, names)) if isinstance(names, list) else "a dict"
        return _understood(name, lambda: [_evaluated(name, dict(given))])[0]
    if not isinstance(given, str | Path):
        raise UnsupportedError(
            "expected a result of evaluate, its to_dict(), or a file of one, got "
            f"{an(type(given).__name__)}"
        )
    if not Path(given).suffix and not Path(given).exists():
        raise ConfigError(
            f"compare takes results of evaluate, or files of them, and there is no file {given}: "
            "compare(evaluate(game, first, games=100), evaluate(game, second, games=100))"
        )
    found = read_results(given)
    if len(found) != 1:
        raise ConfigError(
            f"{given}: expected one line-up, got {len(found)}: read_results gives each"
        )
    return found[0]


def _evaluated(path: str, results: dict[str, Any]) -> ResultGames:
    """Before their form was versioned, results had no numbers: all games, unless interrupted."""
    form = results.get("format", RESULTS)
    if form != RESULTS:
        raise ValueError(f"format is {form!r}, this version reads {RESULTS!r}")
    complete = results["games"] == results["requested_games"]
    played = typed("games", results["games"], int)
    if len(results["scores"]) != played:
        raise ValueError(
            f"{counted(played, 'game')} must have as many scores, got {len(results['scores'])}"
        )
    numbers = results.get("numbers", range(played) if complete else None)
    scores = None if numbers is None else dict(zip(numbers, results["scores"], strict=True))
    return ResultGames(
        path=path,
        label="",
        games=results["games"],
        mean=results["mean"],
        sem=results["sem"],
        seed=results["seed"],
        game=results["game"],
        scores=scores,
    )


def _reproduced(path: str, results: dict[str, Any]) -> list[ResultGames]:
    found = [(row["label"], row["measured"]) for row in results.get("rows", ())]
    for curve in results.get("curves", ()):
        found += [(f"{curve['label']}, {one.get('run', one['x'])}", one) for one in curve["points"]]
    return [
        ResultGames(
            path=path,
            label=label,
            games=figures["games"],
            mean=figures["mean"],
            sem=figures["sem"],
            seed=results["seed"],
        )
        for label, figures in found
        if figures
    ]


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
