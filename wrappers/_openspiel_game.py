"""Any sequential game of OpenSpiel as a game that can be searched.

A batch is a list of ``pyspiel.State``, so this is for small games and few worlds. The native engine
plays large Hanabi some hundred times faster. Letters: B worlds, A actions, P players.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from hanabi_search_plugin.beliefs.tracked_worlds import (
    DRAWN,
    MAX_WORLDS,
    showing,
    track_observations,
)
from hanabi_search_plugin.core.capabilities import Enumerable, Redeterminizes
from hanabi_search_plugin.core.errors import (
    ContractError,
    IllegalActionError,
    UnsupportedError,
)
from hanabi_search_plugin.core.game import (
    Event,
    FloatArray,
    History,
    IntArray,
    View,
    Worlds,
    require_said,
)
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.wrappers._openspiel_rules import (
    OpenSpielRules,
    State,
    options_in_its_name,
)
from hanabi_search_plugin.wrappers._openspiel_worlds import OpenSpielView, OpenSpielWorlds, ours

INFORMATION_SETS_KEPT = 256  # results of listing an information set that a game remembers
REDEALT = frozenset(["crazy_eights", "euchre", "gin_rummy", "hearts", "oh_hell", "spades"])
DIVES = 4  # deals by which the number of all deals is estimated
SURELY = 100  # times too many, by each of them: one in 10**8 such estimates is wrong
PROBED = 500  # deals by which it is found whether particles have a chance


class OpenSpielGame(OpenSpielRules, Enumerable, Redeterminizes):
    """A sequential game of OpenSpiel, given as a ``pyspiel.Game`` or as a string.

    ``public_actions`` is True if every player sees every action. The default is True for games of
    perfect information and those in ``PUBLIC_ACTIONS``. False is always safe, but slower: beliefs
    then consider every action that fits what is seen. ``max_deals`` is the most deals that
    ``deals`` lists. A ``pyspiel.Game`` is kept as it is, never loaded again by its name.

    Raises ConfigError for an unknown game or parameter. Raises UnsupportedError for a simultaneous
    game, and for one that draws its chance, or who begins, from a generator of its own.
    """

    @options_in_its_name
    def __init__(
        self,
        game: Any,
        *,
        public_actions: bool | None = None,
        max_deals: int = MAX_WORLDS,
    ) -> None:
        super().__init__(game, public_actions=public_actions)
        self.max_deals = max_deals
        self._information_sets: dict[Hashable, tuple[list[State], FloatArray]] = {}

    def __repr__(self) -> str:
        return f"OpenSpielGame({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle its OpenSpiel game alone: the observer cannot be, kept results need not be."""
        spiel = self.spiel if self.compiled else self.name  # what Python added to it would be lost
        return _rebuild, (type(self), spiel, self.public_actions, self.max_deals)

    def __deepcopy__(self, memo: dict[int, Any]) -> OpenSpielGame:
        return self  # immutable

    def deal(self, rng: np.random.Generator, n: int) -> OpenSpielWorlds:
        return self._dealt(Streams.spawn(rng, n))

    def deal_some(self, rng: np.random.Generator, n: int, rows: IntArray) -> OpenSpielWorlds:
        return self._dealt(Streams.spawn(rng, n).select(rows))

    def _dealt(self, streams: Streams) -> OpenSpielWorlds:
        states = [self.initial_state() for _ in range(len(streams))]
        return OpenSpielWorlds(self, states, streams)

    def deal_scripts(self, scripts: Sequence[Sequence[int]]) -> OpenSpielWorlds:
        """One world a script. The script lists the chance actions of its game, in order.

        A step that needs more of them than the script has raises IllegalActionError.
        """
        states = [self.initial_state() for _ in scripts]
        streams = Streams.still(len(states))
        return OpenSpielWorlds(self, states, streams, [tuple(map(int, s)) for s in scripts])

    def worlds(self, states: Iterable[State], rng: np.random.Generator) -> OpenSpielWorlds:
        """A batch of copies of the given states. Takes one draw a world."""
        copies = [state.clone() for state in states]
        return OpenSpielWorlds(self, copies, Streams.spawn(rng, len(copies)))

    def action_to_string(self, player: int, action: int) -> str:
        require_said(player, action, self)
        return str(self.spiel.action_to_string(player, action))

    def deals(self) -> tuple[OpenSpielWorlds, FloatArray]:
        start = self.initial_state()
        if self.perfect_information:
            listed = list(islice(self._outcomes(start), self.max_deals + 1))
            if len(listed) > self.max_deals:
                raise self._too_many_deals()
        else:
            listed = self._deals_from(start)
        states, chances = zip(*listed, strict=True)
        streams = Streams(np.arange(len(states), dtype=np.uint64))
        return OpenSpielWorlds(self, states, streams), np.array(chances)

    def _deals_from(self, start: State) -> list[tuple[State, float]]:
        """Every decision that the chance after ``start`` can lead to, with its probability.

        One chance event of all of them at a time: each outcome leads to one deal at least, so too
        many are refused before they are dealt to the end, which may take a second each.
        """
        self.require_few_deals()
        found = [(start, 1.0)]
        while any(state.is_chance_node() for state, _ in found):
            outcomes, deals = [], 0
            for state, _ in found:
                outcomes.append(_possible(state))
                deals += len(outcomes[-1])
                if deals > self.max_deals:
                    raise self._too_many_deals()
            found = [
                (state if action is None else state.child(action), chance * share)
                for (state, chance), possible in zip(found, outcomes, strict=True)
                for action, share in possible
            ]
        return found

    def require_few_deals(self) -> None:
        """Raise where a few estimates of the number of deals are all far above ``max_deals``.

        The product of the choices of chance on the way to a random deal is an unbiased one (Knuth,
        Mathematics of Computation 1975). No deal is dealt to its end, which may take a second.
        """
        if self.perfect_information:
            return
        rng = np.random.default_rng(0)
        for _ in range(DIVES):
            state, product = self.initial_state(), 1.0
            while product <= SURELY * self.max_deals:
                if not state.is_chance_node():
                    return
                possible = _possible(state)
                product *= len(possible)
                state.apply_action(possible[int(rng.integers(len(possible)))][0])
        raise self._too_many_deals()

    def _too_many_deals(self) -> UnsupportedError:
        return UnsupportedError(
            f"{self.name} has more than max_deals={self.max_deals} deals to list, which an exact "
            f"belief needs: {self.belief_to_use or DRAWN}; or list more (max_deals=...)"
        )

    @cached_property
    def belief_to_use(self) -> str:
        """See ``Game.belief_to_use``. Deals ``PROBED`` games where the name does not tell."""
        name = self.spiel.get_type().short_name
        if name in REDEALT:
            return (
                "belief=Redealt() of wrappers.openspiel, on the command line --belief redealt, "
                "deals its cards anew"
            )
        if name == "bridge":
            return (
                "this package's own game bridge, bridge.BridgeBidding(), on the command line "
                "--game bridge, has beliefs over hands, belief=Seatwise()"
            )
        worlds = self.deal(np.random.default_rng(0), PROBED)
        one = worlds.select(np.array([0]))
        view = one.view(max(int(one.current_player[0]), 0))
        if showing(worlds, view).sum() > 1:
            return ""
        return (
            "no belief of this package draws its worlds, since hardly any deal shows what a seat "
            "sees: give one of your own, belief=..., as docs/games/other_games.md has it"
        )

    def branch(
        self, worlds: Worlds, actions: IntArray
    ) -> tuple[OpenSpielWorlds, IntArray, FloatArray]:
        batch = ours(worlds)
        states, parents, chances = [], [], []
        for b, (state, action) in enumerate(zip(batch.states, actions.tolist(), strict=True)):
            if action not in state.legal_actions():
                raise IllegalActionError(
                    f"world {b} allows the actions {state.legal_actions()}, got {action}"
                )
            for child, chance in self._outcomes(state.child(action)):
                states.append(child)
                parents.append(b)
                chances.append(chance)
        parent = np.array(parents, dtype=np.int64)
        after = OpenSpielWorlds(self, states, batch.streams.select(parent))
        return after, parent, np.array(chances, dtype=np.float64)

    def _outcomes(self, state: State) -> Iterable[tuple[State, float]]:
        """Every decision or end that chance can lead to from ``state``, with its probability.

        Where nothing is hidden, outcomes that look the same are one: two dice have two orders, and
        a belief that kept both would double every turn.
        """
        futures = _futures(state, 1.0)
        if not self.perfect_information:
            return futures
        found: dict[str, tuple[State, float]] = {}
        for child, chance in futures:
            first, before = found.get(key := str(child), (child, 0.0))
            found[key] = first, before + chance
        return found.values()

    def concat(self, parts: Sequence[Worlds]) -> OpenSpielWorlds:
        batches = [ours(part) for part in parts]
        scripts = None
        if any(part.scripts is not None for part in batches):
            scripts = [s for part in batches for s in part.scripts or [None] * len(part)]
        return OpenSpielWorlds(
            self,
            [state for part in batches for state in part.states],
            Streams(np.concatenate([part.streams.state for part in batches])),
            scripts,
        )

    def reseed(self, worlds: Worlds, rng: np.random.Generator) -> OpenSpielWorlds:
        """See ``Enumerable.reseed``; the worlds lose their scripts. Takes B draws."""
        return OpenSpielWorlds(self, ours(worlds).states, Streams.spawn(rng, len(worlds)))

    def history(self, state: State, player: int) -> History:
        """What ``player`` has seen up to ``state``, which is at a decision or an end."""
        here = self.initial_state()
        views: list[View] = []
        events: list[Event] = []
        for item in state.full_history():
            if not here.is_chance_node():
                views.append(OpenSpielView(self, player, [here.clone()]))
                event = Event(np.array([item.player]), np.array([item.action]))
                events.append(event.seen_by(player, self))
            here.apply_action(item.action)
        views.append(OpenSpielView(self, player, [here]))
        return History(player, tuple(views), tuple(events))

    def redeterminize(self, worlds: Worlds, player: int, rng: Streams) -> OpenSpielWorlds:
        """Draw from the player's information set, which is listed; see ``Redeterminizes``.

        So this is for small games. Future chance is drawn anew, too. Takes two draws a world.
        """
        states = []
        for state, u in zip(ours(worlds).states, rng.uniform().tolist(), strict=True):
            candidates, cumulative = self._information_set(state, player)
            drawn = np.searchsorted(cumulative, u * cumulative[-1], side="right")
            states.append(candidates[int(drawn)])
        return OpenSpielWorlds(self, states, rng.fork())

    def restore(
        self, worlds: Worlds, player: int, saved: Worlds, rng: Streams
    ) -> OpenSpielWorlds | None:
        """``saved`` with the player's last move and the chance after it played as in ``worlds``.

        None where some move or outcome is not possible in the truth. Takes nothing from ``rng``.
        """
        states = []
        for now, before in zip(ours(worlds).states, ours(saved).states, strict=True):
            history = now.full_history()
            own = [k for k, item in enumerate(history) if item.player == player]
            if not own:
                raise ContractError(f"seat {player} has not moved, so nothing can be restored")
            state = before.clone()
            for item in history[own[-1] :]:
                if state.is_terminal() or item.action not in state.legal_actions():
                    return None
                state.apply_action(item.action)
            if state.is_chance_node():
                return None
            states.append(state)
        return OpenSpielWorlds(self, states, ours(worlds).streams)

    def hypothetical(self, state: State, player: int, seed: int = 0) -> State:
        """A state that ``player`` cannot tell from ``state``, which is at a decision or an end.

        It is drawn from the player's information set by the probabilities of chance, as a function
        of what the player has seen and ``seed``. So all states of the set give the same one, and
        nothing hidden is told. With perfect information it is ``state`` itself. Raises
        UnsupportedError where the game has more than ``max_deals`` deals to list.
        """
        if self.perfect_information:
            return state
        candidates, cumulative = self._information_set(state, player)
        u = digest(self.history(state, player), seed) * 2.0**-64
        return candidates[int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))]

    def _information_set(self, state: State, player: int) -> tuple[list[State], FloatArray]:
        """All states ``player`` may be in, and their cumulative probability by chance alone."""
        history = self.history(state, player)
        key = information(history)
        if key not in self._information_sets:
            if len(self._information_sets) >= INFORMATION_SETS_KEPT:
                self._information_sets.clear()
            tracked = track_observations(self, (), history)
            found = (ours(tracked.worlds).states, np.cumsum(tracked.weights))
            self._information_sets[key] = found
        return self._information_sets[key]


