"""Multi-agent SPARTA with retrospective belief updates (Lerer et al., 2020; Algorithm 2).

All players agree on the blueprint, the search and its seed. Whoever's range of private histories is
public knowledge can be understood by the others: they search every history it may have had and rule
out those in which it would have moved otherwise. Where the range is larger than ``max_range``, the
move waits in a queue until later events have made it small enough; as long as it waits, only its
mover goes on searching, and the others play the blueprint. So there is always one who can search.

Players share nothing but the public history and the seed. Each keeps a ``CommonKnowledge``, what
everybody knows; players in one process may share what they would all compute.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from hanabi_search_plugin.algorithms.range_search import RangeSearch
from hanabi_search_plugin.algorithms.sparta import noise_notes
from hanabi_search_plugin.beliefs.exact import public_belief
from hanabi_search_plugin.core.agent import SearchAgent, TeamSearch
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import Event, Game, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.reprs import agent_repr, settings_repr
from hanabi_search_plugin.core.require import require_integer, require_positive_or_0
from hanabi_search_plugin.core.result import Reason, SearchResult
from hanabi_search_plugin.core.settings import THREADS, setting
from hanabi_search_plugin.core.streams import Streams


@dataclass(frozen=True, kw_only=True)
class JointSparta(TeamSearch):
    """Multi-agent SPARTA: ``upgrade(policy, game, search=JointSparta())`` plays every seat.

    A decision tries every legal move in worlds of the mover's belief, as ``Sparta`` does. A move is
    dropped when the blueprint's is ahead of it by more than ``deviations`` standard errors of their
    paired difference, and what it did not use goes to none; of the others that gain more than the
    threshold the best is played. Decisions depend on the public history,
    the mover's entry and ``seed`` alone: not on time, threads or the order of computation. Raises
    ConfigError.
    """

    max_range: int = setting(
        2000, "Private histories that are searched to understand one move (the paper's MR)."
    )
    rollouts: int = setting(10_000, "Budget of a decision, shared by the legal moves.")
    threshold: float = setting(0.05, "Score points that a move must gain over the blueprint's.")
    deviations: float = setting(2.0, "Standard errors by which a dropped move is behind.")
    min_rollouts: int = setting(100, "Rollouts of a move before any is dropped.")
    round_size: int = setting(
        100,
        "Worlds between two looks at which moves are behind; a quarter of those before, if more.",
    )
    seed: int = setting(0, "What the players have agreed on.")
    threads: int = setting(1, THREADS)

    def __post_init__(self) -> None:
        least = {"max_range": 0, "seed": 0}
        for name in ("max_range", "rollouts", "min_rollouts", "round_size", "seed", "threads"):
            require_integer(name, getattr(self, name), least.get(name, 1))
        for name in ("threshold", "deviations"):
            require_positive_or_0(name, getattr(self, name))

    def __repr__(self) -> str:
        return settings_repr(self, "rollouts")

    def agent(self, game: Game, blueprint: Blueprint, epsilon: float) -> JointAgent:
        """See ``TeamSearch``. Raises UnsupportedError where players cannot search jointly."""
        if game.rewards != "identical" or not game.public_actions:
            raise UnsupportedError(
                "joint search needs a game of identical rewards whose moves all players see, got "
                f"{game.name}"
            )
        return JointAgent(game, blueprint, self, epsilon)

    @property
    def by_range(self) -> RangeSearch:
        """The search of many entries."""
        return RangeSearch(
            rollouts=self.rollouts,
            threshold=self.threshold,
            deviations=self.deviations,
            min_rollouts=self.min_rollouts,
            round_size=self.round_size,
            threads=self.threads,
        )


@dataclass(frozen=True)
class Searched:
    """A move made by search that nobody has yet understood."""

    turn: int
    player: int
    action: int
    then: PublicBelief  # before the move


@dataclass(frozen=True)
class CommonKnowledge:
    """What everybody knows at one turn. It has no part in which seats differ."""

    public: PublicBelief
    searcher: int  # who may search now: the player to move, or the one whose moves wait
    queue: tuple[Searched, ...]
    likelihoods: tuple[int, ...] | None  # a seat: policy evaluations on the way to its turns
    rollouts: int = 0  # spent on understanding moves at this turn
    note: str = ""  # what was understood at this turn, or why nothing was
    key: bytes | None = None  # names the public history; None where it is not known
    __weakref__: Any = field(default=None, init=False, repr=False, compare=False)


@dataclass(frozen=True)
class Seat:
    """One player's memory: what everybody knows, and what it alone sees."""

    table: CommonKnowledge
    view: View


