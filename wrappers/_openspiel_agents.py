"""Search agents, and any policy of ours, as OpenSpiel's bots, policies and learning agents.

They read of a ``pyspiel.State`` what their seat has seen and nothing else: each is given that
seat's history alone, and all it decides is a function of this history and a seed. So the same seed
gives the same play, a game that has begun can be joined, and copies go on identically. States of
hanabi are played on the native engine. A = actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as spiel_policy

from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.registry import AnyPolicy
from hanabi_search_plugin.wrappers._openspiel_mind import Mind
from hanabi_search_plugin.wrappers._openspiel_rl_agent import SpielRLAgent
from hanabi_search_plugin.wrappers._openspiel_rules import State


def as_bot(policy: AnyPolicy, game: Any, player_id: int, *, seed: int = 0) -> SpielBot:
    """``policy`` at one seat as a ``pyspiel.Bot``, for both of OpenSpiel's ``evaluate_bots``.

    ``game``: ours, or what ``load_game`` takes; the states it is asked about must be of that game.
    Raises UnsupportedError for a seat that is not there and an agent made for another game.
    """
    return SpielBot(policy, game, player_id, seed)


def as_spiel_policy(policy: AnyPolicy, game: Any, *, seed: int = 0) -> SpielPolicyOf:
    """``policy`` at every seat as an ``open_spiel.python.policy.Policy``.

    On small games with perfect recall ``to_tabular()`` exports it, and
    ``expected_game_score.policy_value`` computes its exact value. Other arguments as of ``as_bot``.
    """
    return SpielPolicyOf(policy, game, seed)


def as_rl_agent(policy: AnyPolicy, game: Any, player_id: int, *, seed: int = 0) -> SpielRLAgent:
    """``policy`` at one seat as an ``rl_agent.AbstractAgent``; see ``SpielRLAgent``.

    Other arguments as of ``as_bot``.
    """
    return SpielRLAgent(policy, game, player_id, seed)


class SpielBot(pyspiel.Bot):  # type: ignore[misc]
    """A policy of ours as a bot: it reads its seat's history off every state it is handed.

    So it needs to be told of no move (``inform_action`` does nothing), and goes on from any state
    of its game. A search agent's policy is its decision; others give their probabilities.
    """

    def __init__(self, policy: AnyPolicy, game: Any, player_id: int, seed: int = 0) -> None:
        pyspiel.Bot.__init__(self)
        self._mind = Mind(policy, game, seed)
        self._mind.check_seat(player_id)
        self._player_id = player_id

    def __repr__(self) -> str:
        return f"<bot of P{self._player_id}: {self._mind!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        mind = self._mind
        return SpielBot, (mind.policy, mind.game, self._player_id, mind.seed)

    @property
    def last_result(self) -> SearchResult | None:
        """The SearchResult of the latest decision; None before the first, or without a search."""
        return self._mind.last_result

    def player_id(self) -> int:
        return self._player_id

    def step(self, state: State) -> int:
        """The move. Raises UnsupportedError where it is not this seat's turn or not this game."""
        return self._mind.decide(state, self._player_id).action

    def step_with_policy(self, state: State) -> tuple[list[tuple[int, float]], int]:
        """All legal moves with their probabilities, and the move."""
        decision = self._mind.decide(state, self._player_id)
        return _pairs(state, decision.chances), decision.action

    def provides_policy(self) -> bool:
        return True

    def get_policy(self, state: State) -> list[tuple[int, float]]:
        """All legal moves with their probabilities."""
        return self.step_with_policy(state)[0]

    def restart(self) -> None:
        """Forget the game."""
        self._mind.forget()

    def restart_at(self, state: State) -> None:
        """Forget the game and join that of ``state``. Raises UnsupportedError: it says why not."""
        self._mind.forget()
        self._mind.join(state, self._player_id)

    def inform_action(self, state: State, player_id: int, action: int) -> None:
        """Nothing: the next state it is asked about has the move in its history."""

    def inform_actions(self, state: State, actions: list[int]) -> None:
        """Nothing: see ``inform_action``."""

    def is_clonable(self) -> bool:
        return True

    def clone(self) -> SpielBot:
        mind = self._mind
        twin = SpielBot(mind.policy, mind.game, self._player_id, mind.seed)
        twin._mind.memories.update(mind.memories)
        return twin


class SpielPolicyOf(spiel_policy.Policy):  # type: ignore[misc]
    """A policy of ours at every seat, by its probabilities; a search agent's are 0 and 1."""

    def __init__(self, policy: AnyPolicy, game: Any, seed: int = 0) -> None:
        self._mind = Mind(policy, game, seed)
        players = list(range(self._mind.game.num_players))
        super().__init__(self._mind.spiel, players)
        self._random_state = np.random.RandomState(seed)  # what later OpenSpiel draws from

    def __reduce__(self) -> tuple[Any, ...]:
        return SpielPolicyOf, (self._mind.policy, self._mind.game, self._mind.seed)

    @property
    def last_result(self) -> SearchResult | None:
        """The SearchResult of the latest decision; None before the first, or without a search."""
        return self._mind.last_result

    def action_probabilities(self, state: State, player_id: int | None = None) -> dict[int, float]:
        """Of all legal moves. Raises UnsupportedError where ``player_id`` is not to move."""
        player = state.current_player() if player_id is None else player_id
        return dict(_pairs(state, self._mind.decide(state, player).chances))


def _pairs(state: State, chance: FloatArray) -> list[tuple[int, float]]:
    return [(action, float(chance[action])) for action in state.legal_actions()]