def information(history: History) -> tuple[Hashable, ...]:
    """A key of all that a seat has seen; equal exactly for equal histories."""
    return (
        history.seat,
        tuple(view.keys()[0] for view in history.views),
        tuple((int(e.player[0]), int(e.action[0])) for e in history.events),
    )


def digest(history: History, seed: int) -> int:
    """A 64-bit hash of all that a seat has seen and ``seed``, the same in every process."""
    return digest_of((seed, information(history)))


def digest_of(key: Hashable) -> int:
    """A 64-bit hash of numbers, strings and tuples of them, the same in every process."""
    hashed = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(hashed, "little")


def same_spiel(a: Any, b: Any) -> bool:
    """True if two games of OpenSpiel are the same game with the same parameters."""
    kinds = a.get_type(), b.get_type()
    given = [
        {**k.parameter_specification, **g.get_parameters()}
        for k, g in zip(kinds, (a, b), strict=True)
    ]
    return kinds[0].short_name == kinds[1].short_name and given[0] == given[1]


def _rebuild(kind: type[OpenSpielGame], spiel: Any, public: bool, deals: int) -> OpenSpielGame:
    if kind is OpenSpielGame:
        return kind(spiel, public_actions=public, max_deals=deals)
    return kind(spiel, public_actions=public)


def _possible(state: State) -> list[tuple[int | None, float]]:
    """What chance may do at ``state``, with its probabilities; None where it is not its turn."""
    if not state.is_chance_node():
        return [(None, 1.0)]
    return [(action, share) for action, share in state.chance_outcomes() if share > 0]


def _futures(state: State, chance: float) -> Iterator[tuple[State, float]]:
    """Every decision or end that chance can lead to from ``state``, with its probability."""
    if not state.is_chance_node():
        yield state, chance
        return
    for action, probability in state.chance_outcomes():
        if probability > 0:
            yield from _futures(state.child(action), chance * probability)
