"""Many games of one line-up, on decks that a seed and a number decide.

Game i of a seed is the same whatever the number of games, threads or their order: decks and the
policies' streams are made in blocks of ``BLOCK`` games, a search's by game and turn.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.error_places import note_place, noting_place, with_notes
from hanabi_search_plugin.core.errors import WorkerLostError
from hanabi_search_plugin.core.game import PAD, Game, IntArray, Worlds
from hanabi_search_plugin.core.html_tables import html_table
from hanabi_search_plugin.core.plain_json import from_fields
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.chunk_worker import RemoteTraceback, portable
from hanabi_search_plugin.evaluation.executor import Executor, Outcome, Place
from hanabi_search_plugin.evaluation.playing import play_game, self_play
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.evaluation.seat import SeatedPolicy
from hanabi_search_plugin.jit import compile_seconds

BLOCK = 256  # games dealt together, and played together where nobody searches
DECKS, POLICIES, SEARCHES = 1, 2, 3  # what a SeedSequence([seed, use, ...]) is for


Side = Literal["policies", "baseline"]
Numbers = Sequence[int] | IntArray  # of games, in ascending order
Decisions = tuple[tuple[int, int, SearchResult], ...]  # turn, seat, result


@dataclass(frozen=True, kw_only=True, repr=False)
class GameResult:
    """One finished game."""

    side: Side  #: who played: the policies, or the baseline
    game: int  #: its number, from which with the seed its deck follows
    score: float  #: the return of the evaluation's seat
    lives_left: int | None  #: None: a game without
    actions: tuple[int, ...]  #: [T] ids of the moves, in turn
    cpu_seconds: float = 0.0  #: of the thread that played it, where somebody searched
    rollouts: int = 0  #: of all searches in the game
    likelihoods: int | None = 0  #: policy evaluations the beliefs took; None: not counted
    searched_moves: int = 0  #: decisions of a search; not those it was not allowed
    changed_moves: int = 0  #: decisions in which a search left the blueprint
    fallback_moves: int = 0  #: decisions in which a search had too few worlds to search in
    recovered_moves: int = 0  #: decisions after a partner made a move that the belief rules out
    depth: float | None = None  #: of the trees it was decided by, the mean; None: no trees
    #: of the searches: turn, seat, result. Empty where ``evaluate`` was to keep none
    decisions: Decisions = ()
    moves: int = -1  #: how many: those of ``actions``, which a loaded result has none of

    def __post_init__(self) -> None:
        if self.moves < 0:
            object.__setattr__(self, "moves", len(self.actions))

    def __str__(self) -> str:
        lives = "" if self.lives_left is None else f", {counted(self.lives_left, 'life', 'lives')}"
        line = f"game {self.game}: score {self.score:g}{lives}, {counted(self.moves, 'move')}"
        if self.searched_moves:
            line += f", {self.changed_moves} of {self.searched_moves} searched moves changed"
        return line

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        """For notebooks: how it ended, and the searched decisions where they are kept."""
        rows = [
            (
                str(turn),
                str(seat),
                result.in_words(result.action),
                result.in_words(result.blueprint_action),
                f"{result.gain:+.3f} \u00b1 {result.gain_stderr:.3f}",
                result.reason,
            )
            for turn, seat, result in self.decisions
        ]
        changed = [
            number
            for number, (_, _, result) in enumerate(self.decisions)
            if result.action != result.blueprint_action
        ]
        headings = ("turn", "seat", "action", "blueprint", "gain", "") if rows else ()
        return html_table(str(self), headings, rows, strong=changed)


def read_result(line: Any) -> GameResult:
    """A finished game from its line of JSON. Raises ValueError for what is none."""
    result = from_fields(GameResult, line)
    searched = result.searched_moves, result.changed_moves
    counts = (result.rollouts, *searched, result.fallback_moves, result.recovered_moves)
    if min(result.game, result.cpu_seconds, *result.actions, *counts) < 0:
        raise ValueError("its numbers must be at least 0")
    return result


def searching_seats(policies: Blueprint) -> list[int]:
    return [p for p, policy in enumerate(policies) if isinstance(policy, SearchAgent)]


def finished_game(
    worlds: Worlds,
    side: Side,
    index: int,
    seat: int,
    actions: list[int],
    decisions: list[tuple[int, int, SearchResult]],
    cpu_seconds: float = 0.0,
) -> GameResult:
    """The result of a game that stands as ``worlds`` (a batch of one); score of ``seat``."""
    results = [result for _, _, result in decisions]
    depths = [result.depth for result in results if result.depth is not None]
    by_seat = {number: result.likelihoods for _, number, result in decisions}  # so far: the last
    return GameResult(
        side=side,
        game=index,
        score=float(worlds.returns[0, seat]),
        lives_left=_lives_left(worlds.game.outcome(worlds), 0),
        actions=tuple(actions),
        cpu_seconds=max(cpu_seconds, 0.0),
        rollouts=sum(r.rollouts for r in results),
        likelihoods=None if None in by_seat.values() else sum(filter(None, by_seat.values())),
        searched_moves=sum(r.reason != "search_not_allowed" for r in results),
        changed_moves=sum(r.action != r.blueprint_action for r in results),
        fallback_moves=sum(r.reason == "belief_too_small" for r in results),
        recovered_moves=sum(r.recovered for r in results),
        depth=float(np.mean(depths)) if depths else None,
        decisions=tuple(decisions),
    )


def _lives_left(outcome: Mapping[str, IntArray], row: int) -> int | None:
    """Of one game, where the game counts them."""
    lives = outcome.get("lives_left")
    return None if lives is None else int(lives[row])


def deal_games(game: Game, seed: int, games: IntArray) -> tuple[Worlds, Streams]:
    """Games [N] of one block at their first decisions, and a stream for each one's policies."""
    block, rows = int(games[0]) // BLOCK, games % BLOCK
    decks, policies = (np.random.default_rng([seed, use, block]) for use in (DECKS, POLICIES))
    return game.deal_some(decks, BLOCK, rows), Streams.spawn(policies, BLOCK).select(rows)


