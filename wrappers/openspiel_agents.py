"""Search agents, and any policy of ours, as OpenSpiel's bots, policies and learning agents.

They read of a ``pyspiel.State`` what their seat has seen and nothing else: each is given that
seat's history alone, and all it decides is a function of this history and a seed. So the same seed
gives the same play, a game that has begun can be joined, and copies go on identically. States of
hanabi are played on the native engine. A = actions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python import policy as spiel_policy
from open_spiel.python import rl_agent
from open_spiel.python.rl_environment import TimeStep

from hanabi_search_plugin.agent import SearchAgent
from hanabi_search_plugin.belief import MAX_WORLDS
from hanabi_search_plugin.errors import IllegalActionError, UnsupportedError
from hanabi_search_plugin.game import FloatArray, History
from hanabi_search_plugin.hanabi.game import HanabiGame
from hanabi_search_plugin.policy import Memory, Policy
from hanabi_search_plugin.streams import Streams
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, digest_of, same_spiel
from hanabi_search_plugin.wrappers.openspiel_hanabi import (
    history_of,
    load_game,
    spiel_of,
)
from hanabi_search_plugin.wrappers.openspiel_worlds import State

MEMORIES_KEPT = 512  # of an agent, each at a point of a game, to go on from
DECISIONS_KEPT = 100_000


def as_bot(policy: Policy, game: Any, player_id: int, *, seed: int = 0) -> SpielBot:
    """``policy`` at one seat as a ``pyspiel.Bot``, for both of OpenSpiel's ``evaluate_bots``.

    ``game``: ours, or what ``load_game`` takes; the states it is asked about must be of that game.
    Raises UnsupportedError for a seat that is not there and an agent made for another game.
    """
    return SpielBot(policy, game, player_id, seed)


def as_spiel_policy(policy: Policy, game: Any, *, seed: int = 0) -> SpielPolicyOf:
    """``policy`` at every seat as an ``open_spiel.python.policy.Policy``.

    On small games with perfect recall ``to_tabular()`` exports it, and
    ``expected_game_score.policy_value`` computes its exact value. Other arguments as of ``as_bot``.
    """
    return SpielPolicyOf(policy, game, seed)


def as_rl_agent(policy: Policy, game: Any, player_id: int, *, seed: int = 0) -> SpielRLAgent:
    """``policy`` at one seat as an ``rl_agent.AbstractAgent``; see ``SpielRLAgent.attach``.

    Other arguments as of ``as_bot``.
    """
    return SpielRLAgent(policy, game, player_id, seed)


class SpielBot(pyspiel.Bot):  # type: ignore[misc]
    """A policy of ours as a bot: it reads its seat's history off every state it is handed.

    So it needs to be told of no move (``inform_action`` does nothing), and goes on from any state
    of its game. A search agent's policy is its decision; others give their probabilities.
    """

    def __init__(self, policy: Policy, game: Any, player_id: int, seed: int = 0) -> None:
        pyspiel.Bot.__init__(self)
        self._mind = _Mind(policy, game, seed)
        self._mind.check_seat(player_id)
        self._player_id = player_id

    def __repr__(self) -> str:
        return f"<bot of P{self._player_id}: {self._mind!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        mind = self._mind
        return SpielBot, (mind.policy, mind.game, self._player_id, mind.seed)

    def player_id(self) -> int:
        return self._player_id

    def step(self, state: State) -> int:
        """The move. Raises UnsupportedError where it is not this seat's turn or not this game."""
        return self._mind.decide(state, self._player_id)[1]

    def step_with_policy(self, state: State) -> tuple[list[tuple[int, float]], int]:
        """All legal moves with their probabilities, and the move."""
        chance, action = self._mind.decide(state, self._player_id)
        return _pairs(state, chance), action

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

    def __init__(self, policy: Policy, game: Any, seed: int = 0) -> None:
        self._mind = _Mind(policy, game, seed)
        players = list(range(self._mind.game.num_players))
        super().__init__(self._mind.spiel, players, np.random.RandomState(seed))

    def __reduce__(self) -> tuple[Any, ...]:
        return SpielPolicyOf, (self._mind.policy, self._mind.game, self._mind.seed)

    def action_probabilities(self, state: State, player_id: int | None = None) -> dict[int, float]:
        """Of all legal moves. Raises UnsupportedError where ``player_id`` is not to move."""
        player = state.current_player() if player_id is None else player_id
        return dict(_pairs(state, self._mind.decide(state, player)[0]))


