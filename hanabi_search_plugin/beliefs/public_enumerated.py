"""The exact public belief of any ``Enumerable`` game, by following every possible world.

Letters: W worlds followed, N and E information states of a player, n worlds drawn for each.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.tracked_worlds import (
    BEGINS,
    MAX_WORLDS,
    TrackedWorlds,
    track_deals,
    track_event,
    track_observations,
)
from hanabi_search_plugin.core.belief import require_update
from hanabi_search_plugin.core.capabilities import Enumerable
from hanabi_search_plugin.core.errors import ContractError
from hanabi_search_plugin.core.game import (
    UNSEEN,
    BoolArray,
    Event,
    FloatArray,
    Game,
    History,
    IntArray,
    View,
    Worlds,
)
from hanabi_search_plugin.core.policy import Blueprint, Memory, join, memory_from
from hanabi_search_plugin.core.public_belief import (
    PublicBelief,
    normalised,
    require_chance,
    require_ids,
    require_known,
)
from hanabi_search_plugin.core.require import require_share
from hanabi_search_plugin.core.streams import Streams

_log = logging.getLogger(__name__)


class EnumeratedPublicBelief(PublicBelief):
    """The exact public belief, kept by ``observer``, the seat whose views it is given.

    Common knowledge is found by its definition (Aumann, 1976): two worlds that some player cannot
    tell apart are connected, and the connected component of the true world is what everybody knows
    to be possible. So what all have seen is public without the game declaring it.

    When no world is left, the evidence of all moves and all exclusions are dropped.
    """

    game: Enumerable
    keeps_ids = False  # they number what is left, and that is more without the evidence

    def __init__(
        self,
        game: Enumerable,
        blueprint: Blueprint,
        view: View,
        tracked: TrackedWorlds,
        infostates: tuple[IntArray, ...],
        own: int,
        *,
        epsilon: float,
        max_worlds: int,
        recovered: int = 0,
        likelihoods: int = 0,
        event: Event | None = None,
        previous: EnumeratedPublicBelief | None = None,
        parent: IntArray | None = None,
        action: IntArray | None = None,
    ) -> None:
        """``start`` makes the first.

        ``infostates`` [W] for each player: the id of its infostate in each world of ``tracked``.
        ``own`` is the observer's. Worlds outside its component are dropped, and ids are renumbered.
        """
        component = _component(infostates, view.player, own)
        self.game = game
        self.blueprint = blueprint
        self.observer = view.player
        self.epsilon = epsilon
        self.max_worlds = max_worlds
        self._recovered = recovered
        self.turn = 0 if previous is None else previous.turn + 1
        self._likelihoods = likelihoods
        self._view = view
        self._event = event  # as the observer sees it; None at the start
        self._previous = previous
        self._parent = component if parent is None else parent[component]  # [W] row in previous
        self._action = component if action is None else action[component]  # [W] the move made
        self._tracked = tracked.select(component).normalised()
        numbered = [np.unique(of[component], return_inverse=True) for of in infostates]
        self._infostates = tuple(inverse for _, inverse in numbered)  # each player's [W]
        self._own = int(np.searchsorted(numbered[self.observer][0], own))

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
        """The public belief at the first decision, from the observer's first view.

        Raises UnsupportedError and ConfigError as ``EnumeratedBelief.start``; ContractError if no
        deal shows the view.
        """
        require_share("epsilon", epsilon)
        tracked = track_deals(game, blueprint, None, max_worlds)
        assert isinstance(game, Enumerable)
        view = view.select(np.array([0]))
        keys = [tracked.worlds.view(p).keys() for p in range(game.num_players)]
        truth = view.keys()[0]
        if truth not in keys[view.player]:
            raise ContractError(
                f"no deal of {game.name} shows what player {view.player} sees: {BEGINS}"
            )
        infostates = tuple(_number(of) for of in keys)
        own = int(infostates[view.player][list(keys[view.player]).index(truth)])
        return cls(
            game, blueprint, view, tracked, infostates, own, epsilon=epsilon, max_worlds=max_worlds
        )

    def update(
        self, event: Event, view: View, *, by_blueprint: bool = True
    ) -> EnumeratedPublicBelief:
        require_update(event, view, self.game, self._view)
        view.require_player(self.observer)
        game, view = self.game, view.select(np.array([0]))
        actor, action = int(event.player[0]), int(event.action[0])
        shown = event if game.public_actions else Event(event.player, np.array([UNSEEN]))
        step = track_event(
            game, self.blueprint, self._tracked, shown, None, epsilon=self.epsilon,
            evidence=by_blueprint, max_worlds=self.max_worlds,
        )  # fmt: skip
        after, parent = step.after, step.parent
        if after is not None:
            known = [step.action if p == actor or game.public_actions else None for p in self._all]
            keys = [after.worlds.view(p).keys() for p in self._all]
            infostates = [
                _number(zip(self._infostates[p][parent].tolist(), keys[p],
                            _listed(known[p], parent), strict=True))
                for p in self._all
            ]  # fmt: skip
            truth = view.keys()[0]
            mine = known[self.observer]
            for w in np.flatnonzero(self._infostates[self.observer][parent] == self._own).tolist():
                if keys[self.observer][w] == truth and (mine is None or mine[w] == action):
                    return EnumeratedPublicBelief(
                        game, self.blueprint, view, after, tuple(infostates),
                        int(infostates[self.observer][w]), epsilon=self.epsilon,
                        max_worlds=self.max_worlds, recovered=self.recovered,
                        likelihoods=self.likelihoods + step.likelihoods, event=event,
                        previous=self, parent=parent, action=step.action,
                    )  # fmt: skip
        return self._recover(event, view)

    @property
    def recovered(self) -> int:
        return self._recovered

    @property
    def exact(self) -> bool:
        return True

    @property
    def likelihoods(self) -> int:
        return self._likelihoods

    def infostate_of(self, view: View) -> int:
        if view.player != self.observer:
            raise ContractError(f"player {self.observer} keeps this, got a view of {view.player}")
        return self._own

    def public_part(self, view: View) -> bytes | None:
        return None

    def size(self, player: int) -> int:
        return int(self._infostates[player].max()) + 1

    def infostates(self, player: int) -> IntArray:
        return np.arange(self.size(player))

    def weights(self, player: int, ids: IntArray) -> FloatArray:
        ids = self._known(player, ids)
        sums = np.bincount(self._infostates[player], weights=self._tracked.weights)
        return normalised(np.asarray(sums[ids], dtype=np.float64))

    def possible(self, player: int, ids: IntArray) -> BoolArray:
        found = require_ids(player, ids, self.game)
        return np.asarray((found >= 0) & (found < self.size(player)), dtype=np.bool_)

    def _known(self, player: int, ids: object) -> IntArray:
        """[E] the ids, all of them from 0 to ``size(player) - 1``."""
        found: IntArray = require_ids(player, ids, self.game)
        require_known(player, found, self.possible(player, found))
        return found

    def view_of(self, player: int, ids: IntArray) -> View:
        ids = self._known(player, ids)
        return self._tracked.worlds.view(player).select(self._first_worlds(player)[ids])

    def memory_of(self, player: int, ids: IntArray) -> Memory:
        first = self._first_worlds(player)[self._known(player, ids)].tolist()
        policy = self.blueprint[player]
        return join([memory_from(policy, self._history(player, world)) for world in first])

    def _first_worlds(self, player: int) -> IntArray:
        """[N] the first world of each infostate."""
        return np.unique(self._infostates[player], return_index=True)[1]

    def condition_on(self, player: int, infostate: int) -> EnumeratedBelief:
        rows = np.flatnonzero(self._infostates[player] == self._known(player, [infostate])[0])
        history = self._history(player, int(rows[0]))
        memory = memory_from(self.blueprint[player], history)
        return EnumeratedBelief(
            self.game, self.blueprint, history, self._tracked.select(rows), memory,
            epsilon=self.epsilon, max_worlds=self.max_worlds, recovered=self.recovered,
            likelihoods=self.likelihoods,
        )  # fmt: skip

    def sample(
        self, player: int, ids: IntArray, chance: Streams
    ) -> tuple[Worlds, tuple[Memory, ...]]:
        ids = self._known(player, ids)
        require_chance(chance)
        draw = chance.select(np.arange(len(chance))).uniform()
        drawn, worlds = [], []
        for infostate in ids.tolist():
            rows = np.flatnonzero(self._infostates[player] == infostate)
            passed = np.cumsum(self._tracked.weights[rows])
            drawn.append(rows[np.searchsorted(passed, draw * passed[-1], side="right")])
            # One generator per infostate: its worlds must not depend on the others asked for.
            future = np.random.default_rng(chance.state.tolist())
            worlds.append(self.game.reseed(self._tracked.worlds.select(drawn[-1]), future))
        tracked = self._tracked.select(np.concatenate(drawn))
        return self.game.concat(worlds), tracked.memories

    def ancestors(self, player: int, turn: int, limit: int) -> IntArray | None:
        then, ancestor = self._ancestors(turn)
        found = np.unique(then._infostates[player][ancestor])
        return found if len(found) <= limit else None

    def exclude(self, player: int, turn: int, ids: IntArray) -> EnumeratedPublicBelief:
        then, ancestor = self._ancestors(turn)
        left = np.flatnonzero(~np.isin(then._infostates[player][ancestor], ids))
        remaining = tuple(of[left] for of in self._infostates)
        if self._own not in remaining[self.observer]:
            raise ContractError(f"excluding rules out what player {self.observer} has seen")
        tracked = self._tracked.select(left)
        return EnumeratedPublicBelief(
            self.game, self.blueprint, self._view, tracked, remaining, self._own,
            epsilon=self.epsilon, max_worlds=self.max_worlds, recovered=self.recovered,
            likelihoods=self.likelihoods, event=self._event, previous=self._previous,
            parent=self._parent[left], action=self._action[left],
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
        """The public belief at ``turn``, and the world there [W] that each of today grew from."""
        ancestor: IntArray = np.arange(len(self._tracked))
        for belief in self._past():
            if belief.turn == turn:
                return belief, ancestor
            ancestor = belief._parent[ancestor]
        raise ContractError(f"turn must be from 0 to {self.turn}, got {turn}")

    def _history(self, player: int, world: int) -> History:
        """The history of ``player`` on the way to a world of today."""
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
        """Follow the whole game again with no move as evidence."""
        past = [*reversed(list(self._past()))]
        events = [*(b._event for b in past[1:]), event]
        views = [*(b._view for b in past), view]
        known = tuple(e for e in events if e is not None)
        # Raises ContractError where the views themselves are impossible, so that this ends.
        track_observations(self.game, (), History(self.observer, tuple(views), known))
        _log.info(
            "%s: no world explains player %d's move %d; the public belief drops all evidence",
            self.game.name, event.player[0], event.action[0],
        )  # fmt: skip
        again = EnumeratedPublicBelief.start(
            self.game, self.blueprint, views[0], epsilon=self.epsilon, max_worlds=self.max_worlds
        )
        again._recovered = self.recovered + 1
        again._likelihoods = self.likelihoods
        for e, v in zip(known, views[1:], strict=True):
            again = again.update(e, v, by_blueprint=False)
        return again


def _number(things: Iterable[Hashable]) -> IntArray:
    """[W] numbers in order of appearance, equal for equal things."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(thing, len(numbers)) for thing in things], dtype=np.int64)


def _listed(actions: IntArray | None, like: IntArray) -> list[int]:
    return [UNSEEN] * len(like) if actions is None else [int(a) for a in actions]


def _component(infostates: tuple[IntArray, ...], observer: int, own: int) -> IntArray:
    """Rows of the worlds connected to those of the observer's infostate.

    Worlds are linked where some player cannot tell them apart.
    """
    first: IntArray = np.arange(len(infostates[0]))  # the smallest row known to be connected
    while True:
        before = first
        for of in infostates:
            smallest = np.full(int(of.max()) + 1, len(first))
            np.minimum.at(smallest, of, first)
            first = smallest[of]
        if np.array_equal(first, before):
            return np.flatnonzero(first == first[np.argmax(infostates[observer] == own)])
