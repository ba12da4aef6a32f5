"""Policies and search agents at the seats of PettingZoo's Hanabi, from observations alone.

For ``hanabi_v5`` and for our own ``wrappers.pettingzoo``. What a seat has observed is decoded to
views, which policies are given as in the native engine. The state behind the environment is never
read, and the environment is never stepped to search.
Letters: P players, A actions, N elements of an observation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo.utils import BaseWrapper

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import Event
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.decoding import Row, between, first, follow, opening
from hanabi_search_plugin.hanabi.engine.encoding import observation_size
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.engine.layout import LAST_ACTION, LAST_PLAYER, TURN
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame


@dataclass(frozen=True)
class Moment:
    """What all seats observe between two moves."""

    mover: int  # the seat that is to move
    observations: tuple[NDArray[Any], ...]  # [P] of N elements


@dataclass
class SeatRecord:
    """The moments of the running game, and how many games were begun before it."""

    games: int = -1
    over: bool = False
    moments: list[Moment] = field(default_factory=list)


class RecordObservations(BaseWrapper):  # type: ignore[misc]  # PettingZoo is untyped
    """Records what every seat observes after ``reset`` and after every ``step``.

    An agent in a game of 3 to 5 players needs it: from its own turns alone it cannot tell the
    order of what the others did. Each ``SeatAgent`` reads the observations of its own seat.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.record = SeatRecord()

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed=seed, options=options)
        self.record.games += 1
        self.record.over = False
        self.record.moments.clear()
        self._look()

    def step(self, action: Any) -> None:
        super().step(action)
        ended = any(self.env.terminations.values()) or any(self.env.truncations.values())
        self.record.over |= ended or not self.env.agents
        if not self.record.over:
            self._look()

    def _look(self) -> None:
        seen = [self.env.observe(agent) for agent in self.env.possible_agents]
        needed = {"observation", "action_mask"}
        if not all(isinstance(each, Mapping) and needed <= each.keys() for each in seen):
            raise UnsupportedError(
                'expected dicts with an "observation" and an "action_mask", as Hanabi shows, '
                f"got those of {self.env}"
            )
        movers = [seat for seat, each in enumerate(seen) if np.any(each["action_mask"])]
        if len(movers) != 1:
            raise UnsupportedError(
                f"expected the masks of the environment to name one seat to move, got {movers}"
            )
        vectors = tuple(np.asarray(each["observation"]).astype(np.uint8) for each in seen)
        self.record.moments.append(Moment(movers[0], vectors))


def hanabi_config(env: Any) -> HanabiConfig:
    """The configuration of a PettingZoo Hanabi, theirs or ours.

    Raises UnsupportedError for another environment.
    """
    raw = getattr(env, "unwrapped", env)
    config = getattr(raw, "config", None)
    if isinstance(config, HanabiConfig):
        return config
    given = getattr(raw, "_config", None)  # hanabi_v5's parameters; nothing of its state
    if str(getattr(raw, "metadata", {}).get("name")) != "hanabi_v5" or not isinstance(given, dict):
        raise UnsupportedError(f"expected PettingZoo's Hanabi or our own, got {raw}")
    return HanabiConfig(**{str(name).removeprefix("max_"): given[name] for name in given})


