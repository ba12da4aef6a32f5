"""How good are these policies? Many games, and where somebody searches, the same decks without.

Game i of a seed is the same whatever the number of games, threads or their order: decks and the
policies' streams are made in blocks of ``BLOCK`` games, a search's by game and turn.
"""

from __future__ import annotations

import dataclasses
import logging
import platform
import resource
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hanabi_search_plugin.agent import SearchAgent
from hanabi_search_plugin.checkpoint import Checkpoint
from hanabi_search_plugin.errors import ConfigError, RecordError
from hanabi_search_plugin.game import HIDDEN, FloatArray, Game, Worlds
from hanabi_search_plugin.jit import compile_seconds
from hanabi_search_plugin.policy import Blueprint, Policy, as_blueprint
from hanabi_search_plugin.result import SearchResult
from hanabi_search_plugin.selfplay import lives_left, play_game, self_play
from hanabi_search_plugin.streams import Streams

BLOCK = 256  # games dealt together, and played together where nobody searches
DECKS, POLICIES, SEARCHES = 1, 2, 3  # what a SeedSequence([seed, use, ...]) is for

_logger = logging.getLogger("hanabi_search_plugin")


@dataclass(frozen=True, kw_only=True)
class GameResult:
    """One finished game."""

    side: Literal["policies", "baseline"]
    game: int
    score: float  # the return of the evaluation's seat
    lives_left: int | None  # None: not native Hanabi
    actions: tuple[int, ...]
    cpu_seconds: float = 0.0  # of the thread that played it, where somebody searched
    rollouts: int = 0
    likelihoods: int = 0  # policy evaluations the beliefs took
    changed_moves: int = 0  # decisions in which a search left the blueprint
    decisions: tuple[tuple[int, int, SearchResult], ...] = ()  # turn, seat, result; not resumed


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Results of N games. With a baseline, only games that both sides have finished count."""

    parameters: dict[str, Any]  # game, policies, baseline, seed: what decides on the results
    games: tuple[GameResult, ...]
    baseline: tuple[GameResult, ...] | None  # the same games, in the same order
    best: float  # the highest possible return
    searched: bool
    threads: int
    requested: int  # games asked for; more than len(games) where interrupted
    peak_rss_mb: float  # of the process so far
    compile_seconds: float  # CPU seconds the process has spent on compiling so far

    @property
    def interrupted(self) -> bool:
        return len(self.games) < self.requested

    @property
    def scores(self) -> FloatArray:
        """[N] score points."""
        return np.array([game.score for game in self.games])

    @property
    def baseline_scores(self) -> FloatArray:
        """[N] score points; empty without a baseline."""
        return np.array([game.score for game in self.baseline or ()])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; a mean of nothing, or a standard error of one game, is None."""
        out: dict[str, Any] = {"games": len(self.games), "requested_games": self.requested}
        out |= _summary(self.games, self.best)
        if self.baseline is not None:
            reference = _summary(self.baseline, self.best)
            out |= {f"blueprint_{name}": value for name, value in reference.items()}
            difference = self.scores - self.baseline_scores
            out |= {"gain": _mean(difference), "gain_sem": _sem(difference)}
        if self.searched:
            for name in ("cpu_seconds", "rollouts", "likelihoods", "changed_moves"):
                values = np.array([getattr(game, name) for game in self.games], dtype=np.float64)
                out[f"{name}_per_game"] = _mean(values)
        out |= {"scores": self.scores.tolist()}
        if self.baseline is not None:
            out["blueprint_scores"] = self.baseline_scores.tolist()
        out |= {"peak_rss_mb": self.peak_rss_mb, "compile_seconds": self.compile_seconds}
        return out | self.parameters | {"threads": self.threads, "versions": versions()}


