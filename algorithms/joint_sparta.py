"""Multi-agent SPARTA with retrospective belief updates (Lerer et al., 2020; Algorithm 2).

All players agree on the blueprint, the search and its seed. So the others can work out what a
searched move means: they search every information state that its mover may have been in and rule
out those in which it would have moved otherwise. If there are more than ``max_range`` of them, the
move waits in a queue until later events have narrowed the range. As long as a move waits, only its
mover goes on searching, and the others play the blueprint.

Players share nothing but the public history and the seed. Each keeps a ``CommonKnowledge``, what
everybody knows; players in one process may share what they would all compute.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, get_args
from weakref import WeakValueDictionary

import numpy as np

from hanabi_search_plugin.algorithms.budget_warnings import (
    few_rollouts_notes,
    warn_of_small_budget,
)
from hanabi_search_plugin.algorithms.range_search import RangePruning, RangeSearch
from hanabi_search_plugin.algorithms.rounds import ROUND_SIZE
from hanabi_search_plugin.algorithms.sparta import INDIFFERENCE, MIN_ROLLOUTS
from hanabi_search_plugin.beliefs.exact import public_belief, require_exact
from hanabi_search_plugin.core.agent import (
    CutsRollouts,
    SearchAgent,
    TeamSearch,
    require_belief_of,
    require_deciding,
    require_event,
    require_memory,
)
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import Event, Game, IntArray, View
from hanabi_search_plugin.core.objective import OBJECTIVE, Objective, require_objective
from hanabi_search_plugin.core.policy import Blueprint, Memory, moves_of
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.reprs import agent_repr, settings_repr
from hanabi_search_plugin.core.require import (
    require_choice,
    require_integers,
    require_positive_or_0,
)
from hanabi_search_plugin.core.result import Reason, SearchResult, words_of
from hanabi_search_plugin.core.settings import DEPTH, THREADS, NamedOptions, described, setting
from hanabi_search_plugin.core.streams import Streams


@described
@dataclass(frozen=True, kw_only=True)
class JointSparta(TeamSearch, CutsRollouts, NamedOptions):
    """Multi-agent SPARTA: ``upgrade(policy, game, search=JointSparta())`` plays every seat.

    A decision tries every legal move in worlds of the mover's belief, as ``Sparta`` does, and each
    is compared with the blueprint's alone. ``pruning`` drops moves on the way: ``"expected"`` one
    that would gain less than ``indifference`` points above the ``threshold``, in expectation, if
    the rest of its budget were played; ``"paired"`` (the paper's tables here, with ``min_rollouts``
    and ``round_size`` of 100) one that the blueprint's, credited with the ``threshold``, is ahead
    of by more than ``deviations`` standard errors of their paired difference. Unused rollouts are
    not reallocated. ``depth`` cuts rollouts short, as in ``Sparta``. The best of the moves whose
    gain exceeds ``threshold`` is played, else the blueprint's. Decisions depend on the public
    history, the mover's information state and ``seed`` alone, not on time, threads or the order of
    computation.
    Raises ConfigError for settings out of range.
    """

    max_range: int = setting(
        2000, "Private histories that are searched to understand one move (the paper's MR)."
    )
    rollouts: int = setting(10_000, "Budget of a decision, shared by the legal moves.")
    threshold: float = setting(0.05, "Score points that a move must gain over the blueprint's.")
    pruning: RangePruning = setting(
        "expected",
        "How moves are dropped early: by what they may still gain over the blueprint's, or by "
        "paired differences.",
    )
    indifference: float = setting(0.002, INDIFFERENCE)
    deviations: float = setting(
        2.0, "Standard errors by which a move is behind that is dropped by differences."
    )
    min_rollouts: int = setting(50, MIN_ROLLOUTS)
    round_size: int = setting(50, ROUND_SIZE)
    depth: int | None = setting(None, DEPTH)
    seed: int = setting(0, "What the players have agreed on.")
    objective: Objective = setting("score", OBJECTIVE)
    threads: int = setting(1, THREADS)

    def __post_init__(self) -> None:
        require_integers(self, ("max_range", "seed"), 0)
        require_integers(self, ("rollouts", "min_rollouts", "round_size", "threads"), 1)
        for name in ("threshold", "indifference", "deviations"):
            require_positive_or_0(name, getattr(self, name))
        if self.depth is not None:
            require_integers(self, ("depth",), 1)
        require_choice("pruning", self.pruning, get_args(RangePruning))
        require_objective(self.objective, cut=self.depth is not None)

    def __repr__(self) -> str:
        return settings_repr(self, "rollouts")

    def agent(self, game: Game, blueprint: Blueprint, epsilon: float) -> JointAgent:
        """See ``TeamSearch``.

        Raises UnsupportedError unless rewards are identical and all actions public.
        """
        if game.rewards != "identical" or not game.public_actions:
            raise UnsupportedError(
                "joint search needs a game of identical rewards whose moves all players see, got "
                f"{game.name}"
            )
        return JointAgent(game, blueprint, self, epsilon)

    @property
    def range_search(self) -> RangeSearch:
        """The same search for many information states at once."""
        return RangeSearch(
            rollouts=self.rollouts,
            threshold=self.threshold,
            pruning=self.pruning,
            indifference=self.indifference,
            deviations=self.deviations,
            min_rollouts=self.min_rollouts,
            round_size=self.round_size,
            depth=self.depth,
            objective=self.objective,
            threads=self.threads,
        )


@dataclass(frozen=True)
class SearchedMove:
    """A searched move whose mover's range has not been searched yet."""

    turn: int
    player: int
    action: int
    before: PublicBelief  # the public belief before the move


