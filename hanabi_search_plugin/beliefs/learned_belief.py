"""A belief by a model of what the seat does not see (LBS paper, sections 4 and 5.3).

Nothing is followed but the seat's own observations: a decision costs the same however many worlds
are possible. Letters: n samples, K tokens hidden from the seat.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hanabi_search_plugin.beliefs.belief_model import BeliefModel, Grounded, hidden_length
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.capabilities import PrivateTokens, Replays
from hanabi_search_plugin.core.errors import ContractError, TooFewWorldsError, UnsupportedError
from hanabi_search_plugin.core.game import (
    PAD,
    UNSEEN,
    BoolArray,
    Event,
    FloatArray,
    History,
    IntArray,
    View,
    Worlds,
)
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy, join, memory_from, take
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.core.streams import Streams

MOST_DRAWS = 8  # draws for each world asked for, after which a model has failed
LISTED = 100_000  # sequences of tokens
AT_ONCE = 512  # views of several turns that a policy is asked about
BLOCK = 1 << 14  # views of one turn


@dataclass(frozen=True)
class Learned:
    """What makes an agent guess by a model: ``upgrade(policy, game, Lbs(), belief=Learned(m))``."""

    model: BeliefModel
    explain: bool = True
    listed: int | None = LISTED

    def __post_init__(self) -> None:
        if self.listed is not None:
            require_integer("listed", self.listed, 1)

    def __repr__(self) -> str:
        return settings_repr(self, "model")

    def __call__(self, blueprint: Blueprint, view: View) -> LearnedBelief:
        """The belief of ``view.player`` at the start of a game, from its first view."""
        return LearnedBelief.start(
            self.model, blueprint, view, explain=self.explain, listed=self.listed
        )


@dataclass(frozen=True)
class Listing:
    """Every world that can be, and how likely."""

    turn: int
    tokens: IntArray  # [N, K]
    upto: FloatArray  # [N] sums of weights
    explained: dict[bytes, float]  # by its tokens: how likely the others' moves were in it

    def evidence(self, tokens: IntArray) -> FloatArray:
        """[n] of the others' moves before it, where tokens [n, K] were not seen then."""
        return np.array([self.explained.get(row.tobytes(), 0.0) for row in tokens])

    def draw(self, rng: np.random.Generator, n: int) -> IntArray:
        """[n, K]; takes n doubles."""
        at = np.searchsorted(self.upto, rng.random(n) * self.upto[-1], side="right")
        return np.asarray(self.tokens[np.minimum(at, len(self.upto) - 1)], dtype=np.int64)


@dataclass
class _Count:
    """Of policy evaluations in a game, which its beliefs, made one from another, share."""

    n: int = 0


