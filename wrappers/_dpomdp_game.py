"""A Dec-POMDP as a game of moves one after another, each hidden from the others.

At every stage all agents choose an action at once. Here they choose in turn and see nothing of
what the others chose; after the last of them the state changes, and each agent sees its own
observation. The game ends after ``horizon`` stages.

The reward of a stage is its expectation given state and joint action, so that the last stage needs
no next state. Every policy has the same value as with rewards drawn.

Letters: B worlds, P agents, A actions, J joint actions, S states.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.capabilities import SharesFutures
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import (
    NOBODY,
    BoolArray,
    Event,
    FloatArray,
    IntArray,
    View,
    Worlds,
    as_actions,
    require_legal,
    require_said,
    require_seat,
)
from hanabi_search_plugin.core.ranges import entries_of
from hanabi_search_plugin.core.require import require_integer, require_share
from hanabi_search_plugin.core.state_list import rows_at
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.wrappers._dpomdp_reader import DecPomdp, read_dpomdp

_CALL = re.compile(r"(?P<path>.+)\((?P<options>[^()]*)\)")
MAX_HORIZON = 10_000


def load_dpomdp(path: str | Path, horizon: int, *, discount: float | None = None) -> DecPomdpGame:
    """The problem of a .dpomdp file, which may be packed by gzip, played for ``horizon`` stages.

    ``discount`` is that of the file unless given; values of finite horizons are mostly published
    without, which is 1. Raises OSError where the file cannot be read, RecordError, which names line
    and column, for what is not in the format, ConfigError for an argument out of its range.
    """
    problem = read_dpomdp(path)
    name = Path(path).name.removesuffix(".gz").removesuffix(".dpomdp")
    return DecPomdpGame(problem, horizon, discount=discount, name=name)


def load_game(text: str) -> DecPomdpGame:
    """``FILE(horizon=4)`` or ``FILE(horizon=4,discount=1)``, as on the command line.

    Raises as ``load_dpomdp``; ConfigError for a file that cannot be read and other text.
    """
    usage = f"dpomdp must be given as FILE(horizon=4) or FILE(horizon=4,discount=1), got {text!r}"
    match = _CALL.fullmatch(text)
    if match is None:
        raise ConfigError(usage)
    options: dict[str, float] = {}
    for word in match["options"].split(","):
        name, _, value = word.strip().partition("=")
        try:
            options[name] = int(value) if name == "horizon" else float(value)
        except ValueError:
            raise ConfigError(usage) from None
    if not {"horizon"} <= options.keys() <= {"horizon", "discount"}:
        raise ConfigError(usage)
    try:
        return load_dpomdp(match["path"], int(options["horizon"]), discount=options.get("discount"))
    except OSError as error:
        raise ConfigError(
            f"dpomdp must name a file that can be read, got {match['path']!r}: {error.strerror}"
        ) from error


class DecPomdpGame(SharesFutures):
    """A Dec-POMDP played for ``horizon`` stages by as many players as it has agents.

    The one encoding, "observation", is [B, 2]: the stage, from 0, and the agent's latest
    observation, -1 before the first. Raises ConfigError for an argument out of its range.
    """

    rewards = "identical"
    encodings = ("observation",)

    def __init__(
        self,
        problem: DecPomdp,
        horizon: int,
        *,
        discount: float | None = None,
        name: str = "dec-pomdp",
    ) -> None:
        self.problem = problem
        self.horizon = require_integer("horizon", horizon, 1, MAX_HORIZON)
        self.discount = problem.discount if discount is None else discount
        require_share("discount", self.discount)
        self.name = f"dpomdp:{name}(horizon={horizon},discount={self.discount:g})"
        self.num_players = len(problem.actions)
        self.sizes = tuple(map(len, problem.actions))  # [P]
        self.num_actions = max(self.sizes)
        self.max_length = self.horizon * self.num_players
        self.public_actions = self.num_players == 1
        stages = sum(self.discount**k for k in range(self.horizon))
        low, high = float(problem.rewards.min()), float(problem.rewards.max())
        self.return_range = (low * stages, high * stages)
        self.follows = _Followers.of(problem)
        self.allowed = np.arange(self.num_actions) < np.array(self.sizes)[:, None]  # [P, A]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DecPomdpGame):
            return NotImplemented
        ours, theirs = vars(self.problem), vars(other.problem)
        return (self.horizon, self.discount) == (other.horizon, other.discount) and all(
            np.array_equal(ours[name], theirs[name]) if isinstance(ours[name], np.ndarray)
            else ours[name] == theirs[name]
            for name in ours
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.name, self.problem.states, self.problem.actions))

    def deal(self, rng: np.random.Generator, n: int) -> DecPomdpWorlds:
        """Takes one 64-bit draw a world from ``rng``, and one of the world's own stream."""
        streams = Streams.spawn(rng, n)
        chance = np.cumsum(self.problem.start)
        state = np.searchsorted(chance, streams.uniform() * chance[-1], side="right")
        return self._started(state, streams)

    def deals(self) -> tuple[DecPomdpWorlds, FloatArray]:
        states = np.flatnonzero(self.problem.start)
        return self._started(states, Streams.still(len(states))), self.problem.start[states]

    def branch(
        self, worlds: Worlds, actions: IntArray
    ) -> tuple[DecPomdpWorlds, IntArray, FloatArray]:
        before = _ours(worlds)
        require_legal(actions, before.legal)
        joint = before.joint_with(actions)
        drawing = (before.turn == self.num_players - 1) & (before.stage < self.horizon - 1)
        row = np.where(drawing, joint * len(self.problem.states) + before.state, 0)
        first, last = self.follows.first[row], self.follows.first[row + 1]
        number = np.where(drawing, last - first, 1)
        parent, outcome = entries_of(first, number)
        outcome = np.where(drawing[parent], outcome, 0)
        chance = np.where(drawing[parent], self.follows.chance[outcome], 1.0)
        after = before.select(parent)
        after.streams = Streams.still(len(parent))
        after.move(actions[parent], outcome)
        return after, parent, chance

    def futures(self, worlds: Worlds) -> IntArray:
        ours = _ours(worlds)
        return ours.joint * len(self.problem.states) + ours.state

    def concat(self, parts: Sequence[Worlds]) -> DecPomdpWorlds:
        ours = [_ours(part) for part in parts]
        return DecPomdpWorlds(
            self,
            np.concatenate([part.state for part in ours]),
            np.concatenate([part.stage for part in ours]),
            np.concatenate([part.turn for part in ours]),
            np.concatenate([part.joint for part in ours]),
            np.concatenate([part.seen for part in ours]),
            np.concatenate([part.total for part in ours]),
            Streams(np.concatenate([part.streams.state for part in ours])),
        )

    def reseed(self, worlds: Worlds, rng: np.random.Generator) -> DecPomdpWorlds:
        """See ``Enumerable``. Takes one 64-bit draw a world."""
        after = _ours(worlds).select(np.arange(len(worlds)))
        after.streams = Streams.spawn(rng, len(worlds))
        return after

    def action_to_string(self, player: int, action: int) -> str:
        require_said(player, action, self)
        return f"agent {player}: {self.problem.actions[player][action]}"

    def _started(self, state: IntArray, streams: Streams) -> DecPomdpWorlds:
        none = np.zeros(len(state), dtype=np.int64)
        seen = np.full((len(state), self.num_players), -1)
        return DecPomdpWorlds(
            self, state.astype(np.int64), none, none.copy(), none.copy(), seen,
            np.zeros(len(state)), streams,
        )  # fmt: skip


