"""What every move of a recorded game was worth, given only what its player could know.

A move is worth the final score that is expected after it: the mean over games that are played on in
worlds drawn from the mover's own belief (SPARTA's estimate), the mover by its blueprint, the others
by policies that explain their moves. All moves of a turn are tried in the same worlds.

The values add up. Before a move the game is worth the blueprint's move; then the player's choice
adds its *gain* over that, and *luck* is what comes until the next move: cards that are drawn and
revealed, and what the next player sees. So, exactly,

    final score = worth before the first move + all gains + all luck

With another objective than the score, points are what scores are worth by it (``core.objective``).

Letters: P players, M legal moves, n worlds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.game import FloatArray, IntArray
from hanabi_search_plugin.core.objective import Objective, require_objective, utility
from hanabi_search_plugin.core.policy import Blueprint, moves_of
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.core.rollout import action_values
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.files.annotated_games import AnnotatedGame, SearchedTurn
from hanabi_search_plugin.hanabi.files.game_document import game_document
from hanabi_search_plugin.hanabi.files.recorded_positions import (
    Candidates,
    Explained,
    RecordedPosition,
    explain_moves,
    follow,
)
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.files.shown_beliefs import EXACT, ModelBeliefs, describe_beliefs

FEWEST = 100  # worlds before a move is dropped
BEHIND = 3.0  # standard errors by which a move that is dropped is behind
MISTAKE = 0.1  # points that a mistake gives away at least,
SURE = 2.0  # and so many of their standard errors


@dataclass(frozen=True, kw_only=True)
class MoveValues:
    """What each legal move was worth, by shared worlds."""

    actions: IntArray  # [M]
    values: FloatArray  # [M, n] the final score's worth in each world; nan once a move was dropped
    blueprint_action: int

    def worth(self, action: int) -> tuple[float, float]:
        """The mean of a move's values, and its standard error."""
        return _mean_of(self.values[self._row(action)])

    def count(self, action: int) -> int:
        """Worlds in which a move was tried."""
        return int(np.isfinite(self.values[self._row(action)]).sum())

    def difference(self, action: int, other: int) -> tuple[float, float]:
        """How much more ``action`` was worth than ``other``, and the standard error."""
        return _mean_of(self.values[self._row(action)] - self.values[self._row(other)])

    @property
    def best(self) -> int:
        """The move with the highest mean; the blueprint's, if no other is better."""
        return self._best(self.values, self.blueprint_action)

    def lost(self, played: int) -> tuple[float, float]:
        """The points that a move gave away to the best one, and the standard error.

        The best move is chosen in one half of the worlds and compared with the played one in the
        other half, both ways round: what only looks best by chance gains nothing there. So the mean
        is not too high; it may be a little below 0.
        """
        halves = self.values[:, 0::2], self.values[:, 1::2]
        found = []
        for here, there in (halves, halves[::-1]):
            best = self._best(here, played)
            found.append(_mean_of(there[self._row(best)] - there[self._row(played)]))
        (one, error), (two, other) = found
        return (one + two) / 2, math.hypot(error, other) / 2

    def _best(self, values: FloatArray, unless: int) -> int:
        means = values.mean(axis=1)  # nan: dropped
        row = int(np.nanargmax(means))
        return unless if means[self._row(unless)] == means[row] else int(self.actions[row])

    def _row(self, action: int) -> int:
        return int(np.searchsorted(self.actions, action))


@dataclass(frozen=True, kw_only=True)
class AnalysedTurn:
    """A move of a recorded game, in points of the final score."""

    turn: int
    seat: int
    action: int  # the move that was played
    best: int  # the one that was worth most
    blueprint_action: int
    actions: tuple[int, ...]  # [M] legal moves
    mean: tuple[float, ...]  # [M] what each was worth
    stderr: tuple[float, ...]  # [M]
    count: tuple[int, ...]  # [M] worlds in which each was tried
    before: float  # the game's worth before the move: that of the blueprint's move
    gain: float  # of the played move over the blueprint's, in the same worlds
    gain_stderr: float
    lost: float  # points given away: see ``MoveValues.lost``
    lost_stderr: float
    luck: float  # from after this move to before the next one, or to the end
    belief_size: int
    note: str

    @property
    def mistake(self) -> bool:
        """True if it gave away MISTAKE points for sure."""
        return self.lost >= MISTAKE and self.lost > SURE * self.lost_stderr

    @property
    def worth(self) -> float:
        """What the played move was worth."""
        return self.mean[self.actions.index(self.action)]


