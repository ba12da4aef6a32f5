"""Policies of ours, searching ones too, as OpenSpiel's bots, policies and learning agents.

Of a ``pyspiel.State`` they read what their seat has seen and nothing else. Every decision is a
function of that history and a seed: the same seed gives the same play, a game that has begun can be
joined, and copies go on identically. States of hanabi are played on the native engine. A = actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as spiel_policy

from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.registry import AnyPolicy
from hanabi_search_plugin.wrappers._openspiel_decider import Decider
from hanabi_search_plugin.wrappers._openspiel_rl_agent import SpielRLAgent
from hanabi_search_plugin.wrappers._openspiel_rules import State


def as_bot(policy: AnyPolicy, game: Any, player_id: int, *, seed: int = 0) -> SpielBot:
    """Make a ``pyspiel.Bot`` that plays one seat by ``policy``, which may be a name.

    It plays in both of OpenSpiel's ``evaluate_bots``. ``game`` is a game of ours, or what
    ``load_game`` takes; the states it is asked about must be of that game. Its ``last_result`` is
    the SearchResult of its latest decision; None before the first, and where ``policy`` does not
    search. Its chance follows from ``seed`` and what its seat has seen, so it moves alike where it
    has seen the same: over many deals one bot of a stochastic policy is one pure strategy, and a
    mean over its mixture wants a bot with a ``seed`` of its own for each deal. Raises
    UnsupportedError for what is no policy, a seat that is not there, and an agent made for another
    game.
    """
    return SpielBot(policy, game, player_id, seed)


def as_spiel_policy(policy: AnyPolicy, game: Any, *, seed: int = 0) -> SpielPolicy:
    """Make an ``open_spiel.python.policy.Policy`` that plays every seat by ``policy``.

    On small games with perfect recall, its ``to_tabular()`` exports it and
    ``expected_game_score.policy_value`` computes its exact value. Arguments, errors and
    ``last_result`` are those of ``as_bot``.
    """
    return SpielPolicy(policy, game, seed)


def as_rl_agent(policy: AnyPolicy, game: Any, player_id: int, *, seed: int = 0) -> SpielRLAgent:
    """Make an ``rl_agent.AbstractAgent`` that plays one seat by ``policy``; see ``SpielRLAgent``.

    Arguments, errors and ``last_result`` are those of ``as_bot``.
    """
    return SpielRLAgent(policy, game, player_id, seed)


class SpielBot(pyspiel.Bot):  # type: ignore[misc]
    """A policy of ours as a bot, which reads its seat's history off every state it is handed.

    So it need not be told of moves (``inform_action`` does nothing), and goes on from any state of
    its game. Its policy is the policy's probabilities; for a searching one, 1 for its decision.
    """

    def __init__(self, policy: AnyPolicy, game: Any, player_id: int, seed: int = 0) -> None:
        pyspiel.Bot.__init__(self)
        self._decider = Decider(policy, game, seed, call="as_bot(policy, game, player_id)")
        self._decider.check_seat(player_id)
        self._player_id = player_id

    def __repr__(self) -> str:
        return f"<bot of P{self._player_id}: {self._decider!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        decider = self._decider
        return SpielBot, (decider.policy, decider.game, self._player_id, decider.seed)

    @property
    def last_result(self) -> SearchResult | None:
        """The SearchResult of the latest decision; None before the first, or without a search."""
        return self._decider.last_result

    def player_id(self) -> int:
        """The seat that it plays."""
        return self._player_id

    def step(self, state: State) -> int:
        """Choose an action. Raises UnsupportedError in another game or on another seat's turn."""
        return self._decider.decide(state, self._player_id).action

    def step_with_policy(self, state: State) -> tuple[list[tuple[int, float]], int]:
        """The legal actions with their probabilities, and the action chosen."""
        decision = self._decider.decide(state, self._player_id)
        return _pairs(state, decision.chances), decision.action

    def provides_policy(self) -> bool:
        return True

    def get_policy(self, state: State) -> list[tuple[int, float]]:
        """The legal actions with their probabilities."""
        return self.step_with_policy(state)[0]

    def restart(self) -> None:
        """Forget the game."""
        self._decider.forget()

    def restart_at(self, state: State) -> None:
        """Forget the game and join that of ``state``. Raises UnsupportedError where it cannot."""
        self._decider.forget()
        self._decider.join(state, self._player_id)

    def inform_action(self, state: State, player_id: int, action: int) -> None:
        """Do nothing: the next state it is asked about has the move in its history."""

    def inform_actions(self, state: State, actions: list[int]) -> None:
        """Do nothing; see ``inform_action``."""

    def is_clonable(self) -> bool:
        return True

    def clone(self) -> SpielBot:
        decider = self._decider
        twin = SpielBot(decider.policy, decider.game, self._player_id, decider.seed)
        twin._decider.memories.update(decider.memories)
        return twin


class SpielPolicy(spiel_policy.Policy):  # type: ignore[misc]
    """A policy of ours at every seat, by its probabilities; those of a searching one are 0 or 1."""

    def __init__(self, policy: AnyPolicy, game: Any, seed: int = 0) -> None:
        self._decider = Decider(policy, game, seed, call="as_spiel_policy(policy, game)")
        players = list(range(self._decider.game.num_players))
        super().__init__(self._decider.spiel, players)
        self._random_state = np.random.RandomState(seed)  # what later OpenSpiel draws from

    def __repr__(self) -> str:
        return f"<policy of every seat: {self._decider!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return SpielPolicy, (self._decider.policy, self._decider.game, self._decider.seed)

    @property
    def last_result(self) -> SearchResult | None:
        """The SearchResult of the latest decision; None before the first, or without a search."""
        return self._decider.last_result

    def action_probabilities(self, state: State, player_id: int | None = None) -> dict[int, float]:
        """The probability of each legal action. Raises UnsupportedError on another's turn."""
        player = state.current_player() if player_id is None else player_id
        return dict(_pairs(state, self._decider.decide(state, player).chances))


def _pairs(state: State, chance: FloatArray) -> list[tuple[int, float]]:
    return [(action, float(chance[action])) for action in state.legal_actions()]