def deal_game(game: Game, seed: int, index: int) -> tuple[Worlds, Streams]:
    """Game ``index`` of a seed (a batch of one) and its policies' stream."""
    return deal_games(game, seed, np.array([index]))


@dataclass(frozen=True, repr=False)
class FailedGame:
    """Games that brought an error in place of a result: one, or all that went with a worker."""

    side: Side  #: who played: the policies, or the baseline
    games: tuple[int, ...]  #: their numbers
    seed: int  #: of the evaluation
    error: BaseException  #: what was raised
    told: str = ""  #: where it was raised in another process

    @property
    def where(self) -> str:
        """ "game 3 of seed 7", with the side that is not the policies'."""
        first, last = self.games[0], self.games[-1]
        named = f"game {first}" if first == last else f"games {first} to {last}"
        return f"{named} of seed {self.seed}" + (", baseline" if self.side == "baseline" else "")

    def __str__(self) -> str:
        message = f"{self.where}: {type(self.error).__name__}: {self.error}"
        return with_notes(message, self.error)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __reduce__(self) -> Any:
        trace = self.told or "".join(traceback.format_exception(self.error))
        return FailedGame, (self.side, self.games, self.seed, portable(self.error), trace)


@dataclass(frozen=True)
class Match:
    """One side of an evaluation."""

    game: Game
    policies: Blueprint
    side: Side
    seat: int
    seed: int

    def play(
        self,
        todo: Numbers,
        executor: Executor,
        keep: Callable[[GameResult], None],
        *,
        decisions: bool = True,
        skip: Callable[[FailedGame], None] | None = None,
    ) -> None:
        """See ``play_matches``, of which this is the case of one match."""
        play_matches((self,), todo, executor, keep, decisions=decisions, skip=skip)

    def batch(self, games: IntArray) -> list[GameResult]:
        """Games [N] of one block in lockstep."""
        worlds, streams = deal_games(self.game, self.seed, games)
        played = self_play(worlds, self.policies, streams)
        return [
            GameResult(
                side=self.side,
                game=int(i),
                score=float(played.returns[row, self.seat]),
                lives_left=_lives_left(played.outcome, row),
                actions=tuple(a for a in played.actions[row].tolist() if a != PAD),
            )
            for row, i in enumerate(games)
        ]

    def single(self, index: int, place: Place) -> GameResult:
        """One searched game. Raises InterruptedError where nobody waits for it any more."""
        began, compiled = time.thread_time(), compile_seconds()
        worlds, stream = deal_game(self.game, self.seed, index)
        actions: list[int] = []
        decisions: list[tuple[int, int, SearchResult]] = []
        for turn in play_game(worlds, self.policies, stream, (self.seed, SEARCHES, index)):
            if place.stopped():
                raise InterruptedError
            actions.append(turn.action)
            if turn.result is not None:
                decisions.append((turn.number, turn.seat, turn.result))
        seconds = time.thread_time() - began
        if place.alone:
            seconds -= compile_seconds() - compiled
        return finished_game(worlds, self.side, index, self.seat, actions, decisions, seconds)

    def start_searches(self, index: int) -> None:
        """Let each agent that searches begin game ``index``, which is not played.

        Raises what they raise: a belief that would be too large, say.
        """
        agents = {id(self.policies[p]): p for p in reversed(searching_seats(self.policies))}
        for p in agents.values():
            agent = self.policies[p]
            if isinstance(agent, SearchAgent):
                agent.require_belief()
        worlds, _ = deal_game(self.game, self.seed, index)
        with noting_place(self.failed((index,), Exception()).where):
            for p in agents.values():
                SeatedPolicy(self.policies[p]).start(worlds.view(p))

    def failed(self, games: tuple[int, ...], error: BaseException) -> FailedGame:
        return FailedGame(self.side, games, self.seed, error)


