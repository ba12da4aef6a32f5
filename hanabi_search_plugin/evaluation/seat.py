"""A policy at one seat of a game, with its memory and its latest search result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.error_places import naming_place
from hanabi_search_plugin.core.game import Event, History, View
from hanabi_search_plugin.core.policy import Memory, Policy, moves_of, observed, started
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams


@dataclass
class SeatedPolicy:
    """Plays one seat by a policy: follows one game at a time, and chooses its moves.

    ``start`` begins a game and ``observe`` follows it move by move; ``follow`` does both from a
    history. All views and events are batches of one. Memories are values, so ``copy.copy`` of a
    seated policy goes on by itself.
    """

    policy: Policy
    memory: Memory = None  # one row
    views_seen: int = 0  # of the running game; 0 before it begins
    # The SearchResult of the latest decision; None before the first, and where the policy does not
    # search.
    last_result: SearchResult | None = None

    @property
    def searches(self) -> bool:
        """Whether the policy is a SearchAgent."""
        return isinstance(self.policy, SearchAgent)

    def start(self, view: View) -> None:
        """Begin a game at the seat's first view."""
        with naming_place("turn", 0):
            self.memory = self.policy.start(view) if self.searches else started(self.policy, view)
        self.views_seen = 1

    def observe(self, view: View, event: Event) -> None:
        """Take in a move, and what the seat sees after it. Others' hidden actions are left out."""
        seen = event.seen_by(view.player, view.game)
        observe = self.policy.observe if self.searches else partial(observed, self.policy)
        with naming_place("turn", self.views_seen):
            self.memory = observe(view, seen, self.memory)
        self.views_seen += 1

    def follow(self, history: History) -> None:
        """Take in what ``history`` has beyond the views seen so far, which it must begin with."""
        if self.views_seen == 0:
            self.start(history.views[0])
        for t in range(self.views_seen, len(history.views)):
            self.observe(history.views[t], history.events[t - 1])

    def act(self, view: View, rng: np.random.Generator | Streams) -> int:
        """Choose an action of the seat, which is to move in ``view``.

        A search draws from a generator itself, and any other policy from a stream spawned of it
        (one 64-bit draw). From a stream any other policy draws itself, and one draw seeds a search.
        """
        self.last_result = None
        with naming_place("turn", self.views_seen - 1), naming_place("seat", view.player):
            if not isinstance(self.policy, SearchAgent):
                stream = rng if isinstance(rng, Streams) else Streams.spawn(rng, 1)
                return int(moves_of(self.policy, view, self.memory, stream)[0])
            if isinstance(rng, Streams):
                (self.last_result,) = self.policy.decide_all(self.memory, rng)
            else:
                self.last_result = self.policy.decide(self.memory[0], rng)
            return self.last_result.action
