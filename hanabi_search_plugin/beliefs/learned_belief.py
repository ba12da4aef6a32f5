"""A belief that draws worlds by a model of what the seat does not see (LBS, sections 4 and 5.3).

Nothing but the seat's own observations is followed, so a decision costs the same however many
worlds are possible. Where few are, they can be listed instead. Letters: n samples, N worlds listed,
K tokens hidden from the seat.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hanabi_search_plugin.beliefs.belief_model import BeliefModel, hidden_length
from hanabi_search_plugin.beliefs.past_moves import PastMoves
from hanabi_search_plugin.beliefs.tracked_worlds import one_view
from hanabi_search_plugin.core.belief import Belief, require_update
from hanabi_search_plugin.core.capabilities import PrivateTokens, Replays
from hanabi_search_plugin.core.error_places import asking
from hanabi_search_plugin.core.errors import (
    ConfigError,
    ContractError,
    TooFewWorldsError,
    UnsupportedError,
)
from hanabi_search_plugin.core.game import (
    PAD,
    Event,
    FloatArray,
    Game,
    History,
    IntArray,
    View,
    Worlds,
)
from hanabi_search_plugin.core.lazy import resolve
from hanabi_search_plugin.core.policy import Blueprint, Memory, observed, started, take
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import (
    class_given,
    is_no_file,
    require_integers,
    require_share,
)
from hanabi_search_plugin.core.settings import NamedOptions
from hanabi_search_plugin.core.streams import Streams, require_draws

MAX_DRAWS = 8  # draws per world asked for, after which the model has failed
MAX_LISTED = 100_000  # most sequences of tokens that are listed
MAX_LISTED_IN_DOUBT = 5_000  # the same where none is ruled out, so that each is asked of every move


@dataclass(frozen=True)
class Learned(NamedOptions):
    """Beliefs by a model: ``upgrade(policy, game, Lbs(), belief=Learned(model))``.

    ``model`` may be a name or a file, which ``upgrade`` loads (``load_belief_model``). With
    ``explain`` draws count only where the others could have moved as they did. At most ``listed``
    consistent worlds are listed in place of draws; None: none are. ``uncertainty`` is for others
    who search, too: a world in which one of them would have moved otherwise keeps this share of its
    weight, as in ``private_belief``. Raises ConfigError for what is no model, a file that is not
    there, a ``listed`` below 1, an ``uncertainty`` outside 0 to 1 or without ``explain``; called
    with a model that is not loaded, too.
    """

    model: BeliefModel | str | os.PathLike[str]
    explain: bool = True
    listed: int | None = MAX_LISTED
    uncertainty: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.model, os.PathLike):
            object.__setattr__(self, "model", os.fspath(self.model))
        if not isinstance(self.model, BeliefModel | str):
            given = class_given(self.model) if isinstance(self.model, type) else repr(self.model)
            raise ConfigError(f"model must be a BeliefModel, or the name of one, got {given}")
        if isinstance(self.model, str) and is_no_file(self.model):
            raise ConfigError(f"model must be a name or a file, got {self.model}, which is no file")
        if self.listed is not None:
            require_integers(self, ("listed",), 1)
        require_share("uncertainty", self.uncertainty)
        if self.uncertainty and not self.explain:
            raise ConfigError(
                "uncertainty must be 0 without explain, which is what it doubts, got "
                f"{self.uncertainty}"
            )

    def __repr__(self) -> str:
        return settings_repr(self, "model")

    def loaded(self, game: Game) -> Learned:
        """The same with its model loaded for ``game``. Raises as ``load_belief_model``."""
        if isinstance(self.model, BeliefModel):
            return self
        load = resolve("hanabi_search_plugin.networks.catalogue:load_belief_model")
        return replace(self, model=load(self.model, game))

    def doubting(self, uncertainty: float) -> Learned:
        """The same with that ``uncertainty``, at most MAX_LISTED_IN_DOUBT worlds listed."""
        if not uncertainty:
            return self
        listed = None if self.listed is None else min(self.listed, MAX_LISTED_IN_DOUBT)
        return replace(self, uncertainty=uncertainty, listed=listed)

    def __call__(self, blueprint: Blueprint, view: View) -> LearnedBelief:
        """The belief of ``view.player`` at its first view."""
        if not isinstance(self.model, BeliefModel):
            raise ConfigError(
                f"model must be loaded where upgrade does not do it, got {self.model!r}: "
                f"Learned(load_belief_model({self.model!r}, game))"
            )
        return LearnedBelief.start(
            self.model,
            blueprint,
            view,
            explain=self.explain,
            listed=self.listed,
            uncertainty=self.uncertainty,
        )


@dataclass(frozen=True)
class Listing:
    """All worlds of positive probability at one turn."""

    turn: int
    tokens: IntArray  # [N, K]
    cumulative: FloatArray  # [N] sums of the weights up to each
    likelihoods: dict[bytes, float]  # of the others' moves, by the bytes of the tokens

    def likelihood(self, tokens: IntArray) -> FloatArray:
        """[n] of the others' moves before ``turn``, if tokens [n, K] were hidden at that turn."""
        return np.array([self.likelihoods.get(row.tobytes(), 0.0) for row in tokens])

    def draw(self, rng: np.random.Generator, n: int) -> IntArray:
        """[n, K] tokens drawn by weight; takes n doubles from ``rng``."""
        at = np.searchsorted(self.cumulative, rng.random(n) * self.cumulative[-1], side="right")
        return np.asarray(self.tokens[np.minimum(at, len(self.cumulative) - 1)], dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class LearnedBelief(Belief):
    """Worlds drawn by ``model``, of those consistent with what the seat sees now.

    The others' memories are one row for all worlds where they are public
    (``Policy.public_memory``). Others are rebuilt for each sampled world by replaying the history,
    which needs a game that ``Replays``.

    With ``explain``, draws are accepted only if the others could have moved as they did: the model
    has learned what moves mean, but not exactly. Which worlds are possible is then exact, and how
    likely they are is the model's. The paper does without. It needs a game that ``Replays`` and
    policies with probabilities; moves that cannot be asked about count as possible. With an
    ``uncertainty`` u a draw is accepted with probability u for each move that could not have been.

    If at most ``listed`` worlds are consistent with what the seat sees, they are listed instead of
    drawn, each weighted by its chance and the likelihood of the others' moves; None: never. Such a
    belief is exact. It needs ``explain``, a game that ``Replays`` and whose ``weights_are_chance``,
    and policies with probabilities.
    """

    game: PrivateTokens
    model: BeliefModel
    blueprint: Blueprint
    past: PastMoves
    model_state: tuple[int, Memory]  # of the model: events it was last shown, and its state then
    own_memory: Memory  # the blueprint's at the seat
    explain: bool
    listed: int | None
    last_listing: Listing | None = None  # of an earlier turn

    exact = False
    recovered = 0

    @classmethod
    def start(
        cls,
        model: BeliefModel,
        blueprint: Blueprint,
        view: View,
        *,
        explain: bool = True,
        listed: int | None = MAX_LISTED,
        uncertainty: float = 0.0,
    ) -> LearnedBelief:
        """The belief at the first decision, from the seat's first view (a batch of one).

        Raises UnsupportedError if the game is not the model's, hides nothing from the seat, or
        cannot replay what a policy's memory needs.
        """
        game, seat = view.game, view.player
        if not isinstance(game, PrivateTokens) or game != model.game:
            raise UnsupportedError(f"the belief model is for {model.game!r}, got {game!r}")
        view = one_view(view)
        if hidden_length(game, view) == 0:
            raise UnsupportedError(f"nothing is hidden from player {seat} of {game.name}")
        past = PastMoves.start(game, blueprint, view, uncertainty=uncertainty)
        exact = explain and past.all_explained and game.weights_are_chance
        return cls(
            game=game,
            model=model,
            blueprint=blueprint,
            past=past,
            model_state=(0, model.start(view)),
            own_memory=started(blueprint[seat], view),
            explain=explain,
            listed=listed if exact else None,
        )

    @property
    def history(self) -> History:
        """What the seat has seen so far."""
        return self.past.history

    @property
    def seat(self) -> int:  # type: ignore[override]
        return self.history.seat

    @property
    def view(self) -> View:  # type: ignore[override]
        return self.history.views[-1]

    @property
    def memory(self) -> Memory:
        return self.own_memory

    @property
    def size(self) -> int:
        """Worlds listed; else the number of all token sequences, since a model may draw any."""
        if self.listing is not None:
            return len(self.listing.tokens)
        size: int = self.game.vocabulary ** hidden_length(self.game, self.view)
        return size

    @property
    def likelihoods(self) -> int:  # type: ignore[override]
        """Policy evaluations since the game began, for worlds drawn and listed."""
        return self.past.count.n

    def caveats(self) -> list[str]:
        return ["the belief is learned"] if self.listing is None else []

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> LearnedBelief:
        """See ``Belief.update``. The model reads every move as if it were by the blueprint.

        After a move of another seat with ``by_blueprint=False`` no worlds are listed any more: the
        listing would not be exact.
        """
        require_update(event, view, self.game, self.view)
        event, view = event.seen_by(self.seat, self.game), one_view(view)
        read = "state" in self.__dict__
        return replace(
            self,
            past=self.past.observe(event, view),
            model_state=(len(self.history.events), self.state) if read else self.model_state,
            own_memory=observed(self.blueprint[self.seat], view, event, self.own_memory),
            listed=self.listed if by_blueprint or event.player[0] == self.seat else None,
            last_listing=self.__dict__.get("listing") or self.last_listing,
        )

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        """See ``Belief.sample``. Takes n doubles if worlds are listed, else what the model takes
        for each draw, and with an uncertainty a double for each; then n 64-bit draws.

        Raises TooFewWorldsError if fewer than n of MAX_DRAWS n draws are consistent with the view.
        """
        require_draws(rng, n)
        tokens = self._accepted(rng, n) if self.listing is None else self.listing.draw(rng, n)
        worlds = self.game.worlds_of(self.view, tokens, Streams.spawn(rng, n))
        own = take(self.own_memory, np.zeros(n, dtype=np.int64))
        return worlds, tuple(
            own if p == self.seat else self.past.memory(p, tokens)
            for p in range(self.game.num_players)
        )

    # ------------------------------------------------------------------------- worlds drawn

    @cached_property
    def state(self) -> Memory:
        """The model's state now; it reads the events since it was last asked."""
        since, state = self.model_state
        for t in range(since, len(self.history.events)):
            state = self.model.observe(self.history.views[t + 1], self.history.events[t], state)
        return state

    def _accepted(self, rng: np.random.Generator, n: int) -> IntArray:
        """[n, K] draws consistent with the view under which the others could move as they did, or
        for which an uncertainty stands.

        If MAX_DRAWS n draws have too few of these, others consistent with the view are added.
        """
        accepted: list[IntArray] = []
        others: list[IntArray] = []
        left, drawn = n, 0
        while left > 0:
            often = 2 * n if self.explain else 2 * left if accepted else left
            ask = min(often, MAX_DRAWS * n - drawn)
            if ask <= 0:
                break
            with asking(self.model, self.seat):
                tokens = self._tokens(self.model.sample(self.view, self.state, rng, ask), ask)
            rows = np.zeros(ask, dtype=np.int64)
            tokens = tokens[self.game.agrees(self.view.select(rows), tokens)]
            good = np.ones(len(tokens), dtype=np.bool_)
            if self.explain:
                doubt = rng.random(ask)[: len(tokens)] if self.past.uncertainty else 0.0
                good = self.past.likelihood(tokens, possible=True, above=doubt) > doubt
            accepted.append(tokens[good][:left])
            others.append(tokens[~good])
            left, drawn = left - len(accepted[-1]), drawn + ask
        tokens = np.concatenate([*accepted, *others])[:n]
        if len(tokens) < n:
            raise TooFewWorldsError(
                f"{len(tokens)} of {drawn} drawn worlds agree with what seat {self.seat} sees, "
                f"expected {n}"
            )
        return tokens

    def _tokens(self, given: object, n: int) -> IntArray:
        """What the model drew. Raises ContractError unless it is whole numbers [n, K]."""
        tokens, shape = np.asarray(given), (n, hidden_length(self.game, self.view))
        if tokens.shape != shape or tokens.dtype.kind not in "iu":
            raise ContractError(
                f"{self.model!r} must draw integers of shape {shape}, got {tokens.dtype} of shape "
                f"{tokens.shape}"
            )
        return tokens.astype(np.int64, copy=False)

    # ------------------------------------------------------------------------ worlds listed

    @cached_property
    def listing(self) -> Listing | None:
        """All worlds, if there are at most ``listed``; None if not, or if no world is possible."""
        tokens, weights = np.zeros((1, 0), dtype=np.int64), np.ones(1)
        if self.listed is None:
            return None
        for _ in range(hidden_length(self.game, self.view)):
            many = self.view.select(np.zeros(len(tokens), dtype=np.int64))
            follows = self.game.token_weights(many, tokens)
            row, token = np.nonzero(follows)
            ended = np.flatnonzero((follows == 0).all(axis=1))  # past the end of a factor
            if len(row) + len(ended) > self.listed:
                return None
            begun = np.concatenate([row, ended])
            last = np.concatenate([token, np.full(len(ended), PAD)])
            chance = np.concatenate([follows[row, token], np.ones(len(ended))])
            tokens, weights = np.column_stack([tokens[begun], last]), weights[begun] * chance
        likelihood = self._likelihood(tokens)
        left = np.flatnonzero(weights * likelihood > 0)
        if not len(left):
            return None
        tokens, weights, likelihood = tokens[left], weights[left], likelihood[left]
        known = {row.tobytes(): float(e) for row, e in zip(tokens, likelihood, strict=True)}
        return Listing(len(self.history.events), tokens, np.cumsum(weights * likelihood), known)

    def _likelihood(self, tokens: IntArray) -> FloatArray:
        """[n] of the others' moves if tokens [n, K] are hidden; goes on from the last listing."""
        if self.last_listing is None:
            return self.past.likelihood(tokens)
        assert isinstance(self.game, Replays)
        turn = self.last_listing.turn
        likelihood = self.last_listing.likelihood(self.game.tokens_at(self.history, tokens, turn))
        left = np.flatnonzero(likelihood)
        likelihood[left] *= self.past.likelihood(tokens[left], turn)
        return likelihood
