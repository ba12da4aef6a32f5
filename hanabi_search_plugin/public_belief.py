"""The public belief contract, and its exact form for any small game whose chance can be listed.

A public belief is P(world | what everybody knows that everybody knows). A player's *entries* are
the private histories it could have by public knowledge: the range that joint search searches.
Letters: N entries of a player, W worlds followed.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from hanabi_search_plugin.belief import (
    MAX_WORLDS,
    Belief,
    EnumeratedBelief,
    Tracked,
    consistent,
    dealt,
    follow,
)
from hanabi_search_plugin.errors import ConfigError, ContractError
from hanabi_search_plugin.game import (
    HIDDEN,
    BoolArray,
    Enumerable,
    Event,
    FloatArray,
    Game,
    History,
    IntArray,
    View,
)
from hanabi_search_plugin.policy import Blueprint, memory_from

_log = logging.getLogger(__name__)


class PublicBelief(ABC):
    """P(world | public history, blueprint). Immutable: every operation returns a new one.

    Every seat keeps its own and feeds it its own views. ``observer`` is that seat: its views tell
    which public things happened, and nothing that it alone knows is used.
    """

    game: Game
    blueprint: Blueprint
    observer: int
    turn: int  # events since the first decision
    recovered: int  # how often no world was left and all policy evidence had to be dropped

    @abstractmethod
    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> PublicBelief:
        """The public belief after an event and the observer's view after it (batches of one).

        ``by_blueprint=False`` takes the move as no evidence: its mover may have searched. What the
        search would have done is ruled out later by ``exclude``.
        """

    @abstractmethod
    def size(self, player: int) -> int:
        """Entries of ``player``, or an upper bound."""

    @abstractmethod
    def support(self, player: int) -> View:
        """[N] what ``player`` sees now, entry by entry."""

    @abstractmethod
    def weights(self, player: int) -> FloatArray:
        """[N] public probability of each entry of ``support(player)`` (sum 1)."""

    @abstractmethod
    def condition_on(self, player: int, entry: int) -> Belief:
        """The private belief of ``player`` holding ``support(player)[entry]``.

        Moves taken as no evidence stay none; entries excluded stay excluded.
        """

    @abstractmethod
    def parents(self, player: int, turn: int) -> IntArray:
        """[N] the entry at an earlier turn that each of today's grew from.

        Entries of a turn are numbered as the public belief of that turn numbered them.
        """

    @abstractmethod
    def exclude(self, player: int, turn: int, ruled_out: BoolArray) -> PublicBelief:
        """Rule out entries [N of then] of an earlier turn (or today) and all that grew from them.

        Today's remaining entries are numbered anew, in their order. Raises ContractError where
        nothing would be left.
        """


class EnumeratedPublicBelief(PublicBelief):
    """The exact public belief of any ``Enumerable`` game, by following every world.

    Public knowledge is found as the game theorist defines it (Aumann, 1976): two worlds that some
    player cannot tell apart are connected, and what is common knowledge is the connected component
    of the truth. So a card that all have seen is public without the game declaring it.

    When no world is left, all evidence of policies and exclusions is dropped, for all turns.
    """

    game: Enumerable

    def __init__(
        self,
        game: Enumerable,
        blueprint: Blueprint,
        view: View,
        tracked: Tracked,
        entries: tuple[IntArray, ...],
        seen: int,
        *,
        epsilon: float,
        max_worlds: int,
        recovered: int = 0,
        event: Event | None = None,
        previous: EnumeratedPublicBelief | None = None,
        parent: IntArray | None = None,
        action: IntArray | None = None,
    ) -> None:
        """``start`` makes the first. ``seen`` is the entry that the observer's views tell of."""
        component = _component(entries, view.player, seen)
        self.game = game
        self.blueprint = blueprint
        self.observer = view.player
        self.epsilon = epsilon
        self.max_worlds = max_worlds
        self.recovered = recovered
        self.turn = 0 if previous is None else previous.turn + 1
        self._view = view
        self._event = event  # as the observer sees it; None at the start
        self._previous = previous
        self._parent = component if parent is None else parent[component]  # [W] row in previous
        self._action = component if action is None else action[component]  # [W] the move made
        self._tracked = tracked.select(component).normalised()
        numbered = [np.unique(of[component], return_inverse=True) for of in entries]
        self._entries = tuple(inverse for _, inverse in numbered)  # [W] a player
        self._seen = int(np.searchsorted(numbered[self.observer][0], seen))

    @classmethod
    def start(
        cls,
        game: Game,
        blueprint: Blueprint,
        view: View,
        *,
        epsilon: float = 0.0,
        max_worlds: int = MAX_WORLDS,
    ) -> EnumeratedPublicBelief:
        """The public belief at the first decision, from the observer's first view."""
        if not 0.0 <= epsilon <= 1.0:
            raise ConfigError(f"epsilon must be from 0 to 1, got {epsilon}")
        tracked = dealt(game, blueprint, None, max_worlds)
        assert isinstance(game, Enumerable)
        view = view.select(np.array([0]))
        keys = [tracked.worlds.view(p).keys() for p in range(game.num_players)]
        truth = view.keys()[0]
        if truth not in keys[view.player]:
            raise ContractError(f"no deal of {game.name} shows what player {view.player} sees")
        entries = tuple(_number(of) for of in keys)
        seen = int(entries[view.player][list(keys[view.player]).index(truth)])
        return cls(
            game, blueprint, view, tracked, entries, seen, epsilon=epsilon, max_worlds=max_worlds
        )

    def update(
        self, event: Event, view: View, *, by_blueprint: bool = True
    ) -> EnumeratedPublicBelief:
        game, view = self.game, view.select(np.array([0]))
        actor, own = int(event.player[0]), int(event.action[0])
        shown = event if game.public_actions else Event(event.player, np.array([HIDDEN]))
        step = follow(
            game, self.blueprint, self._tracked, shown, None, epsilon=self.epsilon,
            evidence=by_blueprint, max_worlds=self.max_worlds,
        )  # fmt: skip
        after, parent = step.after, step.parent
        if after is not None:
            known = [step.action if p == actor or game.public_actions else None for p in self._all]
            keys = [after.worlds.view(p).keys() for p in self._all]
            entries = [
                _number(zip(self._entries[p][parent].tolist(), keys[p], _listed(known[p], parent),
                            strict=True))
                for p in self._all
            ]  # fmt: skip
            truth = view.keys()[0]
            mine = known[self.observer]
            for w in np.flatnonzero(self._entries[self.observer][parent] == self._seen).tolist():
                if keys[self.observer][w] == truth and (mine is None or mine[w] == own):
                    return EnumeratedPublicBelief(
                        game, self.blueprint, view, after, tuple(entries),
                        int(entries[self.observer][w]), epsilon=self.epsilon,
                        max_worlds=self.max_worlds, recovered=self.recovered, event=event,
                        previous=self, parent=parent, action=step.action,
                    )  # fmt: skip
        return self._recover(event, view)

    def size(self, player: int) -> int:
        return int(self._entries[player].max()) + 1

    def support(self, player: int) -> View:
        _, first = np.unique(self._entries[player], return_index=True)
        return self._tracked.worlds.view(player).select(first)

    def weights(self, player: int) -> FloatArray:
        weights = np.bincount(self._entries[player], weights=self._tracked.weights)
        return weights.astype(np.float64)

    def condition_on(self, player: int, entry: int) -> EnumeratedBelief:
        rows = np.flatnonzero(self._entries[player] == entry)
        if len(rows) == 0:
            raise ContractError(f"player {player} has {self.size(player)} entries, got {entry}")
        history = self._history(player, int(rows[0]))
        memory = memory_from(self.blueprint[player], history)
        return EnumeratedBelief(
            self.game, self.blueprint, history, self._tracked.select(rows), memory,
            epsilon=self.epsilon, max_worlds=self.max_worlds, recovered=self.recovered,
        )  # fmt: skip

    def parents(self, player: int, turn: int) -> IntArray:
        then, ancestor = self._ancestors(turn)
        _, first = np.unique(self._entries[player], return_index=True)
        return then._entries[player][ancestor[first]]

    def exclude(self, player: int, turn: int, ruled_out: BoolArray) -> EnumeratedPublicBelief:
        then, ancestor = self._ancestors(turn)
        if len(ruled_out) != then.size(player):
            raise ContractError(
                f"player {player} had {then.size(player)} entries at turn {turn}, got "
                f"{len(ruled_out)} flags"
            )
        left = np.flatnonzero(~ruled_out[then._entries[player][ancestor]])
        entries = tuple(of[left] for of in self._entries)
        if self._seen not in entries[self.observer]:
            raise ContractError(f"excluding rules out what player {self.observer} has seen")
        return EnumeratedPublicBelief(
            self.game, self.blueprint, self._view, self._tracked.select(left), entries, self._seen,
            epsilon=self.epsilon, max_worlds=self.max_worlds, recovered=self.recovered,
            event=self._event, previous=self._previous, parent=self._parent[left],
            action=self._action[left],
        )  # fmt: skip

    @property
    def _all(self) -> range:
        return range(self.game.num_players)

    def _past(self) -> Iterator[EnumeratedPublicBelief]:
        """This belief and those it grew from, newest first."""
        now: EnumeratedPublicBelief | None = self
        while now is not None:
            yield now
            now = now._previous

    def _ancestors(self, turn: int) -> tuple[EnumeratedPublicBelief, IntArray]:
        """The public belief at ``turn``, and the world there that each of today's grew from."""
        ancestor: IntArray = np.arange(len(self._tracked))
        for belief in self._past():
            if belief.turn == turn:
                return belief, ancestor
            ancestor = belief._parent[ancestor]
        raise ContractError(f"turn must be from 0 to {self.turn}, got {turn}")

    def _history(self, player: int, world: int) -> History:
        """What ``player`` saw on the way to a world."""
        views: list[View] = []
        events: list[Event] = []
        for belief in self._past():
            views.append(belief._tracked.worlds.view(player).select(np.array([world])))
            if belief._event is not None:
                event = Event(belief._event.player, belief._action[[world]])
                events.append(event.seen_by(player, self.game))
                world = int(belief._parent[world])
        return History(player, tuple(reversed(views)), tuple(reversed(events)))

    def _recover(self, event: Event, view: View) -> EnumeratedPublicBelief:
        """Follow the whole game again, taking no move as evidence."""
        past = [*reversed(list(self._past()))]
        events = [*(b._event for b in past[1:]), event]
        views = [*(b._view for b in past), view]
        told = tuple(e for e in events if e is not None)
        # Raises ContractError where the views themselves are impossible, so that this ends.
        consistent(self.game, (), History(self.observer, tuple(views), told))
        _log.warning(
            "%s: no world explains player %d's move %d; the public belief drops all evidence",
            self.game.name, event.player[0], event.action[0],
        )  # fmt: skip
        again = EnumeratedPublicBelief.start(
            self.game, self.blueprint, views[0], epsilon=self.epsilon, max_worlds=self.max_worlds
        )
        again.recovered = self.recovered + 1
        for e, v in zip(told, views[1:], strict=True):
            again = again.update(e, v, by_blueprint=False)
        return again


def _number(things: Iterable[Hashable]) -> IntArray:
    """[W] equal things get equal numbers, in order of appearance."""
    names: dict[Hashable, int] = {}
    return np.array([names.setdefault(thing, len(names)) for thing in things], dtype=np.int64)


def _listed(actions: IntArray | None, like: IntArray) -> list[int]:
    return [HIDDEN] * len(like) if actions is None else [int(a) for a in actions]


def _component(entries: tuple[IntArray, ...], observer: int, seen: int) -> IntArray:
    """Rows of the worlds connected to those of an entry, each link one player's confusion."""
    label: IntArray = np.arange(len(entries[0]))  # the smallest row known to be connected
    while True:
        before = label
        for of in entries:
            smallest = np.full(int(of.max()) + 1, len(label))
            np.minimum.at(smallest, of, label)
            label = smallest[of]
        if np.array_equal(label, before):
            return np.flatnonzero(label == label[np.argmax(entries[observer] == seen)])
