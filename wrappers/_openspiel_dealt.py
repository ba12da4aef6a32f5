"""OpenSpiel games that begin by dealing something private to each player, as private tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.core.capabilities import PrivateTokens
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import UNSEEN, BoolArray, FloatArray, IntArray, View, Worlds
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame
from hanabi_search_plugin.wrappers._openspiel_rules import options_in_its_name
from hanabi_search_plugin.wrappers._openspiel_worlds import OpenSpielView, OpenSpielWorlds, ours


class OpenSpielDealtGame(OpenSpielGame, PrivateTokens):
    """A game that begins by dealing each player one private chance action.

    Examples are tiny_hanabi, tiny_bridge_2p, Kuhn and Leduc poker. Factor f has one token: the
    chance action that player f was dealt. Raises UnsupportedError for other games.
    """

    @options_in_its_name
    def __init__(self, game: Any, *, public_actions: bool | None = None) -> None:
        super().__init__(game, public_actions=public_actions)
        self.num_factors = self.num_players
        self.token_length = 1
        self.visible = np.eye(self.num_players, dtype=np.bool_)
        worlds, _ = self.deals()
        self._deals = list(worlds.states)
        self.vocabulary = 1 + max(max(state.history(), default=0) for state in worlds.states)
        for p in range(self.num_players):
            pairs = {
                (state.history()[p] if len(state.history()) == self.num_players else UNSEEN, key)
                for state, key in zip(worlds.states, worlds.view(p).keys(), strict=True)
            }
            dealt, seen = {d for d, _ in pairs}, {k for _, k in pairs}
            if UNSEEN in dealt or not len(dealt) == len(seen) == len(pairs):
                raise UnsupportedError(
                    f"{self.name} does not deal one private chance action to each player at its "
                    "start"
                )

    def private_tokens(self, worlds: Worlds, factor: int) -> IntArray:
        tokens = [[state.history()[factor]] for state in ours(worlds).states]
        return np.array(tokens, dtype=np.int64).reshape(len(worlds), 1)

    def with_private(
        self, worlds: Worlds, factor: int, tokens: IntArray, rng: Streams
    ) -> tuple[OpenSpielWorlds, BoolArray]:
        """Replay each game with another deal; see ``PrivateTokens``. Takes one draw a world."""
        batch = ours(worlds)
        states, possible = list(batch.states), np.ones(len(batch), dtype=np.bool_)
        for b, state in enumerate(batch.states):
            history = state.history()
            history[factor] = int(tokens[b, 0])
            again, _ = self._again(history)
            possible[b] = again is not None
            if again is not None:
                states[b] = again
        streams = rng.fork()
        streams.state = np.where(possible, streams.state, batch.streams.state)
        return OpenSpielWorlds(self, states, streams), possible

    def token_weights(self, view: View, before: IntArray) -> FloatArray:
        """Exact weights, from all deals that show the player the same; see ``PrivateTokens``."""
        weights = np.zeros((len(before), self.vocabulary))
        factors, j = self.hidden(view.player), before.shape[1]
        if j == len(factors):
            return weights
        deals = np.array([s.history()[: self.num_players] for s in self._deals])
        for b, key in enumerate(view.keys()):
            history = _states(view)[b].history()
            fits = (deals[:, view.player] == history[view.player]) & (
                deals[:, factors[:j]] == before[b]
            ).all(axis=1)
            for deal in deals[fits].tolist():
                state, chance = self._again(deal + history[self.num_players :])
                if state is not None and OpenSpielView(self, view.player, [state]).keys() == [key]:
                    weights[b, deal[factors[j]]] += chance
        return weights

    def worlds_of(self, view: View, tokens: IntArray, rng: Streams) -> OpenSpielWorlds:
        """See ``PrivateTokens``. Takes one draw a world."""
        states = []
        for row in tokens.tolist():
            history = _states(view)[0].history()
            for factor, token in zip(self.hidden(view.player).tolist(), row, strict=True):
                history[factor] = token
            state, _ = self._again(history)
            assert state is not None
            states.append(state)
        return OpenSpielWorlds(self, states, rng.fork())

    def _again(self, history: list[int]) -> tuple[Any, float]:
        """The state after ``history`` and the probability of its chance actions.

        None and 0 where an action is not legal.
        """
        state, probability = self.initial_state(), 1.0
        for action in history:
            if action not in state.legal_actions():
                return None, 0.0
            if state.is_chance_node():
                probability *= dict(state.chance_outcomes())[action]
            state.apply_action(action)
        return state, probability


def _states(view: View) -> list[Any]:
    assert isinstance(view, OpenSpielView)
    return view.states()