def play_matches(
    matches: Sequence[Match],
    todo: Numbers,
    executor: Executor,
    keep: Callable[[GameResult], None],
    *,
    decisions: bool = True,
    skip: Callable[[FailedGame], None] | None = None,
) -> None:
    """Play the games numbered ``todo``, in ascending order; ``keep`` hears of each, in order, on
    this thread.

    Game i is one of match i modulo their number. Without ``decisions``, results come without
    theirs. A game that fails stops the run: what is finished is kept, and its error is raised with
    a note of its number and seed; or ``skip`` hears of it and the others are played. Raises
    WorkerLostError for games that lost several workers in turn, and what the executor raises.
    """
    if not len(todo):
        return
    searched = bool(searching_seats(matches[0].policies))
    chunks = _parts(todo, executor.chunk_size) if searched else _blocks(todo)
    work = _Games(tuple(matches), searched, decisions, every=skip is not None)

    def hear(outcome: Outcome) -> Iterator[FailedGame]:
        """Keep what was finished, and hand on what failed."""
        if isinstance(outcome.error, WorkerLostError):
            yield matches[0].failed(outcome.chunk, outcome.error)
            return
        if outcome.error is not None:
            raise outcome.error
        for result in outcome.value:
            if isinstance(result, FailedGame):
                yield result
            else:
                keep(result)

    def keep_finished() -> None:
        for outcome in run.finished():
            if outcome.error is None:
                tuple(hear(outcome))

    with executor.run(work, chunks, timed=searched, kernels=_kernels(matches)) as run:
        try:
            for outcome in run:
                for failed in hear(outcome):
                    if skip is None:
                        keep_finished()
                        raise _named(failed)
                    skip(failed)
        except KeyboardInterrupt:
            keep_finished()
            raise


def _named(failed: FailedGame) -> BaseException:
    """The error, which says where it came from."""
    if failed.told:
        failed.error.__cause__ = RemoteTraceback(failed.told)
    note_place(failed.error, failed.where)
    return failed.error


def _kernels(matches: Sequence[Match]) -> str:
    """A name of what they compile: the same games and policies have the same."""
    return json.dumps([describe(matches[0].game), *(describe(one.policies) for one in matches)])


def _parts(todo: Numbers, size: int) -> Iterator[tuple[int, ...]]:
    return (tuple(map(int, todo[i : i + size])) for i in range(0, len(todo), size))


def _blocks(todo: Numbers) -> Iterator[tuple[int, ...]]:
    """Those of one block together."""
    return (tuple(games) for _, games in groupby(map(int, todo), lambda i: i // BLOCK))


@dataclass(frozen=True)
class _Games:
    """The work: the results of some games, and what failed instead, the last one unless ``every``
    game is to be tried."""

    matches: tuple[Match, ...]
    searched: bool
    decisions: bool
    every: bool

    def __call__(self, chunk: tuple[int, ...], place: Place) -> list[GameResult | FailedGame]:
        if self.searched:
            return list(self._each(chunk, place))
        try:
            return list(self.matches[0].batch(np.array(chunk)))
        except Exception as error:
            found = list(self._each(chunk, place))
            if not any(isinstance(one, FailedGame) for one in found):
                return [self.matches[0].failed(chunk, error)]
            return found

    def _each(self, chunk: tuple[int, ...], place: Place) -> Iterator[GameResult | FailedGame]:
        """One game at a time."""
        for index in chunk:
            match = self.matches[index % len(self.matches)]
            try:
                if self.searched:
                    result = match.single(index, place)
                else:
                    (result,) = match.batch(np.array([index]))
            except Exception as error:
                if place.stopped():
                    raise
                yield match.failed((index,), error)
                if not self.every:
                    return
            else:
                yield result if self.decisions else replace(result, decisions=())
