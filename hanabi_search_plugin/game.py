"""The game contract: what algorithms may know of a game.

Letters in shapes: B worlds in a batch, A actions, P players, N any number of entries.

A ``Game`` holds immutable rules. ``Worlds`` is a batch of complete world states, hidden parts and
all; a ``View`` is what one seat sees of them, and policies get views only. ``Event`` says who moved
and how. Capabilities beyond the core are declared by inheriting the mixins at the end of this file
(``Enumerable``, ``Redeterminizes``, ``PrivateTokens``, ``Replays``), never probed for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.errors import UnsupportedError

if TYPE_CHECKING:
    from hanabi_search_plugin.belief import Belief
    from hanabi_search_plugin.policy import Blueprint, Memory, Policy
    from hanabi_search_plugin.public_belief import PublicBelief
    from hanabi_search_plugin.streams import Streams

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

Rewards = Literal["identical", "zero_sum", "general_sum"]

HIDDEN = -1  # an action the observer does not see; also "nobody" as a player


@dataclass(frozen=True)
class Event:
    """One move in each world of a batch, as one observer sees it."""

    player: IntArray  # [B] who moved
    action: IntArray  # [B] the action's id, HIDDEN where the observer does not see it

    def __len__(self) -> int:
        return len(self.player)

    def select(self, index: IntArray) -> Event:
        return Event(self.player[index], self.action[index])

    def seen_by(self, player: int, game: Game) -> Event:
        """The event as ``player`` sees it: others' actions only where the game shows them."""
        if game.public_actions:
            return self
        return Event(self.player, np.where(self.player == player, self.action, HIDDEN))


class View(ABC):
    """What one seat sees of a batch of worlds, now. It shows nothing else.

    A view may share memory with its worlds; ``select`` gives one that outlives their next step.
    """

    game: Game
    player: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def select(self, index: IntArray) -> View: ...

    @property
    @abstractmethod
    def current_player(self) -> IntArray:
        """[B] whose turn it is, HIDDEN where the game is over."""

    @property
    @abstractmethod
    def legal(self) -> BoolArray:
        """[B, A] True = allowed to this seat; all False where it is not to move."""

    @abstractmethod
    def observation(self, encoding: str) -> NDArray[Any]:
        """[B, ...] the seat's observation in a named encoding of ``game.encodings``.

        Raises UnsupportedError for a name the game does not list.
        """

    @abstractmethod
    def keys(self) -> Sequence[Hashable]:
        """[B] equal for two worlds exactly when the seat observes the same thing now."""


class Worlds(ABC):
    """A batch of B complete worlds at decision points or ends. Chance happens inside ``step``.

    Each world carries its own chance stream, copied by ``select``: copies that are stepped with
    different actions meet the same chance.
    """

    game: Game

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def current_player(self) -> IntArray:
        """[B] whose turn it is, HIDDEN where the game is over."""

    @property
    def terminal(self) -> BoolArray:
        """[B]"""
        return np.asarray(self.current_player == HIDDEN)

    @property
    @abstractmethod
    def returns(self) -> FloatArray:
        """[B, P] score points so far."""

    @property
    @abstractmethod
    def legal(self) -> BoolArray:
        """[B, A] for the player to move; all False where the game is over."""

    @abstractmethod
    def step(self, actions: IntArray) -> Event:
        """Play actions [B] in place, then the chance that follows. No world may be over.

        Raises IllegalActionError. Draws from the worlds' own chance streams alone.
        """

    @abstractmethod
    def select(self, index: IntArray) -> Worlds:
        """A copy of the worlds at ``index`` (int [N] or bool [B]), chance streams included."""

    @abstractmethod
    def view(self, player: int) -> View:
        """What ``player`` sees now."""


@dataclass(frozen=True)
class History:
    """One seat's action-observation history: T events and the T + 1 views around them."""

    seat: int
    views: tuple[View, ...]  # each a batch of one
    events: tuple[Event, ...] = field(default=())  # as this seat sees them

    def append(self, event: Event, view: View) -> History:
        return History(self.seat, (*self.views, view), (*self.events, event))


