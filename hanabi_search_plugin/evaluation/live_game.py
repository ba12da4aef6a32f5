"""One game that people and policies play together, move by move, on a terminal or in a browser.

Policies choose their moves here; people's are brought from outside. Moves can be taken back, and a
person can ask for advice.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, Event, Game, History, IntArray, View, Worlds
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.match import SEARCHES, GameResult, deal_game, finished_game
from hanabi_search_plugin.evaluation.playing import RunningGame, Turn
from hanabi_search_plugin.evaluation.seat import SeatedPolicy

ADVICE = 4  # what a SeedSequence([seed, use, ...]) is for, beside those of ``evaluation.match``
KEPT = 2  # positions to go back to whose memories are kept; earlier ones are worked out again


class Person(Policy):
    """Keeps the History of the seat's one world as its memory; the moves come from outside."""

    deterministic = False

    def start(self, view: View) -> Memory:
        return [History(view.player, (view.select(np.array([0])),))]

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return [memory[0].append(event, view.select(np.array([0])))]

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        raise UnsupportedError("a person's moves come from outside: LiveGame.play takes them")


class LiveGame:
    """Game 0 of ``seed``: the policies at all seats but those of ``people``.

    ``decide`` chooses a policy's move, ``play`` plays a move of anybody. What follows a move that
    was taken back is the game of that seed, too: a search's decision at turn t draws from
    ``SeedSequence([seed, SEARCHES, 0, t])``, other policies from a stream that goes back as well.
    ``adviser`` is whom people may ask. Not for two threads at once, but for ``advise``, which may
    be asked in one other.
    """

    def __init__(
        self,
        game: Game,
        policies: Blueprint,
        people: Collection[int],
        seed: int,
        adviser: SearchAgent | None = None,
    ) -> None:
        self.game, self.people, self.seed = game, frozenset(people), seed
        self.adviser = adviser
        self.actions: list[int] = []
        self.decisions: list[tuple[int, int, SearchResult]] = []  # turn, seat, result
        self.taken_back = 0  # times
        person = Person()
        seated = tuple(person if p in self.people else one for p, one in enumerate(policies))
        worlds, stream = deal_game(game, seed, 0)
        self._running = RunningGame.begin(worlds, seated, stream, (seed, SEARCHES, 0))
        self._past: list[
            tuple[int, Worlds, Streams]
        ] = []  # mover, worlds, stream: before each move
        self._kept: dict[int, tuple[SeatedPolicy, ...]] = {}  # memories, by turn
        self._advisers: dict[int, tuple[History, SeatedPolicy]] = {}  # by seat; what each followed

    @property
    def over(self) -> bool:
        return self._running.over

    @property
    def mover(self) -> int:
        """The seat that is to move."""
        return self._running.mover

    @property
    def number(self) -> int:
        """Moves played."""
        return self._running.number

    @property
    def worlds(self) -> Worlds:
        """The whole truth, a batch of one: not for the eyes of any seat."""
        return self._running.worlds

    def history(self, seat: int) -> History:
        """What a person at ``seat`` has seen and heard, the end of the game included."""
        history: History = self._running.seats[seat].memory[0]
        if self.over:  # nobody observes the last move, after which nothing is to be decided
            move = Event(np.array([self._past[-1][0]]), np.array([self.actions[-1]]))
            history = history.append(move.seen_by(seat, self.game), self.worlds.view(seat))
        return history

    def decide(self) -> Turn:
        """Choose the move of the policy that is to move; it is not played yet."""
        return self._running.decide()

    def play(self, action: int, result: SearchResult | None = None) -> None:
        """Play a move of the seat that is to move, and the decision that it came from.

        Raises IllegalActionError for one that is not legal; then nothing has changed. A
        KeyboardInterrupt keeps the move, but the game cannot go on then.
        """
        running, number, mover = self._running, self.number, self.mover
        row = np.array([0])
        before = (mover, running.worlds.select(row), running.rng.select(row))
        seats = tuple(copy.copy(seat) for seat in running.seats)
        try:
            running.play(action)
        finally:  # Ctrl-C while the seats take note of a move does not lose it
            if running.number > number:
                self._past.append(before)
                if mover in self.people:
                    self._kept[number] = seats
                    for old in sorted(self._kept)[:-KEPT]:
                        del self._kept[old]
                self.actions.append(action)
                if result is not None:
                    self.decisions.append((number, mover, result))

    def last_own_turn(self, seat: int) -> int | None:
        """The turn of the last move of ``seat`` that can be taken back; None if there is none."""
        own = [turn for turn, (mover, *_) in enumerate(self._past) if mover == seat]
        return own[-1] if own else None

    def take_back(self, seat: int) -> int:
        """Go back to before the last move of ``seat``, and return that move.

        Raises ConfigError where there is none.
        """
        turn = self.last_own_turn(seat)
        if turn is None:
            raise ConfigError("there is nothing to take back: this is your first move")
        _, worlds, stream = self._past[turn]
        action = self.actions[turn]
        kept = self._kept.pop(turn, None)
        seats = self._followed(turn) if kept is None else kept
        self._running = replace(self._running, worlds=worlds, rng=stream, seats=seats, number=turn)
        del self._past[turn:], self.actions[turn:]
        self._kept = {one: seats for one, seats in self._kept.items() if one < turn}
        self.decisions = [one for one in self.decisions if one[0] < turn]
        self.taken_back += 1
        return action

    def _followed(self, turn: int) -> tuple[SeatedPolicy, ...]:
        """Everybody's memory before the move of ``turn``, worked out from the first position."""
        seats = tuple(SeatedPolicy(seat.policy) for seat in self._running.seats)
        for t, (_, worlds, _) in enumerate(self._past[: turn + 1]):
            for p, seat in enumerate(seats):
                if t == 0:
                    seat.start(worlds.view(p))
                else:
                    move = (np.array([self._past[t - 1][0]]), np.array([self.actions[t - 1]]))
                    seat.observe(worlds.view(p), Event(*move))
        return seats

    def advise(self, history: History) -> tuple[SearchResult, SeatedPolicy]:
        """What the adviser would play with this history, and the adviser with its belief there.

        The same history gets the same advice: it draws from
        ``SeedSequence([seed, ADVICE, moves so far])``.
        """
        if self.adviser is None:
            raise UnsupportedError("advice needs an adviser, got none")
        followed, seated = self._advisers.pop(history.seat, (None, SeatedPolicy(self.adviser)))
        if followed is not None and not _goes_on(history, followed):
            seated = SeatedPolicy(self.adviser)
        seated.follow(history)
        turn = np.random.SeedSequence([self.seed, ADVICE, len(history.events)])
        seated.act(history.views[-1], np.random.default_rng(turn))
        self._advisers[history.seat] = history, seated
        assert seated.last_result is not None
        return seated.last_result, seated

    def result(self) -> GameResult:
        """The game so far."""
        actions, decisions = list(self.actions), list(self.decisions)
        return finished_game(self._running.worlds, "policies", 0, 0, actions, decisions)


def _goes_on(history: History, earlier: History) -> bool:
    """Does a history begin with an earlier one, or was a move taken back since?"""
    before = history.views[: len(earlier.views)]
    return len(before) == len(earlier.views) and all(
        a is b for a, b in zip(before, earlier.views, strict=True)
    )
