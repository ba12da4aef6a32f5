"""How good are these policies? Many games, and where somebody searches, the same decks without."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.belief_agent import BeliefAgent
from hanabi_search_plugin.core.agent import CutsRollouts, SearchAgent, require_same_game
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.figures import blank_figure
from hanabi_search_plugin.core.game import FloatArray, Game, require_game
from hanabi_search_plugin.core.html_tables import html_table
from hanabi_search_plugin.core.plain_json import parse_object, typed
from hanabi_search_plugin.core.policy import Blueprint, Value
from hanabi_search_plugin.core.require import (
    require_flag,
    require_integer,
    require_path,
    require_writable,
)
from hanabi_search_plugin.core.settings import named_arguments
from hanabi_search_plugin.core.whole_files import read_whole
from hanabi_search_plugin.core.words import counted, with_error
from hanabi_search_plugin.evaluation.executor import Executor, require_executor
from hanabi_search_plugin.evaluation.frame import frame_of
from hanabi_search_plugin.evaluation.game_table import GameTable, column
from hanabi_search_plugin.evaluation.interrupts import uninterrupted
from hanabi_search_plugin.evaluation.journal import RESULTS, Checkpoint
from hanabi_search_plugin.evaluation.match import (
    FailedGame,
    GameResult,
    Match,
    Side,
    read_result,
    searching_seats,
)
from hanabi_search_plugin.evaluation.progress import progress_bar
from hanabi_search_plugin.evaluation.provenance import describe, peak_rss_mb, versions
from hanabi_search_plugin.evaluation.summary import as_text, baseline_label, headings, rows, title
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.jit import compile_seconds
from hanabi_search_plugin.registry import AnyBlueprint, blueprint_of

if TYPE_CHECKING:
    from rich.console import Console
else:
    Console = Any  # for typing.get_type_hints: rich is loaded when something is shown

_logger = logging.getLogger("hanabi_search_plugin")


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Results of N games. With a baseline, only games that both sides have finished count.

    A mean of no games, a standard error of fewer than two, and whatever is compared with a baseline
    where there is none are None. ``print`` shows the table of ``hanabi-search evaluate``.
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
        return _sem(self.scores)

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
        return _sem(self.blueprint_scores)

    @property
    def gain(self) -> float | None:
        """Score points a game that the policies gain over the baseline on the same decks."""
        return _mean(self._differences)

    @property
    def gain_sem(self) -> float | None:
        """Standard error of ``gain``, by the differences of paired games."""
        return _sem(self._differences)

    @property
    def _differences(self) -> FloatArray:
        """[N] score points over the baseline's; empty without one."""
        return self.scores - self.blueprint_scores if self.baseline is not None else np.zeros(0)

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
        whole = len(every) > 0 and bool((every == np.round(every)).all())
        edges = np.arange(every.min() - 0.5, every.max() + 1) if whole else 20
        shares = [np.full(len(scores), 1 / max(len(scores), 1)) for scores in sides.values()]
        axes.hist(list(sides.values()), bins=edges, weights=shares, label=list(sides))
        axes.set_xlabel("score")
        axes.set_ylabel("share of games")
        axes.set_title(title(self.to_dict(), self.names), fontsize=10, wrap=True)
        axes.grid(axis="y", alpha=0.3)
        axes.legend()
        return figure

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row a game: docs/how_to/results.md names its columns.

        Raises UnsupportedError without pandas.
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


