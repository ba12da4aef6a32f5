"""The others' past moves under hypothetical hidden tokens: their likelihood, and the memories left.

Had other tokens been hidden from a seat, the others would have seen something else and moved by
that. A game that ``Replays`` rebuilds what they would have seen. Letters: n samples, K tokens
hidden from the seat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.core.capabilities import PrivateTokens, Replays
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import (
    UNSEEN,
    Event,
    FloatArray,
    History,
    IntArray,
    View,
    Worlds,
)
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Memory,
    join,
    lacks_probabilities,
    memory_from,
    observed,
    probabilities_of,
    started,
    take,
)
from hanabi_search_plugin.core.streams import Streams

VIEWS_AT_ONCE = 512  # views of several turns that a policy is asked about in one call
BLOCK = 1 << 14  # views of one turn in one call


@dataclass
class EvaluationCount:
    """Policy evaluations of one game, counted by all beliefs that grew from the same first one."""

    n: int = 0


@dataclass(frozen=True, eq=False)
class PastMoves:
    """The moves of a game so far, as one seat saw them. Immutable but for the count."""

    game: PrivateTokens
    blueprint: Blueprint
    history: History  # the seat's
    public: dict[int, Memory]  # other seats whose memory is public or None: that memory, one row
    uncertainty: float = 0.0  # share that is left of a weight by a move that would not be made
    mover_memories: tuple[Memory, ...] = ()  # per move: the mover's before it, if that is public
    count: EvaluationCount = field(default_factory=EvaluationCount)

    @classmethod
    def start(
        cls, game: PrivateTokens, blueprint: Blueprint, view: View, *, uncertainty: float = 0.0
    ) -> PastMoves:
        """No moves yet, at the seat's first view.

        Raises UnsupportedError if a policy's memory is not public and the game cannot replay it.
        """
        seat, world = view.player, _world_showing(game, view)
        others = [p for p in range(game.num_players) if p != seat]
        memories = {p: started(blueprint[p], world.view(p)) for p in others}
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
        return cls(game, blueprint, History(seat, (view,)), public, uncertainty)

    def observe(self, event: Event, view: View) -> PastMoves:
        """The moves after one more, as the seat sees it, and the seat's view after it."""
        world = _world_showing(self.game, view) if self.public else None
        return replace(
            self,
            history=self.history.append(event, view),
            public={
                p: observed(self.blueprint[p], world.view(p), event.seen_by(p, self.game), memory)
                for p, memory in self.public.items()
                if world is not None
            },
            mover_memories=(*self.mover_memories, self.public.get(int(event.player[0]))),
        )

    @property
    def all_explained(self) -> bool:
        """True if ``likelihood`` takes all moves of the others into account."""
        others = [policy for p, policy in enumerate(self.blueprint) if p != self.history.seat]
        return not any(map(lacks_probabilities, others)) and isinstance(self.game, Replays)

    def likelihood(
        self,
        tokens: IntArray,
        since: int = 0,
        *,
        possible: bool = False,
        above: float | FloatArray = 0.0,
    ) -> FloatArray:
        """[n] the probability of the others' moves from turn ``since`` on.

        It is that of the case that tokens [n, K] are hidden from the seat today. Moves of policies
        without probabilities, and all moves of games that are not ``Replays``, count as certain;
        with ``possible`` so do all that could be made at all. ``uncertainty`` u makes a
        probability p to p + u (1 - p). Where the product is no longer ``above`` (a number or [n]),
        no more moves are asked about.
        """
        weights = np.ones(len(tokens))
        if not isinstance(self.game, Replays):
            return weights
        for p, policy in enumerate(self.blueprint):
            if p == self.history.seat or lacks_probabilities(policy):
                continue
            left = [t for t in self.turns(p) if t >= since][::-1]
            while left and (rows := np.flatnonzero(weights > above)).size:
                # Many samples turn by turn: fewer are left each time, and they share public memory.
                count = max(1, VIEWS_AT_ONCE // len(rows)) if p in self.public else len(left)
                turns, left = left[:count], left[count:]
                for some in np.array_split(rows, -(-len(rows) // BLOCK)):
                    made = self.move_probabilities(p, tokens[some], turns)
                    if possible:
                        made = (made > 0).astype(np.float64)
                    weights[some] *= (made + self.uncertainty * (1.0 - made)).prod(axis=0)
        return weights

    def turns(self, player: int) -> list[int]:
        """The turns at which ``player`` made a move that was seen."""
        return [
            t
            for t, event in enumerate(self.history.events)
            if event.player[0] == player and event.action[0] != UNSEEN
        ]

    def move_probabilities(self, player: int, tokens: IntArray, turns: Sequence[int]) -> FloatArray:
        """[T, n] the probability of the moves of ``player`` at ``turns``, if tokens [n, K] are
        hidden from the seat today. The game must be one that ``Replays``."""
        self.count.n += len(turns) * len(tokens)
        moves = {t: int(self.history.events[t].action[0]) for t in turns}
        ask = self._by_views if player in self.public else self._by_replay
        return ask(player, moves, tokens)

    def memory(self, player: int, tokens: IntArray) -> Memory:
        """[n] the policy memory of another player, if tokens [n, K] are hidden from the seat."""
        if player in self.public:
            return take(self.public[player], np.zeros(len(tokens), dtype=np.int64))
        return memory_from(self.blueprint[player], self._replayed(player, tokens))

    def _by_views(self, player: int, moves: dict[int, int], tokens: IntArray) -> FloatArray:
        """[T, n] the probability of the moves (by turn) of ``player``, whose memory is public."""
        assert isinstance(self.game, Replays)
        turns, actions = np.array(list(moves)), np.array(list(moves.values()))
        n, move = len(tokens), np.repeat(np.arange(len(moves)), len(tokens))
        each = np.tile(tokens, (len(moves), 1))
        view = self.game.views_at(self.history, player, each, turns[move])
        memory = take(join([self.mover_memories[t] for t in turns]), move)
        chance = probabilities_of(self.blueprint[player], view, memory)
        made = chance[np.arange(len(move)), actions[move]]
        return np.asarray(made.reshape(-1, n), dtype=np.float64)

    def _by_replay(self, player: int, moves: dict[int, int], tokens: IntArray) -> FloatArray:
        """[T, n] the probability of the moves (by turn) of ``player``, whatever its memory."""
        policy, history = self.blueprint[player], self._replayed(player, tokens)
        made, memory = [], started(policy, history.views[0])
        for t, event in enumerate(history.events):
            view = history.views[t]
            if t in moves:
                made.append(probabilities_of(policy, view, memory)[:, moves[t]])
            memory = observed(policy, history.views[t + 1], event, memory)
        return np.array(made)

    def _replayed(self, player: int, tokens: IntArray) -> History:
        """The history of ``player`` in batches of n."""
        assert isinstance(self.game, Replays)
        history = self.game.replay(self.history, player, tokens)
        rows = np.zeros(len(tokens), dtype=np.int64)
        events = tuple(event.select(rows) for event in history.events)
        return History(player, history.views, events)


def _world_showing(game: PrivateTokens, view: View) -> Worlds:
    """A world that shows ``view``, to read from it what everybody sees."""
    rng = np.random.default_rng(0)
    tokens = Grounded(game).sample(view, None, rng, 1)
    return game.worlds_of(view, tokens, Streams.spawn(rng, 1))
