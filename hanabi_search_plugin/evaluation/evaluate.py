"""How good are these policies? Many games, and where somebody searches, the same decks without."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.game import Game, require_game
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.require import require_flag, require_integer
from hanabi_search_plugin.core.settings import named_arguments
from hanabi_search_plugin.evaluation.contents import recorded_contents
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation
from hanabi_search_plugin.evaluation.executor import Executor, require_executor
from hanabi_search_plugin.evaluation.game_table import GameTable
from hanabi_search_plugin.evaluation.interrupts import uninterrupted
from hanabi_search_plugin.evaluation.journal import Checkpoint
from hanabi_search_plugin.evaluation.match import (
    FailedGame,
    GameResult,
    Match,
    Side,
    read_result,
    searching_seats,
)
from hanabi_search_plugin.evaluation.progress import progress_bar
from hanabi_search_plugin.evaluation.provenance import critics, describe, peak_rss_mb
from hanabi_search_plugin.evaluation.seating import (
    seated_everywhere,
    warn_of_independent_searches,
    without_search,
)
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.jit import compile_seconds
from hanabi_search_plugin.registry import AnyBlueprint, blueprint_of

if TYPE_CHECKING:
    from rich.console import Console
else:
    Console = Any  # for typing.get_type_hints: rich is loaded when something is shown

_logger = logging.getLogger("hanabi_search_plugin")

_SHOWN: Mapping[Side, str] = {"baseline": "baseline games", "policies": "games"}


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
    of when the process was killed, it hears again. The file goes on with the game and the policies
    that it was begun with: with their settings, and of your own ones with their code, weights,
    arrays and attributes; a line is logged where an object does not tell what is in it. With
    ``keep_decisions`` the results that come back have the decisions of the searches, too
    (``evaluation.games[0].decisions``, some 1,500 bytes each), as those that ``on_game`` hears of
    have; a file holds none, neither of ``save`` nor of ``resume``. ``progress`` shows how far it
    is: the baseline's games first, which cost next to nothing, then the others; on a terminal and
    in a notebook as a bar (of the console given), else as a line on the standard error now and
    then.

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
    _require_callbacks(on_game, progress)
    played = blueprint_of(seated_everywhere(policies, game), game)
    searching = searching_seats(played)
    warn_of_independent_searches(played)
    for policy in played:
        if isinstance(policy, SearchAgent):
            policy.warn_again()
    reference = without_search(played) if searching else None
    if baseline is not None:
        reference = blueprint_of(seated_everywhere(baseline, game), game, what="baseline")
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
    if resume is not None:
        parameters |= recorded_contents(game, sides)
    with Checkpoint(resume, parameters) if resume is not None else nullcontext() as checkpoint:
        if checkpoint is not None:
            _restore(tables, checkpoint.lines, games, resume)

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


def _require_callbacks(on_game: object, progress: object) -> None:
    """Raises ConfigError for what cannot hear of games, or of how far they are."""
    if on_game is not None and not callable(on_game):
        raise ConfigError(f"on_game must be a function of a GameResult, got {on_game!r}")
    if not (isinstance(progress, bool) or hasattr(progress, "print")):
        raise ConfigError(f"progress must be True, False or a console of rich, got {progress!r}")


def _restore(
    tables: Mapping[Side, GameTable], lines: list[dict[str, Any]], games: int, path: Any
) -> None:
    """Put the finished games of a checkpoint into ``tables``; those from ``games`` on are left.

    Raises RecordError for what is no finished game.
    """
    for result in _finished(lines, path):
        if result.side in tables and result.game < games:
            try:
                tables[result.side].put(result)
            except OverflowError:
                raise RecordError(
                    f"{path}: expected numbers of a finished game, got larger ones in game "
                    f"{result.game}"
                ) from None


def _finished(lines: list[dict[str, Any]], path: Any) -> Iterator[GameResult]:
    """The games of a checkpoint."""
    for number, line in enumerate(lines, start=2):
        try:
            yield read_result(line)
        except ValueError as error:
            raise RecordError(f"{path}:{number}: expected a finished game: {error}") from None