class Game(ABC):
    """Immutable rules of one configuration."""

    name: str
    num_players: int
    num_actions: int
    return_range: tuple[float, float]  # score points, both ends possible
    max_length: int  # player moves in the longest game
    rewards: Rewards
    public_actions: bool  # does every seat see the others' actions?
    encodings: tuple[str, ...]

    @abstractmethod
    def deal(self, rng: np.random.Generator, n: int) -> Worlds:
        """n worlds at their first decision, each with a chance stream of its own."""

    @abstractmethod
    def action_to_string(self, player: int, action: int) -> str:
        """The action in words, as ``player`` would say it."""

    def belief(
        self, blueprint: Blueprint, view: View, *, epsilon: float = 0.0, uncertainty: float = 0.0
    ) -> Belief:
        """The private belief of ``view.player`` at the start of a game, before any event.

        ``view`` is that seat's first view, a batch of one. ``epsilon`` mixes the others' policies
        with uniform random legal moves. ``uncertainty`` u is no such model but SPARTA's remedy
        against beliefs that rule everything out: a world counts u where its partner would have
        moved otherwise, 1 where not (p + u (1 - p) for a probability p of the move).
        Raises UnsupportedError where the game gives no belief, ConfigError for numbers outside 0
        to 1.
        """
        from hanabi_search_plugin.belief import EnumeratedBelief

        return EnumeratedBelief.start(
            self, blueprint, view, epsilon=epsilon, uncertainty=uncertainty
        )

    def public_belief(
        self, blueprint: Blueprint, view: View, *, epsilon: float = 0.0
    ) -> PublicBelief:
        """What everybody knows at the start of a game, kept by ``view.player``; as ``belief``."""
        from hanabi_search_plugin.public_belief import EnumeratedPublicBelief

        return EnumeratedPublicBelief.start(self, blueprint, view, epsilon=epsilon)

    # The operations below cost nearly all the time of a search. Here they are written for
    # any game; a game may override them with compiled loops that return the same numbers.

    def action_values(
        self,
        worlds: Worlds,
        actions: IntArray,
        blueprint: Blueprint,
        memories: tuple[Memory, ...],
        seat: int,
        rng: Streams,
        *,
        depth: int | None = None,
        threads: int = 1,
    ) -> FloatArray:
        """[M, B] ``seat``'s return if it plays actions[m] in world b and then all the blueprint.

        ``actions`` are [M], or [M, B] where they differ by world; HIDDEN is not tried, its value
        nan. ``memories[p]`` are seat p's, before the action. Every action meets the same chance and
        the same policy randomness (``rng``, one stream a world). ``threads`` never changes the
        numbers.

        With a ``depth`` games are played on for that many moves, the action's own among them, and
        the blueprint's values say what is still to come. Raises UnsupportedError where a policy of
        the blueprint has no values (``Value``).
        """
        from hanabi_search_plugin.rollout import action_values

        return action_values(worlds, actions, blueprint, memories, seat, rng, depth=depth)

    def play_out(
        self, worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...], rng: Streams
    ) -> FloatArray:
        """[B, P] every seat's return once the blueprint has played the worlds to their end.

        ``worlds`` and ``rng`` (one stream a world) are left as they were.
        """
        from hanabi_search_plugin.rollout import rollout

        return rollout(worlds, blueprint, memories, rng).returns

    def likelihood(
        self, worlds: Worlds, policy: Policy, seat: int, memory: Memory, action: IntArray
    ) -> FloatArray:
        """[B] probability that ``policy`` at ``seat``, which is to move, plays actions [B]."""
        view = worlds.view(seat)
        chance = policy.probabilities(view, view.legal, memory)
        return np.asarray(chance[np.arange(len(worlds)), action], dtype=np.float64)


def require_game(game: object) -> None:
    """Raises UnsupportedError for what is no Game: one of OpenSpiel's, say."""
    if not isinstance(game, Game):
        raise UnsupportedError(
            f"expected a Game of this package, got a {type(game).__name__}: "
            "wrappers.openspiel_hanabi.load_game makes one of OpenSpiel's"
        )


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
    HIDDEN-padded to L.
    """

    num_factors: int
    token_length: int  # most tokens in a factor, L
    vocabulary: int  # V; tokens are 0 .. vocabulary - 1, HIDDEN past the end of a factor
    visible: BoolArray  # [P, F] does player p see factor f? (Hanabi: all hands but its own)
    # Is the product of ``token_weights`` along a sequence its chance by all that its player saw but
    # the others' moves?
    weights_are_chance: bool = False

    @abstractmethod
    def private_tokens(self, worlds: Worlds, factor: int) -> IntArray:
        """[B, L] tokens of a factor, HIDDEN-padded."""

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
        ended = (token == HIDDEN) & (weights == 0).all(axis=1)
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
    def moments(self, history: History, player: int, tokens: IntArray, turns: IntArray) -> View:
        """[B] ``player``'s view at ``turns[b]`` had the observer not seen tokens[b] today.

        Row b of the view that ``replay`` has there.
        """

    @abstractmethod
    def earlier(self, history: History, tokens: IntArray, turn: int) -> IntArray:
        """[B, K] what the observer of ``history`` did not see at ``turn``, had it not seen tokens
        [B, K] today."""
