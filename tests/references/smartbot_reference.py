"""SmartBot once more, in plain Python with sets: slow, and written to be compared with.

It follows the published description of the bot move by move: no caches, no bit tricks, a memory for
each seat. A card identity is ``ranks * colour + rank``; slot 0 is the oldest card of a hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig

Mask = frozenset[int]  # the identities that a card may have
Status = Literal["yes", "no", "maybe"]


@dataclass(frozen=True)
class Position:
    """The table as one seat sees it; the cards of the seat's own hand are None."""

    config: HanabiConfig
    seat: int
    to_move: int
    lives: int
    tokens: int
    deck: int  # cards left
    piles: tuple[int, ...]  # height of each colour
    seen: tuple[int, ...]  # copies of each identity played or discarded
    hands: tuple[tuple[int | None, ...], ...]

    def seen_by(self, seat: int) -> Position:
        """What another seat sees, from a position that hides nothing (seat -1)."""
        hands = tuple(
            (None,) * len(hand) if p == seat else hand for p, hand in enumerate(self.hands)
        )
        return replace(self, seat=seat, hands=hands)

    @cached_property
    def all(self) -> Mask:
        return frozenset(range(self.config.colors * self.config.ranks))

    def color(self, k: int) -> Mask:
        return frozenset(c for c in self.all if c // self.config.ranks == k)

    def rank(self, r: int) -> Mask:
        return frozenset(c for c in self.all if c % self.config.ranks == r)

    def copies(self, card: int) -> int:
        return self.config.copies[card % self.config.ranks]

    @cached_property
    def play(self) -> Mask:
        """Identities that would score now."""
        ranks = self.config.ranks
        return frozenset(k * ranks + n for k, n in enumerate(self.piles) if n < ranks)

    @cached_property
    def worthless(self) -> Mask:
        """Identities that can never score any more."""
        dead = set()
        for card in self.all:
            k, r = divmod(card, self.config.ranks)
            below = range(card - r + self.piles[k], card)
            if r < self.piles[k] or any(self.seen[c] == self.copies(c) for c in below):
                dead.add(card)
        return frozenset(dead)

    @cached_property
    def valuable(self) -> Mask:
        """Last copies that can still score."""
        last = {c for c in self.all if self.seen[c] == self.copies(c) - 1}
        return frozenset(last - self.worthless)

    def next(self, player: int) -> int:
        return (player + 1) % self.config.players

    def newest(self, player: int) -> int | None:
        hand = self.hands[player]
        return hand[-1] if hand else None


@dataclass(frozen=True)
class Move:
    """A move that was made, with what everybody learns from it."""

    kind: Literal["discard", "play", "color", "rank"]
    slot: int = -1
    card: int = -1  # identity played or discarded
    target: int = -1  # the player hinted to
    value: int = -1  # the colour or rank hinted
    touched: frozenset[int] = frozenset()  # slots


def status(mask: Mask, goal: Mask) -> Status:
    if mask <= goal:
        return "yes"
    return "maybe" if mask & goal else "no"


def fraction(mask: Mask, goal: Mask) -> Fraction:
    return Fraction(len(mask & goal), len(mask))


def after_hint(mask: Mask, all_cards: Mask, hinted: Mask, touched: bool) -> Mask:
    """Where hint and mask contradict each other, the hint is what counts."""
    allowed = hinted if touched else all_cards - hinted
    return mask & allowed or allowed


class ReferenceSmartBot:
    """One seat. ``masks[p][i]``: what it takes everybody to know of slot i of player p."""

    def __init__(self, start: Position) -> None:
        self.seat = start.seat
        self.masks: list[list[Mask]] = [[start.all] * len(hand) for hand in start.hands]

    # ------------------------------------------------------------------------------- knowledge

    def refresh(self, at: Position) -> None:
        """Take identities whose copies are all on the table or known in hands from other cards."""
        while True:
            located = Counter(
                card for hand in self.masks for mask in hand if len(mask) == 1 for card in mask
            )
            left = frozenset(c for c in at.all if at.seen[c] + located[c] < at.copies(c))
            before = self.masks
            self.masks = [
                [m if len(m) == 1 else (m & left or left or m) for m in hand] for hand in before
            ]
            if self.masks == before:
                return

    def next_discard(self, at: Position, player: int) -> int | None:
        """The slot that ``player`` is expected to discard; None if it has something better."""
        best, best_fraction = None, Fraction(-1)
        for slot, mask in enumerate(self.masks[player]):
            if mask <= at.play or mask <= at.worthless:
                return None
            worthless = fraction(mask, at.worthless)
            if not mask <= at.valuable and worthless > best_fraction:
                best, best_fraction = slot, worthless
        return best

    def could_be_valuable(self, at: Position, mask: Mask, rank: int) -> bool:
        """Would a hint of that rank to this card be read as a warning?"""
        of_rank = mask & at.rank(rank)
        return bool(of_rank & at.valuable) and status(mask, at.valuable) == "maybe"

    def observe(self, before: Position, move: Move, after: Position) -> None:
        """Update the masks for a move of ``before.to_move``; then refresh for the next decision."""
        actor = before.to_move
        if move.kind in ("color", "rank"):
            self._observe_hint(before, move)
            if move.target != before.next(actor):
                self._no_warning(before)
        else:
            self._no_warning(before)
            if move.kind == "discard":
                self._observe_finesse(before, move)
            del self.masks[actor][move.slot]
            if before.deck > 0:
                self.masks[actor].append(before.all)
        self.refresh(after)

    def _no_warning(self, before: Position) -> None:
        """The actor would have warned the next player, had its next discard been valuable."""
        if before.deck == 0 or before.tokens == 0:
            return
        player = before.next(before.to_move)
        due = self.next_discard(before, player)
        if due is not None:
            self.masks[player][due] -= before.valuable

    def _observe_finesse(self, before: Position, move: Move) -> None:
        """A known playable card is discarded: somebody else holds another as its newest card."""
        actor = before.to_move
        mask = self.masks[actor][move.slot]
        if len(mask) != 1 or not mask <= before.play:
            return
        for player in range(before.config.players):
            if player not in (actor, self.seat) and before.newest(player) == move.card:
                self.masks[player][-1] = frozenset({move.card})
                return
        if self.seat != actor and self.masks[self.seat]:
            self.masks[self.seat][-1] = frozenset({move.card})

    def _observe_hint(self, before: Position, move: Move) -> None:
        actor, target, hand = before.to_move, move.target, self.masks[move.target]
        reclaim = warning = False
        hinted = before.color(move.value)
        if move.kind == "rank":
            hinted = before.rank(move.value)
            full = before.tokens == before.config.information_tokens
            reclaim = full and before.next(target) == actor and 0 in move.touched
            if not reclaim and target == before.next(actor):
                due = self.next_discard(before, target)
                if due in move.touched and due is not None:
                    warning = self.could_be_valuable(before, hand[due], move.value)
                    if warning:
                        hand[due] &= before.valuable
        identified, inferred = False, None
        for slot in reversed(range(len(hand))):
            was = status(hand[slot], before.play)
            hand[slot] = after_hint(hand[slot], before.all, hinted, slot in move.touched)
            now = status(hand[slot], before.play)
            if was == "maybe":
                identified |= now == "yes"
                if now == "maybe" and slot in move.touched and inferred is None:
                    inferred = slot
        if inferred is not None and not (identified or warning or reclaim):
            hand[inferred] &= before.play

    # -------------------------------------------------------------------------------- decision

    def decide(self, at: Position) -> int:
        """The action id for the seat's turn."""
        rules = [
            self._warn,
            self._finesse,
            self._play,
            self._hint,
            self._mystery_play,
            self._stall,
            self._discard_worthless,
            self._discard_old,
            self._discard_largest,
        ]
        if at.deck == 0:
            rules = [self._play, self._mystery_play, *rules]
        for rule in rules:
            action = rule(at)
            if action is not None:
                return action
        return min(self._legal(at))

    def eyesight(self, at: Position) -> list[Mask]:
        """What the seat itself knows of its own cards."""
        mine = self.masks[self.seat]
        gone = Counter(dict(enumerate(at.seen)))
        for player, hand in enumerate(at.hands):
            if player != self.seat:
                gone.update(card for card in hand if card is not None)
        gone.update(card for mask in mine if len(mask) == 1 for card in mask)
        left = frozenset(c for c in at.all if gone[c] < at.copies(c))
        return [m if len(m) == 1 else (m & left or left or m) for m in mine]

    def best_hint(self, at: Position, player: int) -> tuple[int, int]:
        """The fitness and action id of the best hint to ``player``; fitness -1 if there is none."""
        best = (-1, -1)
        ranks, avoid = at.config.ranks, None
        hand = [card for card in at.hands[player] if card is not None]
        masks = self.masks[player]
        if player == at.next(self.seat):
            due = self.next_discard(at, player)
            if due is not None and self.could_be_valuable(at, masks[due], hand[due] % ranks):
                avoid = hand[due] % ranks
        for kind, value in self._hints(at):
            hinted = at.color(value) if kind == "color" else at.rank(value)
            touched = [card in hinted for card in hand]
            if not any(touched) or (kind == "rank" and value == avoid):
                continue
            told = [
                after_hint(mask, at.all, hinted, hit)
                for mask, hit in zip(masks, touched, strict=True)
            ]
            reveals, verdict = False, None
            for slot in reversed(range(len(hand))):
                if status(masks[slot], at.play) != "maybe":
                    continue
                now = status(told[slot], at.play)
                reveals |= now == "yes"
                if now == "maybe" and touched[slot] and verdict is None:
                    verdict = hand[slot] in at.play
            fitness = sum(len(m) for m in masks) - sum(len(m) for m in told)
            if (reveals or verdict) and fitness > best[0]:
                best = (fitness, self._hint_action(at, player, kind, value))
        return best

    def _warn(self, at: Position) -> int | None:
        player = at.next(self.seat)
        due = self.next_discard(at, player)
        if at.tokens == 0 or due is None:
            return None
        card = at.hands[player][due]
        if card is None or card not in at.valuable:
            return None
        fitness, action = self.best_hint(at, player)
        if fitness > 0:
            return action
        return self._hint_action(at, player, "rank", card % at.config.ranks)

    def _finesse(self, at: Position) -> int | None:
        if at.tokens == at.config.information_tokens:
            return None
        for slot, mask in enumerate(self.masks[self.seat]):
            if len(mask) == 1 and mask <= at.play - at.valuable:
                others = [p for p in range(at.config.players) if p != self.seat]
                if sum(at.newest(p) in mask for p in others) == 1:
                    return slot
        return None

    def _play(self, at: Position) -> int | None:
        best, best_fitness = None, 0
        for slot, (mask, own) in enumerate(
            zip(self.masks[self.seat], self.eyesight(at), strict=True)
        ):
            if not mask & at.play or not own <= at.play:
                continue
            ranks = {card % at.config.ranks for card in own}
            fitness = 6 - (min(ranks) + 1) if len(ranks) == 1 else 7
            if not mask <= at.play:
                fitness += 100
            if fitness > best_fitness:
                best, best_fitness = at.config.hand_size + slot, fitness
        return best

    def _hint(self, at: Position) -> int | None:
        if at.tokens == 0:
            return None
        players = at.config.players
        hints = [self.best_hint(at, (self.seat + i) % players) for i in range(1, players)]
        fitness, action = max(hints, key=lambda hint: hint[0])  # the first of equal ones
        return action if fitness > 0 else None

    def _mystery_play(self, at: Position) -> int | None:
        if at.deck > (3 if at.lives >= 3 else 1):
            return None
        best, best_fraction = None, Fraction(0)
        for slot, own in reversed(list(enumerate(self.eyesight(at)))):
            chance = fraction(own, at.play)
            if best_fraction < chance < 1:
                best, best_fraction = at.config.hand_size + slot, chance
        return best

    def _stall(self, at: Position) -> int | None:
        right = (self.seat - 1) % at.config.players
        if at.tokens < at.config.information_tokens or at.tokens == 0 or not at.hands[right]:
            return None
        card = at.hands[right][0]
        assert card is not None
        return self._hint_action(at, right, "rank", card % at.config.ranks)

    def _discard_worthless(self, at: Position) -> int | None:
        if at.tokens == at.config.information_tokens:
            return None
        best, best_fitness = None, Fraction(0)
        for slot, (mask, own) in enumerate(
            zip(self.masks[self.seat], self.eyesight(at), strict=True)
        ):
            if mask & at.worthless and (mask <= at.worthless or own <= at.worthless):
                fitness = 2 - fraction(mask, at.worthless)
                if fitness > best_fitness:
                    best, best_fitness = slot, fitness
        return best

    def _discard_old(self, at: Position) -> int | None:
        if at.tokens == at.config.information_tokens:
            return None
        return self.next_discard(at, self.seat)

    def _discard_largest(self, at: Position) -> int | None:
        if at.tokens == at.config.information_tokens:
            return None
        best, best_rank = None, -2
        for slot, mask in enumerate(self.masks[self.seat]):
            ranks = {card % at.config.ranks for card in mask}
            rank = ranks.pop() if len(ranks) == 1 else -1
            if rank > best_rank:
                best, best_rank = slot, rank
        return best

    # --------------------------------------------------------------------------------- actions

    def _hints(self, at: Position) -> Iterable[tuple[Literal["color", "rank"], int]]:
        for k in range(at.config.colors):
            yield "color", k
        for r in range(at.config.ranks):
            yield "rank", r

    def _hint_action(
        self, at: Position, player: int, kind: Literal["color", "rank"], value: int
    ) -> int:
        game = at.config
        offset = (player - self.seat) % game.players - 1
        if kind == "color":
            return 2 * game.hand_size + offset * game.colors + value
        return 2 * game.hand_size + (game.players - 1) * game.colors + offset * game.ranks + value

    def _legal(self, at: Position) -> Sequence[int]:
        cards = range(len(at.hands[self.seat]))
        actions = [at.config.hand_size + slot for slot in cards]
        if at.tokens < at.config.information_tokens:
            actions += cards
        for player, hand in enumerate(at.hands):
            for kind, value in self._hints(at):
                hinted = at.color(value) if kind == "color" else at.rank(value)
                if player != self.seat and at.tokens > 0 and hinted.intersection(hand):
                    actions.append(self._hint_action(at, player, kind, value))
        return actions