@dataclass(frozen=True)
class JointAgent(SearchAgent):
    """A player of a joint search; the same agent sits at every seat. Made by ``JointSparta``."""

    game: Game
    blueprint: Blueprint
    search: JointSparta
    epsilon: float = 0.0  # probability that a player moves at random

    _tables: WeakValueDictionary[bytes, CommonKnowledge] = field(
        default_factory=WeakValueDictionary, init=False, repr=False, compare=False
    )

    searches_jointly = True

    def __repr__(self) -> str:
        return agent_repr(self, self.search, self.blueprint, self.game)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_tables"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _tables=WeakValueDictionary())

    def start(self, view: View) -> Memory:
        return [self._started(view.select(np.array([b]))) for b in range(len(view))]

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        seats = []
        for b, seat in enumerate(memory):
            row = np.array([b])
            shown = view.select(row)
            seats.append(Seat(self._after(seat.table, event.select(row), shown), shown))
        return seats

    def decide(self, memory: Seat, rng: np.random.Generator) -> SearchResult:
        """One decision of the seat to move. Takes one draw from ``rng`` where it may not search."""
        table, player = memory.table, memory.view.player
        own = np.array([table.public.entry_of(memory.view)])
        if table.searcher != player:
            return self._by_blueprint(memory, own, rng)
        search, threshold = self.search.by_range, self.search.threshold
        contest = search.search(table.public, player, own, self._seed(table.public.turn))
        action, base = int(contest.chosen(threshold)[0]), int(contest.base[0])
        actions, count = np.flatnonzero(contest.legal[0]), contest.count[0]
        (mean, stderr), (gain, gain_stderr) = contest.mean(), contest.gain()
        reason: Reason
        if len(actions) == 1:
            reason = "single_move"
        elif not count.any():
            reason = "budget_too_small"
        elif action != base:
            reason = "improved"
        else:
            reason = "below_threshold" if (gain[0] > 0.0).any() else "blueprint_best"
        result = _unsearched(table, player, base, actions)
        notes = [result.note] if result.note else []
        if reason not in ("single_move", "budget_too_small"):
            share = int(contest.share[0])
            notes += noise_notes(self.search.rollouts, share, self.search.min_rollouts)
        return replace(
            result,
            action=action,
            reason=reason,
            mean=mean[0, actions],
            stderr=stderr[0, actions],
            count=count[actions],
            gain=0.0 if action == base else float(gain[0, action]),
            gain_stderr=0.0 if action == base else float(gain_stderr[0, action]),
            rollouts=contest.rollouts + table.rollouts,
            note="; ".join(notes),
        )

    def _by_blueprint(self, seat: Seat, own: Any, rng: np.random.Generator) -> SearchResult:
        table, player = seat.table, seat.view.player
        memory = table.public.memory_of(player, own)
        legal = seat.view.legal
        policy = self.blueprint[player]
        action = int(policy.act(seat.view, legal, memory, Streams.spawn(rng, 1))[0])
        return _unsearched(table, player, action, np.flatnonzero(legal[0]))

    # --------------------------------------------------------------------- what everybody does

    def _started(self, view: View) -> Seat:
        public = public_belief(self.game, self.blueprint, view, epsilon=self.epsilon)
        part = public.public_part(view)
        first = int(view.current_player[0])
        counted = public.likelihoods is not None
        table = CommonKnowledge(
            public, first, (), (0,) * self.game.num_players if counted else None,
            key=None if part is None else hashlib.blake2b(part, digest_size=16).digest(),
        )  # fmt: skip
        return Seat(self._shared(table), view)

    def _after(self, table: CommonKnowledge, event: Event, view: View) -> CommonKnowledge:
        """The table after an event, as any seat finds it from its view."""
        part, key = table.public.public_part(view), None
        if table.key is not None and part is not None:
            move = np.array([event.player[0], event.action[0]]).tobytes()
            key = hashlib.blake2b(table.key + move + part, digest_size=16).digest()
            known = self._tables.get(key)
            if known is not None:
                return known
        return self._shared(replace(self._next(table, event, view), key=key))

    def _shared(self, table: CommonKnowledge) -> CommonKnowledge:
        return table if table.key is None else self._tables.setdefault(table.key, table)

    def _next(self, table: CommonKnowledge, event: Event, view: View) -> CommonKnowledge:
        mover, action = int(event.player[0]), int(event.action[0])
        searched = mover == table.searcher
        public = table.public.update(event, view, by_blueprint=not searched)
        queue = table.queue
        if searched:
            queue += (Searched(table.public.turn, mover, action, table.public),)
        public, queue, rollouts, note = self._understand(public, queue)
        turn = int(view.current_player[0])
        likelihoods = table.likelihoods
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

    def _understand(
        self, public: PublicBelief, queue: tuple[Searched, ...]
    ) -> tuple[PublicBelief, tuple[Searched, ...], int, str]:
        """RetrospectiveBeliefUpdate: search the ranges of the oldest moves while they are small."""
        rollouts, notes = 0, []
        while queue:
            move = queue[0]
            entries = public.ancestors(move.player, move.turn, self.search.max_range)
            if entries is None:
                notes.append(
                    f"seat {move.player} searches alone: its move {move.turn} has a range above "
                    f"max_range={self.search.max_range}"
                )
                break
            able = entries[move.then.possible(move.player, entries)]
            plays, spent = self.search.by_range.plays(
                move.then, move.player, able, self._seed(move.turn), move.action
            )
            rollouts += spent
            notes.append(f"searched {len(able)} entries of move {move.turn}")
            try:
                public = public.exclude(move.player, move.turn, np.setdiff1d(entries, able[plays]))
            except ContractError:  # a stranger sits there, who does not search as agreed
                notes.append(f"move {move.turn} is not the search's, so it tells nothing")
            queue = queue[1:]
        return public, queue, rollouts, "; ".join(notes)

    def _seed(self, turn: int) -> tuple[int, ...]:
        return self.search.seed, turn


def _unsearched(table: CommonKnowledge, player: int, base: int, actions: IntArray) -> SearchResult:
    """The blueprint's move, as by a seat that may not search."""
    unknown = np.full(len(actions), np.nan)
    notes = ([table.note] if table.note else []) + table.public.caveats()
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
        rollouts=table.rollouts,
        belief_size=table.public.size(player),
        likelihoods=None if table.likelihoods is None else table.likelihoods[player],
        note="; ".join(notes),
    )