def evaluate(
    game: Game,
    policies: Policy | Blueprint,
    *,
    games: int,
    seed: int = 0,
    baseline: Policy | Blueprint | None = None,
    threads: int = 1,
    on_game: Callable[[GameResult], None] | None = None,
    resume: str | Path | None = None,
) -> Evaluation:
    """Play ``games`` games of ``policies`` (one, or one a seat) and report on them.

    The score of a game is the return of the first searching seat (of seat 0 where nobody searches);
    in a game of identical rewards, everybody's. ``baseline`` plays the same decks with the same
    streams; where it is None and a seat searches, it is the policies with each search agent
    replaced by its blueprint. ``on_game`` hears of every game as it finishes, in order of number,
    the baseline's first. ``resume`` names a checkpoint file: games in it are not played again.

    Searched games are played one at a time on each of ``threads`` threads. Their CPU seconds are
    those of that thread without compilation, so a search should not use threads of its own here.
    On a KeyboardInterrupt the games finished so far are returned (``Evaluation.interrupted``).
    Raises ConfigError for bad numbers and for a checkpoint of other parameters.
    """
    for name, value, least in (("games", games, 1), ("threads", threads, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigError(f"{name} must be an integer of at least {least}, got {value!r}")
    played = as_blueprint(policies, game.num_players)
    searching = searching_seats(played)
    if len(searching) > 1:
        _logger.warning(MANY_SEARCHERS, ", ".join(map(str, searching)))
    reference: Blueprint | None
    if baseline is not None:
        reference = as_blueprint(baseline, game.num_players)
    else:
        reference = without_search(played) if searching else None
    seat = searching[0] if searching else 0
    parameters = {
        "game": describe(game),
        "policies": describe(played),
        "baseline": describe(reference),
        "seed": seed,
    }
    finished: dict[tuple[str, int], GameResult] = {}
    with Checkpoint(resume, parameters) if resume is not None else nullcontext() as checkpoint:
        if checkpoint is not None:
            finished = _finished(checkpoint.lines, resume)

        def keep(result: GameResult) -> None:
            finished[result.side, result.game] = result
            if checkpoint is not None:
                fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
                del fields["decisions"]
                checkpoint.append(fields)
            if on_game is not None:
                on_game(result)

        sides: list[tuple[Literal["policies", "baseline"], Blueprint]] = [("policies", played)]
        if reference is not None:
            sides.insert(0, ("baseline", reference))
        try:
            for side, blueprint in sides:
                todo = [i for i in range(games) if (side, i) not in finished]
                _Match(game, blueprint, side, seat, seed).play(todo, threads, keep)
        except KeyboardInterrupt:
            _logger.warning("interrupted: the games finished so far are kept")
    done = [i for i in range(games) if all((side, i) in finished for side, _ in sides)]
    return Evaluation(
        parameters=parameters,
        games=tuple(finished["policies", i] for i in done),
        baseline=tuple(finished["baseline", i] for i in done) if reference is not None else None,
        best=game.return_range[1],
        searched=bool(searching),
        threads=threads,
        requested=games,
        peak_rss_mb=peak_rss_mb(),
        compile_seconds=compile_seconds(),
    )


MANY_SEARCHERS = (
    "seats %s search independently: each one's belief assumes that the others play the blueprint, "
    "which a searching partner breaks, and such teams can score below the blueprint (SPARTA, "
    "Table 4)"
)


def searching_seats(policies: Blueprint) -> list[int]:
    return [p for p, policy in enumerate(policies) if isinstance(policy, SearchAgent)]


def without_search(policies: Blueprint) -> Blueprint:
    """The policies with each search agent replaced by its blueprint at that seat."""
    return tuple(
        policy.blueprint[p] if isinstance(policy, SearchAgent) else policy
        for p, policy in enumerate(policies)
    )


def deal_block(game: Game, seed: int, block: int) -> tuple[Worlds, Streams]:
    """Games ``BLOCK * block`` and on: their first decisions, and a stream for each one's policies."""
    rngs = [np.random.default_rng([seed, use, block]) for use in (DECKS, POLICIES)]
    return game.deal(rngs[0], BLOCK), Streams.spawn(rngs[1], BLOCK)


def deal_game(game: Game, seed: int, index: int) -> tuple[Worlds, Streams]:
    """Game ``index`` of a seed (a batch of one) and its policies' stream."""
    worlds, streams = deal_block(game, seed, index // BLOCK)
    row = np.array([index % BLOCK])
    return worlds.select(row), streams.select(row)


@dataclass(frozen=True)
class _Match:
    """One side of an evaluation."""

    game: Game
    policies: Blueprint
    side: Literal["policies", "baseline"]
    seat: int
    seed: int

    def play(self, todo: list[int], threads: int, keep: Callable[[GameResult], None]) -> None:
        """Play the games numbered ``todo``; ``keep`` hears of each, in order, on this thread."""
        stop = threading.Event()
        with ThreadPoolExecutor(threads) as pool:
            try:
                if not searching_seats(self.policies):
                    blocks = sorted({i // BLOCK for i in todo})
                    chosen = [np.array([i for i in todo if i // BLOCK == b]) for b in blocks]
                    for results in pool.map(self._batch, blocks, chosen):
                        for result in results:
                            keep(result)
                    return
                if todo:  # alone, so that compiling is told apart from playing
                    first = pool.submit(self._single, todo[0], stop, alone=True).result()
                    keep(first)
                for future in [pool.submit(self._single, i, stop) for i in todo[1:]]:
                    keep(future.result())
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _batch(self, block: int, games: Any) -> list[GameResult]:
        """Games of one block in lockstep."""
        worlds, streams = deal_block(self.game, self.seed, block)
        played = self_play(
            worlds.select(games % BLOCK), self.policies, streams.select(games % BLOCK)
        )
        return [
            GameResult(
                side=self.side,
                game=int(i),
                score=float(played.returns[row, self.seat]),
                lives_left=None if played.lives is None else int(played.lives[row]),
                actions=tuple(a for a in played.actions[row].tolist() if a != HIDDEN),
            )
            for row, i in enumerate(games)
        ]

    def _single(self, index: int, stop: threading.Event, alone: bool = False) -> GameResult:
        """One game with a search. ``stop`` ends it between two moves with an error."""
        began, compiled = time.thread_time(), compile_seconds()
        worlds, stream = deal_game(self.game, self.seed, index)
        actions, decisions = [], []
        for turn in play_game(worlds, self.policies, stream, (self.seed, SEARCHES, index)):
            if stop.is_set():
                raise InterruptedError
            actions.append(turn.action)
            if turn.result is not None:
                decisions.append((turn.number, turn.seat, turn.result))
        seconds = time.thread_time() - began
        if alone:
            seconds -= compile_seconds() - compiled
        lives = lives_left(worlds)
        results = [result for _, _, result in decisions]
        return GameResult(
            side=self.side,
            game=index,
            score=float(worlds.returns[0, self.seat]),
            lives_left=None if lives is None else int(lives[0]),
            actions=tuple(actions),
            cpu_seconds=max(seconds, 0.0),
            rollouts=sum(r.rollouts for r in results),
            likelihoods=sum(r.likelihoods for r in results),
            changed_moves=sum(r.action != r.blueprint_action for r in results),
            decisions=tuple(decisions),
        )


# ------------------------------------------------------------------------------------ reporting


def _finished(lines: list[dict[str, Any]], path: Any) -> dict[tuple[str, int], GameResult]:
    """The games of a checkpoint."""
    games = {}
    for number, line in enumerate(lines, start=2):
        try:
            result = GameResult(**{**line, "actions": tuple(line["actions"])})
        except (TypeError, KeyError) as error:
            raise RecordError(f"{path}:{number}: expected a finished game: {error}") from None
        games[result.side, result.game] = result
    return games


def _summary(games: tuple[GameResult, ...], best: float) -> dict[str, Any]:
    scores = np.array([game.score for game in games])
    bombed = [game.lives_left == 0 for game in games if game.lives_left is not None]
    return {
        "mean": _mean(scores),
        "sem": _sem(scores),
        "perfect": _mean(scores == best),
        "bombs": _mean(np.array(bombed)),
    }


def _mean(values: Any) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _sem(values: FloatArray) -> float | None:
    """Standard error of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def describe(value: Any) -> Any:
    """What a game, a policy or a search was set to, as plain JSON types."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [describe(entry) for entry in value]
    if dataclasses.is_dataclass(value):
        named: Iterator[tuple[str, Any]] = (
            (f.name, getattr(value, f.name)) for f in dataclasses.fields(value)
        )
        # A game inside a policy is the evaluation's own.
        fields = {name: describe(field) for name, field in named if not isinstance(field, Game)}
        return {"type": type(value).__name__} | fields
    public = {k: v for k, v in vars(value).items() if not k.startswith("_")}
    plain = {
        k: describe(v)
        for k, v in public.items()
        if v is None or isinstance(v, (bool, int, float, str)) or dataclasses.is_dataclass(v)
    }
    return {"type": type(value).__name__} | plain


def peak_rss_mb() -> float:
    """The process's highest resident memory so far, MB (2**20 bytes)."""
    try:  # unlike getrusage, this does not count the process that started this one
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (2**20 if platform.system() == "Darwin" else 1024)


def versions() -> dict[str, str]:
    """Versions of what the results may depend on."""
    found = {"python": platform.python_version()}
    for name in ("hanabi-search-plugin", "numpy", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
