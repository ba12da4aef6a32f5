"""Replay recorded games: check moves and scores, and compare moves with those of a policy.

Games of one configuration are replayed in lockstep, ``BATCH`` at a time. Letters: B games of a
batch, T moves of the longest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from hanabi_search_plugin.core.game import PAD, BoolArray, Event, IntArray, Worlds
from hanabi_search_plugin.core.policy import Blueprint, Policy, take
from hanabi_search_plugin.core.require import require_choice, require_integer
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.config import Bomb, HanabiConfig
from hanabi_search_plugin.hanabi.files.played_out import nothing_scores
from hanabi_search_plugin.hanabi.files.records import RecordedGame, recorded
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import AnyBlueprint, blueprint_of

BATCH = 1024  # games replayed together


@dataclass(frozen=True)
class Disagreement:
    """The first decision in which the policy moves otherwise than the record."""

    source: str  # "file:line"
    game: int
    turn: int  # from 0
    seat: int
    recorded: str  # the moves in words
    policy: str
    worlds: Worlds = field(repr=False)  # the game before the move, a batch of one

    def __str__(self) -> str:
        return (
            f"game {self.game}, turn {self.turn}, seat {self.seat}: "
            f"recorded {self.recorded}, the policy {self.policy}"
        )


@dataclass
class ReplayReport:
    """The findings of a replay. Problems are sentences, in file order, ``SHOWN`` at most."""

    SHOWN = 20

    games: int = 0  #: replayed
    moves: int = 0  #: in all of them
    unfinished: int = 0  #: games whose record stops before their end, while a card can still score
    illegal: int = 0  #: games with an illegal move; what follows it is not replayed
    score_mismatches: int = 0  #: games whose score is not that of their moves
    lives_mismatches: int = 0  #: games whose lives are not those of their moves
    bombed: int = 0  #: games that lost their last life
    bomb_scores: Counter[Bomb] = field(default_factory=Counter)  #: bombed games a convention fits
    decisions: int = 0  #: moves compared with a policy's
    agreed: int = 0  #: of these, those that the policy makes, too
    first_disagreement: Disagreement | None = None  #: in the order of the file
    problems: list[str] = field(default_factory=list)  #: what is wrong in the file

    @property
    def agreement(self) -> float | None:
        """Fraction of the decisions in which the policy makes the recorded move."""
        return self.agreed / self.decisions if self.decisions else None

    @property
    def bomb(self) -> Bomb | None:
        """The convention of the file: the only one that fits every bombed game's score."""
        fitting = [b for b in get_args(Bomb) if self.bombed and self.bomb_scores[b] == self.bombed]
        return fitting[0] if len(fitting) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        first = self.first_disagreement
        return {
            "games": self.games,
            "moves": self.moves,
            "decisions": self.decisions,
            "agreement": self.agreement,
            "first_disagreement": None if first is None else str(first),
            "score_mismatches": self.score_mismatches,
            "lives_mismatches": self.lives_mismatches,
            "illegal": self.illegal,
            "unfinished": self.unfinished,
            "bombed": self.bombed,
            "bomb": self.bomb,
            "bomb_scores": {b: self.bomb_scores[b] for b in get_args(Bomb)},
            "problems": self.problems,
        }


