"""Optional abilities of games, which a game declares by inheriting from these classes.

A game needs none of them. Four enable whole families of methods:

``Branches``        exact endgames, which list what a move can lead to.
``Enumerable``      exact beliefs, by tracking every possible world.
``Redeterminizes``  RIS-MCTS, which resamples hidden information inside the tree.
``PrivateTokens``   learned beliefs, which draw hidden information token by token.

The rest are advanced, and a small game never needs them: ``Replays`` serves learned beliefs over
policies with private memory; ``DealsTokens`` beliefs by samples, seat by seat; ``HasBeliefs``,
``CompilesRollouts``, ``core.solving.SolvesEndgames`` and ``core.tree.GrowsTrees`` replace generic
code by the game's own, with the same meaning and in less time.

Letters in shapes: B worlds in a batch, A actions, P players, N worlds listed, M actions tried,
F private factors, L tokens of a factor, K tokens hidden from a player, V vocabulary.
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


class Branches(Game):
    """A game that can list what may follow a move, with probabilities."""

    @abstractmethod
    def branch(self, worlds: Worlds, actions: IntArray) -> tuple[Worlds, IntArray, FloatArray]:
        """Play actions [B] and list every outcome of the chance that follows.

        Returns the N possible next worlds, the row in ``worlds`` that each comes from [N], and the
        probability of each given that row and its action [N]. ``worlds`` is left unchanged.
        """

    @abstractmethod
    def concat(self, parts: Sequence[Worlds]) -> Worlds:
        """One batch of all worlds of ``parts`` (at least one), in their order."""


class Enumerable(Branches):
    """A game that can list all its chance, the deal too."""

    @abstractmethod
    def deals(self) -> tuple[Worlds, FloatArray]:
        """Every world at the first decision, and their probabilities [N].

        The worlds' chance streams are arbitrary.
        """

    def require_few_deals(self) -> None:
        """Raise UnsupportedError where ``deals`` would, if that can be told without dealing."""

    @abstractmethod
    def reseed(self, worlds: Worlds, rng: np.random.Generator) -> Worlds:
        """The same worlds with new, independent chance streams drawn from ``rng``."""


class SharesFutures(Enumerable):
    """A game that can say which worlds go on alike, so that trees list them once."""

    @abstractmethod
    def futures(self, worlds: Worlds) -> IntArray:
        """[B] equal numbers only for worlds of one turn in which the same moves have the same
        consequences: chance, rewards, and what every seat will see."""


class Redeterminizes(Game):
    """A game that can resample hidden information inside a tree (RIS-MCTS, Algorithm 1)."""

    @abstractmethod
    def redeterminize(self, worlds: Worlds, player: int, rng: Streams) -> Worlds:
        """Redraw what ``player`` cannot see in the worlds, given what it knows now.

        The draw is uniform over the orderings of unseen chance that are consistent with the
        player's information; moves of others are no evidence. ``rng`` has one stream per world.
        """

    @abstractmethod
    def restore(self, worlds: Worlds, player: int, saved: Worlds, rng: Streams) -> Worlds | None:
        """Put the hidden parts of ``saved`` back into ``worlds``, as far as still possible.

        ``saved`` are the worlds before ``redeterminize`` and the move that followed. Returns None
        where the game cannot restore them; the search then ends that iteration.
        """


class PrivateTokens(Game):
    """A game whose world is a public trajectory and private factors, each a sequence of tokens.

    What a player does not see is one sequence of K tokens: those of its ``hidden`` factors in
    order, each padded with PAD to L tokens. Learned beliefs draw it token by token.
    """

    num_factors: int  #: F
    token_length: int  #: L, the most tokens in a factor
    vocabulary: int  #: V; tokens are 0 .. vocabulary - 1, PAD past the end of a factor
    visible: BoolArray  #: [P, F] True if player p sees factor f
    #: True if the product of ``token_weights`` along a sequence is proportional to P(tokens | the
    #: player's own observations), ignoring evidence from others' actions.
    weights_are_chance: bool = False

    @abstractmethod
    def private_tokens(self, worlds: Worlds, factor: int) -> IntArray:
        """[B, L] the tokens of a factor, padded with PAD."""

    @abstractmethod
    def with_private(
        self, worlds: Worlds, factor: int, tokens: IntArray, rng: Streams
    ) -> tuple[Worlds, BoolArray]:
        """Replace one factor by tokens [B, L] and draw the future chance from ``rng``.

        Returns the new worlds and whether each is possible [B]; impossible ones stay unchanged.
        """

    @abstractmethod
    def token_weights(self, view: View, before: IntArray) -> FloatArray:
        """[B, V] unnormalised probabilities of the token that follows ``before`` [B, j].

        They are given what the player of ``view`` sees now, ignoring evidence from others' actions:
        the grounded belief of the LBS paper. A weight is 0 exactly if no sequence that begins so is
        consistent with the view; positive weights may be approximate. All are 0 past the end of a
        factor.
        """

    @abstractmethod
    def worlds_of(self, view: View, tokens: IntArray, rng: Streams) -> Worlds:
        """The B worlds that show ``view`` (a batch of one) and in which tokens [B, K] are hidden.

        All must be possible. Their future chance comes from ``rng``, one stream per world.
        """

    def hidden(self, player: int) -> IntArray:
        """The indices of the factors that ``player`` does not see."""
        return np.flatnonzero(~self.visible[player])

    def hidden_tokens(self, worlds: Worlds, player: int) -> IntArray:
        """[B, K] the tokens that ``player`` does not see."""
        parts = [self.private_tokens(worlds, factor) for factor in self.hidden(player).tolist()]
        return np.concatenate([np.zeros((len(worlds), 0), dtype=np.int64), *parts], axis=1)

    def agrees(self, view: View, tokens: IntArray) -> BoolArray:
        """[B] True if hidden tokens [B, K] are consistent with ``view`` (B rows)."""
        good = np.ones(len(tokens), dtype=np.bool_)
        for j in range(tokens.shape[1]):
            rows = np.flatnonzero(good)
            good[rows] = self._follows(view.select(rows), tokens[rows], j)
        return good

    def _follows(self, view: View, tokens: IntArray, j: int) -> BoolArray:
        """[B] True if token j is consistent with the view and the tokens before it."""
        weights = self.token_weights(view, tokens[:, :j])
        token = tokens[:, j]
        known = (token >= 0) & (token < self.vocabulary)
        there = weights[np.arange(len(tokens)), np.where(known, token, 0)] > 0
        ended = (token == PAD) & (weights == 0).all(axis=1)
        return np.asarray((known & there) | ended)


# ------------------------------------------------- advanced: a small game needs none of these


class Replays(Game):
    """A game that can rebuild past views under hypothetical hidden tokens of today."""

    @abstractmethod
    def replay(self, history: History, player: int, tokens: IntArray) -> History:
        """The history of ``player`` if tokens [B, K] are what the observer does not see today.

        The observer is the seat of ``history``. The views returned are batches of B, the events of
        one. Raises UnsupportedError where today's tokens do not determine the past.
        """

    @abstractmethod
    def views_at(self, history: History, player: int, tokens: IntArray, turns: IntArray) -> View:
        """[B] the view of ``player`` at ``turns[b]`` if tokens[b] are hidden today.

        The same as row b of the view that ``replay`` has at that turn.
        """

    @abstractmethod
    def tokens_at(self, history: History, tokens: IntArray, turn: int) -> IntArray:
        """[B, K] the tokens hidden from the observer at ``turn``, given those of today [B, K]."""


class DealsTokens(PrivateTokens, Replays):
    """A game that deals out its private tokens once, at the start, from one pool.

    Each factor has exactly L tokens, which never change, and by chance every way to share out the
    tokens that a player does not see is equally likely. What a player sees is its own factors and
    what everybody sees, so that its moves tell of nothing else.
    """


OWN_BELIEF = 'the game has a belief of its own: belief=None, or "exact" (--belief exact)'
"""The way out for a game that ``HasBeliefs`` where another belief does not fit it."""


class HasBeliefs(Game):
    """A game with exact private and public beliefs of its own, in place of enumerated ones.

    ``beliefs.exact`` documents the arguments and the errors raised.
    """

    def require_beliefs(self) -> None:
        """Raise UnsupportedError where no seat can have one."""

    @abstractmethod
    def private_belief(
        self, blueprint: Blueprint, view: View, *, epsilon: float, uncertainty: float
    ) -> Belief:
        """The private belief of ``view.player`` at its first view."""

    @abstractmethod
    def public_belief(self, blueprint: Blueprint, view: View, *, epsilon: float) -> PublicBelief:
        """The public belief at the first decision, kept by ``view.player``."""


class CompilesRollouts(Game):
    """A game with compiled rollouts, for the policies that its compiled code knows.

    ``core.rollout`` calls these first. They return the same numbers as its generic loops.
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
        """[M, B] as ``rollout.action_values`` without a depth; None if a policy is not compiled."""

    @abstractmethod
    def compiled_play_out(
        self, worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...], rng: Streams
    ) -> FloatArray | None:
        """[B, P] as ``rollout.play_out``; None if a policy is not compiled."""
