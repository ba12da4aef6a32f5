"""The contract of belief models: P(hidden tokens | a seat's observations), token by token.

Letters: B worlds, n samples, K tokens hidden from a seat (``PrivateTokens``), V vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from hanabi_search_plugin.core.capabilities import PrivateTokens
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import (
    PAD,
    Event,
    FloatArray,
    Game,
    IntArray,
    View,
    require_game,
)
from hanabi_search_plugin.core.policy import Memory


class BeliefModel(ABC):
    """P(tokens | one seat's own observations) = product over j of P(token j | those before it).

    Its state is explicit, as a policy's memory is, with one row per world: ``start`` is called with
    the seat's first view, ``observe`` after every event with the view after it.
    """

    game: PrivateTokens  #: the game it was learned for
    policy: str = ""  #: whose games it has learned, by name; "": nobody's, or it is not said

    loaded_as: str = ""  #: the name or the file that it was loaded by, if any

    def __repr__(self) -> str:
        name = repr(self.loaded_as) if self.loaded_as else ""
        return f"{type(self).__name__}({name})" if name else type(self).__name__

    def start(self, view: View) -> Memory:
        """The state [B] at the seat's first view."""
        return None

    def observe(self, view: View, event: Event, state: Memory) -> Memory:
        """The state after ``event``; ``view`` is what the seat sees after it."""
        return state

    @abstractmethod
    def sample(self, view: View, state: Memory, rng: np.random.Generator, n: int) -> IntArray:
        """[n, K] draws for one view; PAD past the end of a factor. Takes n K doubles."""

    def marginals(self, view: View, state: Memory, rng: np.random.Generator, n: int) -> FloatArray:
        """[K, V] P(token j is v) for one view, as n draws have it: by counts, or in a model that
        knows what it draws by the mean of that. 0 past the end of a factor.

        Takes what ``sample`` takes.
        """
        tokens = self.sample(view, state, rng, n)
        counted = tokens[:, :, None] == np.arange(self.game.vocabulary)
        return np.asarray(counted.mean(axis=0), dtype=np.float64)

    @abstractmethod
    def log_likelihood(self, view: View, state: Memory, tokens: IntArray) -> FloatArray:
        """[B, K] log P(token | the tokens before it), 0 past the end of a factor.

        ``view``, ``state`` and ``tokens`` [B, K] have one row per world.
        """


class Grounded(BeliefModel):
    """The belief from observations alone, without evidence from others' actions.

    It draws by ``PrivateTokens.token_weights`` and never draws an impossible world. The LBS paper
    calls it V0, the baseline of learned beliefs. Raises UnsupportedError for another game.
    """

    def __init__(self, game: Game) -> None:
        self.game = require_tokens(game)

    def sample(self, view: View, state: Memory, rng: np.random.Generator, n: int) -> IntArray:
        return draw_by_weights(self.game, view, rng, n)[0]

    def log_likelihood(self, view: View, state: Memory, tokens: IntArray) -> FloatArray:
        return log_by_weights(self.game, view, tokens)


def draw_by_weights(
    game: PrivateTokens,
    view: View,
    rng: np.random.Generator,
    n: int,
    likelihood: FloatArray | None = None,
) -> tuple[IntArray, FloatArray]:
    """Draw by ``token_weights``, times the ``likelihood`` [1, K, V] of each token, if given.

    Tokens [n, K], and the mean [K, V] of the probabilities by which they were drawn.
    """
    many, length = view.select(np.zeros(n, dtype=np.int64)), hidden_length(game, view)
    tokens = np.zeros((n, 0), dtype=np.int64)
    means = np.zeros((length, game.vocabulary))
    for place in range(length):
        weights = game.token_weights(many, tokens)
        if likelihood is not None:
            weights = weights * likelihood[:, place]
        drawn = draw(weights, rng.random(n))
        whole = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        means[place] = (weights / whole).sum(axis=0) / max(n, 1)
        tokens = np.append(tokens, drawn[:, None], axis=1)
    return tokens, means


def log_by_weights(
    game: PrivateTokens, view: View, tokens: IntArray, likelihood: FloatArray | None = None
) -> FloatArray:
    """``BeliefModel.log_likelihood`` by the same weights; ``likelihood`` [B, K, V]."""
    chance = np.ones(tokens.shape)
    for j in range(tokens.shape[1]):
        weights = game.token_weights(view, tokens[:, :j])
        if likelihood is not None:
            weights = weights * likelihood[:, j]
        there = np.flatnonzero(tokens[:, j] != PAD)
        right = weights[there, tokens[there, j]]
        chance[there, j] = right / np.maximum(weights[there].sum(axis=1), 1e-300)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(chance), dtype=np.float64)


def hidden_length(game: PrivateTokens, view: View) -> int:
    """K, the number of tokens that the player of ``view`` does not see."""
    return len(game.hidden(view.player)) * game.token_length


def weights_along(game: PrivateTokens, view: View, tokens: IntArray) -> FloatArray:
    """[B, K, V] ``token_weights`` of each position, given the tokens [B, K] before it."""
    length = hidden_length(game, view)
    return np.stack([game.token_weights(view, tokens[:, :j]) for j in range(length)], axis=1)


def draw(weights: FloatArray, u: FloatArray) -> IntArray:
    """[n] tokens drawn by weights [n, V] with numbers u [n] in [0, 1); PAD where all are 0.

    Raises ContractError for weights that are no finite numbers of at least 0.
    """
    cumulative = np.cumsum(weights, axis=1)
    right = np.isfinite(cumulative[:, -1]) & (weights >= 0).all(axis=1)
    if not right.all():
        got = weights[int(right.argmin())].tolist()
        raise ContractError(f"a belief must draw tokens by finite weights of at least 0, got {got}")
    drawn = (cumulative > (u * cumulative[:, -1])[:, None]).argmax(axis=1)
    return np.where(cumulative[:, -1] > 0, drawn, PAD)


def require_tokens(game: Game) -> PrivateTokens:
    """The game itself. Raises UnsupportedError unless it has ``PrivateTokens``."""
    require_game(game)
    if not isinstance(game, PrivateTokens):
        raise UnsupportedError(
            f"a learned belief needs a game that names its private tokens (PrivateTokens), which "
            f"{game.name} does not"
        )
    return game
