"""Decisions of a policy of ours by what its seat has seen, for what ``openspiel_agents`` makes.

All that is decided is a function of one seat's history and a seed. So the same seed gives the same
play, a game that has begun can be joined, and copies go on identically. A = actions.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.errors import IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import FloatArray, History
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame, digest_of, same_spiel
from hanabi_search_plugin.wrappers._openspiel_hanabi import history_of, load_game, spiel_of
from hanabi_search_plugin.wrappers._openspiel_rules import State

MEMORIES_KEPT = 512  # of an agent, each at a point of a game, to go on from
DECISIONS_KEPT = 100_000


class Mind:
    """A policy, a game and a seed: decisions by a seat's history, and memories to go on from."""

    def __init__(self, policy: Policy, game: Any, seed: int) -> None:
        if not isinstance(policy, Policy):
            raise UnsupportedError(
                f"expected a policy of this package, got {type(policy).__name__}; as_policy makes "
                "one of OpenSpiel's"
            )
        ours = game if isinstance(game, HanabiGame | OpenSpielGame) else load_game(game)
        if isinstance(policy, SearchAgent) and not _same(policy.game, ours):
            raise UnsupportedError(f"expected an agent for {ours!r}, got one for {policy.game!r}")
        self.policy = policy
        self.game: HanabiGame | OpenSpielGame = ours
        self.spiel = spiel_of(ours) if isinstance(ours, HanabiGame) else ours.spiel
        self.seed = int(seed)
        self.memories: OrderedDict[int, Memory] = OrderedDict()  # by what a seat had seen
        self._decisions: dict[int, tuple[FloatArray, int]] = {}

    def __repr__(self) -> str:
        return f"{type(self.policy).__name__} on {self.game!r}, seed {self.seed}"

    def check_seat(self, seat: int) -> None:
        if seat not in range(self.game.num_players):
            raise UnsupportedError(
                f"player_id must be from 0 to {self.game.num_players - 1}, got {seat!r}"
            )

    def check_game(self, spiel: Any) -> None:
        if isinstance(self.game, HanabiGame):
            if spiel.get_type().short_name != "hanabi" or not _same(load_game(spiel), self.game):
                raise UnsupportedError(f"expected a state of {self.game!r}, got one of {spiel}")
        elif spiel != self.spiel and not same_spiel(spiel, self.spiel):
            raise UnsupportedError(f"expected a state of {self.spiel}, got one of {spiel}")

    def forget(self) -> None:
        self.memories.clear()
        self._decisions.clear()

    def join(self, state: State, seat: int) -> None:
        """Have the memory at ``state``; at a chance node there is nothing to see yet."""
        self.check_game(state.get_game())
        if not state.is_chance_node() and not state.is_terminal():
            self._memory(self.history(state, seat))

    def decide(self, state: State, seat: int) -> tuple[FloatArray, int]:
        """Probabilities [A] and the move, where ``seat`` is to move."""
        self.check_game(state.get_game())
        if state.is_chance_node() or state.is_terminal() or state.current_player() != seat:
            whose = "the game is over" if state.is_terminal() else f"{state.current_player()} is"
            raise UnsupportedError(f"expected a state in which player {seat} is to move, {whose}")
        return self.decide_by(self.history(state, seat))

    def decide_by(self, history: History) -> tuple[FloatArray, int]:
        """Probabilities [A] and the move of the seat whose history this is; it is to move."""
        seen = self.seen(history)[-1]
        if seen not in self._decisions:
            if len(self._decisions) >= DECISIONS_KEPT:
                self._decisions.clear()
            self._decisions[seen] = self._decided(history, seen)
        return self._decisions[seen]

    def history(self, state: State, seat: int) -> History:
        """What the seat has seen. Raises UnsupportedError where the history does not tell it."""
        if isinstance(self.game, HanabiGame):
            return history_of(state, seat, game=self.game)
        try:
            joined = str(replayed(self.game, state.history())) == str(state)
        except IllegalActionError:
            joined = False
        if not joined:
            raise UnsupportedError(
                f"a game of {self.game.name} cannot be joined here: its history does not lead from "
                "the start of the game to this state"
            )
        return self.game.history(state, seat)

    def seen(self, history: History) -> list[int]:
        """A digest of what the seat had seen at every point of its history."""
        digests = [digest_of((history.seat, history.views[0].keys()[0]))]
        for event, view in zip(history.events, history.views[1:], strict=True):
            move = (int(event.player[0]), int(event.action[0]))
            digests.append(digest_of((digests[-1], move, view.keys()[0])))
        return digests

    def _memory(self, history: History) -> Memory:
        """The policy's, going on from the last point that is known."""
        seen = self.seen(history)
        known = next((t for t in reversed(range(len(seen))) if seen[t] in self.memories), None)
        if known is None:
            known, memory = 0, self.policy.start(history.views[0])
        else:
            memory = self.memories[seen[known]]
        for t in range(known, len(history.events)):
            memory = self.policy.observe(history.views[t + 1], history.events[t], memory)
        self.memories[seen[-1]] = memory
        self.memories.move_to_end(seen[-1])
        while len(self.memories) > MEMORIES_KEPT:
            self.memories.popitem(last=False)
        return memory

    def _decided(self, history: History, seen: int) -> tuple[FloatArray, int]:
        memory, view = self._memory(history), history.views[-1]
        legal = view.legal
        stream = Streams(np.array([digest_of((self.seed, seen))], dtype=np.uint64))
        action = int(self.policy.act(view, legal, memory, stream)[0])
        if not legal[0, action]:
            raise IllegalActionError(
                f"{type(self.policy).__name__} must move within {np.flatnonzero(legal[0]).tolist()}"
                f", got {action}"
            )
        try:
            chance = self.policy.probabilities(view, legal, memory)[0]
        except UnsupportedError:  # with the stream given, it makes this move
            chance = np.zeros(legal.shape[1])
            chance[action] = 1.0
        return chance, action


def _same(a: Any, b: Any) -> bool:
    """The same rules; how a lost last life counts is the native engine's own."""
    if isinstance(a, HanabiGame) and isinstance(b, HanabiGame):
        return {**a.config.to_dict(), "bomb": 0} == {**b.config.to_dict(), "bomb": 0}
    both = isinstance(a, OpenSpielGame) and isinstance(b, OpenSpielGame)
    return both and (a is b or same_spiel(a.spiel, b.spiel))


def replayed(game: OpenSpielGame, history: list[int]) -> State:
    state = game.spiel.new_initial_state()
    for action in history:
        if action not in state.legal_actions():  # some games end the process there
            raise IllegalActionError(f"expected one of {state.legal_actions()}, got {action}")
        state.apply_action(action)
    return state
