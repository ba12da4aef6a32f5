"""Decisions of a policy of ours by its seat's history: what all agents in OpenSpiel are made of.

Every decision is a function of one seat's history and a seed. So the same seed gives the same play,
a game that has begun can be joined, and copies go on identically. A = actions.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspiel

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.errors import IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import FloatArray, Game, History
from hanabi_search_plugin.core.policy import Memory
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import an
from hanabi_search_plugin.evaluation.seat import SeatedPolicy
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import AnyPolicy, policy_of
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame, digest_of, same_spiel
from hanabi_search_plugin.wrappers._openspiel_hanabi import history_of, load_game, spiel_of
from hanabi_search_plugin.wrappers._openspiel_rules import State

MEMORIES_KEPT = 512  # of an agent, each at a point of a game, to go on from
DECISIONS_KEPT = 100_000


@dataclass(frozen=True)
class Decision:
    """What a policy does after one history of its seat."""

    chances: FloatArray  # [A] the probability of each action
    action: int
    result: SearchResult | None  # None where the policy does not search


class Decider:
    """A policy, a game and a seed, which make decisions by a seat's history.

    It keeps decisions, and memories to go on from. Raises UnsupportedError for what is no policy
    and for an agent of another game. ``call`` shows the order of the arguments where they are
    swapped.
    """

    def __init__(self, policy: AnyPolicy, game: Any, seed: int, *, call: str) -> None:
        if isinstance(policy, Game | pyspiel.Game) and not isinstance(game, Game | pyspiel.Game):
            raise UnsupportedError(
                f"arguments must come as in {call}, got {an(type(game).__name__)} in the place of "
                "the game"
            )
        ours = game if isinstance(game, HanabiGame | OpenSpielGame) else load_game(game)
        policy = policy_of(policy, ours)
        if isinstance(policy, SearchAgent) and not _same(policy.game, ours):
            raise UnsupportedError(f"expected an agent for {ours!r}, got one for {policy.game!r}")
        self.policy = policy
        self.game: HanabiGame | OpenSpielGame = ours
        self.spiel = spiel_of(ours) if isinstance(ours, HanabiGame) else ours.spiel
        self.seed = int(seed)
        self.memories: OrderedDict[int, Memory] = OrderedDict()  # by what a seat had seen
        self.last_result: SearchResult | None = None  # of the latest decision
        self._decisions: dict[int, Decision] = {}

    def __repr__(self) -> str:
        on = "" if isinstance(self.policy, SearchAgent) else f" on {self.game!r}"  # it says so
        return f"{self.policy!r}{on}, seed {self.seed}"

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
        """Follow the game up to ``state``; at a chance node there is nothing to follow yet."""
        self.check_game(_game_of(state))
        if not state.is_chance_node() and not state.is_terminal():
            self._seated(self.history(state, seat))

    def decide(self, state: State, seat: int) -> Decision:
        """The decision of ``seat``, which is to move in ``state``."""
        self.check_game(_game_of(state))
        if state.is_chance_node() or state.is_terminal() or state.current_player() != seat:
            mover = f"one in which seat {state.current_player()} is"
            if state.is_terminal():
                mover = "one in which the game is over"
            elif state.is_chance_node():
                mover = "a chance node"
            whom = f"seat {seat}" if seat >= 0 else "a seat"
            raise UnsupportedError(f"expected a state in which {whom} is to move, got {mover}")
        return self.decide_by(self.history(state, seat))

    def decide_by(self, history: History) -> Decision:
        """The decision of the seat whose history this is; it is to move."""
        seen = self.seen(history)[-1]
        if seen not in self._decisions:
            if len(self._decisions) >= DECISIONS_KEPT:
                self._decisions.clear()
            self._decisions[seen] = self._decided(history, seen)
        self.last_result = self._decisions[seen].result
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
        """[T + 1] a digest of what the seat had seen at every view of its history."""
        digests = [digest_of((history.seat, history.views[0].keys()[0]))]
        for event, view in zip(history.events, history.views[1:], strict=True):
            move = (int(event.player[0]), int(event.action[0]))
            digests.append(digest_of((digests[-1], move, view.keys()[0])))
        return digests

    def _seated(self, history: History) -> SeatedPolicy:
        """The policy at the end of a history, going on from the latest point that is kept."""
        seen = self.seen(history)
        known = next((t for t in reversed(range(len(seen))) if seen[t] in self.memories), None)
        seat = SeatedPolicy(self.policy)
        if known is not None:
            seat = SeatedPolicy(self.policy, self.memories[seen[known]], views_seen=known + 1)
        seat.follow(history)
        self.memories[seen[-1]] = seat.memory
        self.memories.move_to_end(seen[-1])
        while len(self.memories) > MEMORIES_KEPT:
            self.memories.popitem(last=False)
        return seat

    def _decided(self, history: History, seen: int) -> Decision:
        seat, view = self._seated(history), history.views[-1]
        legal = view.legal
        stream = Streams(np.array([digest_of((self.seed, seen))], dtype=np.uint64))
        action = seat.act(view, stream)
        if not legal[0, action]:
            raise IllegalActionError(
                f"{type(self.policy).__name__} must move within {np.flatnonzero(legal[0]).tolist()}"
                f", got {action}"
            )
        try:
            chances = self.policy.probabilities(view, legal, seat.memory)[0]
        except UnsupportedError:  # with the stream given, it makes this move
            chances = np.zeros(legal.shape[1])
            chances[action] = 1.0
        return Decision(chances, action, seat.last_result)


def _game_of(state: object) -> Any:
    """The game of a state. Raises UnsupportedError for what is no state of OpenSpiel."""
    if not hasattr(state, "get_game"):
        raise UnsupportedError(f"expected a state of OpenSpiel, got {state!r}")
    return state.get_game()


def _same(a: Any, b: Any) -> bool:
    """True if both games have the same rules. ``bomb`` may differ: OpenSpiel does not have it."""
    if isinstance(a, HanabiGame) and isinstance(b, HanabiGame):
        return {**a.config.to_dict(), "bomb": 0} == {**b.config.to_dict(), "bomb": 0}
    both = isinstance(a, OpenSpielGame) and isinstance(b, OpenSpielGame)
    return both and (a is b or same_spiel(a.spiel, b.spiel))


def replayed(game: OpenSpielGame, history: list[int]) -> State:
    """The state after ``history``. Raises IllegalActionError where the game does not allow it."""
    state = game.initial_state()
    for action in history:
        if action not in state.legal_actions():  # some games end the process there
            raise IllegalActionError(f"expected one of {state.legal_actions()}, got {action}")
        state.apply_action(action)
    return state