def replay(
    games: Iterable[RecordedGame],
    policies: AnyBlueprint | Callable[[HanabiConfig], Blueprint] | None = None,
    *,
    bomb: Bomb | Literal["auto"] = "auto",
    seed: int = 0,
    on_games: Callable[[int], None] | None = None,
) -> ReplayReport:
    """Replay recorded games, and compare their moves with those of ``policies``.

    These are one policy or one a seat, names among them, or a function of the configuration; None:
    the rules alone are checked. Each policy keeps its own memory and observes every move of the
    record. A stochastic one draws from ``seed``, and there is no other randomness. A bombed game's
    score must follow ``bomb``; with "auto" it must follow the record's own convention, or any one
    where the record names none. ``on_games`` hears how many games have been replayed.

    What a record has wrong is in the report, not raised. Raises ConfigError for a bad ``bomb``,
    ``seed`` or name of a policy, and UnsupportedError for what is no policy.
    """
    require_choice("bomb", bomb, ("auto", *get_args(Bomb)))
    seed = require_integer("seed", seed, 0)
    report = ReplayReport()
    problems: list[tuple[int, str]] = []  # by place in the file
    first: tuple[int, Disagreement] | None = None
    for places, batch in _batches(games):
        blueprint = None if policies is None else _blueprint(policies, batch[0].config)
        run = _Batch(places, batch, blueprint, seed)
        run.play()
        run.check(bomb, report, problems)
        if run.first is not None and (first is None or run.first[0] < first[0]):
            first = run.first
        if on_games is not None:
            on_games(report.games)
    report.first_disagreement = None if first is None else first[1]
    report.problems = [text for _, text in sorted(problems)[: report.SHOWN]]
    return report


def _blueprint(
    policies: AnyBlueprint | Callable[[HanabiConfig], Blueprint], config: HanabiConfig
) -> Blueprint:
    if isinstance(policies, Policy | str | Sequence) or not callable(policies):
        return blueprint_of(policies, HanabiGame(config))
    return policies(config)


def _batches(games: Iterable[RecordedGame]) -> Iterator[tuple[list[int], list[RecordedGame]]]:
    """Games of one configuration, with their places in the file."""
    groups: dict[HanabiConfig, tuple[list[int], list[RecordedGame]]] = {}
    for place, game in enumerate(recorded(games)):
        places, batch = groups.setdefault(game.config, ([], []))
        places.append(place)
        batch.append(game)
        if len(batch) == BATCH:
            yield groups.pop(game.config)
    yield from groups.values()


