"""Many games of one line-up, on decks that a seed and a number decide.

Game i of a seed is the same whatever the number of games, threads or their order: decks and the
policies' streams are made in blocks of ``BLOCK`` games, a search's by game and turn.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.game import PAD, Game, IntArray, Worlds
from hanabi_search_plugin.core.html_tables import html_table
from hanabi_search_plugin.core.plain_json import from_fields
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.daemon_pool import DaemonPool
from hanabi_search_plugin.evaluation.playing import play_game, self_play
from hanabi_search_plugin.jit import compile_seconds

BLOCK = 256  # games dealt together, and played together where nobody searches
DECKS, POLICIES, SEARCHES = 1, 2, 3  # what a SeedSequence([seed, use, ...]) is for


Side = Literal["policies", "baseline"]


@dataclass(frozen=True, kw_only=True)
class GameResult:
    """One finished game."""

    side: Side
    game: int
    score: float  # the return of the evaluation's seat
    lives_left: int | None  # None: a game without
    actions: tuple[int, ...]
    cpu_seconds: float = 0.0  # of the thread that played it, where somebody searched
    rollouts: int = 0
    likelihoods: int | None = 0  # policy evaluations the beliefs took; None: not counted
    searched_moves: int = 0  # decisions of a search; not those it was not allowed
    changed_moves: int = 0  # decisions in which a search left the blueprint
    fallback_moves: int = 0  # decisions in which a search had too few worlds to search in
    depth: float | None = None  # of the trees it was decided by, the mean; None: no trees
    decisions: tuple[tuple[int, int, SearchResult], ...] = ()  # turn, seat, result; for ``on_game``

    def _repr_html_(self) -> str:
        """For notebooks: how it ended, and the searched decisions where they are kept."""
        lives = "" if self.lives_left is None else f", {counted(self.lives_left, 'life', 'lives')}"
        title = (
            f"game {self.game}: score {self.score:g}{lives}, {counted(len(self.actions), 'move')}"
        )
        if self.searched_moves:
            title += f", {self.changed_moves} of {self.searched_moves} searched moves changed"
        rows = [
            (
                str(turn),
                str(seat),
                str(result.action),
                str(result.blueprint_action),
                f"{result.gain:+.3f} \u00b1 {result.gain_stderr:.3f}",
                result.reason,
            )
            for turn, seat, result in self.decisions
        ]
        changed = [number for number, row in enumerate(rows) if row[2] != row[3]]
        headings = ("turn", "seat", "action", "blueprint", "gain", "") if rows else ()
        return html_table(title, headings, rows, strong=changed)


def read_result(line: Any) -> GameResult:
    """A finished game from its line of JSON. Raises ValueError for what is none."""
    result = from_fields(GameResult, line)
    counts = (result.rollouts, result.searched_moves, result.changed_moves, result.fallback_moves)
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
        depth=float(np.mean(depths)) if depths else None,
        decisions=tuple(decisions),
    )


def _lives_left(outcome: Mapping[str, IntArray], row: int) -> int | None:
    """Of one game, where the game counts them."""
    lives = outcome.get("lives_left")
    return None if lives is None else int(lives[row])


def deal_block(game: Game, seed: int, block: int) -> tuple[Worlds, Streams]:
    """A block of games at their first decisions, and a stream for each one's policies."""
    rngs = [np.random.default_rng([seed, use, block]) for use in (DECKS, POLICIES)]
    return game.deal(rngs[0], BLOCK), Streams.spawn(rngs[1], BLOCK)


def deal_game(game: Game, seed: int, index: int) -> tuple[Worlds, Streams]:
    """Game ``index`` of a seed (a batch of one) and its policies' stream."""
    worlds, streams = deal_block(game, seed, index // BLOCK)
    row = np.array([index % BLOCK])
    return worlds.select(row), streams.select(row)


@dataclass(frozen=True)
class Match:
    """One side of an evaluation."""

    game: Game
    policies: Blueprint
    side: Side
    seat: int
    seed: int

    def play(self, todo: list[int], threads: int, keep: Callable[[GameResult], None]) -> None:
        """Play the games numbered ``todo``; ``keep`` hears of each, in order, on this thread."""
        if not todo:
            return
        if searching_seats(self.policies):
            self._play_singly(todo, threads, keep)
            return
        numbers = np.array(todo)
        parts = np.split(numbers, np.flatnonzero(np.diff(numbers // BLOCK)) + 1)
        with DaemonPool(threads) as pool:
            for future in [pool.submit(self._batch, part) for part in parts]:
                for result in future.result():
                    keep(result)

    def _play_singly(
        self, todo: list[int], threads: int, keep: Callable[[GameResult], None]
    ) -> None:
        stop = threading.Event()
        with DaemonPool(threads) as pool:
            # The first alone, so that compiling can be told apart from playing.
            futures = deque([pool.submit(self._single, todo[0], stop, True)])
            try:
                wait(futures)
                futures.extend(pool.submit(self._single, i, stop, threads == 1) for i in todo[1:])
                while futures:
                    result = futures[0].result()
                    futures.popleft()  # what is kept of a long run is what ``keep`` keeps
                    keep(result)
            except KeyboardInterrupt:
                stop.set()
                for future in futures:
                    if future.done() and not future.cancelled() and future.exception() is None:
                        keep(future.result())
                raise
            finally:
                stop.set()

    def _batch(self, games: IntArray) -> list[GameResult]:
        """Games [N] of one block in lockstep."""
        worlds, streams = deal_block(self.game, self.seed, int(games[0]) // BLOCK)
        rows = games % BLOCK
        played = self_play(worlds.select(rows), self.policies, streams.select(rows))
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

    def _single(self, index: int, stop: threading.Event, alone: bool) -> GameResult:
        """One searched game. ``alone``: nobody else compiles; ``stop``: give up at a move."""
        began, compiled = time.thread_time(), compile_seconds()
        worlds, stream = deal_game(self.game, self.seed, index)
        actions: list[int] = []
        decisions: list[tuple[int, int, SearchResult]] = []
        for turn in play_game(worlds, self.policies, stream, (self.seed, SEARCHES, index)):
            if stop.is_set():
                raise InterruptedError
            actions.append(turn.action)
            if turn.result is not None:
                decisions.append((turn.number, turn.seat, turn.result))
        seconds = time.thread_time() - began
        if alone:
            seconds -= compile_seconds() - compiled
        return finished_game(worlds, self.side, index, self.seat, actions, decisions, seconds)
