"""Policies and search agents at the seats of PettingZoo's Hanabi, from observations alone.

For ``hanabi_v5`` and for ``env`` of ``wrappers.pettingzoo``. What a seat observes is decoded to the
views that policies get in the native engine. The state behind the environment is never read, and
the environment is never stepped to search.
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
from hanabi_search_plugin.core.game import History
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.evaluation.seat import SeatedPolicy
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.encoding import observation_size
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.engine.watcher import Watcher
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import AnyPolicy, policy_of


@dataclass(frozen=True)
class Moment:
    """What all seats observe between two moves."""

    mover: int  # the seat that is to move
    observations: tuple[NDArray[Any], ...]  # [P] of N elements


@dataclass
class SeatRecord:
    """What was observed in the running game."""

    games: int = -1  # begun before it
    over: bool = False
    moments: list[Moment] = field(default_factory=list)


class RecordObservations(BaseWrapper):  # type: ignore[misc]  # PettingZoo is untyped
    """Records what every seat observes after ``reset`` and after every ``step``.

    Agents in games of 3 to 5 players need it, because the observations of a seat's own turns do not
    tell in what order the others moved. A ``SeatAgent`` reads those of its own seat alone.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.record = SeatRecord()

    def __repr__(self) -> str:
        return f"<RecordObservations of {self.env}>"

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed=seed, options=options)
        self.record.games += 1
        self.record.over = False
        self.record.moments.clear()
        self._look()

    def step(self, action: Any) -> None:
        super().step(action)
        self.record.over |= _is_over(self.env)
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
    """Plays one seat of a PettingZoo Hanabi by a policy, a searching one for instance.

        env = RecordObservations(hanabi_v5.env())
        agents = {name: SeatAgent(policy, env, name) for name in env.possible_agents}
        env.reset()
        for name in env.agent_iter():
            observation, reward, termination, truncation, info = env.last()
            over = termination or truncation
            env.step(None if over else agents[name].act(observation))

    ``policy`` may be a name. ``source`` is the environment; or, for a game of 2 players in an
    environment elsewhere, its configuration. With 2 players the observations of the seat's own
    turns are enough. An observation that cannot follow from the last begins a new game (``reset()``
    says so outright), and ``acted()`` says which move was played where it was not ``act``'s. An
    environment without ``RecordObservations`` is asked what its seat observes and may do, as a
    check; a copy of the agent asks none before ``follow``. ``seat`` is a number or an agent's name.
    ``last_result`` is the SearchResult of the seat's latest decision; None before the first, and
    where the policy does not search.

    Decision t of game g draws from ``SeedSequence([seed, g, t])``, as ``play_game`` does for
    ``seeds=(seed, g)``; a policy that does not search draws from a stream of that sequence. Raises
    UnsupportedError for what is no policy and for 3 to 5 players without ``RecordObservations``,
    ConfigError for a search agent of another game.
    """

    def __init__(self, policy: AnyPolicy, source: Any, seat: int | str, *, seed: int = 0) -> None:
        config = source if isinstance(source, HanabiConfig) else hanabi_config(source)
        self._play_in(None if source is config else source, config.players)
        self._seated = SeatedPolicy(policy_of(policy, HanabiGame(config)))
        if isinstance(self.policy, SearchAgent):
            config = _game_of(self.policy, config)
        self.seed = seed
        self.game = HanabiGame(config)
        self.seat = _seat(seat, config.players)
        self._watcher = Watcher(self.game, self.seat)
        self._games = 0

    def __repr__(self) -> str:
        return f"<{self.policy!r} at seat {self.seat} of {self.game!r}>"

    @property
    def policy(self) -> Policy:
        return self._seated.policy

    @property
    def last_result(self) -> SearchResult | None:
        """The SearchResult of the latest decision; None before the first, or without a search."""
        return self._seated.last_result

    @property
    def view(self) -> HanabiView | None:
        """What the seat has seen last in the running game; None before its first observation."""
        return self._watcher.view

    def reset(self) -> None:
        """Begin a new game. Seldom needed: ``act`` sees by an observation that one has begun."""
        self._games += 1
        self._begin()

    def follow(self, env: Any) -> None:
        """Go on in ``env``, a copy of the environment for instance.

        Raises UnsupportedError for what is no Hanabi of PettingZoo, and with 3 to 5 players for
        one that is not in RecordObservations.
        """
        hanabi_config(env)
        self._play_in(env, self.game.num_players)

    def acted(self, action: int) -> None:
        """Say that another move was made than ``act``'s; a recorded environment shows it."""
        self._watcher.acted(action)

    def act(self, observation: Any = None, mask: Any = None) -> int:
        """Choose the action of this seat, which is to move.

        ``observation`` is what ``last()`` or ``observe()`` gives, or the vector in it, beside its
        ``mask``. With ``RecordObservations`` it may be left out. Raises ConfigError for an
        observation or a mask of another configuration, and for an observation that is not what
        this seat of the environment sees now; IllegalActionError where it is not this seat's turn
        (made with a configuration, the agent knows that by the mask alone); RecordError where
        observations are missing.
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
                raise IllegalActionError(f"seat {self.seat} is not to move: its mask is empty")
        seen = self._seen_now()
        if seen is not None and observation is not None and not np.array_equal(seen, observation):
            raise ConfigError(
                f"the observation must be the one that seat {self.seat} sees now in the "
                "environment, got another"
            )
        if self._record is not None:
            history = self._recorded(self._record)
        elif observation is None:
            raise ConfigError(
                "act needs the observation that last() or observe() gives, got None: leave it out "
                "only where the environment is in RecordObservations"
            )
        else:
            games = self._watcher.games
            history = self._watcher.look(observation, self.seat)
            if self._watcher.games != games:  # nobody said that a new one has begun
                self._games += 1
                self._seated.views_seen = 0
        self._seated.follow(history)
        view = history.views[-1]
        mover = int(view.current_player[0])
        if mover != self.seat:
            raise IllegalActionError(f"seat {self.seat} is not to move: it is seat {mover}'s turn")
        legal = view.legal
        if mask is not None and not np.array_equal(legal[0], np.asarray(mask, dtype=np.bool_)):
            raise ConfigError(
                f"the mask must allow the actions {np.flatnonzero(legal[0]).tolist()}, "
                f"got {np.flatnonzero(mask).tolist()}"
            )
        turn = [self.seed, self._games, self._seated.views_seen - 1]
        action = self._seated.act(view, np.random.default_rng(np.random.SeedSequence(turn)))
        self._watcher.acted(action)
        return action

    # ------------------------------------------------------------------------------------- within

    def __getstate__(self) -> dict[str, Any]:
        """Without the environment, which a copy of the agent does not play in."""
        return vars(self) | {"_env": None}

    def _play_in(self, env: Any, players: int) -> None:
        """``env``: None where the game is played elsewhere."""
        self._record = None if env is None else _record_of(env)
        self._env: Any = env if self._record is None else None  # to check what ``act`` is given
        if self._record is None and players > 2:
            raise UnsupportedError(
                f"the turns of one seat alone leave open what happened between them in a game of "
                f"{players} players: wrap the environment in RecordObservations"
            )

    def _seen_now(self) -> NDArray[Any] | None:
        """[N] what this seat, which is to move, observes; None where the game is elsewhere.

        Raises UnsupportedError before the first reset, IllegalActionError where it is not to move.
        """
        record, env = self._record, self._env
        if record is None and env is None:
            return None
        ready = hasattr(env, "agents") if record is None else record.games >= 0
        if not ready:
            raise UnsupportedError("expected an environment that was reset, got one that was not")
        if _is_over(env) if record is None else record.over:
            raise IllegalActionError(f"seat {self.seat} is not to move: the game is over")
        if record is None:  # hanabi_v5's agent_selection errs where players draw lots who begins
            shown = env.observe(env.possible_agents[self.seat])
            to_move, seen = bool(np.any(shown["action_mask"])), np.asarray(shown["observation"])
        else:
            now = record.moments[-1]
            to_move, seen = now.mover == self.seat, now.observations[self.seat]
        if not to_move:
            raise IllegalActionError(f"seat {self.seat} is not to move: it is another seat's turn")
        return seen

    def _begin(self) -> None:
        self._watcher.begin()
        self._seated.views_seen = 0

    def _check_shape(self, what: str, given: Any, size: int) -> None:
        if np.shape(given) != (size,):
            raise ConfigError(
                f"the {what} must have {size} elements for {self.game!r}, "
                f"got shape {np.shape(given)}"
            )

    def _recorded(self, record: SeatRecord) -> History:
        """The history up to now of the game that is recorded."""
        if record.games != self._games:
            self._games = record.games
            self._begin()
        history = self._watcher.history
        for moment in record.moments[0 if history is None else len(history.views) :]:
            history = self._watcher.look(moment.observations[self.seat], moment.mover)
        assert history is not None
        return history


def _is_over(env: Any) -> bool:
    """Whether the game in an environment that was reset is over."""
    ended = any(env.terminations.values()) or any(env.truncations.values())
    return ended or not env.agents


def _record_of(env: Any) -> SeatRecord | None:
    """The record of an environment, wherever RecordObservations stands among its wrappers."""
    while not isinstance(env, RecordObservations):
        if not isinstance(env, BaseWrapper):
            return None
        env = env.env
    return env.record


def _game_of(agent: SearchAgent, config: HanabiConfig) -> HanabiConfig:
    """The configuration that the agent searches.

    Raises ConfigError unless it is the environment's. What a lost game is worth and who begins may
    differ.
    """
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