class SeatAgent:
    """``policy`` (a SearchAgent, say) at one seat of a PettingZoo Hanabi.

        env = RecordObservations(hanabi_v5.env())
        agents = {name: SeatAgent(policy, env, name) for name in env.possible_agents}
        env.reset()
        for name in env.agent_iter():
            observation, reward, termination, truncation, info = env.last()
            over = termination or truncation
            env.step(None if over else agents[name].act(observation))

    ``source`` is the environment, or the configuration of a game of 2 players whose environment
    is elsewhere: there the observations of the seat's own turns are enough, ``reset()`` begins a
    game, and ``acted()`` corrects what was played in place of ``act``'s answer. ``seat`` is a
    number or an agent's name. Decision t of game g draws from ``SeedSequence([seed, g, t])``, as
    ``selfplay.play_game`` does for ``seeds=(seed, g)``; a policy that does not search draws from a
    stream of that sequence. Raises UnsupportedError for 3 to 5 players without
    ``RecordObservations``, and ConfigError for a search agent of another game.
    """

    def __init__(self, policy: Policy, source: Any, seat: int | str, *, seed: int = 0) -> None:
        if not isinstance(policy, Policy):
            raise ConfigError(f"expected a Policy, got {policy!r}")
        config = source if isinstance(source, HanabiConfig) else hanabi_config(source)
        self._record = None if source is config else _record_of(source)
        if self._record is None and config.players > 2:
            raise UnsupportedError(
                f"the turns of one seat alone leave open what happened between them in a game of "
                f"{config.players} players: wrap the environment in RecordObservations"
            )
        if isinstance(policy, SearchAgent):
            config = _game_of(policy, config)
        self.policy, self.seed = policy, seed
        self.game = HanabiGame(config)
        self.seat = _seat(seat, config.players)
        self.result: SearchResult | None = None  # of the last decision, where it was searched
        self._games = 0
        self._row: Row | None = None
        self._memory: Memory = None
        self._moves = 0
        self._acted: int | None = None
        self._seen: NDArray[Any] | None = None  # the last observation, where none is recorded

    def __repr__(self) -> str:
        return f"<{type(self.policy).__name__} at seat {self.seat} of {self.game!r}>"

    @property
    def view(self) -> HanabiView | None:
        """What the seat has seen last; None before its first observation."""
        return None if self._row is None else self._view(self._row)

    def reset(self) -> None:
        """A new game. With ``RecordObservations`` the environment's reset is enough."""
        self._games += 1
        self._begin()

    def follow(self, env: Any) -> None:
        """Go on from the record of ``env``: of a copy of the environment, say.

        Raises UnsupportedError where ``env`` has none.
        """
        self._record = _record_of(env)
        if self._record is None:
            raise UnsupportedError(f"expected an environment in RecordObservations, got {env}")

    def acted(self, action: int) -> None:
        """Another move was made than ``act`` has said; a record knows it by itself."""
        self._acted = int(action)

    def act(self, observation: Any = None, mask: Any = None) -> int:
        """The action of this seat, which is to move.

        ``observation`` is what ``last()`` or ``observe()`` gives, or its vector alone with its
        ``mask``; with ``RecordObservations`` it may be left out. Raises ConfigError for an
        observation or mask of another configuration, IllegalActionError where it is not this
        seat's turn, RecordError where observations are missing.
        """
        if isinstance(observation, Mapping):
            if "observation" not in observation:
                raise ConfigError(
                    f'expected a dict with an "observation", got one of {list(observation)}'
                )
            mask = observation.get("action_mask", mask)
            observation = observation["observation"]
        if observation is not None:
            self._check_shape("observation", observation, observation_size(self.game.config))
        if mask is not None:
            self._check_shape("mask", mask, self.game.num_actions)
            if not np.any(mask):
                raise IllegalActionError(f"player {self.seat} is not to move: its mask is empty")
        if self._record is not None:
            self._catch_up(self._record)
        elif observation is None:
            raise ConfigError("expected an observation: the environment is not recorded")
        else:
            self._own_turn(observation)
        assert self._row is not None
        view = self._view(self._row)
        if self._row[TURN] != self.seat:
            raise IllegalActionError(
                f"player {self.seat} is not to move: it is player {self._row[TURN]}'s turn"
            )
        legal = view.legal
        if mask is not None and not np.array_equal(legal[0], np.asarray(mask, dtype=np.bool_)):
            raise ConfigError(
                f"the mask must allow the actions {np.flatnonzero(legal[0]).tolist()}, "
                f"got {np.flatnonzero(mask).tolist()}"
            )
        action = self._decide(view)
        self._acted = action
        return action

    # ------------------------------------------------------------------------------------- within

    def _begin(self) -> None:
        self._row = self._memory = self._acted = self._seen = None
        self._moves = 0

    def _view(self, row: Row) -> HanabiView:
        return HanabiView(self.game, self.seat, row[None].copy())

    def _check_shape(self, what: str, given: Any, size: int) -> None:
        if np.shape(given) != (size,):
            raise ConfigError(
                f"the {what} must have {size} elements for {self.game!r}, "
                f"got shape {np.shape(given)}"
            )

    def _decide(self, view: HanabiView) -> int:
        sequence = np.random.SeedSequence([self.seed, self._games, self._moves])
        rng = np.random.default_rng(sequence)
        self.result = None
        if isinstance(self.policy, SearchAgent):
            self.result = self.policy.decide(self._memory[0], rng)
            return self.result.action
        return int(self.policy.act(view, view.legal, self._memory, Streams.spawn(rng, 1))[0])

    def _catch_up(self, record: SeatRecord) -> None:
        if record.games < 0:
            raise UnsupportedError("expected an environment that was reset, got one that was not")
        if record.over:
            raise IllegalActionError(f"player {self.seat} is not to move: the game is over")
        if record.games != self._games:
            self._games = record.games
            self._begin()
        start = 0 if self._row is None else self._moves + 1
        for moment in record.moments[start:]:
            vector = moment.observations[self.seat]
            if self._row is None:
                self._start(first(self.game.config, vector, self.seat, moment.mover))
            else:
                self._observe(follow(self.game.config, self._row, vector, self.seat))

    def _own_turn(self, vector: Any) -> None:
        """2 players: what this seat sees, and what it did not see of both moves before."""
        config, seat, seen = self.game.config, self.seat, np.array(vector)
        if self._seen is not None and np.array_equal(seen, self._seen):
            return  # asked again in the same moment: two moves always change the observation
        if self._row is None:
            self._start(opening(config, seen, seat))
        elif self._acted is None:
            raise ConfigError("expected act() or acted() between two observations, got neither")
        else:
            self._observe(between(config, self._row, self._acted, seen, seat))
        assert self._row is not None
        if self._row[TURN] != seat:
            self._observe(follow(config, self._row, seen, seat))
        self._seen, self._acted = seen, None

    def _start(self, row: Row) -> None:
        self._row, self._moves = row, 0
        self._memory = self.policy.start(self._view(row))

    def _observe(self, row: Row) -> None:
        event = Event(row[[LAST_PLAYER]].astype(np.int64), row[[LAST_ACTION]].astype(np.int64))
        self._memory = self.policy.observe(self._view(row), event, self._memory)
        self._row = row
        self._moves += 1


def _record_of(env: Any) -> SeatRecord | None:
    """The record of an environment, wherever RecordObservations stands among its wrappers."""
    while not isinstance(env, RecordObservations):
        if not isinstance(env, BaseWrapper):
            return None
        env = env.env
    return env.record


def _game_of(agent: SearchAgent, config: HanabiConfig) -> HanabiConfig:
    """The configuration the agent searches: the environment's, but for what a lost game is worth
    and who begins."""
    if not isinstance(agent.game, HanabiGame):
        raise ConfigError(f"the agent must search native Hanabi, got {agent.game!r}")
    searched = agent.game.config
    alike = {"bomb": config.bomb, "random_start_player": config.random_start_player}
    if replace(searched, **alike) != config:  # type: ignore[arg-type]  # of these two fields
        raise ConfigError(f"the agent must search {HanabiGame(config)!r}, got {agent.game!r}")
    return searched


def _seat(seat: int | str, players: int) -> int:
    names = [f"player_{p}" for p in range(players)]
    if isinstance(seat, str) and seat in names:
        return names.index(seat)
    if seat in range(players):
        return int(seat)
    raise ConfigError(f"seat must be from 0 to {players - 1} or of {names}, got {seat!r}")
