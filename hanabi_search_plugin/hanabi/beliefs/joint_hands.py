"""The public belief of native Hanabi for three players and more: what was seen, and what follows.

A player's entries are the hands of all the others together. They do not factor: whether a move is
explained depends on every hand that its mover saw. So nothing is listed ahead. Kept is what
happened, which moves were searched, and which entries were ruled out. Entries are listed by what
everybody sees today: hints, the copies left, and the cards that have left a hand since; the private
belief of any of them is found by following its history.

Letters: E entries, n worlds of each.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory, join
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.require import require_share
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.beliefs.hypothetical import Kept, Suppositions
from hanabi_search_plugin.hanabi.beliefs.joint_history import (
    Labels,
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

logger = logging.getLogger("hanabi_search_plugin")

MAX_LISTED = 1 << 20  # entries that ``entries`` lists


@dataclass(frozen=True, eq=False)
class JointHands(PublicBelief):
    """The public belief of three players and more. Made by ``HanabiGame.public_belief``.

    Labels are int64 where these hold the others' hands; else, with 5 players, arrays of labels are
    arrays of objects, Python's integers.

    Its ``likelihoods`` are not counted: how many are taken depends on what is kept of before.
    """

    game: HanabiRules
    blueprint: Blueprint
    epsilon: float
    history: PublicHistory
    recovered: int = 0
    kept: Kept = field(default_factory=Kept, repr=False)

    @classmethod
    def start(
        cls, game: HanabiRules, blueprint: Blueprint, view: View, *, epsilon: float = 0.0
    ) -> JointHands:
        """See ``Game.public_belief``."""
        require_share("epsilon", epsilon)
        if game.config.observation_type == "seer":
            raise UnsupportedError("a seer sees its own hand and needs no belief over it")
        assert isinstance(view, HanabiView)
        return cls(game, blueprint, epsilon, PublicHistory(game, (first_step(game, view),)))

    @property
    def turn(self) -> int:  # type: ignore[override]
        return self.history.now.turn

    @property
    def exact(self) -> bool:
        """False where private beliefs may have to leave hands out; each says whether it does."""
        most = MAX_STORED
        for policy in self.blueprint:
            if not is_compiled(policy):
                most = min(most, MAX_BATCHED if policy.public_memory else MAX_ASKED)
        hands: int = self.game.vocabulary**self.game.config.hand_size
        return hands <= most

    @property
    def likelihoods(self) -> None:
        return None

    def entry_of(self, view: View) -> int:
        assert isinstance(view, HanabiView)
        return self.history.pack(view)

    def public_part(self, view: View) -> bytes | None:
        assert isinstance(view, HanabiView)
        return public_view(self.game, view).rows.tobytes()

    # ------------------------------------------------------------------------------- updates

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> JointHands:
        assert isinstance(view, HanabiView)
        step = next_step(self.game, self.history.now, event, view, by_blueprint)
        return self._with(PublicHistory(self.game, (*self.history.steps, step)))

    def exclude(self, player: int, turn: int, entries: IntArray) -> JointHands:
        """See ``PublicBelief.exclude``. Observers are not told apart: what each knows is not known.

        Where no entry is left, all evidence of policies and exclusions is dropped, for all turns.
        """
        if not len(entries):
            return self
        steps, labels = self.history.steps, self.history.labels(entries)
        listed = self.ancestors(player, turn, len(labels))
        if listed is not None and np.isin(listed, labels).all():
            logger.warning(
                "no hands of the others explain player %d's move %d: the public belief drops all "
                "evidence", player, turn,
            )  # fmt: skip
            moves = tuple(
                replace(step, by_blueprint=False) for step in steps if step.ruled_out is None
            )
            blank = self._with(PublicHistory(self.game, moves))
            return replace(blank, recovered=self.recovered + 1)
        out = RuledOut(player, turn, labels)
        step = replace(self.history.now, event=None, gone=None, ruled_out=out)
        return self._with(PublicHistory(self.game, (*steps, step)))

    def _with(self, history: PublicHistory) -> JointHands:
        return replace(self, history=history)

    # ---------------------------------------------------------- entries, as everybody sees them

    def size(self, player: int) -> int:
        """See ``PublicBelief.size``: the product of the identities that each slot may have."""
        size = 1
        for _, kinds in self._slots(player, self.turn):
            size *= len(kinds)
        return size

    def entries(self, player: int) -> IntArray:
        """See ``PublicBelief.entries``. Raises UnsupportedError for more than MAX_LISTED."""
        listed = self.ancestors(player, self.turn, MAX_LISTED)
        if listed is None:
            raise UnsupportedError(f"at most {MAX_LISTED} entries are listed, got more")
        return listed

    def ancestors(self, player: int, turn: int, limit: int) -> IntArray | None:
        """See ``PublicBelief.ancestors``: those that hints, counts and exclusions allow today.

        None where hints and counts alone allow more than ``limit``.
        """
        if not 0 <= turn <= self.turn:
            raise ContractError(f"turn must be from 0 to {self.turn}, got {turn}")
        history = self.history
        found = joint_hands(self._slots(player, turn), history.unseen(), limit)
        if found is None:
            return None
        path = history.path(player, history.labels(found))
        left = np.ones(len(found), dtype=np.bool_)
        for out in history.ruled_out(player):
            if out.turn <= turn:
                left &= ~np.isin(path[history.began(out.turn)], out.labels)
        return np.asarray(np.unique(path[history.began(turn)][left]))

    def _slots(self, player: int, turn: int) -> list[tuple[int, list[int]]]:
        """The others' cards that they had at ``turn`` already: where in the label, which kinds."""
        history, slots = self.history, []
        unseen, told = history.unseen(), history.now.told
        for other in history.others(player):
            for slot in range(history.as_old(other, turn, len(history.steps) - 1)):
                kinds = [
                    card
                    for card in range(self.game.vocabulary)
                    if unseen[card] > 0 and told[other, slot] >> card & 1
                ]
                slots.append((history.shift(player, other, slot), kinds))
        return slots

    # ------------------------------------------------------------ what holding an entry means

    def view_of(self, player: int, entries: IntArray) -> HanabiView:
        history = self.history
        return history.view(len(history.steps) - 1, player, history.labels(entries))

    def memory_of(self, player: int, entries: IntArray) -> Memory:
        return self._follow(player, self.history.labels(entries))[0]

    def possible(self, player: int, entries: IntArray) -> BoolArray:
        labels = self.history.labels(entries)
        possible = self._ways(player, labels) > 0.0
        possible[possible] = self._follow(player, labels[possible])[1] > 0.0
        some = np.flatnonzero(possible)
        for e, belief in self._beliefs(player, labels[some]):
            possible[some[e]] = belief is not None
        return possible

    def weights(self, player: int, entries: IntArray) -> FloatArray:
        labels = self.history.labels(entries)
        weights = self._ways(player, labels) * self._follow(player, labels)[1]
        some = np.flatnonzero(weights)
        for e, belief in self._beliefs(player, labels[some]):
            weights[some[e]] *= 0.0 if belief is None else _total(belief)
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def condition_on(self, player: int, entry: int) -> HandBelief:
        return self._suppositions.held(player, int(entry))

    def sample(
        self, player: int, entries: IntArray, chance: Streams
    ) -> tuple[HanabiWorlds, tuple[Memory, ...]]:
        labels, streams = self.history.labels(entries), chance.select(np.arange(len(chance)))
        draw = streams.uniform()
        parts: dict[int, tuple[HanabiWorlds, tuple[Memory, ...]]] = {}
        for e, belief in self._beliefs(player, labels):
            real = self.condition_on(player, labels[e]) if belief is None else belief
            parts[e] = real.drawn(draw, streams)
        worlds, memories = zip(*(parts[e] for e in range(len(labels))), strict=True)
        rows = np.concatenate([part.rows for part in worlds])
        return HanabiWorlds(self.game, rows), tuple(
            join(column) for column in zip(*memories, strict=True)
        )

    @property
    def _suppositions(self) -> Suppositions:
        return Suppositions(self.history, self.blueprint, self.epsilon, self.kept)

    def _beliefs(self, player: int, labels: Labels) -> Iterator[tuple[int, HandBelief | None]]:
        """Each entry's belief, None where it cannot be, in an order in which they share most."""
        path = [part.tolist() for part in self.history.path(player, labels)]
        suppositions = self._suppositions
        for e in sorted(range(len(labels)), key=lambda e: [part[e] for part in path]):
            yield e, suppositions.of(player, path[-1][e])

    def _ways(self, player: int, labels: Labels) -> FloatArray:
        """[E] ways to draw the others' hands; 0 where the hints forbid them."""
        history, each = self.history, np.arange(len(labels))
        left, told = np.repeat(history.unseen()[None], len(labels), axis=0), history.now.told
        ways = np.ones(len(labels))
        for other in history.others(player):
            for slot in range(history.cards(other)):
                card = history.card(player, other, slot, labels)
                ways *= np.maximum(left[each, card], 0) * (told[other, slot] >> card & 1)
                left[each, card] -= 1
        return ways

    def _follow(self, player: int, labels: Labels) -> tuple[Memory, FloatArray]:
        """[E] the player's memories, and the probability of its own moves."""
        history, policy = self.history, self.blueprint[player]
        path = history.path(player, labels)
        view = history.view(0, player, path[0])
        memory, chance = policy.start(view), np.ones(len(labels))
        for i, step in enumerate(history.steps[1:], 1):
            if (out := step.ruled_out) is not None:
                if out.player == player:
                    chance[np.isin(path[history.began(out.turn)], out.labels)] = 0.0
                continue
            assert step.event is not None
            event = step.event.select(np.zeros(len(labels), dtype=np.int64))
            if step.event.player[0] == player and step.by_blueprint:
                legal = view.legal
                played = policy.probabilities(view, legal, memory)[:, step.event.action[0]]
                chance *= (1.0 - self.epsilon) * played + self.epsilon / legal.sum(axis=1)
            view = history.view(i, player, path[i])
            memory = policy.observe(view, event, memory)
        return memory, chance


def _total(belief: HandBelief) -> float:
    """The weight of all hands, pending slots included."""
    unseen = int(belief.unseen[: belief.game.vocabulary].sum())
    pending = [unseen - slot for slot in range(belief.known, belief.present)]
    return float(belief.weights().sum() * np.prod(pending, dtype=np.float64))