@named_arguments()
def evaluate(
    game: Game,
    policies: AnyBlueprint,
    *,
    games: int,
    seed: int = 0,
    baseline: AnyBlueprint | None = None,
    threads: int = 1,
    executor: Executor | None = None,
    on_game: Callable[[GameResult], None] | None = None,
    resume: str | Path | None = None,
    skip_failed: bool = False,
    keep_decisions: bool = False,
    progress: bool | Console = False,
) -> Evaluation:
    """Play ``games`` games of ``policies`` (one, or one a seat; names, too) and report on them.

    One search agent that is given for all seats stands for ``agent.for_all_seats()``, and a line is
    logged where that is another; agents in a tuple, one a seat, are taken as they are.

    The score of a game is the return of the first searching seat (of seat 0 where nobody searches);
    in a game of identical rewards, everybody's. ``baseline`` plays the same decks; a policy that
    draws its moves draws others beside a search. Where it is None and a seat searches, it is the
    policies with each search agent replaced by its blueprint. ``on_game`` hears of every game as it
    finishes, in order of number, the baseline's first. ``resume`` names a checkpoint file: games in
    it are not played again, and ``on_game`` has heard of each of them; of one that was being heard
    of when the process was killed, it hears again. With ``keep_decisions`` the results that come
    back have the decisions of the searches, too (``evaluation.games[0].decisions``, some 1,500
    bytes each), as those that ``on_game`` hears of have; a file holds none, neither of ``save`` nor
    of ``resume``. ``progress`` shows how far it is: the baseline's
    games first, which cost next to nothing, then the others; on a terminal and in a notebook as a
    bar (of the console given), else as a line on the standard error now and then.

    Searched games are played one at a time on each of ``threads`` threads. Their CPU seconds are
    those of that thread without compilation, so a search should not use threads of its own here.
    ``executor`` plays in place of the threads: ``Processes(4)``, or ``Ray(...)`` for a cluster
    (docs/how_to/scale.md), with the same results. It is not closed. On a KeyboardInterrupt the
    games finished so far are returned (``Evaluation.interrupted``). A game that fails stops the
    evaluation, with its error, of which a note names the game and the seed; what is finished by
    then is in ``resume``. With ``skip_failed`` the others are played, and ``Evaluation.skipped``
    lists it.

    Raises ConfigError for bad arguments and for a checkpoint of other parameters, UnsupportedError
    for what is no Game, no Policy or a wrong number of them, ContractError for a game that lacks a
    setting and a policy that does not act in integers.
    """
    require_game(game, policies, call="evaluate(game, policies, games=100)")
    games = require_integer("games", games, 1)
    executor = Threads(threads) if executor is None else require_executor(executor)
    require_flag("skip_failed", skip_failed)
    require_flag("keep_decisions", keep_decisions)
    if keep_decisions and resume is not None:
        raise ConfigError(
            f"keep_decisions must be False with resume, whose file holds none, got True and "
            f"{resume!r}"
        )
    seed = require_integer("seed", seed, 0)
    _require_hearers(on_game, progress)
    played = blueprint_of(seated_everywhere(policies, game), game)
    searching = searching_seats(played)
    warn_of_independent_searches(played)
    reference: Blueprint | None
    if baseline is not None:
        reference = blueprint_of(seated_everywhere(baseline, game), game, what="baseline")
    else:
        reference = without_search(played) if searching else None
    seat = searching[0] if searching else 0
    parameters = {
        "game": describe(game),
        "policies": describe(played),
        "baseline": describe(reference),
        "seed": seed,
        "critics": critics(played),
    }
    sides: dict[Side, Blueprint] = {} if reference is None else {"baseline": reference}
    sides["policies"] = played
    tables = {
        side: GameTable(side, games, game.num_actions, decisions=keep_decisions) for side in sides
    }
    skipped: list[FailedGame] = []
    with Checkpoint(resume, parameters) if resume is not None else nullcontext() as checkpoint:
        if checkpoint is not None:
            for result in _finished(checkpoint.lines, resume):
                if result.side in tables and result.game < games:
                    try:
                        tables[result.side].put(result)
                    except OverflowError:
                        raise RecordError(
                            f"{resume}: expected numbers of a finished game, got larger ones in "
                            f"game {result.game}"
                        ) from None

        def keep(result: GameResult) -> None:
            tables[result.side].put(result)
            with uninterrupted():
                if on_game is not None:
                    on_game(result)
                if checkpoint is not None:  # last: what it holds is not played again
                    fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
                    del fields["decisions"], fields["moves"]
                    checkpoint.append(fields)

        try:
            waiting = np.flatnonzero(~tables["policies"].known)
            if searching and len(waiting) and not skip_failed:  # what is refused is so at once
                Match(game, played, "policies", seat, seed).start_searches(int(waiting[0]))
            for side, blueprint in sides.items():
                todo = np.flatnonzero(~tables[side].known)
                match = Match(game, blueprint, side, seat, seed)
                before = games - len(todo)
                with progress_bar(
                    _SHOWN[side], games, done=before, console=progress, status=executor.status
                ) as show:
                    match.play(
                        todo,
                        executor,
                        _counting(keep, show, before),
                        decisions=on_game is not None or keep_decisions,
                        skip=skipped.append if skip_failed else None,
                    )
        except KeyboardInterrupt:
            _logger.warning("interrupted: the games finished so far are kept")
    done = np.flatnonzero(np.all([table.known for table in tables.values()], axis=0))
    return Evaluation(
        names=_names(played),
        baseline_names=_names(reference) if baseline is not None and reference else (),
        parameters=parameters,
        games=tables["policies"].select(done),
        baseline=tables["baseline"].select(done) if reference is not None else None,
        best=game.return_range[1],
        return_of=None if game.rewards == "identical" else seat,
        unit=game.unit,
        searched=bool(searching),
        threads=executor.workers,
        requested=games,
        skipped=tuple(skipped),
        peak_rss_mb=peak_rss_mb(),
        compile_seconds=compile_seconds() + executor.compile_seconds,
    )


def _names(policies: Blueprint) -> tuple[str, ...]:
    same = all(policy is policies[0] for policy in policies)
    return tuple(map(repr, policies[:1] if same else policies))


def _counting(
    keep: Callable[[GameResult], None], show: Callable[[int], None], done: int
) -> Callable[[GameResult], None]:
    """``keep``, which also shows how many results there are with those ``done`` before."""

    def keep_and_show(result: GameResult) -> None:
        nonlocal done
        keep(result)
        done += 1
        show(done)

    return keep_and_show


