"""What a game may be able to do beyond the contract; declared by inheriting, never probed for.

A game needs none of these. ``Enumerable`` gives it exact beliefs, ``PrivateTokens`` learned ones,
``Redeterminizes`` the tree searches that draw hidden parts anew. ``HasBeliefs`` and
``CompilesRollouts`` replace generic code by the game's own: same meaning, less time.

Letters in shapes: B worlds in a batch, A actions, P players, N any number of entries, M actions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.game import (
    PAD,
    BoolArray,
    FloatArray,
    Game,
    History,
    IntArray,
    View,
    Worlds,
)
from hanabi_search_plugin.core.policy import Blueprint, Memory
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.streams import Streams


class Enumerable(Game):
    """A game whose chance can be listed: exact beliefs by tracking every world."""

    @abstractmethod
    def deals(self) -> tuple[Worlds, FloatArray]:
        """Every first-decision world and its probability [N]. Chance streams are arbitrary."""

    @abstractmethod
    def branch(self, worlds: Worlds, actions: IntArray) -> tuple[Worlds, IntArray, FloatArray]:
        """Play actions [B], then list the chance that follows.

        Returns the worlds that can follow [N], the parent of each [N], and the probability of each
        given its parent and action [N]. ``worlds`` is left as it was.
        """

    @abstractmethod
    def concat(self, parts: Sequence[Worlds]) -> Worlds:
        """One batch of all the worlds of ``parts`` (at least one), in their order."""

    @abstractmethod
    def reseed(self, worlds: Worlds, rng: np.random.Generator) -> Worlds:
        """The same worlds with new, independent chance streams (a sample of the future)."""


class Redeterminizes(Game):
    """A game whose hidden part can be resampled inside a tree (RIS-MCTS, Algorithm 1)."""

    @abstractmethod
    def redeterminize(self, worlds: Worlds, player: int, rng: Streams) -> Worlds:
        """The worlds with what ``player`` cannot see drawn anew from what it knows now.

        The draw is uniform over the orderings of unseen chance that agree with the player's
        information; other players' policies are not considered.
        """

    @abstractmethod
    def restore(self, worlds: Worlds, player: int, saved: Worlds, rng: Streams) -> Worlds | None:
        """Put the truth of ``saved`` (before redeterminize and a move) back where still possible.

        None where the game cannot: such an iteration ends there.
        """


class PrivateTokens(Game):
    """A game whose world = public trajectory x private factors, each a sequence of tokens.

    Enables enumeration by factor, public beliefs and auto-regressive learned beliefs. What a player
    does not see is one sequence of K tokens: those of its ``hidden`` factors in order, each
    PAD-padded to L.
    """

    num_factors: int
    token_length: int  # most tokens in a factor, L
    vocabulary: int  # V; tokens are 0 .. vocabulary - 1, PAD past the end of a factor
    visible: BoolArray  # [P, F] does player p see factor f? (Hanabi: all hands but its own)
    # Is the product of ``token_weights`` along a sequence its chance by all that its player saw but
    # the others' moves?
    weights_are_chance: bool = False

    @abstractmethod
    def private_tokens(self, worlds: Worlds, factor: int) -> IntArray:
        """[B, L] tokens of a factor, PAD-padded."""

    @abstractmethod
    def with_private(
        self, worlds: Worlds, factor: int, tokens: IntArray, rng: Streams
    ) -> tuple[Worlds, BoolArray]:
        """The worlds with one factor replaced and the future chance drawn anew.

        Returns the worlds and whether each is possible [B]; an impossible one is left unchanged.
        """

    @abstractmethod
    def token_weights(self, view: View, before: IntArray) -> FloatArray:
        """[B, V] how likely chance makes each token that may follow ``before`` [B, j].

        By what the player of ``view`` sees now (the others' policies are not considered), up to a
        factor, and 0 where no sequence that begins so agrees with it; all 0 past the end of a
        factor. Which worlds are possible is exact, how likely they are may not be: the grounded
        belief of the LBS paper.
        """

    @abstractmethod
    def worlds_of(self, view: View, tokens: IntArray, rng: Streams) -> Worlds:
        """The worlds that show ``view`` (a batch of one) and hide tokens [B, K], all possible.

        Their future chance is drawn from ``rng``, one stream a world.
        """

    def hidden(self, player: int) -> IntArray:
        """The factors that ``player`` does not see."""
        return np.flatnonzero(~self.visible[player])

    def hidden_tokens(self, worlds: Worlds, player: int) -> IntArray:
        """[B, K] what ``player`` does not see."""
        parts = [self.private_tokens(worlds, factor) for factor in self.hidden(player).tolist()]
        return np.concatenate([np.zeros((len(worlds), 0), dtype=np.int64), *parts], axis=1)

    def agrees(self, view: View, tokens: IntArray) -> BoolArray:
        """[B] may tokens [B, K] be what the player of ``view`` (B rows) does not see?"""
        good = np.ones(len(tokens), dtype=np.bool_)
        for j in range(tokens.shape[1]):
            rows = np.flatnonzero(good)
            good[rows] = self._follows(view.select(rows), tokens[rows], j)
        return good

    def _follows(self, view: View, tokens: IntArray, j: int) -> BoolArray:
        """[B] is token j one that may follow those before?"""
        weights = self.token_weights(view, tokens[:, :j])
        token = tokens[:, j]
        known = (token >= 0) & (token < self.vocabulary)
        there = weights[np.arange(len(tokens)), np.where(known, token, 0)] > 0
        ended = (token == PAD) & (weights == 0).all(axis=1)
        return np.asarray((known & there) | ended)


class Replays(Game):
    """A game that can rebuild past views under a hypothetical private state."""

    @abstractmethod
    def replay(self, history: History, player: int, tokens: IntArray) -> History:
        """``player``'s history had the observer of ``history`` not seen tokens [B, K] today.

        Its views are batches of B, its events of one. For policies whose memory is not public.
        Raises UnsupportedError where today's tokens do not determine the past.
        """

    @abstractmethod
    def views_at(self, history: History, player: int, tokens: IntArray, turns: IntArray) -> View:
        """[B] ``player``'s view at ``turns[b]`` had the observer not seen tokens[b] today.

        Row b of the view that ``replay`` has there.
        """

    @abstractmethod
    def tokens_at(self, history: History, tokens: IntArray, turn: int) -> IntArray:
        """[B, K] what the observer of ``history`` did not see at ``turn``, had it not seen tokens
        [B, K] today."""


class HasBeliefs(Game):
    """A game with private and public beliefs of its own, in place of enumerated ones.

    ``beliefs.exact`` says what the arguments are and what is raised.
    """

    @abstractmethod
    def private_belief(
        self, blueprint: Blueprint, view: View, *, epsilon: float, uncertainty: float
    ) -> Belief:
        """The private belief of ``view.player`` at the start of a game."""

    @abstractmethod
    def public_belief(self, blueprint: Blueprint, view: View, *, epsilon: float) -> PublicBelief:
        """What everybody knows at the start of a game, kept by ``view.player``."""


class CompilesRollouts(Game):
    """A game with compiled loops that play worlds on, for the policies that it knows.

    They return the numbers of the plain loops in ``core.rollout``, which ask them first.
    """

    @abstractmethod
    def compiled_action_values(
        self,
        worlds: Worlds,
        actions: IntArray,
        blueprint: Blueprint,
        memories: tuple[Memory, ...],
        seat: int,
        rng: Streams,
        *,
        threads: int,
    ) -> FloatArray | None:
        """[M, B] as ``rollout.action_values`` to the end of the game; None: play plainly."""

    @abstractmethod
    def compiled_play_out(
        self, worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...], rng: Streams
    ) -> FloatArray | None:
        """[B, P] as ``rollout.play_out``; None: play plainly."""