class SpielRLAgent(rl_agent.AbstractAgent):  # type: ignore[misc]
    """A policy of ours in loops of ``rl_environment``; it does not learn.

    A time step tells a seat its observation and the legal moves. On small games of OpenSpiel whose
    observations identify the history it is followed from these, if the agent is given the last step
    of every episode, too, as loops do; otherwise ``attach`` the environment. ``player_id``: the
    seat. Copy an attached agent together with its environment.
    """

    def __init__(self, policy: Policy, game: Any, player_id: int, seed: int = 0) -> None:
        self._mind = _Mind(policy, game, seed)
        self._mind.check_seat(player_id)
        self.player_id = player_id
        self._environment: Any = None
        self._after: list[list[int]] | None = None  # histories right after the seat's last move
        self._matching: list[State] = []

    def __reduce__(self) -> tuple[Any, ...]:
        mind = self._mind
        build = SpielRLAgent, (mind.policy, mind.game, self.player_id, mind.seed)
        return (*build, {"_after": self._after, "_environment": self._environment})

    def attach(self, environment: Any) -> SpielRLAgent:
        """Follow the seat's history in ``environment``; returns the agent.

        Of the environment's state only what the seat has seen is read. Raises UnsupportedError for
        an environment of another game.
        """
        self._mind.check_game(environment.game)
        self._environment = environment
        return self

    def step(self, time_step: TimeStep, is_evaluation: bool = False) -> rl_agent.StepOutput:
        """The move on this seat's turn, else no move (None) and no probabilities.

        Raises UnsupportedError where the time steps do not identify the history.
        """
        if time_step.first():
            self._begin()
        if time_step.last():
            self._begin()
            return rl_agent.StepOutput(action=None, probs=[])
        if time_step.current_player() != self.player_id:
            return rl_agent.StepOutput(action=None, probs=[])
        legal = [int(a) for a in time_step.observations["legal_actions"][self.player_id]]
        if self._environment is not None:
            state = self._environment.get_state
            if state.current_player() != self.player_id or state.legal_actions() != legal:
                raise UnsupportedError(
                    f"expected the time step of the attached environment, with the legal actions "
                    f"{state.legal_actions()}, got {legal}"
                )
        else:
            seen = np.asarray(time_step.observations["info_state"][self.player_id], np.float32)
            state = self._found(seen.ravel(), legal)
        chance, action = self._mind.decide(state, self.player_id)
        if self._environment is None:
            self._after = [s.child(action).history() for s in self._matching]
        return rl_agent.StepOutput(action=action, probs=chance)

    def _begin(self) -> None:
        self._after = None
        self._matching = []

    def _found(self, seen: NDArray[np.float32], legal: list[int]) -> State:
        """A state that shows the seat what it sees now; all those have one history of the seat."""
        mind, game = self._mind, self._mind.game
        if isinstance(game, HanabiGame):
            raise UnsupportedError(
                "an observation of hanabi does not tell its history: attach(environment) first"
            )
        tried: tuple[list[list[int]] | None, ...] = (self._after, None)
        for after in tried:
            starts = [_replayed(game, history) for history in after or [[]]]
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
                "history: attach(environment) first"
            )
        return self._matching[0]


class _Mind:
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
        if not 0 <= seat < self.game.num_players:
            raise UnsupportedError(
                f"player_id must be from 0 to {self.game.num_players - 1}, got {seat}"
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
        history = self.history(state, seat)
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
            joined = str(_replayed(self.game, state.history())) == str(state)
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


def _pairs(state: State, chance: FloatArray) -> list[tuple[int, float]]:
    return [(action, float(chance[action])) for action in state.legal_actions()]


def _replayed(game: OpenSpielGame, history: list[int]) -> State:
    state = game.spiel.new_initial_state()
    for action in history:
        if action not in state.legal_actions():  # some games end the process there
            raise IllegalActionError(f"expected one of {state.legal_actions()}, got {action}")
        state.apply_action(action)
    return state


def _next_turns(starts: list[State], seat: int, mind: _Mind) -> Iterator[State]:
    """Every state in which ``seat`` may be next to move."""
    walked, left = 0, list(starts)
    while left:
        state = left.pop()
        walked += 1
        if walked > MAX_WORLDS:
            raise UnsupportedError(
                f"more than {MAX_WORLDS} states of {mind.game.name} may follow: "
                "attach(environment) first"
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
