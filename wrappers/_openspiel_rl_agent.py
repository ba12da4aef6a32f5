"""A policy of ours as a learning agent of OpenSpiel: it follows its seat by time steps.

N = elements of an observation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python import rl_agent
from open_spiel.python.rl_environment import TimeStep

from hanabi_search_plugin.beliefs.enumerated import MAX_WORLDS
from hanabi_search_plugin.core.errors import RecordError, UnsupportedError
from hanabi_search_plugin.core.game import History
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.hanabi.engine.watcher import Watcher
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import AnyPolicy
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame
from hanabi_search_plugin.wrappers._openspiel_mind import Mind, replayed
from hanabi_search_plugin.wrappers._openspiel_rules import State

_HINT = "attach(environment) or make it with include_full_state=True"


class SpielRLAgent(rl_agent.AbstractAgent):  # type: ignore[misc]
    """A policy of ours in loops of ``rl_environment``; it does not learn.

    A time step tells a seat its observation and the legal moves, and its history is followed from
    these where they identify it: in hanabi of 2 players by the time steps of its own turns, of more
    players if it is given every time step; on small games of OpenSpiel by matching states, if it
    is given the last step of every episode, as loops do. Everywhere else ``attach`` the environment
    or make that with ``include_full_state=True`` (not where who begins is random: a state does not
    tell it); of a whole state only what the seat has seen is read. ``player_id``: the seat. Copy an
    attached agent together with its environment.
    """

    def __init__(self, policy: AnyPolicy, game: Any, player_id: int, seed: int = 0) -> None:
        self._mind = Mind(policy, game, seed)
        self._mind.check_seat(player_id)
        self.player_id = player_id
        self._environment: Any = None
        ours = self._mind.game
        self._watcher = Watcher(ours, player_id) if isinstance(ours, HanabiGame) else None
        self._after: list[list[int]] | None = None  # histories right after the seat's last move
        self._matching: list[State] = []

    def __reduce__(self) -> tuple[Any, ...]:
        mind = self._mind
        build = SpielRLAgent, (mind.policy, mind.game, self.player_id, mind.seed)
        kept = {name: self.__dict__[name] for name in ("_after", "_environment", "_watcher")}
        return (*build, kept)

    @property
    def last_result(self) -> SearchResult | None:
        """The SearchResult of the latest decision; None before the first, or without a search."""
        return self._mind.last_result

    def attach(self, environment: Any) -> SpielRLAgent:
        """Follow the seat's history in ``environment``; returns the agent.

        Raises UnsupportedError for an environment of another game.
        """
        self._mind.check_game(environment.game)
        self._environment = environment
        return self

    def step(self, time_step: TimeStep, is_evaluation: bool = False) -> rl_agent.StepOutput:
        """The move on this seat's turn, else no move (None) and no probabilities.

        Raises UnsupportedError where the time steps do not identify the history or are of another
        game, and for a game in which all move at once.
        """
        if time_step.current_player() == pyspiel.PlayerId.SIMULTANEOUS:
            raise UnsupportedError(
                "expected the time step of a game with turns, got one in which all players move: "
                "make the environment of pyspiel.convert_to_turn_based(game)"
            )
        if time_step.first() or time_step.last():
            self._begin()
        history = None if time_step.last() else self._history(time_step)
        if history is None:
            return rl_agent.StepOutput(action=None, probs=[])
        decision = self._mind.decide_by(history)
        action = decision.action
        if self._watcher is not None:
            self._watcher.acted(action)
        self._after = [s.child(action).history() for s in self._matching]
        return rl_agent.StepOutput(action=action, probs=decision.chances)

    def _begin(self) -> None:
        self._after = None
        self._matching = []
        if self._watcher is not None:
            self._watcher.begin()

    def _history(self, time_step: TimeStep) -> History | None:
        """What the seat has seen up to its turn; None on another's turn."""
        mind, seat, told = self._mind, self.player_id, time_step.observations
        mine = time_step.current_player() == seat
        legal = [int(a) for a in told["legal_actions"][seat]]
        whole = self._whole_state(told)
        if whole is not None:
            if not mine:
                return None
            if whole.current_player() != seat or whole.legal_actions() != legal:
                raise UnsupportedError(
                    f"expected the time step of the attached environment, with the legal actions "
                    f"{whole.legal_actions()}, got {legal}"
                )
            return mind.history(whole, seat)
        if self._watcher is not None:
            vector, mover = told["info_state"][seat], time_step.current_player()
            history = self._observed(self._watcher, vector, mover)
            may = np.flatnonzero(history.views[-1].legal[0]).tolist()
            if mine and may != legal:
                raise UnsupportedError(
                    f"expected a time step with the legal actions {may}, got {legal}"
                )
            return history if mine else None
        if not mine:
            return None
        seen = np.asarray(told["info_state"][seat], np.float32)
        return mind.history(self._found(seen.ravel(), legal), seat)

    def _whole_state(self, told: Any) -> State | None:
        if self._environment is not None:
            return self._environment.get_state
        if not told.get("serialized_state"):
            return None
        game = self._mind.game
        if isinstance(game, HanabiGame) and game.config.random_start_player:
            return None  # a state that is read back has drawn anew who begins
        spiel, state = pyspiel.deserialize_game_and_state(told["serialized_state"])
        self._mind.check_game(spiel)
        return state

    def _observed(self, watcher: Watcher, vector: Any, mover: int) -> History:
        """What the seat has seen up to an observation [N] after which ``mover`` is to move.

        Raises UnsupportedError where observations are missing, ConfigError for one of another game.
        """
        try:
            return watcher.look(vector, mover)
        except RecordError as error:
            begun = watcher.history is not None
            watcher.begin()
            if begun and mover == self.player_id and watcher.game.num_players == 2:
                # Nobody told of the last episode's end.
                return self._observed(watcher, vector, mover)
            hint = "attach(environment)" if watcher.game.config.random_start_player else _HINT
            raise UnsupportedError(
                f"the time steps must tell player {self.player_id} of every move, from the start "
                f"of the game, or else {hint}; got: {error}"
            ) from error

    def _found(self, seen: NDArray[np.float32], legal: list[int]) -> State:
        """A state that shows the seat what it sees now; all those have one history of the seat."""
        mind, game = self._mind, self._mind.game
        assert isinstance(game, OpenSpielGame)
        tried: tuple[list[list[int]] | None, ...] = (self._after, None)
        for after in tried:
            starts = [replayed(game, history) for history in after or [[]]]
            self._matching = [
                state
                for state in _next_turns(starts, self.player_id, mind)
                if state.legal_actions() == legal and _shows(state, self.player_id, seen)
            ]
            if self._matching or after is None:
                break
        if not self._matching:
            raise UnsupportedError(
                f"no state of {game.name} shows player {self.player_id} this time step"
            )
        if len({mind.seen(mind.history(s, self.player_id))[-1] for s in self._matching}) > 1:
            raise UnsupportedError(
                f"the observations of {game.name} do not identify player {self.player_id}'s "
                f"history: {_HINT}"
            )
        return self._matching[0]


def _next_turns(starts: list[State], seat: int, mind: Mind) -> Iterator[State]:
    """Every state in which ``seat`` may be next to move."""
    walked, left = 0, list(starts)
    while left:
        state = left.pop()
        walked += 1
        if walked > MAX_WORLDS:
            raise UnsupportedError(
                f"more than {MAX_WORLDS} states of {mind.game.name} may follow: {_HINT}"
            )
        if state.is_terminal():
            continue
        if state.current_player() == seat:
            yield state
            continue
        left += [state.child(action) for action in reversed(state.legal_actions())]


def _shows(state: State, seat: int, seen: NDArray[np.float32]) -> bool:
    """Does a state show the seat this tensor, as information state or as observation?"""
    kind = state.get_game().get_type()
    shown = []
    if kind.provides_information_state_tensor:
        shown.append(state.information_state_tensor(seat))
    if kind.provides_observation_tensor:
        shown.append(state.observation_tensor(seat))
    return any(np.array_equal(np.asarray(x, np.float32), seen) for x in shown)
