"""One game of an evaluation, played move by move by a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hanabi_search_plugin.core.error_places import noting_place
from hanabi_search_plugin.core.errors import IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import FloatArray, Game, View, Worlds, require_game
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.settings import named_arguments
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.match import SEARCHES, deal_game, searching_seats
from hanabi_search_plugin.evaluation.playing import RunningGame
from hanabi_search_plugin.evaluation.seating import seated_everywhere, warn_of_independent_searches
from hanabi_search_plugin.registry import AnyBlueprint, blueprint_of


@dataclass(frozen=True)
class Move:
    """One move of a ``OneGame``, and the decision that it came from."""

    number: int  #: its turn, from 0
    seat: int  #: who moves
    action: int  #: its id
    text: str  #: in words, as ``game.action_to_string`` has it
    result: SearchResult | None  #: of a search; None for other policies and for moves from outside

    def __str__(self) -> str:
        return f"turn {self.number}: {self.text}"


class OneGame:
    """Game ``number`` of ``seed``, as ``evaluate`` plays it, move by move.

    The deck and all moves are those of the evaluation. ``policies`` are what ``evaluate`` takes.
    ``decide`` asks who is to move, ``step`` plays: ``while not one.finished: print(one.step())``
    shows a whole game. Not for two threads at once.

    Raises as ``evaluate`` for bad arguments.
    """

    @named_arguments()
    def __init__(
        self, game: Game, policies: AnyBlueprint, *, seed: int = 0, number: int = 0
    ) -> None:
        require_game(game, policies, call="OneGame(game, policies, seed=0, number=0)")
        self.game = game
        self.seed = require_integer("seed", seed, 0)
        self.number = require_integer("number", number, 0)
        self.policies = blueprint_of(seated_everywhere(policies, game), game)
        warn_of_independent_searches(self.policies)
        worlds, stream = deal_game(game, self.seed, self.number)
        seeds = (self.seed, SEARCHES, self.number)
        with noting_place(self._where):
            self._running = RunningGame.begin(worlds, self.policies, stream, seeds)
        self._decided: Move | None = None
        self._moves: list[Move] = []

    @property
    def finished(self) -> bool:
        """True after the last move."""
        return self._running.over

    @property
    def turn(self) -> int | None:
        """The seat that is to move; None where the game is finished."""
        return None if self.finished else self._running.mover

    @property
    def moves(self) -> tuple[Move, ...]:
        """What was played so far."""
        return tuple(self._moves)

    @property
    def worlds(self) -> Worlds:
        """The whole truth, a batch of one: not for the eyes of any seat. A copy."""
        return self._running.worlds.select(np.array([0]))

    def view(self, seat: int) -> View:
        """What a seat sees now, a batch of one. Raises ConfigError where there is no such seat."""
        return self._running.worlds.view(self._known(seat))

    def memory(self, seat: int) -> Any:
        """What the policy of a seat remembers: its memory, of one world.

        Raises ConfigError where there is no such seat.
        """
        return self._running.seats[self._known(seat)].memory

    def belief(self, seat: int) -> Any:
        """What a seat that searches believes now; of most searches, a ``Belief``.

        The last move of a game is observed by nobody. Raises UnsupportedError for a seat that does
        not search, ConfigError where there is no such seat.
        """
        seated = self._running.seats[self._known(seat)]
        if not seated.searches:
            raise UnsupportedError(
                f"seat {seat} must search to have a belief, got {seated.policy!r}: private_belief "
                "makes one"
            )
        return seated.memory[0]

    def decide(self) -> Move:
        """What the policy that is to move plays next; the same until a move is played.

        Raises IllegalActionError where the game is finished, and what the policy raises.
        """
        self._require_running()
        if self._decided is None:
            with noting_place(self._where):
                turn = self._running.decide()
            text = self.game.action_to_string(turn.seat, turn.action)
            self._decided = Move(turn.number, turn.seat, turn.action, text, turn.result)
        return self._decided

    def step(self, action: int | None = None) -> Move:
        """Play what ``decide`` says, or ``action`` in its place, and return what was played.

        Raises IllegalActionError for an action that is not legal and where the game is finished;
        then nothing has changed.
        """
        self._require_running()
        if action is None:
            move = self.decide()
        else:
            action = require_integer("action", action, 0)
            seat = self._running.mover
            legal = np.flatnonzero(self._running.worlds.legal[0]).tolist()
            if action not in legal:
                raise IllegalActionError(
                    f"action must be one of the legal actions {legal}, got {action}"
                )
            text = self.game.action_to_string(seat, action)
            move = Move(self._running.number, seat, action, text, None)
        with noting_place(self._where):
            self._running.play(move.action)
        self._decided = None
        self._moves.append(move)
        return move

    @property
    def returns(self) -> FloatArray | None:
        """[P] score points a seat; None before the end."""
        return self._running.worlds.returns[0].copy() if self.finished else None

    @property
    def score(self) -> float | None:
        """The return of the first searching seat, or of seat 0, as in ``evaluate``; None before the
        end."""
        returns = self.returns
        if returns is None:
            return None
        return float(returns[next(iter(searching_seats(self.policies)), 0)])

    def __repr__(self) -> str:
        moves = counted(len(self._moves), "move")
        state = f"score {self.score:g}" if self.finished else f"seat {self.turn} to move"
        return f"<{self._where} of {self.game!r}: {moves}, {state}>"

    @property
    def _where(self) -> str:
        return f"game {self.number} of seed {self.seed}"

    def _known(self, seat: int) -> int:
        return require_integer("seat", seat, 0, self.game.num_players - 1)

    def _require_running(self) -> None:
        if self.finished:
            raise IllegalActionError(
                f"the game is finished, after {counted(len(self._moves), 'move')}"
            )