@dataclass(frozen=True, kw_only=True)
class PlayerSummary:
    """One player's moves."""

    seat: int
    blueprint: str
    moves: int
    as_blueprint: int  # moves that the blueprint would have made
    mistakes: int
    lost: float  # points given away in all
    lost_stderr: float
    gain: float  # sum of the gains over the blueprint's moves: skill
    gain_stderr: float


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """A recorded game, move by move."""

    record: RecordedGame
    candidates: Candidates
    blueprint_names: tuple[str, ...]  # [P] whom the mover is taken to follow from the next move on
    explained: tuple[Explained, ...]  # [P]
    turns: tuple[AnalysedTurn, ...]
    before: float  # the game's worth before the first move
    before_stderr: float
    end: float  # the final score; where the record stops early, what the game was worth there
    finished: bool
    beliefs: tuple[list[dict[str, Any]], ...] = ()  # of each turn, and of the end
    objective: Objective = "score"

    @property
    def luck(self) -> float:
        return sum(turn.luck for turn in self.turns)

    def players(self) -> list[PlayerSummary]:
        return [self._player(seat) for seat in range(self.record.config.players)]

    def _player(self, seat: int) -> PlayerSummary:
        own = [turn for turn in self.turns if turn.seat == seat]
        return PlayerSummary(
            seat=seat,
            blueprint=self.blueprint_names[seat],
            moves=len(own),
            as_blueprint=sum(turn.action == turn.blueprint_action for turn in own),
            mistakes=sum(turn.mistake for turn in own),
            lost=sum(turn.lost for turn in own),
            lost_stderr=math.hypot(*(turn.lost_stderr for turn in own)),
            gain=sum(turn.gain for turn in own),
            gain_stderr=math.hypot(*(turn.gain_stderr for turn in own)),
        )

    def annotated(self) -> AnnotatedGame:
        """The game with the value of every move, to look at."""
        decisions = {turn.turn: _searched(turn) for turn in self.turns}
        return AnnotatedGame(self.record, decisions, worth=self.end if self.finished else None)

    def document(
        self, names: Sequence[str], belief: ModelBeliefs | Literal["exact", "hints"] = "exact"
    ) -> dict[str, Any]:
        """The game and the value of every move, to look at (``game_document``).

        ``names`` say who the others were taken to be. ``belief``: the exact ones by which moves
        were valued, which the analysis must have (``with_beliefs``), by hints alone, or a model's.
        """
        game = self.annotated()
        if isinstance(belief, ModelBeliefs):
            return game_document(game, model=belief)
        if belief == EXACT:
            return game_document(game, names=names, beliefs=self.beliefs)
        return game_document(game)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "game": self.record.game,
            "seed": self.record.seed,
            "objective": self.objective
            if isinstance(self.objective, str)
            else repr(self.objective),
            "before": self.before,
            "before_stderr": self.before_stderr,
            "gain": sum(turn.gain for turn in self.turns),
            "luck": self.luck,
            "end": self.end,
            "finished": self.finished,
            "players": [
                asdict(player) | {"candidates": list(names)} | asdict(seen)
                for player, names, seen in zip(
                    self.players(), self.candidates.names, self.explained, strict=True
                )
            ],
            "turns": [
                asdict(turn) | {"worth": turn.worth, "mistake": turn.mistake} for turn in self.turns
            ],
        }


def analyse_game(
    record: RecordedGame,
    candidates: Candidates,
    blueprint: Blueprint | None = None,
    blueprint_names: Sequence[str] = (),
    *,
    rollouts: int = 1_000,
    objective: Objective = "score",
    threads: int = 1,
    seed: int = 0,
    with_beliefs: bool = False,
    on_turn: Callable[[int], None] | None = None,
) -> Analysis:
    """Every move of a game, each legal one tried in ``rollouts`` worlds.

    A mover is taken to follow ``blueprint`` after its move; None: of its own candidates the one
    that explains its moves best. The others are taken to play one of theirs, by how well these
    explain the whole game (``Candidates.known``), and then by what the mover has seen.

    Turn t draws from ``default_rng([seed, t])``. ``on_turn`` hears how many turns are done. Raises
    RecordError for an illegal move, ConfigError for fewer than 4 rollouts.
    """
    rollouts = require_integer("rollouts", rollouts, 4)
    seed = require_integer("seed", seed, 0)
    require_objective(objective)
    explained = explain_moves(record, candidates)
    if blueprint is None:
        chosen = [seen.likeliest for seen in explained]
        blueprint = tuple(candidates.policies[p][k] for p, k in enumerate(chosen))
        blueprint_names = [candidates.names[p][k] for p, k in enumerate(chosen)]
    candidates = candidates.known(explained)
    turns: list[AnalysedTurn] = []
    beliefs, end, first_error, finished = [], math.nan, 0.0, False
    for position in follow(record, candidates, blueprint):
        if with_beliefs:
            beliefs.append(describe_beliefs(position.beliefs))
        if position.score is not None:
            score = np.array([position.score], dtype=np.float64)
            end, finished = float(utility(objective, score, position.beliefs[0].game)[0]), True
            break
        belief = position.belief
        rng = np.random.default_rng([seed, position.turn])
        keep = [] if position.action is None else [position.action]
        values = move_values(rng, belief, rollouts, objective=objective, keep=keep, threads=threads)
        before, error = values.worth(values.blueprint_action)
        if not turns:
            first_error = error
        end = before
        if position.action is not None:
            turns.append(_turn(position, position.action, belief, values))
        if on_turn is not None:
            on_turn(len(turns))
    befores = [turn.before for turn in turns] + [end]
    return Analysis(
        record=record,
        candidates=candidates,
        blueprint_names=tuple(blueprint_names),
        explained=explained,
        turns=tuple(
            replace(turn, luck=after - turn.before - turn.gain)
            for turn, after in zip(turns, befores[1:], strict=True)
        ),
        before=befores[0],
        before_stderr=first_error,
        end=end,
        finished=finished,
        beliefs=tuple(beliefs),
        objective=objective,
    )