@dataclass(frozen=True)
class _Followers:
    """What may follow a joint action in a state, listed: the outcomes of positive probability.

    Those of joint action j in state s are at ``first[j * S + s]`` to ``first[j * S + s + 1]``.
    """

    first: IntArray  # [J * S + 1]
    state: IntArray  # [outcomes] the next state
    seen: IntArray  # [outcomes, P] each agent's observation
    chance: FloatArray  # [outcomes]
    passed: FloatArray  # [outcomes] the chances summed up, row after row

    @classmethod
    def of(cls, problem: DecPomdp) -> _Followers:
        states = len(problem.states)
        j, s, after = np.nonzero(problem.transitions)
        possible = problem.emissions > 0  # [J, S, Z]
        number = possible.sum(axis=2)
        which, emission = np.nonzero(possible.reshape(-1, possible.shape[2]))
        begins = np.searchsorted(which, np.arange(number.size))  # of each (joint action, state)
        cell = j * states + after
        times = number.ravel()[cell]
        parent = np.repeat(np.arange(len(j)), times)
        offset = np.arange(len(parent)) - np.repeat(np.cumsum(times) - times, times)
        joint = emission[begins[cell][parent] + offset]
        j, s, after = j[parent], s[parent], after[parent]
        chance = problem.transitions[j, s, after] * problem.emissions[j, after, joint]
        rows = problem.transitions.shape[0] * states
        first = np.searchsorted(j * states + s, np.arange(rows + 1))
        sizes = tuple(map(len, problem.observations))
        seen = np.stack(np.unravel_index(joint, sizes), axis=1)
        return cls(first, after, seen, chance, np.cumsum(chance))

    def drawn(self, row: IntArray, u: FloatArray) -> IntArray:
        """[B] the outcome of each row j * S + s that numbers from [0, 1) draw."""
        first, last = self.first[row], self.first[row + 1]
        before = np.where(first > 0, self.passed[first - 1], 0.0)
        target = before + u * (self.passed[last - 1] - before)
        return np.clip(np.searchsorted(self.passed, target, side="right"), first, last - 1)