@dataclass(frozen=True, eq=False)
class LearnedBelief(Belief):
    """Worlds as ``model`` draws them, of those that agree with what the seat sees now.

    The others' memories come without a replay where they are public (``Policy.public_memory``):
    one row serves all worlds. Others are made anew for every sampled world by replaying the
    history, which the game must be able to do (``Replays``).

    ``explain``: of what the model draws only worlds are taken in which the others could have moved
    as they did. The model has learned what moves tell, but not to the last; what is left is exact
    in what can be, and the model's in how likely it is. The paper does not ask. It needs a game
    that ``Replays`` and policies that give probabilities; else the model's word stands.

    ``listed``: where no more worlds than this agree with what the seat sees, they are listed in
    place of drawn ones, each with its chance times that of the others' moves in it; None: never.
    Such a belief is exact. It needs ``explain``, a game whose ``weights_are_chance``, and all of
    the above.
    """

    game: PrivateTokens
    model: BeliefModel
    blueprint: Blueprint
    history: History
    read: tuple[int, Memory]  # moves that the model was last shown, and its state then
    own_memory: Memory  # the blueprint's at the seat
    public: dict[int, Memory]  # of other seats whose memory is public or none, one row each
    explain: bool
    listed: int | None
    then: tuple[Memory, ...]  # a move: its mover's memory before it, where that is public
    asked: _Count
    before: Listing | None  # the last one, of an earlier turn

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
        listed: int | None = LISTED,
    ) -> LearnedBelief:
        """At the first decision, from the seat's first view (a batch of one).

        Raises UnsupportedError where the game is not the model's, hides nothing from the seat, or
        cannot replay what a policy's memory needs.
        """
        game, seat = view.game, view.player
        if not isinstance(game, PrivateTokens) or game != model.game:
            raise UnsupportedError(f"the belief model is for {model.game!r}, got {game!r}")
        if len(view) != 1:
            raise ContractError(f"a belief follows one game: expected one view, got {len(view)}")
        if hidden_length(game, view) == 0:
            raise UnsupportedError(f"nothing is hidden from player {seat} of {game.name}")
        others = [p for p in range(game.num_players) if p != seat]
        view = view.select(np.array([0]))
        shown = _some_world(game, view)
        memories = {p: blueprint[p].start(shown.view(p)) for p in others}
        public = {
            p: memory
            for p, memory in memories.items()
            if memory is None or blueprint[p].public_memory
        }
        for p in others:
            if not (p in public or isinstance(game, Replays)):
                raise UnsupportedError(
                    f"{game.name} cannot replay its past (it is not Replays), which "
                    f"{blueprint[p]!r} needs: its memory is not public"
                )
        asks = all(_says_chances(blueprint[p]) for p in others) and isinstance(game, Replays)
        return cls(
            game=game,
            model=model,
            blueprint=blueprint,
            history=History(seat, (view,)),
            read=(0, model.start(view)),
            own_memory=blueprint[seat].start(view),
            public=public,
            explain=explain,
            listed=listed if explain and asks and game.weights_are_chance else None,
            then=(),
            asked=_Count(),
            before=None,
        )

    @property
    def seat(self) -> int:  # type: ignore[override]
        return self.history.seat

    @property
    def view(self) -> View:  # type: ignore[override]
        return self.history.views[-1]

    @property
    def memory(self) -> Memory:
        return self.own_memory

    @cached_property
    def state(self) -> Memory:
        """The model's now. Where worlds are listed nobody asks for it, and nothing is read."""
        since, state = self.read
        for t in range(since, len(self.history.events)):
            state = self.model.observe(self.history.views[t + 1], self.history.events[t], state)
        return state

    @property
    def size(self) -> int:
        """Worlds that are listed; else all sequences of tokens, since a model may draw any."""
        if self.listing is not None:
            return len(self.listing.tokens)
        size: int = self.game.vocabulary ** hidden_length(self.game, self.view)
        return size

    @property
    def likelihoods(self) -> int:  # type: ignore[override]
        """Moves that the others' policies were asked to explain, in worlds drawn and listed."""
        return self.asked.n

    def caveats(self) -> list[str]:
        return ["the belief is learned"] if self.listing is None else []

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> LearnedBelief:
        """See ``Belief``; a move that is not by the blueprint is read as if it were.

        Nothing is listed from then on: it would not be exact.
        """
        event, view = event.seen_by(self.seat, self.game), view.select(np.array([0]))
        shown = _some_world(self.game, view) if self.public else None
        return replace(
            self,
            history=self.history.append(event, view),
            read=(len(self.history.events), self.state) if "state" in self.__dict__ else self.read,
            own_memory=self.blueprint[self.seat].observe(view, event, self.own_memory),
            public={
                p: self.blueprint[p].observe(shown.view(p), event.seen_by(p, self.game), memory)
                for p, memory in self.public.items()
                if shown is not None
            },
            listed=self.listed if by_blueprint or event.player[0] == self.seat else None,
            then=(*self.then, self.public.get(int(event.player[0]))),
            before=self.__dict__.get("listing") or self.before,
        )

    @cached_property
    def listing(self) -> Listing | None:
        """Every world, where there are no more than ``listed``; None, too, where none explains."""
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
        explained = self._evidence_listed(tokens)
        left = np.flatnonzero(weights * explained > 0)
        if not len(left):
            return None
        tokens, weights, explained = tokens[left], weights[left], explained[left]
        known = {row.tobytes(): float(e) for row, e in zip(tokens, explained, strict=True)}
        return Listing(len(self.history.events), tokens, np.cumsum(weights * explained), known)

    def _evidence_listed(self, tokens: IntArray) -> FloatArray:
        """``evidence`` of tokens [n, K], from what was listed before where there is that."""
        if self.before is None:
            return self.evidence(tokens)
        assert isinstance(self.game, Replays)
        turn = self.before.turn
        explained = self.before.evidence(self.game.tokens_at(self.history, tokens, turn))
        left = np.flatnonzero(explained)
        explained[left] *= self.evidence(tokens[left], turn)
        return explained

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        """See ``Belief.sample``. Takes n doubles where worlds are listed, else what the model takes
        for each draw; then n 64-bit draws.

        Raises TooFewWorldsError where fewer than n of MOST_DRAWS n draws agree with the view.
        """
        tokens = self._possible(rng, n) if self.listing is None else self.listing.draw(rng, n)
        worlds = self.game.worlds_of(self.view, tokens, Streams.spawn(rng, n))
        return worlds, tuple(self._memory(p, tokens) for p in range(self.game.num_players))

    def _possible(self, rng: np.random.Generator, n: int) -> IntArray:
        """[n, K] draws that agree with what the seat sees, and explain the others' moves.

        Where MOST_DRAWS n draws have too few of the latter, others that agree stand in.
        """
        found: list[IntArray] = []
        others: list[IntArray] = []
        left, drawn = n, 0
        while left > 0:
            often = 2 * n if self.explain else 2 * left if found else left
            ask = min(often, MOST_DRAWS * n - drawn)
            if ask <= 0:
                break
            tokens = self.model.sample(self.view, self.state, rng, ask)
            rows = np.zeros(ask, dtype=np.int64)
            tokens = tokens[self.game.agrees(self.view.select(rows), tokens)]
            good = self.explains(tokens) if self.explain else np.ones(len(tokens), dtype=np.bool_)
            found.append(tokens[good][:left])
            others.append(tokens[~good])
            left, drawn = left - len(found[-1]), drawn + ask
        tokens = np.concatenate([*found, *others])[:n]
        if len(tokens) < n:
            raise TooFewWorldsError(
                f"{len(tokens)} of {drawn} drawn worlds agree with what seat {self.seat} sees, "
                f"expected {n}"
            )
        return tokens

    def explains(self, tokens: IntArray) -> BoolArray:
        """[n] could the others have moved as they did, had the seat not seen tokens [n, K]?

        True where it cannot be asked.
        """
        return np.asarray(self.evidence(tokens) > 0)

    def evidence(self, tokens: IntArray, since: int = 0) -> FloatArray:
        """[n] how likely the others' moves were from a turn on, had the seat not seen tokens [n, K]
        today.

        1 where it cannot be asked.
        """
        weights = np.ones(len(tokens))
        if not isinstance(self.game, Replays):
            return weights
        for p, policy in enumerate(self.blueprint):
            if p == self.seat or not _says_chances(policy):
                continue
            moves = {
                t: int(event.action[0])
                for t, event in enumerate(self.history.events)
                if t >= since and event.player[0] == p and event.action[0] != UNSEEN
            }
            ask = self._chances_at_once if p in self.public else self._chances_replayed
            left = sorted(moves, reverse=True)
            while left and (rows := np.flatnonzero(weights)).size:
                # Many hands turn by turn: fewer are left each time, and they share what is public.
                count = max(1, AT_ONCE // len(rows)) if p in self.public else len(left)
                turns, left = left[:count], left[count:]
                self.asked.n += len(turns) * len(rows)
                for some in np.array_split(rows, -(-len(rows) // BLOCK)):
                    weights[some] *= ask(p, {t: moves[t] for t in turns}, tokens[some])
        return weights

    def _chances_at_once(self, player: int, moves: dict[int, int], tokens: IntArray) -> FloatArray:
        """[n] of the moves (by turn) of ``player``, whose memory is public."""
        assert isinstance(self.game, Replays)
        turns, actions = np.array(list(moves)), np.array(list(moves.values()))
        n, move = len(tokens), np.repeat(np.arange(len(moves)), len(tokens))
        each = np.tile(tokens, (len(moves), 1))
        view = self.game.views_at(self.history, player, each, turns[move])
        memory = take(join([self.then[t] for t in turns]), move)
        chance = self.blueprint[player].probabilities(view, view.legal, memory)
        made = chance[np.arange(len(move)), actions[move]]
        return np.asarray(made.reshape(-1, n).prod(axis=0), dtype=np.float64)

    def _chances_replayed(self, player: int, moves: dict[int, int], tokens: IntArray) -> FloatArray:
        """[n] of the moves (by turn) of any ``player``."""
        policy, again = self.blueprint[player], self._replayed(player, tokens)
        made, memory = np.ones(len(tokens)), policy.start(again.views[0])
        for t, event in enumerate(again.events):
            view = again.views[t]
            if t in moves:
                made *= policy.probabilities(view, view.legal, memory)[:, moves[t]]
            memory = policy.observe(again.views[t + 1], event, memory)
        return made

    def _replayed(self, player: int, tokens: IntArray) -> History:
        assert isinstance(self.game, Replays)
        again = self.game.replay(self.history, player, tokens)
        rows = np.zeros(len(tokens), dtype=np.int64)
        events = tuple(event.select(rows) for event in again.events)
        return History(player, again.views, events)

    def _memory(self, player: int, tokens: IntArray) -> Memory:
        """[n] the blueprint's memory of ``player`` where the seat does not see ``tokens``."""
        rows = np.zeros(len(tokens), dtype=np.int64)
        if player == self.seat:
            return take(self.own_memory, rows)
        if player in self.public:
            return take(self.public[player], rows)
        return memory_from(self.blueprint[player], self._replayed(player, tokens))


def _says_chances(policy: Policy) -> bool:
    """Whether it gives ``probabilities``."""
    return policy.deterministic or type(policy).probabilities is not Policy.probabilities


def _some_world(game: PrivateTokens, view: View) -> Worlds:
    """One that shows ``view``, to read from it what everybody sees."""
    rng = np.random.default_rng(0)
    tokens = Grounded(game).sample(view, None, rng, 1)
    return game.worlds_of(view, tokens, Streams.spawn(rng, 1))
