"""A belief by weighted samples that are drawn one seat after another.

For games that deal out private tokens (``DealsTokens``), where worlds are far too many to list and
a whole deal is hardly ever one that explains all moves. Because a seat's moves depend on its own
tokens alone, the likelihood of a deal is a product of one factor a seat: the seat whose moves tell
most is drawn first, from many proposals, the rest is dealt around it (sequential importance
resampling), and worlds that were drawn more than once move apart by exchanges of two tokens, each
accepted by the ratio of the likelihoods (Metropolis and others, 1953; resample-move: Gilks and
Berzuini, 2001). Letters: n worlds wanted, N proposals, H hidden seats, L tokens a seat,
K = H L tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.beliefs.past_moves import PastMoves
from hanabi_search_plugin.beliefs.resampling import effective_sample_size, systematic_resample
from hanabi_search_plugin.beliefs.tracked_worlds import one_view
from hanabi_search_plugin.core.belief import Belief, require_update
from hanabi_search_plugin.core.capabilities import DealsTokens
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Event, FloatArray, IntArray, View, Worlds
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Memory,
    Policy,
    as_blueprint,
    observed,
    started,
    take,
)
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import require_integers, require_share
from hanabi_search_plugin.core.streams import Streams, require_draws

PILOT = 256  # proposals by which the seat that is drawn first is found
UNCERTAINTY = 0.001  # of a belief that nobody has chosen
DISTINCT = 0.8  # share of different worlds below which they are moved


@dataclass(frozen=True)
class Seatwise:
    """Beliefs seat by seat: ``upgrade(policy, game, Sparta(), belief=Seatwise())``.

    ``proposals`` are drawn for the first seat, ``around`` deals around those kept; ``exchanges``
    move the worlds where fewer than 80 % are distinct. A world keeps the share ``uncertainty`` of
    its weight where it does not explain a move. ``explained_by`` is a policy, or one a seat, by
    which the others' moves are explained in place of the blueprint: a softer one where the
    blueprint is deterministic. Raises ConfigError for numbers out of range.
    """

    proposals: int = 2048
    around: int = 1024
    exchanges: int = 24
    uncertainty: float = UNCERTAINTY
    explained_by: Policy | Blueprint | None = None

    def __post_init__(self) -> None:
        require_integers(self, ("proposals", "around"), 1)
        require_integers(self, ("exchanges",), 0)
        require_share("uncertainty", self.uncertainty)

    def __repr__(self) -> str:
        return settings_repr(self, "proposals")

    def __call__(self, blueprint: Blueprint, view: View) -> SeatwiseBelief:
        """The belief of ``view.player`` at its first view."""
        return SeatwiseBelief.start(self, blueprint, view)


@dataclass(frozen=True, eq=False, repr=False)
class SeatwiseBelief(Belief):
    """A private belief that keeps nothing but the seat's history; ``sample`` draws anew.

    Every call of ``sample`` is independent of all others: worlds that one search has chosen by are
    no help to the next. Worlds that explain a move badly are rare and not impossible, so that the
    belief never runs empty.
    """

    settings: Seatwise
    game: DealsTokens
    blueprint: Blueprint
    past: PastMoves  # by the blueprint: the others' memories
    evidence: PastMoves  # by the policies that explain the others' moves
    own_memory: Memory
    pool: IntArray  # [K] what is dealt to the hidden seats
    ignored: frozenset[int] = frozenset()  # turns whose moves are no evidence
    last_size: list[float] | None = None  # effective sample size of the latest draw, if any

    exact = False
    recovered = 0

    @classmethod
    def start(cls, settings: Seatwise, blueprint: Blueprint, view: View) -> SeatwiseBelief:
        """The belief at the first decision, from the seat's first view (a batch of one).

        Raises UnsupportedError for a game without ``DealsTokens``, and for a policy without
        probabilities.
        """
        game, view = view.game, one_view(view)
        if not isinstance(game, DealsTokens):
            raise UnsupportedError(
                f"Seatwise needs a game that deals out private tokens (DealsTokens), which "
                f"{game.name} does not"
            )
        explained = blueprint
        if settings.explained_by is not None:
            explained = as_blueprint(settings.explained_by, game.num_players)
        past = PastMoves.start(game, blueprint, view)
        return cls(
            settings=settings,
            game=game,
            blueprint=blueprint,
            past=past,
            evidence=past if explained is blueprint else PastMoves.start(game, explained, view),
            own_memory=started(blueprint[view.player], view),
            pool=_pool(game, view),
            last_size=[],
        )

    @property
    def seat(self) -> int:  # type: ignore[override]
        return self.past.history.seat

    @property
    def view(self) -> View:  # type: ignore[override]
        return self.past.history.views[-1]

    @property
    def memory(self) -> Memory:
        return self.own_memory

    @property
    def size(self) -> int:
        """Ways to deal the hidden tokens, at most."""
        size: int = self.game.vocabulary ** len(self.pool)
        return size

    @property
    def likelihoods(self) -> int:  # type: ignore[override]
        """Policy evaluations since the game began."""
        return self.evidence.count.n

    def caveats(self) -> list[str]:
        notes = ["the belief is a sample of the worlds"]
        if self.last_size:
            notes.append(f"effective sample size {self.last_size[-1]:.0f}")
        return notes

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> SeatwiseBelief:
        require_update(event, view, self.game, self.view)
        event, view = event.seen_by(self.seat, self.game), one_view(view)
        turn = len(self.past.history.events)
        past = self.past.observe(event, view)
        same = self.evidence is self.past
        return replace(
            self,
            past=past,
            evidence=past if same else self.evidence.observe(event, view),
            own_memory=observed(self.blueprint[self.seat], view, event, self.own_memory),
            ignored=self.ignored if by_blueprint else self.ignored | {turn},
            last_size=[],
        )

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        """See ``Belief.sample``. Takes some K doubles a proposal, then those of the exchanges, then
        n 64-bit draws."""
        require_draws(rng, n)
        tokens = self._drawn(rng, n)
        worlds = self.game.worlds_of(self.view, tokens, Streams.spawn(rng, n))
        own = take(self.own_memory, np.zeros(n, dtype=np.int64))
        return worlds, tuple(
            own if p == self.seat else self.past.memory(p, tokens)
            for p in range(self.game.num_players)
        )

    # ------------------------------------------------------------------------- drawing tokens

    def _drawn(self, rng: np.random.Generator, n: int) -> IntArray:
        """[n, K] tokens by weight."""
        turns_of = {h: turns for h, seat in enumerate(self._hidden) if (turns := self._turns(seat))}
        if not turns_of:  # there is no evidence yet
            return self._sorted(_shuffled(rng, np.tile(self.pool, (n, 1))))
        proposed = _shuffled(rng, np.tile(self.pool, (max(self.settings.proposals, n), 1)))
        first = self._least_explained(turns_of, self._sorted(proposed[:PILOT]))
        weights = _normalised(self._log_likelihood(first, turns_of[first], self._sorted(proposed)))
        sizes = [effective_sample_size(weights)]
        many = max(self.settings.around, n)
        around = proposed[_resampled(rng, weights, many)]
        fixed = np.arange(len(self.pool)) // self.game.token_length == first
        around[:, ~fixed] = _shuffled(rng, around[:, ~fixed])
        around = self._sorted(around)
        logs = np.zeros(many)
        for h, turns in turns_of.items():
            if h != first:
                logs += self._log_likelihood(h, turns, around)
        weights = _normalised(logs)
        sizes.append(effective_sample_size(weights))
        tokens = around[_resampled(rng, weights, n)]
        assert self.last_size is not None
        self.last_size[:] = [min(sizes)]
        if len(np.unique(tokens, axis=0)) < DISTINCT * n:
            tokens = self._exchanged(rng, tokens, turns_of)
        return tokens

    def _least_explained(self, turns_of: dict[int, list[int]], pilot: IntArray) -> int:
        """The hidden seat to draw first, whose moves the fewest of the ``pilot`` deals explain."""
        if len(turns_of) == 1:
            return next(iter(turns_of))
        sizes = {
            h: effective_sample_size(_normalised(self._log_likelihood(h, turns, pilot)))
            for h, turns in turns_of.items()
        }
        return min(sizes, key=lambda h: sizes[h])

    def _exchanged(
        self, rng: np.random.Generator, tokens: IntArray, turns_of: dict[int, list[int]]
    ) -> IntArray:
        """[n, K] the tokens after exchanges of two between two hidden seats."""
        n, length, seats = len(tokens), self.game.token_length, len(self._hidden)
        if seats < 2:
            return tokens
        row = np.arange(n)
        logs = np.zeros((seats, n))
        for h, turns in turns_of.items():
            logs[h] = self._log_likelihood(h, turns, tokens)
        for _ in range(self.settings.exchanges):
            one = rng.integers(0, seats, n)
            two = (one + rng.integers(1, seats, n)) % seats
            here = one * length + rng.integers(0, length, n)
            there = two * length + rng.integers(0, length, n)
            moved = tokens.copy()
            moved[row, here], moved[row, there] = tokens[row, there], tokens[row, here]
            moved = self._sorted(moved)
            new = logs.copy()
            for h, turns in turns_of.items():
                changed = np.flatnonzero((one == h) | (two == h))
                new[h, changed] = self._log_likelihood(h, turns, moved[changed])
            ratio = new.sum(axis=0) - logs.sum(axis=0)
            accepted = np.log(np.maximum(rng.random(n), 1e-300)) < ratio
            tokens = np.where(accepted[:, None], moved, tokens)
            logs = np.where(accepted, new, logs)
        return tokens

    @property
    def _hidden(self) -> list[int]:
        """Factors that the seat does not see: a seat each, and its number."""
        hidden: list[int] = self.game.hidden(self.seat).tolist()
        return hidden

    def _turns(self, seat: int) -> list[int]:
        """Turns of a seat whose moves are evidence."""
        return [t for t in self.evidence.turns(seat) if t not in self.ignored]

    def _log_likelihood(self, h: int, turns: list[int], tokens: IntArray) -> FloatArray:
        """[n] log likelihood of the moves of hidden seat h."""
        u = self.settings.uncertainty
        likely = self.evidence.move_probabilities(self._hidden[h], tokens, turns)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(likely + u * (1 - likely)).sum(axis=0), dtype=np.float64)

    def _sorted(self, tokens: IntArray) -> IntArray:
        """The same with the tokens of each seat in order."""
        shape = len(tokens), -1, self.game.token_length
        return np.sort(tokens.reshape(shape), axis=2).reshape(tokens.shape)


def _pool(game: DealsTokens, view: View) -> IntArray:
    """[K] the tokens that the player of ``view`` does not see."""
    drawn = Grounded(game).sample(view, None, np.random.default_rng(0), 1)
    return np.asarray(drawn[0], dtype=np.int64)


def _shuffled(rng: np.random.Generator, tokens: IntArray) -> IntArray:
    """Each row [K] in a new order; takes a double for each token."""
    return np.take_along_axis(tokens, np.argsort(rng.random(tokens.shape), axis=1), axis=1)


def _normalised(logs: FloatArray) -> FloatArray:
    """[N] weights that sum to 1, by their logarithms; equal where all are impossible."""
    most = logs.max()
    if not np.isfinite(most):
        return np.full(len(logs), 1 / len(logs))
    weights = np.exp(logs - most)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _resampled(rng: np.random.Generator, weights: FloatArray, n: int) -> IntArray:
    """[n] rows drawn by ``weights`` [N] in random order; takes a double and a permutation."""
    return np.asarray(rng.permutation(systematic_resample(weights, n, rng)), dtype=np.int64)
