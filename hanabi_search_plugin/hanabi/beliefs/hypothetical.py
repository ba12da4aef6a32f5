"""Private beliefs of native Hanabi that a player would have if it held a certain entry.

Each is found by following the public history with the others' hands that the entry names. Beliefs
on the way are kept, so that entries which came from one share its cost, and the next decision of
the game starts from the last.
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

MAX_KEPT = 1 << 24  # hands in the beliefs that are kept, 4 to 20 bytes each


class _NothingLeft(Exception):
    """The others' policies do not explain what they did."""


class _Supposed(HandBelief):
    """The belief of an entry that nobody may hold: it ends where a real one would recover."""

    def recover(self, before: HandRange) -> Self:
        if self.exact:
            raise _NothingLeft
        return super().recover(before)


class Kept:
    """The beliefs found last, of MAX_KEPT hands. None: the history cannot have been."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, HandBelief | None] = OrderedDict()
        self._hands = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, ()  # a copy begins anew

    def __contains__(self, key: Any) -> bool:
        return key in self._found

    def __getitem__(self, key: Any) -> HandBelief | None:
        self._found.move_to_end(key)
        return self._found[key]

    def __setitem__(self, key: Any, belief: HandBelief | None) -> None:
        self._found[key] = belief
        self._hands += _size(belief)
        while self._hands > MAX_KEPT and len(self._found) > 1:
            self._hands -= _size(self._found.popitem(last=False)[1])


@dataclass(frozen=True)
class Suppositions:
    """The private beliefs of all entries after a public history; ``kept`` is its game's."""

    history: PublicHistory
    blueprint: Blueprint
    epsilon: float
    kept: Kept = field(default_factory=Kept)

    def of(self, player: int, label: int) -> HandBelief | None:
        """The belief of an entry; None if the others would have moved otherwise."""
        return self._supposed(len(self.history.steps) - 1, player, label)

    def held(self, player: int, label: int) -> HandBelief:
        """The belief of an entry that somebody holds, whatever the others have done."""
        return self._held(len(self.history.steps) - 1, player, label)

    def _supposed(self, i: int, player: int, label: int) -> HandBelief | None:
        key = (self.history.steps[i], player, label)
        if key in self.kept:
            return self.kept[key]
        belief: HandBelief | None
        try:
            if i == 0:
                belief = self._first(_Supposed, player, label)
            else:
                before = self._supposed(i - 1, player, self.history.parent(i, player, label))
                belief = None if before is None else self._after(i, before, label)
        except _NothingLeft:
            belief = None
        self.kept[key] = belief
        return belief

    def _held(self, i: int, player: int, label: int) -> HandBelief:
        supposed = self._supposed(i, player, label)
        if supposed is not None:
            return HandBelief(**{f.name: getattr(supposed, f.name) for f in fields(supposed)})
        key = (self.history.steps[i], player, label, "held")
        if key not in self.kept:
            before = self._held(i - 1, player, self.history.parent(i, player, label))
            self.kept[key] = self._after(i, before, label)
        belief = self.kept[key]
        assert belief is not None
        return belief

    def _first(self, kind: type[HandBelief], player: int, label: int) -> HandBelief:
        history = self.history
        view = history.view(0, player, history.labels([label]))
        return kind.start(history.game, self.blueprint, view, epsilon=self.epsilon)

    def _after(self, i: int, before: HandBelief, label: int) -> HandBelief:
        history, step = self.history, self.history.steps[i]
        if step.ruled_out is not None:
            return self._narrowed(i, before, label, step.ruled_out)
        assert step.event is not None
        view = history.view(i, before.seat, history.labels([label]))
        return before.update(step.event, view, by_blueprint=step.by_blueprint)

    def _narrowed(self, i: int, belief: HandBelief, label: int, out: RuledOut) -> HandBelief:
        """Without the own hands that, beside the others' of the entry, have been ruled out."""
        history, player, mover = self.history, belief.seat, out.player
        if mover == player:
            return belief
        since = range(i, history.began(out.turn), -1)
        then = label
        for j in since:
            then = history.parent(j, player, then)
        agree = np.ones(len(out.labels), dtype=np.bool_)
        for other in history.others(player):
            if other != mover:
                same = history.hand(mover, other, out.labels) == history.hand(player, other, then)
                agree &= same.astype(np.bool_)
        gone = history.hand(mover, player, out.labels[agree]).astype(np.int64)
        if not len(gone):
            return belief
        old = history.as_old(player, out.turn, i)
        if belief.known < old:
            belief = belief.enumerate(belief.told, upto=old)
        own = belief.hands.astype(np.int64)
        for j in since:
            card = history.steps[j].gone
            if card is not None and card.player == player:
                own = hand_before(own, card)
        left = belief.select(np.flatnonzero(~np.isin(own, gone)))
        return left if len(left.hands) else left.recover(belief)


def _size(belief: HandBelief | None) -> int:
    return 0 if belief is None else len(belief.hands)
