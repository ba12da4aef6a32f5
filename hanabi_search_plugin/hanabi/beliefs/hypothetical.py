"""Hypothetical private beliefs: what a player of native Hanabi would believe in an infostate.

Each is found by following the public history with the others' hands that the information state
names. Beliefs on the way are cached, so that information states which grew from one share its cost,
and the next decision of the game starts from the last. For three players and more.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.beliefs.hand_range import HandRange
from hanabi_search_plugin.hanabi.beliefs.joint_history import PublicHistory, RuledOut, hand_before

MAX_CACHED = 1 << 24  # hands of all beliefs in a cache, 4 to 20 bytes each


class _NoHandLeft(Exception):
    """The others' policies do not explain what they did."""


class _HypotheticalBelief(HandBelief):
    """The belief in an infostate that may be impossible: it ends where a real one recovers."""

    def recover(self, before: HandRange) -> Self:
        if self.exact:
            raise _NoHandLeft
        return super().recover(before)


class BeliefCache:
    """The beliefs used last, of at most MAX_CACHED hands. None stands for an impossible one."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, HandBelief | None] = OrderedDict()
        self._hands = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return BeliefCache, ()  # a copy starts empty

    def __contains__(self, key: Any) -> bool:
        return key in self._found

    def __getitem__(self, key: Any) -> HandBelief | None:
        self._found.move_to_end(key)
        return self._found[key]

    def __setitem__(self, key: Any, belief: HandBelief | None) -> None:
        self._found[key] = belief
        self._hands += _size(belief)
        while self._hands > MAX_CACHED and len(self._found) > 1:
            self._hands -= _size(self._found.popitem(last=False)[1])


@dataclass(frozen=True)
class HypotheticalBeliefs:
    """The private beliefs in all information states that a public history allows."""

    history: PublicHistory
    blueprint: Blueprint
    epsilon: float
    cache: BeliefCache = field(default_factory=BeliefCache)  # one for all turns of a game

    def find(self, player: int, infostate: int) -> HandBelief | None:
        """The belief in an infostate; None if the others' policies exclude the infostate."""
        return self._find(len(self.history.steps) - 1, player, infostate)

    def find_real(self, player: int, infostate: int) -> HandBelief:
        """The belief in an infostate that the player is in: where no hand is left, it recovers."""
        return self._find_real(len(self.history.steps) - 1, player, infostate)

    def _find(self, i: int, player: int, infostate: int) -> HandBelief | None:
        key = (self.history.steps[i], player, infostate)
        if key in self.cache:
            return self.cache[key]
        belief: HandBelief | None
        try:
            if i == 0:
                belief = self._first(_HypotheticalBelief, player, infostate)
            else:
                before = self._find(i - 1, player, self.history.parent(i, player, infostate))
                belief = None if before is None else self._after(i, before, infostate)
        except _NoHandLeft:
            belief = None
        self.cache[key] = belief
        return belief

    def _find_real(self, i: int, player: int, infostate: int) -> HandBelief:
        found = self._find(i, player, infostate)
        if found is not None:
            return HandBelief(**{f.name: getattr(found, f.name) for f in fields(found)})
        key = (self.history.steps[i], player, infostate, "real")
        if key not in self.cache:
            before = self._find_real(i - 1, player, self.history.parent(i, player, infostate))
            self.cache[key] = self._after(i, before, infostate)
        belief = self.cache[key]
        assert belief is not None
        return belief

    def _first(self, kind: type[HandBelief], player: int, infostate: int) -> HandBelief:
        history = self.history
        view = history.view(0, player, history.as_ids([infostate]))
        return kind.start(history.game, self.blueprint, view, epsilon=self.epsilon)

    def _after(self, i: int, before: HandBelief, infostate: int) -> HandBelief:
        """The belief after step i, from that before it."""
        history, step = self.history, self.history.steps[i]
        if step.ruled_out is not None:
            return self._narrowed(i, before, infostate, step.ruled_out)
        assert step.event is not None
        view = history.view(i, before.seat, history.as_ids([infostate]))
        return before.update(step.event, view, by_blueprint=step.by_blueprint)

    def _narrowed(self, i: int, belief: HandBelief, infostate: int, out: RuledOut) -> HandBelief:
        """Without the own hands that another player would have had to see in what is ruled out."""
        history, player, mover = self.history, belief.seat, out.player
        if mover == player:
            return belief
        since = range(i, history.first_of(out.turn), -1)
        then = infostate
        for j in since:
            then = history.parent(j, player, then)
        agree = np.ones(len(out.ids), dtype=np.bool_)
        for other in history.others(player):
            if other != mover:
                same = history.hand(mover, other, out.ids) == history.hand(player, other, then)
                agree &= same.astype(np.bool_)
        excluded = history.hand(mover, player, out.ids[agree]).astype(np.int64)
        if not len(excluded):
            return belief
        old = history.held_since(player, out.turn, i)
        if belief.known < old:
            belief = belief.enumerate(belief.hinted, upto=old)
        own = belief.hands.astype(np.int64)
        for j in since:
            card = history.steps[j].removed
            if card is not None and card.player == player:
                own = hand_before(own, card)
        left = belief.select(np.flatnonzero(~np.isin(own, excluded)))
        return left if len(left.hands) else left.recover(belief)


def _size(belief: HandBelief | None) -> int:
    return 0 if belief is None else len(belief.hands)
