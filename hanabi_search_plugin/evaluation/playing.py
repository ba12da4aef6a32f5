"""Whole games: a batch in lockstep, or one game move by move with its searched decisions.

Letters in shapes: B games, P players, T moves of the longest game.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin.core.error_places import naming_place
from hanabi_search_plugin.core.errors import ContractError
from hanabi_search_plugin.core.game import PAD, FloatArray, Game, IntArray, Worlds, returns_of
from hanabi_search_plugin.core.policy import Blueprint, take
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.interrupts import uninterrupted
from hanabi_search_plugin.evaluation.seat import SeatedPolicy


@dataclass(frozen=True)
class Played:
    """Finished games."""

    returns: FloatArray  # [B, P] score points
    actions: IntArray  # [B, T] the moves, PAD past the end
    outcome: Mapping[str, IntArray]  # [B] each; see ``Game.outcome``


@dataclass(frozen=True)
class Turn:
    """One move of one game."""

    number: int  # from 0
    seat: int
    action: int
    result: SearchResult | None  # None where the seat does not search
    worlds: Worlds  # the game, a batch of one: before the move while the turn is handed out


def self_play(worlds: Worlds, blueprint: Blueprint, rng: Streams) -> Played:
    """Play ``worlds`` (at their first decisions) to the end. ``worlds`` and ``rng`` stay as given.

    Takes its randomness from the worlds' chance streams and from ``rng``, one stream a world.
    """
    games = len(worlds)
    returns = np.zeros((games, worlds.game.num_players))
    game = worlds.game
    outcome = {name: values.copy() for name, values in game.outcome(worlds).items()}
    moves: list[IntArray] = []
    alive = np.arange(games)
    worlds, rng = worlds.select(alive), rng.select(alive)
    with naming_place("turn", 0):
        memories = start_memories(worlds, blueprint)
    while len(alive):
        _require_short(game, len(moves))
        actors = worlds.current_player
        with naming_place("turn", len(moves)):
            actions = choose(worlds, blueprint, memories, rng)
        moves.append(np.full(games, PAD))
        moves[-1][alive] = actions
        worlds.step(actions)
        ended = worlds.terminal
        if ended.any():
            done = np.flatnonzero(ended)
            with naming_place("turn", len(moves)):
                returns[alive[done]] = returns_of(worlds.select(done))
            for name, values in game.outcome(worlds).items():
                outcome[name][alive[done]] = values[done]
            on = np.flatnonzero(~ended)
            alive, worlds, rng = alive[on], worlds.select(on), rng.select(on)
            memories = tuple(take(memory, on) for memory in memories)
            actors, actions = actors[on], actions[on]
        with naming_place("turn", len(moves)):
            memories = observe_all(worlds, actors, actions, blueprint, memories)
    return Played(returns, np.stack(moves, axis=1), outcome)


def _require_short(game: Game, moves: int) -> None:
    """Raises ContractError where a game that has so many moves behind it is not over."""
    if moves >= game.max_length:
        raise ContractError(
            f"{game!r} must end within its max_length of {counted(game.max_length, 'move')}, and "
            "does not"
        )


@dataclass
class RunningGame:
    """One game (a batch of one) between two moves.

    A SearchAgent's decision at turn t draws from ``SeedSequence([*seeds, t])``; other policies draw
    from ``rng``, whose one stream advances.
    """

    worlds: Worlds
    seats: tuple[SeatedPolicy, ...]
    rng: Streams
    seeds: tuple[int, ...]
    number: int = 0  # moves played

    @classmethod
    def begin(
        cls, worlds: Worlds, policies: Blueprint, rng: Streams, seeds: tuple[int, ...]
    ) -> RunningGame:
        """The game before its first move. ``worlds`` and ``rng`` are played on, not copied."""
        seats = tuple(SeatedPolicy(policy) for policy in policies)
        for p, seat in enumerate(seats):
            seat.start(worlds.view(p))
        return cls(worlds, seats, rng, seeds)

    @property
    def over(self) -> bool:
        return bool(self.worlds.terminal[0])

    @property
    def mover(self) -> int:
        """The seat that is to move."""
        return int(self.worlds.current_player[0])

    def copy(self) -> RunningGame:
        """The same game, which goes on by itself."""
        whole = np.array([0])
        seats = tuple(copy.copy(seat) for seat in self.seats)
        worlds, rng = self.worlds.select(whole), self.rng.select(whole)
        return RunningGame(worlds, seats, rng, self.seeds, self.number)

    def decide(self) -> Turn:
        """Choose the next move, which is not played yet."""
        _require_short(self.worlds.game, self.number)
        seat = self.seats[self.mover]
        sequence = np.random.SeedSequence([*self.seeds, self.number])
        draws = np.random.default_rng(sequence) if seat.searches else self.rng
        action = seat.act(self.worlds.view(self.mover), draws)
        return Turn(self.number, self.mover, action, seat.last_result, self.worlds)

    def play(self, action: int) -> None:
        """Play a move of the seat that is to move."""
        with uninterrupted():  # the first step of a process may compile
            event = self.worlds.step(np.array([action]))
            self.number += 1
        if self.over:
            with naming_place("turn", self.number):
                returns_of(self.worlds)
        else:
            for p, seat in enumerate(self.seats):
                seat.observe(self.worlds.view(p), event)


def play_game(
    worlds: Worlds, policies: Blueprint, rng: Streams, seeds: tuple[int, ...]
) -> Iterator[Turn]:
    """Play one game in place, handing out each move before it is played. See ``RunningGame``."""
    game = RunningGame.begin(worlds, policies, rng, seeds)
    while not game.over:
        turn = game.decide()
        yield turn
        game.play(turn.action)