@dataclass(frozen=True)
class CommonKnowledge:
    """What everybody knows at one turn. All seats that follow the game come to the same."""

    public: PublicBelief
    searcher: int  # the player that may search now: to move, or the one whose moves wait
    queue: tuple[SearchedMove, ...]  # moves that wait, the oldest first
    likelihoods: tuple[int, ...] | None  # per seat: policy evaluations on the way to its turns
    rollouts: int = 0  # spent at this turn on the ranges of earlier moves
    note: str = ""  # which ranges were searched at this turn, or why none was
    key: bytes | None = None  # a digest of the public history; None if that is not known
    __weakref__: Any = field(default=None, init=False, repr=False, compare=False)


@dataclass(frozen=True, repr=False)
class SeatMemory:
    """The memory of one player: what everybody knows, and what it sees itself."""

    common: CommonKnowledge
    view: View

    def __repr__(self) -> str:
        return f"<P{self.view.player} of a joint search, with {self.common.public!r}>"


@dataclass(frozen=True)
class JointAgent(SearchAgent):
    """The agent of a joint search, which sits at every seat. Made by ``JointSparta``."""

    game: Game
    blueprint: Blueprint
    search: JointSparta  #: what it decides by
    epsilon: float = 0.0  #: probability that a player moves at random

    _computed: WeakValueDictionary[bytes, CommonKnowledge] = field(
        default_factory=WeakValueDictionary, init=False, repr=False, compare=False
    )

    searches_jointly = True
    entries_have_views = True

    def __repr__(self) -> str:
        return agent_repr(self, self.search, self.blueprint, self.game)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_computed"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _computed=WeakValueDictionary())

    def require_belief(self) -> None:
        require_exact(self.game, public=True)

    def start(self, view: View) -> Memory:
        return [self._start_seat(view.select(np.array([b]))) for b in range(len(view))]

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        require_memory(memory, view)
        require_event(event, view)
        seats = []
        for b, seat in enumerate(memory):
            row = np.array([b])
            shown = view.select(row)
            common = self._observed(seat.common, event.select(row), shown)
            if common.public.recovered > seat.common.public.recovered:
                self.warn_of_recovery(view.player)
            seats.append(SeatMemory(common, shown))
        return seats

    def decide(self, belief: SeatMemory, rng: np.random.Generator) -> SearchResult:
        """One decision of the seat to move, from an entry of what ``start`` and ``observe`` give.

        Raises UnsupportedError for what are no such entry and generator, and for an entry of
        another game. Takes one draw from ``rng`` if the seat may not search.
        """
        require_deciding(belief, rng, SeatMemory, "what a seat knows")
        require_belief_of(self.game, belief.common.public)
        common, player = belief.common, belief.view.player
        own = np.array([common.public.infostate_of(belief.view)])
        if common.searcher != player:
            return self._blueprint_result(belief, own, rng)
        search, threshold = self.search.range_search, self.search.threshold
        state = search.search(common.public, player, own, self._seed(common.public.turn))
        action, base = int(state.chosen(threshold)[0]), int(state.base[0])
        actions, count = np.flatnonzero(state.legal[0]), state.count[0]
        (mean, stderr), (gain, gain_stderr) = state.mean(), state.gain()
        reason: Reason
        if len(actions) == 1:
            reason = "single_move"
        elif not count.any():
            reason = "budget_too_small"
        elif action != base:
            reason = "improved"
        else:
            reason = "below_threshold" if (gain[0] > 0.0).any() else "blueprint_best"
        result = self._result_without_search(common, player, base, actions)
        notes = [result.note] if result.note else []
        if reason == "budget_too_small":
            warn_of_small_budget(self.search.rollouts, len(actions))
        elif reason != "single_move":
            notes += few_rollouts_notes(
                self.search.rollouts, len(actions), self.search.min_rollouts
            )
        return replace(
            result,
            action=action,
            reason=reason,
            mean=mean[0, actions],
            stderr=stderr[0, actions],
            count=count[actions],
            gain=0.0 if action == base else float(gain[0, action]),
            gain_stderr=0.0 if action == base else float(gain_stderr[0, action]),
            rollouts=state.rollouts + common.rollouts,
            note="; ".join(notes),
        )

    def _blueprint_result(
        self, seat: SeatMemory, own: Any, rng: np.random.Generator
    ) -> SearchResult:
        common, player = seat.common, seat.view.player
        memory = common.public.memory_of(player, own)
        policy = self.blueprint[player]
        action = int(moves_of(policy, seat.view, memory, Streams.spawn(rng, 1))[0])
        return self._result_without_search(
            common, player, action, np.flatnonzero(seat.view.legal[0])
        )

    def _result_without_search(
        self, common: CommonKnowledge, player: int, base: int, actions: IntArray
    ) -> SearchResult:
        """The result of a seat that may not search: the blueprint's move."""
        unknown = np.full(len(actions), np.nan)
        notes = ([common.note] if common.note else []) + common.public.caveats()
        return SearchResult(
            action=base,
            blueprint_action=base,
            reason="search_not_allowed",
            actions=actions,
            mean=unknown,
            stderr=unknown,
            count=np.zeros(len(actions), dtype=np.int64),
            gain=0.0,
            gain_stderr=0.0,
            rollouts=common.rollouts,
            belief_size=common.public.size(player),
            likelihoods=None if common.likelihoods is None else common.likelihoods[player],
            note="; ".join(notes),
            recovered=common.public.recovered > 0,
            words=words_of(self.game, player, actions),
        )

    # --------------------------------------------------------------------- what everybody does

    def _start_seat(self, view: View) -> SeatMemory:
        public = public_belief(self.game, self.blueprint, view, epsilon=self.epsilon)
        part = public.public_part(view)
        first = int(view.current_player[0])
        counted = public.likelihoods is not None
        common = CommonKnowledge(
            public, first, (), (0,) * self.game.num_players if counted else None,
            key=None if part is None else hashlib.blake2b(part, digest_size=16).digest(),
        )  # fmt: skip
        return SeatMemory(self._share(common), view)

    def _observed(self, common: CommonKnowledge, event: Event, view: View) -> CommonKnowledge:
        """What everybody knows after an event, found from any seat's view."""
        part, key = common.public.public_part(view), None
        if common.key is not None and part is not None:
            move = np.array([event.player[0], event.action[0]]).tobytes()
            key = hashlib.blake2b(common.key + move + part, digest_size=16).digest()
            known = self._computed.get(key)
            if known is not None:
                return known
        return self._share(replace(self._advance(common, event, view), key=key))

    def _share(self, common: CommonKnowledge) -> CommonKnowledge:
        return common if common.key is None else self._computed.setdefault(common.key, common)

    def _advance(self, common: CommonKnowledge, event: Event, view: View) -> CommonKnowledge:
        mover, action = int(event.player[0]), int(event.action[0])
        searched = mover == common.searcher
        public = common.public.update(event, view, by_blueprint=not searched)
        queue = common.queue
        if searched:
            queue += (SearchedMove(common.public.turn, mover, action, common.public),)
        if public.recovered > common.public.recovered and not public.keeps_ids:
            queue = ()  # what waits is known by ids of before
        public, queue, rollouts, note = self._resolve_queue(public, queue)
        turn = int(view.current_player[0])
        likelihoods = common.likelihoods
        if likelihoods is not None and public.likelihoods is not None:
            spent = public.likelihoods - sum(likelihoods)
            likelihoods = tuple(n + spent * (p == turn) for p, n in enumerate(likelihoods))
        return CommonKnowledge(
            public,
            queue[0].player if queue else turn,
            queue,
            likelihoods,
            rollouts,
            note,
        )

    def _resolve_queue(
        self, public: PublicBelief, queue: tuple[SearchedMove, ...]
    ) -> tuple[PublicBelief, tuple[SearchedMove, ...], int, str]:
        """Search the ranges of waiting moves, oldest first (RetrospectiveBeliefUpdate).

        Stops at a range above ``max_range``.
        """
        rollouts, notes = 0, []
        while queue:
            move = queue[0]
            ids = public.ancestors(move.player, move.turn, self.search.max_range)
            if ids is None:
                notes.append(
                    f"seat {move.player} searches alone: its move {move.turn} has a range above "
                    f"max_range={self.search.max_range}"
                )
                break
            possible = ids[move.before.possible(move.player, ids)]
            plays, spent = self.search.range_search.plays(
                move.before, move.player, possible, self._seed(move.turn), move.action
            )
            rollouts += spent
            notes.append(f"searched {len(possible)} entries of move {move.turn}")
            try:
                public = public.exclude(move.player, move.turn, np.setdiff1d(ids, possible[plays]))
            except ContractError:  # the mover does not search as agreed
                notes.append(f"move {move.turn} is not the search's, so it tells nothing")
            queue = queue[1:]
        return public, queue, rollouts, "; ".join(notes)

    def _seed(self, turn: int) -> tuple[int, ...]:
        return self.search.seed, turn
