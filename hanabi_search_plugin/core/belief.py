"""The contract of private beliefs: the distribution over worlds that a search samples from.

A private belief is P(world | one seat's action-observation history, the others' policies). It is
immutable: ``update`` returns the belief after an event. ``hanabi_search_plugin.beliefs`` holds the
beliefs that serve any game. Letters: N worlds in the support.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import Event, FloatArray, Game, View, Worlds
from hanabi_search_plugin.core.policy import Blueprint, Memory
from hanabi_search_plugin.core.reprs import blueprint_repr
from hanabi_search_plugin.core.words import counted, times


def require_view(view: object) -> View:
    """The view. Raises UnsupportedError for what is none."""
    if not isinstance(view, View):
        came = counted(len(view), "world") if isinstance(view, Worlds) else repr(view)
        raise UnsupportedError(
            f"expected the view of a seat, as worlds.view(seat) gives it, got {came}"
        )
    return view


def require_one_view(view: object, game: Game | None = None) -> None:
    """Raises UnsupportedError for what is no view or one of another game than ``game``,
    ContractError unless it is of one world."""
    view = require_view(view)
    if len(view) != 1:
        raise ContractError(
            f"a belief follows one game: expected one view, got {len(view)}: "
            "view.select(np.array([0])) is the first of them"
        )
    if game is not None and _table(view.game) != _table(game):
        raise UnsupportedError(f"expected a view of {game!r}, got one of {view.game!r}")


def _table(game: Game) -> tuple[str, int, int]:
    """What tells games apart whose views do not fit each other."""
    return game.name, game.num_players, game.num_actions


def require_update(event: object, view: object, game: Game, before: View | None = None) -> None:
    """Raises as ``require_one_view``, UnsupportedError for what is no event, and ContractError for
    the move of a seat that was not to move, by the view ``before`` it."""
    if not isinstance(event, Event):
        raise UnsupportedError(
            "a belief is updated by (event, view), an Event as worlds.step(actions) returns it and "
            f"the seat's view after it, got ({type(event).__name__}, {type(view).__name__})"
        )
    require_one_view(view, game)
    if before is not None and (event.player != before.current_player).any():
        turn, mover = int(before.current_player[0]), int(event.player[0])
        whose = "the game is over" if turn < 0 else f"seat {turn} is to move"
        raise ContractError(
            f"a belief is updated by each event once, in their order: {whose}, got a move of seat "
            f"{mover}"
        )


class Belief(ABC):
    """P(world | the history of ``seat``, the blueprint of the others)."""

    game: Game  #: the game that is played
    seat: int  #: whose belief it is
    blueprint: Blueprint  #: what each seat is taken to play, one policy a seat
    view: View  #: what the seat sees now, a batch of one
    likelihoods: int  #: policy evaluations since the game began
    exact: bool = True  #: False if a part of the support stands for all of it
    ran_out: bool = False  #: True if the latest recovery was for want of samples, not for a move
    recovered: int  #: times that no world was left and the evidence of moves had to be dropped

    def __repr__(self) -> str:
        notes = "".join(f", {note}" for note in self.caveats())
        return (
            f"<{type(self).__name__} of P{self.seat} over {blueprint_repr(self.blueprint)} on "
            f"{self.game!r}{notes}>"
        )

    @property
    @abstractmethod
    def size(self) -> int:
        """Worlds in the support, not counting future chance, or an upper bound."""

    @property
    @abstractmethod
    def memory(self) -> Memory:
        """The memory of the blueprint's policy at ``seat``, one row."""

    @abstractmethod
    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> Belief:
        """The belief after an event and the seat's view after it (batches of one).

        With ``by_blueprint=False`` the move is no evidence: its mover may have searched.

        When no world is left, because a partner has left its policy, the belief falls back to every
        world that the seat's observations allow, adds one to ``recovered`` and logs it. Agents
        warn of it.
        """

    def caveats(self) -> list[str]:
        """Sentences that a decision made from this belief should be read with."""
        notes = [] if self.exact else ["the belief is a sample of the worlds"]
        if self.recovered:
            notes.append(f"the belief had to recover {times(self.recovered)}")
        return notes

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        """Draw n worlds with independent future chance, and each seat's policy memory in them.

        Raises TooFewWorldsError where the belief cannot find as many.
        """


class WrappedBelief(Belief):
    """A belief that adds something to ``inner`` and otherwise answers as ``inner`` does."""

    def __init__(self, inner: Belief) -> None:
        self.inner = inner
        self.game = inner.game
        self.seat = inner.seat
        self.blueprint = inner.blueprint
        self.view = inner.view
        self.exact = inner.exact
        self.recovered = inner.recovered
        self.ran_out = inner.ran_out

    @property
    def likelihoods(self) -> int:  # type: ignore[override]
        return self.inner.likelihoods

    @property
    def size(self) -> int:
        return self.inner.size

    @property
    def memory(self) -> Memory:
        return self.inner.memory

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        return self.inner.sample(rng, n)


class ExplicitBelief(Belief):
    """A belief that can list its support."""

    @abstractmethod
    def support(self) -> tuple[Worlds, FloatArray]:
        """The N worlds of the support and their probabilities [N], which sum to 1.

        The worlds' future chance is arbitrary.
        """

    @abstractmethod
    def support_memories(self) -> tuple[Memory, ...]:
        """Each seat's policy memory [N] in the worlds of ``support``."""
