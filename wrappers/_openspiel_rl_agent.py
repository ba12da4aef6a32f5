"""A policy of ours as a learning agent of OpenSpiel, which follows its seat by time steps.

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

from hanabi_search_plugin.beliefs.tracked_worlds import MAX_WORLDS
from hanabi_search_plugin.core.errors import RecordError, UnsupportedError
from hanabi_search_plugin.core.game import History
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.hanabi.engine.watcher import Watcher
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import AnyPolicy
from hanabi_search_plugin.wrappers._openspiel_decider import Decider, replayed
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame
from hanabi_search_plugin.wrappers._openspiel_rules import State

_HINT = "attach(environment) or make it with include_full_state=True"


class SpielRLAgent(rl_agent.AbstractAgent):  # type: ignore[misc]
    """A policy of ours in loops of ``rl_environment``; it does not learn.

    It works out its seat's history from the observations and legal actions in time steps:

    * in hanabi of 2 players, from the time steps of its own turns
    * in hanabi of more players, if ``step`` is given every time step
    * in small games of OpenSpiel, by the states that match, if ``step`` is given the last time step
      of every episode, as loops do

    In other cases ``attach`` the environment, or make it with ``include_full_state=True`` (where
    who begins is random, ``attach`` it: a state does not tell). Of a whole state only what the seat
    has seen is read. Copy an attached agent together with its environment.
    """

    def __init__(self, policy: AnyPolicy, game: Any, player_id: int, seed: int = 0) -> None:
        self._decider = Decider(policy, game, seed, call="as_rl_agent(policy, game, player_id)")
        self._decider.check_seat(player_id)
        self.player_id = player_id
        self._environment: Any = None
        ours = self._decider.game
        self._watcher = Watcher(ours, player_id) if isinstance(ours, HanabiGame) else None
        self._after: list[list[int]] | None = None  # histories right after the seat's last move
        self._matching: list[State] = []

    def __repr__(self) -> str:
        return f"<learning agent of P{self.player_id}: {self._decider!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        decider = self._decider
        build = SpielRLAgent, (decider.policy, decider.game, self.player_id, decider.seed)
        kept = {name: self.__dict__[name] for name in ("_after", "_environment", "_watcher")}
        return (*build, kept)

    @property
    def last_result(self) -> SearchResult | None:
        """The SearchResult of the latest decision; None before the first, or without a search."""
        return self._decider.last_result

    def attach(self, environment: Any) -> SpielRLAgent:
        """Read the seat's history off ``environment`` from now on; returns the agent.

        Raises UnsupportedError for an environment of another game.
        """
        self._decider.check_game(environment.game)
        self._environment = environment
        return self

    def step(self, time_step: TimeStep, is_evaluation: bool = False) -> rl_agent.StepOutput:
        """Choose an action on this seat's turn; on another's, action None and no probabilities.

        Raises UnsupportedError where the time steps do not identify the history or are of another
        game, and for a game in which all players move at once.
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
        decision = self._decider.decide_by(history)
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
        """What the seat has seen up to its turn; None where another is to move."""
        decider, seat, observations = self._decider, self.player_id, time_step.observations
        mine = time_step.current_player() == seat
        legal = [int(a) for a in observations["legal_actions"][seat]]
        state = self._whole_state(observations)
        if state is not None:
            if not mine:
                return None
            if state.current_player() != seat or state.legal_actions() != legal:
                raise UnsupportedError(
                    f"expected the time step of the attached environment, with the legal actions "
                    f"{state.legal_actions()}, got {legal}"
                )
            return decider.history(state, seat)
        if self._watcher is not None:
            vector, mover = observations["info_state"][seat], time_step.current_player()
            history = self._observed(self._watcher, vector, mover)
            may = np.flatnonzero(history.views[-1].legal[0]).tolist()
            if mine and may != legal:
                raise UnsupportedError(
                    f"expected a time step with the legal actions {may}, got {legal}"
                )
            return history if mine else None
        if not mine:
            return None
        seen = np.asarray(observations["info_state"][seat], np.float32)
        return decider.history(self._found(seen.ravel(), legal), seat)

    def _whole_state(self, observations: Any) -> State | None:
        if self._environment is not None:
            return self._environment.get_state
        if not observations.get("serialized_state"):
            return None
        game = self._decider.game
        if isinstance(game, HanabiGame) and game.config.random_start_player:
            return None  # a state that is read back has drawn anew who begins
        spiel, state = pyspiel.deserialize_game_and_state(observations["serialized_state"])
        self._decider.check_game(spiel)
        return state

    def _observed(self, watcher: Watcher, vector: Any, mover: int) -> History:
        """What the seat has seen up to an observation [N] after which ``mover`` is to move.

        Raises UnsupportedError where observations are missing, ConfigError for one of another game.
        """
        try:
            return watcher.look(vector, mover)
        except RecordError as error:
            watcher.begin()
            hint = "attach(environment)" if watcher.game.config.random_start_player else _HINT
            raise UnsupportedError(
                f"the time steps must tell seat {self.player_id} of every move, from the start "
                f"of the game, or else {hint}; got: {error}"
            ) from error

    def _found(self, seen: NDArray[np.float32], legal: list[int]) -> State:
        """A state that shows the seat what it sees now.

        Raises UnsupportedError where there is none, and where the seat's history is not the same in
        all such states.
        """
        decider, game = self._decider, self._decider.game
        assert isinstance(game, OpenSpielGame)
        tried: tuple[list[list[int]] | None, ...] = (self._after, None)
        for after in tried:
            starts = [replayed(game, history) for history in after or [[]]]
            self._matching = [
                state
                for state in _next_turns(starts, self.player_id, decider)
                if state.legal_actions() == legal and _shows(state, self.player_id, seen)
            ]
            if self._matching or after is None:
                break
        if not self._matching:
            raise UnsupportedError(
                f"no state of {game.name} shows seat {self.player_id} this time step"
            )
        if len({decider.seen(decider.history(s, self.player_id))[-1] for s in self._matching}) > 1:
            raise UnsupportedError(
                f"the observations of {game.name} do not identify seat {self.player_id}'s "
                f"history: {_HINT}"
            )
        return self._matching[0]


def _next_turns(starts: list[State], seat: int, decider: Decider) -> Iterator[State]:
    """Every state in which ``seat`` may be next to move."""
    walked, left = 0, list(starts)
    while left:
        state = left.pop()
        walked += 1
        if walked > MAX_WORLDS:
            raise UnsupportedError(
                f"more than {MAX_WORLDS} states of {decider.game.name} may follow: {_HINT}"
            )
        if state.is_terminal():
            continue
        if state.current_player() == seat:
            yield state
            continue
        left += [state.child(action) for action in reversed(state.legal_actions())]


def _shows(state: State, seat: int, seen: NDArray[np.float32]) -> bool:
    """True if the seat's information state or observation in ``state`` is this tensor."""
    kind = state.get_game().get_type()
    shown = []
    if kind.provides_information_state_tensor:
        shown.append(state.information_state_tensor(seat))
    if kind.provides_observation_tensor:
        shown.append(state.observation_tensor(seat))
    return any(np.array_equal(np.asarray(x, np.float32), seen) for x in shown)
