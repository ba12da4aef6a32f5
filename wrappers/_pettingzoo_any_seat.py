"""Policies and search agents at the seats of AEC environments other than Hanabi.

A seat is followed by what it observes, by whose turn it is, and by its own moves (and by the
others', where the game says that all see them). The state behind the environment is never read, and
the environment is never stepped to search: that happens in a copy that the ``AECGame`` has made.
Letters: P players, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo.utils import BaseWrapper

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import NOBODY, UNSEEN, BoolArray, Event, History
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.evaluation.seat import SeatedPolicy
from hanabi_search_plugin.registry import AnyPolicy, policy_of
from hanabi_search_plugin.wrappers._pettingzoo_games import AECGame, AECView, Position, bare


@dataclass(frozen=True)
class AECMoment:
    """What is there between two moves, each seat's part apart from the others'."""

    move: int  # that led here; UNSEEN at the start
    mover: int  # the seat that is to move
    legal: BoolArray  # [A] its legal moves
    seen: tuple[NDArray[Any], ...]  # [P]


@dataclass
class AECRecord:
    games: int = 0
    moments: list[AECMoment] = field(default_factory=list)


class RecordMoves(BaseWrapper):  # type: ignore[misc]  # PettingZoo is untyped
    """Records moves and what every seat observes of an environment that ``game`` was made of.

    An ``AECSeatAgent`` reads its own seat's observations alone.
    """

    def __init__(self, env: Any, game: AECGame) -> None:
        super().__init__(env)
        if tuple(env.possible_agents) != game.players:
            raise ConfigError(
                f"the environment must have the agents {list(game.players)} of {game!r}, got "
                f"{list(env.possible_agents)}"
            )
        self.game = game
        self.record = AECRecord()

    def __repr__(self) -> str:
        return f"<RecordMoves of {self.env}>"

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed=seed, options=options)
        self.record.games += 1
        self.record.moments.clear()
        self._look(UNSEEN)

    def step(self, action: Any) -> None:
        super().step(action)
        if action is not None:
            self._look(int(action))

    def _look(self, move: int) -> None:
        env, adapter = bare(self.env), self.game.adapter
        if any(env.terminations.values()) or any(env.truncations.values()) or not env.agents:
            return
        mover = self.game.players.index(env.agent_selection)
        legal = np.asarray(adapter.mask(env, env.agent_selection), dtype=np.bool_)
        seen = tuple(np.array(adapter.observe(env, agent)) for agent in self.game.players)
        self.record.moments.append(AECMoment(move, mover, legal, seen))


class AECSeatAgent:
    """Plays one seat of an AEC environment by a policy, a searching one for instance.

        game = AECGame(leduc_holdem_v4.env, RlcardAdapter(), return_range=(-7, 7), max_length=12,
                       rewards="zero_sum", public_actions=False)
        env = RecordMoves(leduc_holdem_v4.env(), game)
        agent = upgrade(UniformPolicy(), game, Sparta(rollouts=200), belief=Particles(100))
        seat = AECSeatAgent(agent, env, "player_0")
        env.reset()
        for name in env.agent_iter():
            ...
            env.step(seat.act() if name == "player_0" else another(observation))

    ``seat`` is a number or an agent's name. ``last_result`` is the SearchResult of the seat's
    latest decision; None before the first, and where the policy does not search. Decision t of game
    g draws from ``SeedSequence([seed, g, t])``. Raises UnsupportedError for what is no policy and
    for an environment without ``RecordMoves``, ConfigError for a search agent of another game and
    for a seat that is not there.
    """

    def __init__(self, policy: AnyPolicy, env: Any, seat: int | str, *, seed: int = 0) -> None:
        if not isinstance(env, RecordMoves):
            raise UnsupportedError(f"expected an environment in RecordMoves, got {env}")
        self.env, self.game = env, env.game
        self._seated = SeatedPolicy(policy_of(policy, self.game))
        searched = self._seated.policy
        if isinstance(searched, SearchAgent) and searched.game is not self.game:
            raise ConfigError(f"the agent must search {self.game!r}, got {searched.game!r}")
        names = list(self.game.players)
        if seat not in names and seat not in range(len(names)):
            raise ConfigError(
                f"seat must be from 0 to {len(names) - 1} or of {names}, got {seat!r}"
            )
        self.seat = names.index(seat) if isinstance(seat, str) else int(seat)
        self.seed = seed
        self._games = 0

    def __repr__(self) -> str:
        return f"<{self._seated.policy!r} at seat {self.seat} of {self.game!r}>"

    @property
    def last_result(self) -> SearchResult | None:
        """The SearchResult of the latest decision; None before the first, or without a search."""
        return self._seated.last_result

    @property
    def history(self) -> History:
        """What the seat has seen of the running game: its own observations and moves alone."""
        moments = self.env.record.moments
        views, events = [], []
        for k, moment in enumerate(moments):
            mine = moment.mover == self.seat
            nothing = np.zeros(self.game.num_actions, dtype=np.bool_)
            seen = tuple(
                each if p == self.seat else np.zeros(0) for p, each in enumerate(moment.seen)
            )
            legal = moment.legal if mine else nothing
            position = Position(
                None, moment.mover, (0.0,) * self.game.num_players, legal, seen
            )  # fmt: skip
            views.append(AECView(self.game, self.seat, [position]))
            if k:
                event = Event(np.array([moments[k - 1].mover]), np.array([moment.move]))
                events.append(event.seen_by(self.seat, self.game))
        return History(self.seat, tuple(views), tuple(events))

    def act(self) -> int:
        """Choose the action of this seat. Raises IllegalActionError where it is not to move."""
        record = self.env.record
        mover = record.moments[-1].mover if record.moments else NOBODY
        here = bare(self.env)
        over = bool(record.moments) and (not here.agents or any(here.terminations.values()))
        if over or mover != self.seat:
            whose = "the game is over" if over else f"seat {mover} is"
            raise IllegalActionError(f"seat {self.seat} is not to move: {whose}")
        if record.games != self._games:
            self._games, self._seated.views_seen = record.games, 0
        history = self.history
        self._seated.follow(history)
        turn = [self.seed, self._games, len(history.events)]
        return self._seated.act(
            history.views[-1], np.random.default_rng(np.random.SeedSequence(turn))
        )