class DecPomdpView(View):
    """What one agent sees: the stage, whose turn it is, its own latest observation."""

    game: DecPomdpGame

    def __init__(
        self, game: DecPomdpGame, player: int, stage: IntArray, turn: IntArray, seen: IntArray
    ) -> None:
        self.game = game
        self.player = player
        self._stage, self._turn, self._seen = stage, turn, seen

    def __len__(self) -> int:
        return len(self._stage)

    def select(self, index: IntArray | BoolArray) -> DecPomdpView:
        parts = (part[index] for part in (self._stage, self._turn, self._seen))
        return DecPomdpView(self.game, self.player, *parts)

    @property
    def current_player(self) -> IntArray:
        return np.where(self._stage < self.game.horizon, self._turn, NOBODY)

    @property
    def legal(self) -> BoolArray:
        mine = self.current_player == self.player
        return np.asarray(mine[:, None] & self.game.allowed[self.player])

    def observation(self, encoding: str) -> NDArray[Any]:
        if encoding not in self.game.encodings:
            raise UnsupportedError(
                f"{self.game.name} has the encodings {self.game.encodings}, got {encoding!r}"
            )
        return np.stack([self._stage, self._seen], axis=1)

    def keys(self) -> Sequence[Hashable]:
        parts = (self._stage.tolist(), self._turn.tolist(), self._seen.tolist())
        return list(zip(*parts, strict=True))


class DecPomdpWorlds(Worlds):
    """A batch of states, with what has been chosen at this stage and what each agent sees."""

    game: DecPomdpGame

    def __init__(
        self,
        game: DecPomdpGame,
        state: IntArray,  # [B]
        stage: IntArray,  # [B]
        turn: IntArray,  # [B] who chooses next
        joint: IntArray,  # [B] the joint action as far as it is chosen
        seen: IntArray,  # [B, P] the latest observation
        total: FloatArray,  # [B] the return so far
        streams: Streams,
    ) -> None:
        self.game = game
        self.state, self.stage, self.turn = state, stage, turn
        self.joint, self.seen, self.total = joint, seen, total
        self.streams = streams

    def __len__(self) -> int:
        return len(self.state)

    @property
    def current_player(self) -> IntArray:
        return np.where(self.stage < self.game.horizon, self.turn, NOBODY)

    @property
    def returns(self) -> FloatArray:
        return np.repeat(self.total[:, None], self.game.num_players, axis=1)

    @property
    def legal(self) -> BoolArray:
        playing = self.stage < self.game.horizon
        return np.asarray(playing[:, None] & self.game.allowed[self.turn])

    def step(self, actions: IntArray) -> Event:
        actions = as_actions(actions, len(self))
        require_legal(actions, self.legal)
        event = Event(self.current_player, actions)
        streams = self.streams.select(np.arange(len(self)))
        row = self.joint_with(actions) * len(self.game.problem.states) + self.state
        row = np.where(self.turn == self.game.num_players - 1, row, 0)
        self.move(actions, self.game.follows.drawn(row, streams.uniform()))
        self.streams = streams
        return event

    def joint_with(self, actions: IntArray) -> IntArray:
        """[B] the joint action as far as it is chosen once ``actions`` are."""
        sizes = np.array(self.game.sizes)[self.turn]
        return np.asarray(self.joint * sizes + actions, dtype=np.int64)

    def move(self, actions: IntArray, outcome: IntArray) -> None:
        """Play legal actions [B] in place; ``outcome`` [B] follows where all have chosen."""
        game = self.game
        joint, complete = self.joint_with(actions), self.turn == game.num_players - 1
        reward = game.problem.rewards[np.where(complete, joint, 0), self.state]
        worth = reward * game.discount**self.stage
        drawing = complete & (self.stage < game.horizon - 1)
        self.total = self.total + np.where(complete, worth, 0.0)
        self.state = np.where(drawing, game.follows.state[outcome], self.state)
        self.seen = np.where(drawing[:, None], game.follows.seen[outcome], self.seen)
        self.stage = self.stage + complete
        self.turn = np.where(complete, 0, self.turn + 1)
        self.joint = np.where(complete, 0, joint)

    def select(self, index: IntArray | BoolArray) -> DecPomdpWorlds:
        rows = rows_at(index)
        return DecPomdpWorlds(
            self.game, self.state[rows], self.stage[rows], self.turn[rows], self.joint[rows],
            self.seen[rows], self.total[rows], self.streams.select(rows),
        )  # fmt: skip

    def view(self, player: int) -> DecPomdpView:
        require_seat(player, self.game)
        return DecPomdpView(self.game, player, self.stage, self.turn, self.seen[:, player])


def _ours(worlds: Worlds) -> DecPomdpWorlds:
    if not isinstance(worlds, DecPomdpWorlds):
        raise UnsupportedError(f"expected DecPomdpWorlds, got {type(worlds).__name__}")
    return worlds
