"""The contract of public beliefs: what everybody knows, for searches that all players understand.

A public belief is P(world | public history, the players' policies). From public knowledge a player
may be in any of several *information states*, one for each private history that it could have; the
set of them is its *range*, which joint search searches. Letters: N and E information states of a
player, n worlds drawn for each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any

import numpy as np

from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import (
    BoolArray,
    Event,
    FloatArray,
    Game,
    IntArray,
    View,
    Worlds,
    require_seat,
)
from hanabi_search_plugin.core.policy import Blueprint, Memory
from hanabi_search_plugin.core.reprs import blueprint_repr
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import an, times


def require_ids(player: object, ids: object, game: Game) -> Any:
    """``ids`` as an array [E] of whole numbers, of objects where 64 bits do not hold them.

    Raises UnsupportedError for other things, and as ``require_seat``.
    """
    require_seat(player, game)
    given = np.asarray(ids)
    if given.ndim == 1 and given.dtype.kind in "iu":
        return given.astype(np.int64, copy=False)
    if given.ndim == 1 and all(isinstance(one, Integral) for one in given.tolist()):
        return given if len(given) else given.astype(np.int64)
    came = f"{given.dtype} of shape {given.shape}"
    if given.ndim == 0:
        came = f"{ids!r}: write np.array([{ids!r}])" if isinstance(ids, Integral) else repr(ids)
    raise UnsupportedError(
        "information states come as an array of integers, one each, as public.infostates(player) "
        f"gives them, got {came}"
    )


def require_known(player: int, ids: Any, known: BoolArray) -> None:
    """Raises ContractError unless all of ``ids`` [E] are known [E]."""
    if not known.all():
        raise ContractError(
            f"player {player} has no information state {int(ids[int(known.argmin())])} here: "
            f"infostates({player}) lists them, and infostate_of(view) gives the one of a view"
        )


def require_chance(chance: object) -> None:
    """Raises UnsupportedError for what are no streams."""
    if not isinstance(chance, Streams):
        raise UnsupportedError(
            "chance must be Streams, one a world of each information state, as "
            f"Streams.spawn(np.random.default_rng(0), n) makes them, got "
            f"{an(type(chance).__name__)}"
        )


def normalised(weights: FloatArray) -> FloatArray:
    """[E] the weights, which sum to 1. Raises ContractError where all are 0."""
    total = weights.sum()
    if not total > 0:
        raise ContractError(
            f"expected information states of which one is possible, got {len(weights)} that are "
            "not: possible(player, ids) tells which are"
        )
    return np.asarray(weights / total, dtype=np.float64)


class PublicBelief(ABC):
    """P(world | public history, blueprint). Immutable: every operation returns a new belief.

    An information state ("infostate") of a player is named by an integer, its id, which means the
    same to every observer. Each seat may keep a public belief of its own and feed it its own views:
    only what is public in them is used.

    What is asked about information states raises UnsupportedError for what are no ids, one integer
    each, and for what is no ``chance``; ContractError for ids that no player can be in.
    """

    game: Game  #: the game that is played
    blueprint: Blueprint  #: what each seat is taken to play, one policy a seat
    turn: int  #: events since the first decision
    keeps_ids: bool = True  #: False if ids of earlier turns mean other infostates once it recovers

    def __repr__(self) -> str:
        notes = "".join(f", {note}" for note in self.caveats())
        return (
            f"<{type(self).__name__} at turn {self.turn} over {blueprint_repr(self.blueprint)} on "
            f"{self.game!r}{notes}>"
        )

    @property
    @abstractmethod
    def recovered(self) -> int:
        """Times that nothing was left and the evidence of moves had to be dropped."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """False if a part of the worlds stands for all of them."""

    @property
    @abstractmethod
    def likelihoods(self) -> int | None:
        """Policy evaluations since the game began; None if they are not counted."""

    def caveats(self) -> list[str]:
        """Sentences that a decision made from this belief should be read with."""
        notes = [] if self.exact else ["the public belief may leave worlds out"]
        if self.recovered:
            notes.append(f"the public belief had to recover {times(self.recovered)}")
        return notes

    # ----------------------------------------------------------------- the public history goes on

    @abstractmethod
    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> PublicBelief:
        """The public belief after an event and the observer's view after it (batches of one).

        Where ``public_part`` is known, any seat's view will do, elsewhere the observer's alone.
        With ``by_blueprint=False`` the move is no evidence: its mover may have searched. What its
        search would have done otherwise is ruled out later, by ``exclude``. Raises ContractError
        for an event that was not the next, and for a view that does not fit it.
        """

    @abstractmethod
    def ancestors(self, player: int, turn: int, limit: int) -> IntArray | None:
        """[N] ids at an earlier turn of the infostates from which those of today grew.

        None if there are more than ``limit``.
        """

    @abstractmethod
    def exclude(self, player: int, turn: int, ids: IntArray) -> PublicBelief:
        """Rule out infostates of a turn up to now, by their ids then, and all that grew from them.

        The remaining infostates of today may get new ids. Raises ContractError where the observer
        knows that one of those ruled out is the truth.
        """

    # ------------------------------------------------------------- the infostates of each player

    @abstractmethod
    def size(self, player: int) -> int:
        """The number of infostates of ``player``, or an upper bound."""

    @abstractmethod
    def infostates(self, player: int) -> IntArray:
        """[N] the ids of all infostates of ``player``."""

    @abstractmethod
    def infostate_of(self, view: View) -> int:
        """The id of the infostate that the observer with this view (a batch of one) is in."""

    @abstractmethod
    def weights(self, player: int, ids: IntArray) -> FloatArray:
        """[E] public probability of each of these infostates, normalised to sum to 1."""

    @abstractmethod
    def possible(self, player: int, ids: IntArray) -> BoolArray:
        """[E] True if the probability is above 0: ``infostates`` may list impossible ones."""

    @abstractmethod
    def view_of(self, player: int, ids: IntArray) -> View:
        """[E] what ``player`` sees now in each of these infostates."""

    @abstractmethod
    def memory_of(self, player: int, ids: IntArray) -> Memory:
        """[E] the memory of the blueprint's policy of ``player`` in each of these infostates."""

    @abstractmethod
    def condition_on(self, player: int, infostate: int) -> Belief:
        """The private belief of ``player`` in this infostate (ConditionOnAOH in the paper).

        Moves that were no evidence stay none; excluded infostates of others stay excluded.
        """

    @abstractmethod
    def sample(
        self, player: int, ids: IntArray, chance: Streams
    ) -> tuple[Worlds, tuple[Memory, ...]]:
        """Draw n worlds of ``condition_on`` for each of E possible infostates, and all memories.

        World ``e * n + i`` is drawn by stream i of n and takes its future chance from it, so that
        infostates share chance as far as they can. ``chance`` is left unchanged.
        """

    @abstractmethod
    def public_part(self, view: View) -> bytes | None:
        """What everybody sees of a view, equal for all seats; None if that is not known.

        Lets seats in one process share what all of them would compute.
        """
