"""OpenSpiel's learning agents as policies of ours; see ``as_policy``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import cloudpickle
import numpy as np
from open_spiel.python.rl_environment import StepType, TimeStep

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, View
from hanabi_search_plugin.core.policy import Memory
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers._openspiel_adapted import Adapted, equal
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame
from hanabi_search_plugin.wrappers._openspiel_hanabi import spiel_of
from hanabi_search_plugin.wrappers._openspiel_worlds import OpenSpielView


class RLAgentPolicy(Adapted):
    """A learning agent of OpenSpiel, which does not learn here; see ``as_policy``.

    Memory: None, or for an agent that remembers what the seat saw on its own turns so far.
    """

    def __init__(
        self,
        agent: Any,
        game: HanabiGame | OpenSpielGame,
        memoryless: bool,
        any_seat: bool,
        use_observation: bool | None,
    ) -> None:
        super().__init__(agent, game)
        self.memoryless = memoryless
        self.any_seat = any_seat
        self.batched = hasattr(agent, "num_envs")  # PPO: lists of time steps in, of outputs out
        kind = (spiel_of(game) if isinstance(game, HanabiGame) else game.spiel).get_type()
        self.use_observation = use_observation
        if use_observation is None:
            self.use_observation = not kind.provides_information_state_tensor
        asked = "observation" if self.use_observation else "information_state"
        if not getattr(kind, f"provides_{asked}_tensor"):
            raise UnsupportedError(f"{game.name} gives no {asked}_tensor for an agent to see")
        actions = attribute(agent, "num_actions")
        if actions is not None and actions != game.num_actions:
            raise UnsupportedError(
                f"expected an agent with the {game.num_actions} actions of {game.name}, got "
                f"{type(agent).__name__} with {actions}"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Keep the agent by cloudpickle.

        DQN holds a function made in a function, which pickle refuses, and a trained PolicyGradient
        tensors that deepcopy refuses.
        """
        return {**self.__dict__, "thing": cloudpickle.dumps(self.thing)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, thing=cloudpickle.loads(state["thing"]))

    def start(self, view: View) -> Memory:
        self.check_view(view)
        player = attribute(self.thing, "player_id")
        if player is not None and player != view.player and not self.any_seat:
            raise UnsupportedError(
                f"{type(self.thing).__name__} plays seat {player}, got {view.player}: give an "
                "agent a seat, or any_seat=True"
            )
        return None if self.memoryless else self._noted(view, [()] * len(view))

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return None if memory is None else self._noted(view, memory)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        chance = self.no_chance(view, legal)
        if memory is None:
            seen = self._seen(view)
            places = equal([(*each, row.tobytes()) for each, row in zip(seen, legal, strict=True)])
        else:
            places = [[b] for b in range(len(view))]
        with _generators_kept():
            if memory is not None:
                outputs = [self._replayed(turns, view.player) for turns in memory]
            else:
                steps = [
                    self._time_step(seen[b], legal[b], view.player, first=False) for b, *_ in places
                ]
                if self.batched:
                    outputs = self._step(steps)
                else:
                    outputs = [self._step(step) for step in steps]
        for rows, output in zip(places, outputs, strict=True):
            chance[rows] = self._answer(output, legal[rows[0]])
        return chance

    def _step(self, step: Any) -> Any:
        try:
            return self.thing.step(step, is_evaluation=True)
        except (IndexError, RuntimeError, TypeError, ValueError) as error:  # shapes that do not fit
            one = step[0] if self.batched else step
            seen = len(one.observations["info_state"][one.observations["current_player"]])
            raise UnsupportedError(
                f"{type(self.thing).__name__} must take the info_state of {self.game.name}, "
                f"{seen} numbers, got {type(error).__name__}: {error}"
            ) from error

    def _noted(self, view: View, memory: Memory) -> Memory:
        mine = np.flatnonzero(view.current_player == view.player)
        after = list(memory)
        if len(mine):
            legal = view.legal
            for b, seen in zip(mine.tolist(), self._seen(view.select(mine)), strict=True):
                after[b] = (*after[b], (seen, legal[b]))
        return after

    def _replayed(self, turns: Any, seat: int) -> Any:
        output = None
        for k, (seen, legal) in enumerate(turns):
            step = self._time_step(seen, legal, seat, first=k == 0)
            output = self._step([step] if self.batched else step)
        return output[0] if self.batched and output else output

    def _seen(self, view: View) -> list[list[float]]:
        if isinstance(view, OpenSpielView):
            if self.use_observation:
                return [state.observation_tensor(view.player) for state in view.states()]
            return [state.information_state_tensor(view.player) for state in view.states()]
        seen: list[list[float]] = view.observation("openspiel").astype(np.float32).tolist()
        return seen

    def _time_step(
        self, seen: list[float], legal: BoolArray, seat: int, *, first: bool
    ) -> TimeStep:
        """The time step of a seat's turn; the other seats' parts of it are empty."""
        player = attribute(self.thing, "player_id")
        seat = seat if player is None else player
        seats = range(self.game.num_players)
        observations = {
            "info_state": [seen if p == seat else [0.0] * len(seen) for p in seats],
            "legal_actions": [np.flatnonzero(legal).tolist() if p == seat else [] for p in seats],
            "current_player": seat,
            "serialized_state": [],
        }
        if first:
            return TimeStep(observations, None, None, StepType.FIRST)
        return TimeStep(observations, [0.0] * len(seats), [1.0] * len(seats), StepType.MID)

    def _answer(self, output: Any, legal: BoolArray) -> FloatArray:
        if output is None or not hasattr(output, "action"):
            raise UnsupportedError(
                f"{type(self.thing).__name__}.step must give a StepOutput, got "
                f"{type(output).__name__}"
            )
        chance = output.probs
        if hasattr(chance, "detach"):
            chance = chance.detach().cpu().numpy()
        if chance is None or len(chance) == 0:
            return self.certain(output.action, legal)
        if isinstance(chance, Mapping):
            return self.row(chance, legal)
        return self.row(np.asarray(chance, dtype=np.float64), legal)


def attribute(agent: Any, name: str) -> int | None:
    """A public or private integer of an agent."""
    value = getattr(agent, name, getattr(agent, f"_{name}", None))
    return int(value) if isinstance(value, int | np.integer) else None


@contextmanager
def _generators_kept() -> Iterator[None]:
    """Leave the global generators, which OpenSpiel's agents draw from, as they are."""
    torch = sys.modules.get("torch")
    numbers = np.random.get_state()
    drawn = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        np.random.set_state(numbers)
        if torch is not None:
            torch.set_rng_state(drawn)