def move_values(
    rng: np.random.Generator,
    belief: Belief,
    rollouts: int,
    *,
    objective: Objective = "score",
    keep: Sequence[int] = (),
    threads: int = 1,
) -> MoveValues:
    """Try the legal moves of ``belief.seat`` in the same ``rollouts`` worlds.

    After FEWEST of them, and whenever there are twice as many, a move is dropped that is BEHIND by
    so many standard errors of its paired difference from the leader; never the blueprint's nor
    those of ``keep``. Takes one draw from ``rng`` for the blueprint's own move, then for each round
    what ``belief.sample`` takes and one draw a world.
    """
    view, seat = belief.view, belief.seat
    actions = np.flatnonzero(view.legal[0])
    base = moves_of(belief.blueprint[seat], view, belief.memory, Streams.spawn(rng, 1))
    kept = np.isin(actions, [*base, *keep])
    alive = np.ones(len(actions), dtype=np.bool_)
    values = np.full((len(actions), rollouts), np.nan)
    done = 0
    while done < rollouts:
        n = min(max(done, FEWEST), rollouts - done)
        worlds, memories = belief.sample(rng, n)
        returns = action_values(
            worlds, actions[alive], belief.blueprint, memories, seat,
            Streams.spawn(rng, n), threads=threads,
        )  # fmt: skip
        values[alive, done : done + n] = utility(objective, returns, belief.game)
        done += n
        if done < rollouts:
            tried = values[:, :done]
            lead = tried[np.nanargmax(tried.mean(axis=1))] - tried  # nan: dropped
            behind = lead.mean(axis=1) > BEHIND * lead.std(axis=1, ddof=1) / math.sqrt(done)
            alive &= kept | ~behind
    return MoveValues(actions=actions, values=values, blueprint_action=int(base[0]))


def _turn(
    position: RecordedPosition, action: int, belief: Belief, values: MoveValues
) -> AnalysedTurn:
    """A move, without the luck after it."""
    worths = [values.worth(each) for each in values.actions.tolist()]
    gain, gain_stderr = values.difference(action, values.blueprint_action)
    lost, lost_stderr = values.lost(action)
    return AnalysedTurn(
        turn=position.turn,
        seat=position.seat,
        action=action,
        best=values.best,
        blueprint_action=values.blueprint_action,
        actions=tuple(values.actions.tolist()),
        mean=tuple(mean for mean, _ in worths),
        stderr=tuple(error for _, error in worths),
        count=tuple(map(values.count, values.actions.tolist())),
        before=values.worth(values.blueprint_action)[0],
        gain=gain,
        gain_stderr=gain_stderr,
        lost=lost,
        lost_stderr=lost_stderr,
        luck=0.0,
        belief_size=belief.size,
        note="; ".join(belief.caveats()),
    )


def _searched(turn: AnalysedTurn) -> SearchedTurn:
    """The move as the page shows it: the best one in place of a search's."""
    row, base = turn.actions.index(turn.best), turn.actions.index(turn.blueprint_action)
    return SearchedTurn(
        action=turn.best,
        blueprint_action=turn.blueprint_action,
        actions=turn.actions,
        mean=turn.mean,
        stderr=turn.stderr,
        count=turn.count,
        gain=turn.mean[row] - turn.mean[base],
        belief_size=turn.belief_size,
        note=turn.note,
        lost=turn.lost,
        lost_stderr=turn.lost_stderr,
        mistake=turn.mistake,
    )


def _mean_of(values: FloatArray) -> tuple[float, float]:
    """The mean of some numbers and its standard error, nan left out."""
    values = values[np.isfinite(values)]
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