_SHOWN: Mapping[Side, str] = {"baseline": "baseline games", "policies": "games"}

_COSTS = ("cpu_seconds", "rollouts", "likelihoods", "searched_moves", "changed_moves")
_OUTCOMES = ("lives_left", "moves")  # of a game, beside its number and score
_KEPT = (*_OUTCOMES, *_COSTS, "fallback_moves", "depth")  # where somebody searches
_PARAMETERS = ("game", "policies", "baseline", "seed", "critics")

MANY_SEARCHERS = (
    "seats %s search independently: each one's belief assumes that the others play the blueprint, "
    "which a searching partner breaks, and such teams can score below the blueprint (SPARTA, "
    "Table 4); agent.for_all_seats(), --search-seats all, gives what is sound"
)


NOT_ALL_JOINT = (
    "%r takes all seats to search jointly, and sits at %d of %d: seat it everywhere, as "
    "evaluate(game, agent) does, or let one seat search alone, by upgrade(policy, game, Sparta())"
)


def _require_hearers(on_game: object, progress: object) -> None:
    """Raises ConfigError for what cannot hear of games, or of how far they are."""
    if on_game is not None and not callable(on_game):
        raise ConfigError(f"on_game must be a function of a GameResult, got {on_game!r}")
    if not (isinstance(progress, bool) or hasattr(progress, "print")):
        raise ConfigError(f"progress must be True, False or a console of rich, got {progress!r}")


def seated_everywhere(policies: AnyBlueprint, game: Game) -> AnyBlueprint:
    """``policies``; for one search agent at all seats the one to seat there, which is logged.

    Raises ConfigError where that agent can sit at one seat alone, UnsupportedError for one of
    another game.
    """
    if not isinstance(policies, SearchAgent):
        return policies
    require_same_game((policies,), game)
    seated = policies.for_all_seats()
    if seated is not policies:
        say_seated(policies, seated)
    return seated


def say_seated(given: SearchAgent, seated: SearchAgent) -> None:
    """Log what plays every seat in place of the agent that was given for all."""
    _logger.warning(
        "all seats search: %r plays them, since %r takes the others to play the blueprint%s",
        seated,
        given,
        ""
        if seated.searches_jointly
        else "; searching independently, they doubt each other and ask for more gain where no "
        "threshold was set (uncertainty, threshold: SPARTA, Table 4)",
    )


def warn_of_independent_searches(policies: Blueprint) -> None:
    """Log a warning where several seats search and take the others to play the blueprint, and
    where an agent that takes all seats to search jointly has not all of them."""
    alone = [
        p
        for p, policy in enumerate(policies)
        if isinstance(policy, SearchAgent) and policy.assumes_blueprint
    ]
    if len(alone) > 1:
        _logger.warning(MANY_SEARCHERS, ", ".join(map(str, alone)))
    joint = [policy for policy in policies if getattr(policy, "searches_jointly", False)]
    if 0 < len(joint) < len(policies):
        _logger.warning(NOT_ALL_JOINT, joint[0], len(joint), len(policies))


def without_search(policies: Blueprint) -> Blueprint:
    """The policies with each search agent replaced by its blueprint at that seat."""
    return tuple(
        policy.blueprint[p] if isinstance(policy, SearchAgent) else policy
        for p, policy in enumerate(policies)
    )


def critics(policies: Blueprint) -> list[str] | None:
    """What tells the critics that stand for the rest of shortened rollouts; None: there are none.

    They are no part of what the policies play, so games that never ask them do without.
    """
    cut = [
        agent.blueprint
        for agent in policies
        if isinstance(agent, BeliefAgent)
        and isinstance(agent.search, CutsRollouts)
        and agent.search.depth is not None
    ]
    asked = [each.critic_id for blueprint in cut for each in blueprint if isinstance(each, Value)]
    return asked if any(asked) else None


# ------------------------------------------------------------------------------------ reporting


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


def _finished(lines: list[dict[str, Any]], path: Any) -> Iterator[GameResult]:
    """The games of a checkpoint."""
    for number, line in enumerate(lines, start=2):
        try:
            yield read_result(line)
        except ValueError as error:
            raise RecordError(f"{path}:{number}: expected a finished game: {error}") from None


def _summary(games: Sequence[GameResult], best: float) -> dict[str, Any]:
    scores = np.array(column(games, "score"))
    bombed = [lives == 0 for lives in column(games, "lives_left") if lives is not None]
    return {
        "mean": _mean(scores),
        "sem": _sem(scores),
        "perfect": _mean(scores == best),
        "bombs": _mean(np.array(bombed)),
    }


def _lacks(values: NDArray[Any] | list[Any]) -> bool:
    """Is a value missing?"""
    return isinstance(values, list) and None in values


def _mean(values: Any) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _sem(values: FloatArray) -> float | None:
    """Standard error of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
