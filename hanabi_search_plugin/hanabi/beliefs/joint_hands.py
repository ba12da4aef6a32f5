"""The public belief of native Hanabi for three players and more, found from what was seen.

An information state of a player is the hands of all the others together. These do not factor by
player, since whether a move is explained depends on every hand that its mover saw, so no range is
kept. Kept are the public history, the moves that were searched, and the information states that
were ruled out. Information states are listed by what everybody sees today: hints, the copies left,
and the cards that have left a hand since. The private belief in one of them is found by following
its history (``hypothetical``).

Letters: E information states, n worlds of each.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from hanabi_search_plugin.core.belief import require_update
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Memory,
    join,
    observed,
    probabilities_of,
    started,
)
from hanabi_search_plugin.core.public_belief import (
    PublicBelief,
    normalised,
    require_chance,
    require_ids,
    require_known,
)
from hanabi_search_plugin.core.require import require_share
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.beliefs.hand_range import begun_notes, require_hidden_hand
from hanabi_search_plugin.hanabi.beliefs.hypothetical import BeliefCache, HypotheticalBeliefs
from hanabi_search_plugin.hanabi.beliefs.joint_history import (
    Ids,
    PublicHistory,
    RuledOut,
    first_step,
    joint_hands,
    next_step,
    public_view,
)
from hanabi_search_plugin.hanabi.beliefs.partners import MAX_ASKED, MAX_BATCHED, MAX_STORED
from hanabi_search_plugin.hanabi.bots.compiled import is_compiled
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import MOVES

logger = logging.getLogger("hanabi_search_plugin")

MAX_LISTED = 1 << 20  # information states that ``infostates`` lists


@dataclass(frozen=True, eq=False, repr=False)
class JointHands(PublicBelief):
    """The public belief of three players and more. Made by ``beliefs.exact.public_belief``.

    Arrays of ids are int64 where that holds the others' hands; with 5 players they are arrays of
    objects, Python's integers. ``likelihoods`` are None: their number depends on the cache.
    """

    game: HanabiRules
    blueprint: Blueprint
    epsilon: float
    history: PublicHistory
    recovered: int = 0
    cache: BeliefCache = field(default_factory=BeliefCache, repr=False)

    @classmethod
    def start(
        cls, game: HanabiRules, blueprint: Blueprint, view: View, *, epsilon: float = 0.0
    ) -> JointHands:
        """See ``beliefs.exact.public_belief``."""
        require_share("epsilon", epsilon)
        require_hidden_hand(game)
        assert isinstance(view, HanabiView)
        return cls(game, blueprint, epsilon, PublicHistory(game, (first_step(game, view),)))

    @property
    def turn(self) -> int:  # type: ignore[override]
        return self.history.now.turn

    @property
    def exact(self) -> bool:
        """False if private beliefs may have to leave hands out; each says whether it did."""
        most = MAX_STORED
        for policy in self.blueprint:
            if not is_compiled(policy):
                most = min(most, MAX_BATCHED if policy.public_memory else MAX_ASKED)
        hands: int = self.game.vocabulary**self.game.config.hand_size
        return hands <= most

    @property
    def likelihoods(self) -> None:
        return None

    def caveats(self) -> list[str]:
        moves = int(self.history.steps[0].public.rows[0, MOVES])
        return [*super().caveats(), *begun_notes("the public belief", moves)]

    def infostate_of(self, view: View) -> int:
        assert isinstance(view, HanabiView)
        return self.history.pack(view)

    def public_part(self, view: View) -> bytes | None:
        assert isinstance(view, HanabiView)
        return public_view(self.game, view).rows.tobytes()

    # ------------------------------------------------------------------------------- updates

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> JointHands:
        require_update(event, view, self.game, self.history.now.public)
        assert isinstance(view, HanabiView)
        view.require_last(event)
        step = next_step(self.game, self.history.now, event, view, by_blueprint)
        return self._with(PublicHistory(self.game, (*self.history.steps, step)))

    def exclude(self, player: int, turn: int, ids: IntArray) -> JointHands:
        """See ``PublicBelief.exclude``. Never raises: the belief knows nothing of its observer.

        Where no infostate is left, all evidence of moves and all exclusions are dropped.
        """
        if not len(ids):
            return self
        steps, ids = self.history.steps, self.history.as_ids(ids)
        listed = self.ancestors(player, turn, len(ids))
        if listed is not None and np.isin(listed, ids).all():
            logger.info(
                "no hands of the others explain player %d's move %d: the public belief drops all "
                "evidence", player, turn,
            )  # fmt: skip
            moves = tuple(
                replace(step, by_blueprint=False) for step in steps if step.ruled_out is None
            )
            blank = self._with(PublicHistory(self.game, moves))
            return replace(blank, recovered=self.recovered + 1)
        out = RuledOut(player, turn, ids)
        step = replace(self.history.now, event=None, removed=None, ruled_out=out)
        return self._with(PublicHistory(self.game, (*steps, step)))

    def _with(self, history: PublicHistory) -> JointHands:
        return replace(self, history=history)

    # -------------------------------------------------- infostates, by what everybody sees

    def size(self, player: int) -> int:
        """See ``PublicBelief.size``: the product of the identities that each slot may have."""
        size = 1
        for _, kinds in self._slots(player, self.turn):
            size *= len(kinds)
        return size

    def infostates(self, player: int) -> IntArray:
        """See ``PublicBelief``. Raises UnsupportedError for more than MAX_LISTED."""
        listed = self.ancestors(player, self.turn, MAX_LISTED)
        if listed is None:
            raise UnsupportedError(f"at most {MAX_LISTED} information states are listed, got more")
        return listed

    def ancestors(self, player: int, turn: int, limit: int) -> IntArray | None:
        """See ``PublicBelief.ancestors``: those that hints, counts and exclusions allow today.

        None if hints and counts alone allow more than ``limit``.
        """
        if not 0 <= turn <= self.turn:
            raise ContractError(f"turn must be from 0 to {self.turn}, got {turn}")
        history = self.history
        found = joint_hands(self._slots(player, turn), history.unseen(), limit)
        if found is None:
            return None
        path = history.path(player, history.as_ids(found))
        left = np.ones(len(found), dtype=np.bool_)
        for out in history.ruled_out(player):
            if out.turn <= turn:
                left &= ~np.isin(path[history.first_of(out.turn)], out.ids)
        return np.asarray(np.unique(path[history.first_of(turn)][left]))

    def _slots(self, player: int, turn: int) -> list[tuple[int, list[int]]]:
        """Of the others' cards since ``turn``: the lowest bit in the id, possible identities."""
        history, slots = self.history, []
        unseen, hinted = history.unseen(), history.now.hinted
        for other in history.others(player):
            for slot in range(history.held_since(other, turn, len(history.steps) - 1)):
                kinds = [
                    card
                    for card in range(self.game.vocabulary)
                    if unseen[card] > 0 and hinted[other, slot] >> card & 1
                ]
                slots.append((history.shift(player, other, slot), kinds))
        return slots

    # -------------------------------------------------------------- given an infostate

    def _ids(self, player: int, ids: object) -> Ids:
        return self.history.as_ids(require_ids(player, ids, self.game))

    def _known(self, player: int, ids: object) -> Ids:
        """[E] ids of hands that hints and the cards not yet played or discarded allow."""
        found = self._ids(player, ids)
        most = 5 * self.game.config.hand_size * (self.game.num_players - 1)  # bits
        small = np.array([0 <= one < 1 << most for one in found.tolist()], dtype=np.bool_)
        known = small.copy()
        known[small] = self._ways(player, found[small]) > 0.0
        require_known(player, found, known)
        return found

    def view_of(self, player: int, ids: IntArray) -> HanabiView:
        history = self.history
        return history.view(len(history.steps) - 1, player, self._ids(player, ids))

    def memory_of(self, player: int, ids: IntArray) -> Memory:
        return self._follow(player, self._ids(player, ids))[0]

    def possible(self, player: int, ids: IntArray) -> BoolArray:
        ids = self._ids(player, ids)
        possible = self._ways(player, ids) > 0.0
        possible[possible] = self._follow(player, ids[possible])[1] > 0.0
        some = np.flatnonzero(possible)
        for e, belief in self._beliefs(player, ids[some]):
            possible[some[e]] = belief is not None
        return possible

    def weights(self, player: int, ids: IntArray) -> FloatArray:
        ids = self._known(player, ids)
        weights = self._ways(player, ids) * self._follow(player, ids)[1]
        some = np.flatnonzero(weights)
        for e, belief in self._beliefs(player, ids[some]):
            weights[some[e]] *= 0.0 if belief is None else _total(belief)
        return normalised(weights)

    def condition_on(self, player: int, infostate: int) -> HandBelief:
        return self._hypothetical.find_real(player, int(self._known(player, [infostate])[0]))

    def sample(
        self, player: int, ids: IntArray, chance: Streams
    ) -> tuple[HanabiWorlds, tuple[Memory, ...]]:
        ids = self._known(player, ids)
        require_chance(chance)
        streams = chance.select(np.arange(len(chance)))
        draw = streams.uniform()
        parts: dict[int, tuple[HanabiWorlds, tuple[Memory, ...]]] = {}
        for e, belief in self._beliefs(player, ids):
            real = belief
            if real is None:
                real = self._hypothetical.find_real(player, int(ids[e]))
            parts[e] = real.sample_with(draw, streams)
        worlds, memories = zip(*(parts[e] for e in range(len(ids))), strict=True)
        rows = np.concatenate([part.rows for part in worlds])
        return HanabiWorlds(self.game, rows), tuple(
            join(column) for column in zip(*memories, strict=True)
        )

    @property
    def _hypothetical(self) -> HypotheticalBeliefs:
        return HypotheticalBeliefs(self.history, self.blueprint, self.epsilon, self.cache)

    def _beliefs(self, player: int, ids: Ids) -> Iterator[tuple[int, HandBelief | None]]:
        """Index and belief of each infostate (None: impossible), those that share most together."""
        path = [part.tolist() for part in self.history.path(player, ids)]
        hypothetical = self._hypothetical
        for e in sorted(range(len(ids)), key=lambda e: [part[e] for part in path]):
            yield e, hypothetical.find(player, path[-1][e])

    def _ways(self, player: int, ids: Ids) -> FloatArray:
        """[E] ways to draw the others' hands; 0 where the hints exclude them."""
        history, each = self.history, np.arange(len(ids))
        left, hinted = np.repeat(history.unseen()[None], len(ids), axis=0), history.now.hinted
        ways = np.ones(len(ids))
        for other in history.others(player):
            for slot in range(history.cards(other)):
                card = history.card(player, other, slot, ids)
                ways *= np.maximum(left[each, card], 0) * (hinted[other, slot] >> card & 1)
                left[each, card] -= 1
        return ways

    def _follow(self, player: int, ids: Ids) -> tuple[Memory, FloatArray]:
        """[E] the player's memories, and the probability of its own moves."""
        history, policy = self.history, self.blueprint[player]
        path = history.path(player, ids)
        view = history.view(0, player, path[0])
        memory, chance = started(policy, view), np.ones(len(ids))
        for i, step in enumerate(history.steps[1:], 1):
            if (out := step.ruled_out) is not None:
                if out.player == player:
                    chance[np.isin(path[history.first_of(out.turn)], out.ids)] = 0.0
                continue
            assert step.event is not None
            event = step.event.select(np.zeros(len(ids), dtype=np.int64))
            if step.event.player[0] == player and step.by_blueprint:
                legal = view.legal
                played = probabilities_of(policy, view, memory)[:, step.event.action[0]]
                chance *= (1.0 - self.epsilon) * played + self.epsilon / legal.sum(axis=1)
            view = history.view(i, player, path[i])
            memory = observed(policy, view, event, memory)
        return memory, chance


def _total(belief: HandBelief) -> float:
    """The weight of all hands, pending slots included."""
    unseen = int(belief.unseen[: belief.game.vocabulary].sum())
    pending = [unseen - slot for slot in range(belief.known, belief.present)]
    return float(belief.weights().sum() * np.prod(pending, dtype=np.float64))
