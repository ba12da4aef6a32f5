"""Beliefs over deals, for card games of OpenSpiel with far too many of them to list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hanabi_search_plugin.beliefs.tracked_worlds import DRAWN, one_view
from hanabi_search_plugin.core.agent import FitsGames
from hanabi_search_plugin.core.belief import Belief, require_update
from hanabi_search_plugin.core.capabilities import OWN_BELIEF, HasBeliefs
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Event, FloatArray, Game, View
from hanabi_search_plugin.core.policy import Blueprint, Memory, observed, started, take
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import require_integers, require_share
from hanabi_search_plugin.core.rollout import likelihood, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams, require_draws
from hanabi_search_plugin.wrappers._openspiel_cards import Holdings
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame
from hanabi_search_plugin.wrappers._openspiel_rules import State
from hanabi_search_plugin.wrappers._openspiel_worlds import OpenSpielView, OpenSpielWorlds


@dataclass(frozen=True)
class Redealt(FitsGames):
    """Beliefs over other deals: ``upgrade(policy, game, SoIsmcts(), belief=Redealt())``.

    For card games of OpenSpiel: spades, hearts, euchre, oh_hell, gin_rummy, crazy_eights, and
    others whose moves all players see and whose chance does nothing but deal a deck. Every world
    drawn shows the seat what it has seen and allows what it could do, at each of its decisions, and
    what the others did. By chance alone all deals that do are equally likely
    (``_openspiel_cards``).

    Where the others' moves are evidence, ``proposals`` deals are drawn, weighted by the probability
    of the moves, and drawn from by weight; a world keeps the share ``uncertainty`` of its weight
    where it does not explain a move. Raises ConfigError for numbers out of range.
    """

    proposals: int = 256
    uncertainty: float = 0.001

    def __post_init__(self) -> None:
        require_integers(self, ("proposals",), 1)
        require_share("uncertainty", self.uncertainty)

    def __repr__(self) -> str:
        return settings_repr(self, "proposals")

    def require_fit(self, game: Game, blueprint: Blueprint) -> None:
        """See ``FitsGames``: raises for what is no game of OpenSpiel."""
        if not isinstance(game, OpenSpielGame):
            way = (
                OWN_BELIEF if isinstance(game, HasBeliefs) else f"belief=None lists worlds, {DRAWN}"
            )
            raise UnsupportedError(f"Redealt is for games of OpenSpiel, got {game!r}: {way}")

    def __call__(self, blueprint: Blueprint, view: View) -> RedealtBelief:
        """The belief of ``view.player`` at its first view."""
        return RedealtBelief.start(self, blueprint, view)


@dataclass(frozen=True, eq=False, repr=False)
class RedealtBelief(Belief):
    """A private belief that keeps nothing but the seat's history; ``sample`` deals anew."""

    settings: Redealt
    game: OpenSpielGame
    blueprint: Blueprint
    view: OpenSpielView
    own_memory: Memory
    ignored: frozenset[int] = frozenset()  # the game's moves that are no evidence, by number
    turn: int = 0  # moves so far, of all players
    likelihoods: int = 0
    spent: list[int] = field(default_factory=lambda: [0])  # of all beliefs of this game
    last: list[float] = field(default_factory=list)  # of the latest draw: effective sample size

    exact = False
    recovered = 0

    @classmethod
    def start(cls, settings: Redealt, blueprint: Blueprint, view: View) -> RedealtBelief:
        """The belief at the first decision, from the seat's first view (a batch of one).

        Raises UnsupportedError for a game that cannot be dealt anew, and says why.
        """
        view = one_view(view)
        settings.require_fit(view.game, blueprint)
        assert isinstance(view, OpenSpielView) and isinstance(view.game, OpenSpielGame)
        belief = cls(settings, view.game, blueprint, view, started(blueprint[view.player], view))
        belief._holdings.draw(np.random.default_rng(0), 1)  # raises where there is no way to
        return belief

    @property
    def seat(self) -> int:  # type: ignore[override]
        return self.view.player

    @property
    def memory(self) -> Memory:
        return self.own_memory

    @property
    def size(self) -> int:
        """Ways to share the hidden cards out, as far as the rules of ``_openspiel_cards`` say."""
        return int(self._holdings.sharing.ways)

    def caveats(self) -> list[str]:
        notes = ["the belief is a sample of the worlds"]
        if self.last:
            notes.append(f"effective sample size {self.last[-1]:.0f}")
        return notes

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> RedealtBelief:
        require_update(event, view, self.game, self.view)
        view = one_view(view)
        assert isinstance(view, OpenSpielView)
        event = event.seen_by(self.seat, self.game)
        return replace(
            self,
            view=view,
            own_memory=observed(self.blueprint[self.seat], view, event, self.own_memory),
            ignored=self.ignored if by_blueprint else self.ignored | {self.turn},
            turn=self.turn + 1,
            likelihoods=self.spent[0],
            last=[],
        )

    def sample(
        self, rng: np.random.Generator, n: int
    ) -> tuple[OpenSpielWorlds, tuple[Memory, ...]]:
        """See ``Belief.sample``. Takes what the deals take, one double to draw among them where
        moves are evidence, then n 64-bit draws. Raises TooFewWorldsError where deals that agree
        with what the seat has seen are too rare."""
        require_draws(rng, n)
        many = n if not self._evidence else max(n, self.settings.proposals)
        states = self._holdings.draw(rng, many)
        logs, memories = self._followed(states)
        rows = np.arange(n)
        if self._evidence:
            weights = np.exp(logs - logs.max())
            weights /= weights.sum()
            self.last[:] = [1.0 / float((weights**2).sum())]
            places = (rng.random() + np.arange(n)) / n
            rows = np.minimum(np.searchsorted(np.cumsum(weights), places, "right"), many - 1)
            rows = rng.permutation(rows)
        worlds = OpenSpielWorlds(
            self.game, [states[k] for k in rows.tolist()], Streams.spawn(rng, n)
        )
        own = take(self.own_memory, np.zeros(n, dtype=np.int64))
        return worlds, tuple(
            own if p == self.seat else take(memory, rows) for p, memory in enumerate(memories)
        )

    # ------------------------------------------------------------------------------------- within

    @property
    def _state(self) -> State:
        return self.view.states()[0]

    @property
    def _evidence(self) -> bool:
        others = [k for k, player in enumerate(_movers(self._state)) if player != self.seat]
        return not self.ignored.issuperset(others)

    @cached_property
    def _holdings(self) -> Holdings:
        return Holdings(self.game, self._state, self.seat)

    def _followed(self, states: list[State]) -> tuple[FloatArray, tuple[Memory, ...]]:
        """[N] log likelihood of the others' moves; and every seat's memory after them."""
        logs = np.zeros(len(states))
        moves = [k for k, item in enumerate(self._state.full_history()) if item.player >= 0]
        turns = [_turns(state.history(), moves) for state in states]  # moves and chance after each
        chance = Streams.spawn(np.random.default_rng(0), len(states))  # never drawn from
        worlds = self._worlds([self.game.initial_state() for _ in states], turns, 0, chance)
        memories = start_memories(worlds, self.blueprint)
        alone = all(memory is None for memory in memories)  # so no policy keeps a view
        if not self._evidence and alone:
            return logs, memories
        u = self.settings.uncertainty
        for t in range(len(moves)):
            mover = worlds.current_player
            played = np.array([each[t + 1][0] for each in turns], dtype=np.int64)
            actor = int(mover[0])
            if actor != self.seat and t not in self.ignored:
                likely = likelihood(worlds, self.blueprint[actor], actor, memories[actor], played)
                self.spent[0] += len(states)
                with np.errstate(divide="ignore"):
                    logs += np.log(likely + u * (1 - likely))
            now = worlds.states if alone else [state.clone() for state in worlds.states]
            worlds = self._worlds(now, turns, t + 1, chance)
            memories = observe_all(worlds, mover, played, self.blueprint, memories)
        return logs, memories

    def _worlds(
        self, states: Sequence[State], turns: list[list[list[int]]], t: int, chance: Streams
    ) -> OpenSpielWorlds:
        """Of ``states``, changed by their turn t."""
        for state, each in zip(states, turns, strict=True):
            for action in each[t]:
                state.apply_action(action)
        return OpenSpielWorlds(self.game, list(states), chance)


def _turns(history: list[int], moves: list[int]) -> list[list[int]]:
    """A history cut before each of its moves, which are at ``moves``."""
    return [history[a:b] for a, b in zip([0, *moves], [*moves, len(history)], strict=True)]


def _movers(state: State) -> list[int]:
    return [int(item.player) for item in state.full_history() if item.player >= 0]


def other_deals(
    game: OpenSpielGame, state: State, player: int, rng: np.random.Generator, n: int
) -> list[State]:
    """``n`` states that ``player`` cannot tell from ``state``, all such deals equally likely.

    What the others did is no evidence but for the cards that it shows. ``rng`` is all the
    randomness. Raises UnsupportedError for
    a game that cannot be dealt anew, TooFewWorldsError where such deals are too rare.
    """
    return Holdings(game, state, player).draw(rng, n)
