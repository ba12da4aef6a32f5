"""The public belief contract, and its exact form for any small game whose chance can be listed.

A public belief is P(world | what everybody knows that everybody knows). A player's *entries* are
the private histories it could have by public knowledge: the range that joint search searches.
Letters: N entries of a player, W worlds followed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.game import (
    BoolArray,
    Event,
    FloatArray,
    Game,
    IntArray,
    View,
    Worlds,
)
from hanabi_search_plugin.core.policy import Blueprint, Memory
from hanabi_search_plugin.core.streams import Streams


class PublicBelief(ABC):
    """P(world | public history, blueprint). Immutable: every operation returns a new one.

    Every seat may keep its own and feed it its own views: they tell which public things happened,
    and nothing that the seat alone knows is used. Entries are named by integers, their *labels*,
    which mean the same to every observer.
    """

    game: Game
    blueprint: Blueprint
    turn: int  # events since the first decision

    @property
    @abstractmethod
    def recovered(self) -> int:
        """How often nothing was left and evidence had to be dropped."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """False where a part of the worlds stands for all."""

    @property
    @abstractmethod
    def likelihoods(self) -> int | None:
        """Policy evaluations taken since the game began; None where they are not counted."""

    def caveats(self) -> list[str]:
        """What a decision from this belief should be read with."""
        notes = [] if self.exact else ["the public belief may leave worlds out"]
        if self.recovered:
            notes.append(f"the public belief had to recover {self.recovered} times")
        return notes

    @abstractmethod
    def entry_of(self, view: View) -> int:
        """The label of the entry that the observer with this view holds."""

    @abstractmethod
    def public_part(self, view: View) -> bytes | None:
        """What everybody sees of a view, the same from every seat; None where that is not known.

        It lets seats in one process share what they would all compute.
        """

    @abstractmethod
    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> PublicBelief:
        """The public belief after an event and the observer's view after it (batches of one).

        ``by_blueprint=False`` takes the move as no evidence: its mover may have searched. What the
        search would have done is ruled out later by ``exclude``.
        """

    @abstractmethod
    def size(self, player: int) -> int:
        """Entries of ``player``, or an upper bound."""

    @abstractmethod
    def entries(self, player: int) -> IntArray:
        """[N] the labels of all entries of ``player``."""

    @abstractmethod
    def weights(self, player: int, entries: IntArray) -> FloatArray:
        """[E] public probability of each of these entries, among them (sum 1)."""

    @abstractmethod
    def possible(self, player: int, entries: IntArray) -> BoolArray:
        """[E] is the probability above 0? Ranges kept apart for each player may hold others."""

    @abstractmethod
    def view_of(self, player: int, entries: IntArray) -> View:
        """[E] what ``player`` sees now if it holds these entries."""

    @abstractmethod
    def memory_of(self, player: int, entries: IntArray) -> Memory:
        """[E] the blueprint's memory of ``player`` in these entries."""

    @abstractmethod
    def condition_on(self, player: int, entry: int) -> Belief:
        """The private belief of ``player`` holding an entry (ConditionOnAOH in the paper).

        Moves taken as no evidence stay none; entries excluded stay excluded.
        """

    @abstractmethod
    def sample(
        self, player: int, entries: IntArray, chance: Streams
    ) -> tuple[Worlds, tuple[Memory, ...]]:
        """Worlds [E * n] of ``condition_on`` for many possible entries at once, and all memories.

        World ``e * n + i`` is drawn from stream i of n and takes its future chance from it, so that
        entries share chance as far as they can. The streams are left as they were.
        """

    @abstractmethod
    def ancestors(self, player: int, turn: int, limit: int) -> IntArray | None:
        """The entries of an earlier turn from which today's grew; None if more than ``limit``.

        Labels are those of that turn.
        """

    @abstractmethod
    def exclude(self, player: int, turn: int, entries: IntArray) -> PublicBelief:
        """Rule out entries of an earlier turn (or today) and all that grew from them.

        Today's remaining entries may get new labels. Raises ContractError where the observer knows
        that one of those ruled out is the truth.
        """