class _Batch:
    """Games of one configuration, replayed in lockstep."""

    def __init__(
        self, places: list[int], games: list[RecordedGame], blueprint: Blueprint | None, seed: int
    ) -> None:
        self.places, self.games, self.blueprint = places, games, blueprint
        # "keep" makes the engine's return the points on the table, whatever the record's score is.
        self.game = HanabiGame(replace(games[0].config, bomb="keep"))
        self.rng = Streams.spawn(np.random.default_rng([seed, places[0]]), len(games))
        self.points = np.zeros(len(games), dtype=np.int64)  # [B]
        self.lives = np.zeros(len(games), dtype=np.int64)  # [B]
        self.unfinished = np.zeros(len(games), dtype=np.bool_)  # [B] the record stops too early
        self.illegal: dict[int, str] = {}  # by row: the first illegal move in words
        self.moves = self.decisions = self.agreed = 0
        self.first: tuple[int, Disagreement] | None = None  # with its place in the file

    def play(self) -> None:
        longest = max(len(game.actions) for game in self.games)
        recorded = np.full((len(self.games), longest + 1), PAD)  # [B, T + 1]
        for row, game in enumerate(self.games):
            recorded[row, : len(game.actions)] = game.actions
        worlds: Worlds = self.game.from_decks(
            np.array([game.deck for game in self.games]),
            first_player=np.array([game.first_player for game in self.games]),
        )
        alive = np.arange(len(self.games))
        rng = self.rng
        memories = None if self.blueprint is None else start_memories(worlds, self.blueprint)
        last: Event | None = None
        for turn in range(longest + 1):
            moves = recorded[alive, turn]
            on = np.flatnonzero(self._playable(worlds, alive, moves, turn))
            alive, worlds, moves, rng = alive[on], worlds.select(on), moves[on], rng.select(on)
            if not len(alive):
                return
            actors = worlds.current_player
            if self.blueprint is not None and memories is not None:
                memories = tuple(take(memory, on) for memory in memories)
                if last is not None:
                    event = last.select(on)
                    memories = observe_all(
                        worlds, event.player, event.action, self.blueprint, memories
                    )
                chosen = choose(worlds, self.blueprint, memories, rng)
                self._compare(worlds, alive, moves, chosen, turn)
            worlds.step(moves)
            last = Event(actors, moves)
            self.moves += len(alive)

    def _playable(self, worlds: Worlds, alive: IntArray, moves: IntArray, turn: int) -> BoolArray:
        """[N] where the recorded moves can be played; notes how the other games end."""
        rows = np.arange(len(alive))
        over = worlds.terminal
        stopped = over | (moves == PAD)
        legal = ~stopped & worlds.legal[rows, moves]
        lives = self.game.outcome(worlds)["lives_left"]
        self.points[alive] = worlds.returns[:, 0].astype(np.int64)
        self.lives[alive] = lives
        for row in np.flatnonzero(~over & (moves == PAD)).tolist():
            on_table = worlds.rows[row]  # type: ignore[attr-defined]  # HanabiGame deals HanabiWorlds
            self.unfinished[alive[row]] = not nothing_scores(self.game.config, on_table)
        for row in np.flatnonzero((over & (moves != PAD)) | (~stopped & ~legal)).tolist():
            if over[row]:
                words = "a move after the end"
            else:
                player = int(worlds.current_player[row])
                words = "illegal: " + self.game.action_to_string(player, int(moves[row]))
            self.illegal[int(alive[row])] = f"turn {turn}: {words}"
        return np.asarray(legal)

    def _compare(
        self, worlds: Worlds, alive: IntArray, moves: IntArray, chosen: IntArray, turn: int
    ) -> None:
        self.decisions += len(moves)
        self.agreed += int((moves == chosen).sum())
        for row in np.flatnonzero(moves != chosen)[:1].tolist():  # rows are in the file's order
            place = self.places[alive[row]]
            if self.first is not None and self.first[0] <= place:
                return
            seat = int(worlds.current_player[row])
            game = self.games[alive[row]]
            self.first = (
                place,
                Disagreement(
                    source=game.source,
                    game=game.game,
                    turn=turn,
                    seat=seat,
                    recorded=self.game.action_to_string(seat, int(moves[row])),
                    policy=self.game.action_to_string(seat, int(chosen[row])),
                    worlds=worlds.select(np.array([row])),
                ),
            )

    def check(
        self, bomb: Bomb | Literal["auto"], report: ReplayReport, problems: list[tuple[int, str]]
    ) -> None:
        """Compare scores and lives, and add everything to the report."""
        report.games += len(self.games)
        report.moves += self.moves
        report.decisions += self.decisions
        report.agreed += self.agreed
        report.illegal += len(self.illegal)
        report.unfinished += int(self.unfinished.sum())
        for row, game in enumerate(self.games):

            def note(problem: str, place: int = self.places[row], game: Any = game) -> None:
                problems.append((place, f"{game.source}: game {game.game}, {problem}"))

            if row in self.illegal:
                note(self.illegal[row])
                continue
            points, lives = int(self.points[row]), int(self.lives[row])
            if game.lives_left is not None and game.lives_left != lives:
                report.lives_mismatches += 1
                note(f"recorded lives left {game.lives_left}, replayed {lives}")
            if game.score is None:
                continue
            counts: dict[Bomb, int] = {"zero": 0, "keep": points, "minus_one": points - 1}
            expected = {points}
            if lives == 0:
                report.bombed += 1
                report.bomb_scores.update(b for b in counts if counts[b] == game.score)
                convention = (game.bomb or "auto") if bomb == "auto" else bomb
                expected = set(counts.values()) if convention == "auto" else {counts[convention]}
            if game.score not in expected:
                report.score_mismatches += 1
                fitting = " or ".join(map(str, sorted(expected)))
                note(f"recorded score {game.score}, replayed {fitting}")
