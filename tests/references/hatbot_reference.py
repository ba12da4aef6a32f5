"""The hat-guessing bots once more, in plain Python with sets: slow, and made to be compared with.

They follow the published description move by move: no bit tricks, a memory for each seat. Version
A is the bot of the SPARTA paper, B its descendant of 2023. A card identity is ``ranks * colour +
rank``; slot 0 is the oldest card of a hand.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle
from typing import Any, Literal

import numpy as np

from tests.references.smartbot_reference import Mask, Move, Position

Masks = Sequence[Mask]  # of a hand
Attribute = tuple[Literal["color", "rank"], int]


class Board:
    """What everybody sees of the table: which cards score, and how many copies are left."""

    def __init__(self, at: Position) -> None:
        self.at = at
        self.play = at.play
        self.dead = at.worthless
        self.left = {c: at.copies(c) - at.seen[c] for c in at.all}

    def weight(self, mask: Mask) -> int:
        return sum(self.left[c] for c in mask)

    def discarded(self, card: int) -> int:
        k, r = divmod(card, self.at.config.ranks)
        return self.at.seen[card] - (r < self.at.piles[k])

    @property
    def dispensable(self) -> Mask:
        one_left = {c for c in self.at.all if self.at.copies(c) - self.discarded(c) == 1}
        return self.dead | (self.at.all - one_left)

    def is_early(self) -> bool:
        game = self.at.config
        discards = sum(self.discarded(c) for c in self.at.all)
        cards = sum(self.at.copies(c) for c in self.at.all)
        return discards <= cards - len(self.at.all) - game.players * game.hand_size


# ------------------------------------------------------------------------------------- questions


class Question(ABC):
    """One question about a hand. An answer is a number below ``modulus``."""

    modulus: int

    @abstractmethod
    def answer(self, hand: Sequence[int]) -> int:
        """The true answer, at most ``modulus`` - 1 whatever the cards."""

    @abstractmethod
    def allowed(self, answer: int) -> dict[int, Mask]:
        """The identities that an answer leaves, by slot."""


class IsPlayable(Question):
    modulus = 2

    def __init__(self, slot: int, board: Board) -> None:
        self.slot = slot
        self.board = board

    def answer(self, hand: Sequence[int]) -> int:
        return int(hand[self.slot] in self.board.play)

    def allowed(self, answer: int) -> dict[int, Mask]:
        play = self.board.play
        return {self.slot: play if answer else self.board.at.all - play}


class Partition(Question):
    def __init__(self, slot: int, mask: Mask, most: int, board: Board) -> None:
        self.slot = slot
        self.board = board
        self.live = sorted(mask - board.dead)
        self.dead = mask & board.dead
        self.period = most - bool(self.dead)
        self.blocks = min(len(self.live), self.period)
        self.modulus = self.blocks + bool(self.dead)

    def answer(self, hand: Sequence[int]) -> int:
        card = hand[self.slot]
        index = sum(c < card for c in self.live) % self.period
        return min(self.blocks if card in self.board.dead else index, self.modulus - 1)

    def allowed(self, answer: int) -> dict[int, Mask]:
        if answer == self.blocks:
            return {self.slot: self.dead}
        return {self.slot: frozenset(self.live[answer :: self.period])}


class FirstOf(Question):
    """Which is the first (slot, set of identities) of a list that holds? 0: none."""

    def __init__(self, entries: list[tuple[int, Mask]], board: Board) -> None:
        self.entries = entries
        self.board = board
        self.modulus = len(entries) + 1

    def answer(self, hand: Sequence[int]) -> int:
        holds = [position for position, (i, goal) in enumerate(self.entries, 1) if hand[i] in goal]
        return holds[0] if holds else 0

    def allowed(self, answer: int) -> dict[int, Mask]:
        everything = self.board.at.all
        result: dict[int, Mask] = {}
        for position, (i, goal) in enumerate(self.entries, 1):
            if answer == 0 or position <= answer:
                ids = goal if position == answer else everything - goal
                result[i] = result.get(i, everything) & ids
        return result


def acknowledged(masks: Masks, question: Question, answer: int) -> list[Mask]:
    allowed = question.allowed(answer)
    return [mask & allowed.get(i, mask) for i, mask in enumerate(masks)]


def questions_a(masks: Masks, total: int, board: Board) -> Iterator[Question]:
    """All questions of a hand, Version A."""

    def p(slot: int) -> float:
        return board.weight(masks[slot] & board.play) / board.weight(masks[slot])

    eligible = [i for i, m in enumerate(masks) if len(m) > 1 and not m <= board.dead]
    eligible.sort(key=lambda i: (-p(i), i))
    left = total
    if not any(p(i) == 1 for i in range(len(masks))):
        for i in eligible:
            if p(i) >= 0.2:
                if left <= 1:
                    return
                yield IsPlayable(i, board)
                left //= 2
    for i in eligible:
        if left <= 1:
            return
        question = Partition(i, masks[i], left, board)
        yield question
        left //= question.modulus


def question_b(masks: Masks, left: int, board: Board) -> Question | None:
    """The next question to a hand, Version B; None: there is none. Emptied masks are not asked."""
    zero = np.float32(0)

    def chance(slot: int, goal: Mask) -> Any:
        whole = board.weight(masks[slot])
        return np.float32(board.weight(masks[slot] & goal)) / np.float32(whole) if whole else zero

    slots = range(len(masks))
    p = [chance(i, board.play) for i in slots]
    d = [chance(i, board.dead) for i in slots]
    eligible = [i for i in slots if d[i] != 1 and len(masks[i]) > 1]
    if not any(p[i] == 1 for i in slots):
        listed = [(0, p[i], i) for i in eligible if p[i] > 0]
        if not any(d[i] == 1 for i in slots):
            listed += [(1, d[i], i) for i in eligible if d[i] > 0]
        if len(listed) > left - 1:
            listed.sort(key=lambda entry: (entry[0], -entry[1]))
            listed = listed[: left - 1]
        listed.sort(key=lambda entry: (entry[0], entry[1]))
        if listed:
            return FirstOf([(i, (board.play, board.dead)[kind]) for kind, _, i in listed], board)
    middle, reach = np.float32(0.7), np.float32(0.2)
    near = [i for i in eligible if abs(p[i] - middle) < reach]
    if near:
        return IsPlayable(min(near, key=lambda i: abs(p[i] - middle)), board)
    if eligible:
        slot = min(eligible, key=lambda i: d[i])
        return Partition(slot, masks[slot], left, board)
    return None


# --------------------------------------------------------------------------------- hint strategies


@dataclass(frozen=True)
class Strategy:
    """How the hints to one player are counted: N types, by attribute or by an index slot."""

    n: int
    index: int = 0
    types: dict[Attribute, int] | None = None  # of a packing

    def type_of(self, attribute: Attribute, touched: frozenset[int]) -> int:
        if self.types is not None:
            return self.types[attribute]
        by_rank = attribute[0] == "rank"
        if self.index in touched:
            return 0 if by_rank else 1
        return 2 if self.n == 3 or by_rank else 3


def attributes(card: int, at: Position) -> tuple[Attribute, Attribute]:
    color, rank = divmod(card, at.config.ranks)
    return ("color", color), ("rank", rank)


def ids_of(attribute: Attribute, at: Position) -> Mask:
    return at.color(attribute[1]) if attribute[0] == "color" else at.rank(attribute[1])


def colors_of(mask: Mask, at: Position) -> list[int]:
    return [c // at.config.ranks for c in mask]


def ranks_of(mask: Mask, at: Position) -> list[int]:
    return [c % at.config.ranks for c in mask]


def largest_set(masks: Masks, values: Callable[[Mask], list[int]]) -> set[int]:
    best = {0}
    for code in range(3, 2 ** len(masks)):
        slots = {i for i in range(len(masks)) if code >> i & 1}
        if len(slots) > len(best):
            seen = [value for i in slots for value in values(masks[i])]
            if len(seen) == len(set(seen)):
                best = slots
    return best


def packing(masks: Masks, at: Position) -> Strategy:
    by_color = largest_set(masks, lambda mask: colors_of(mask, at))
    by_rank = largest_set(masks, lambda mask: ranks_of(mask, at))
    types: dict[Attribute, int] = {}
    numbers = count()
    for i, mask in enumerate(masks):
        if i in by_color:
            n = next(numbers)
            types.update({("color", k): n for k in colors_of(mask, at)})
        if i in by_rank:
            n = next(numbers)
            types.update({("rank", r): n for r in ranks_of(mask, at)})
    n = next(numbers)
    fill = cycle(range(n))
    everything: list[Attribute] = [("color", k) for k in range(at.config.colors)]
    everything += [("rank", r) for r in range(at.config.ranks)]
    for attribute in everything:
        if attribute not in types:
            types[attribute] = next(fill)
    return Strategy(n, types=types)


# ------------------------------------------------------------------------------------------- bots


class ReferenceHatBot:
    """One seat, Version A. ``masks[p][i]``: what it takes everybody to know of slot i of player p.

    ``told[p][i]``: what plain hints say of it, for masks that wrong answers would empty.
    """

    real: Callable[[float], Any] = float

    def __init__(self, start: Position) -> None:
        self.seat = start.seat
        self.masks: list[list[Mask]] = [[start.all] * len(hand) for hand in start.hands]
        self.told: list[list[Mask]] = [[start.all] * len(hand) for hand in start.hands]

    # --------------------------------------------------------------------------- hand values

    def hand_value(self, masks: Masks, hand: Sequence[int], total: int, board: Board) -> int:
        value = 0
        for question in questions_a(masks, total, board):
            value = value * question.modulus + question.answer(hand)
        return value

    def decoded(self, masks: Masks, value: int, total: int, board: Board) -> list[Mask]:
        """The masks after the answers in a hand value."""
        questions = list(questions_a(masks, total, board))
        product = max(math.prod(q.modulus for q in questions), value + 1)
        result = list(masks)
        for question in questions:
            product //= question.modulus
            answer, value = divmod(value, product)
            result = acknowledged(result, question, min(answer, question.modulus - 1))
        return result

    def value_of(self, at: Position, player: int, total: int, board: Board) -> int:
        hand = [card for card in at.hands[player] if card is not None]
        assert len(hand) == len(at.hands[player]), "not one's own"
        return self.hand_value(self.masks[player], hand, total, board)

    def sum_of(self, at: Position, giver: int, total: int, board: Board) -> int:
        others = [p for p in range(at.config.players) if p != giver]
        return sum(self.value_of(at, p, total, board) for p in others) % total

    def learn(self, at: Position, giver: int, total: int, announced: int, board: Board) -> None:
        others = [p for p in range(at.config.players) if p != giver]
        seen = {p: self.value_of(at, p, total, board) for p in others if p != self.seat}
        everybody = sum(seen.values())
        for p in others:
            if p == self.seat:
                value = (announced - everybody) % total
            elif self.seat == giver:  # knows what p will make of it
                value = (announced - (everybody - seen[p])) % total
            else:
                value = seen[p]
            self.masks[p] = self.decoded(self.masks[p], value, total, board)

    # ------------------------------------------------------------------------------- hints

    def index_score(self, mask: Mask, at: Position) -> int:
        return len(set(colors_of(mask, at))) + len(set(ranks_of(mask, at)))

    def card_index(self, masks: Masks, at: Position, board: Board) -> Strategy:
        def everywhere(values: Callable[[Mask, Position], list[int]]) -> set[int]:
            return set.intersection(*(set(values(mask, at)) for mask in masks))

        def score(i: int) -> int:
            if masks[i] <= board.dead or len(masks[i]) == 1:
                return 0
            return self.index_score(masks[i], at)

        n = 3 if everywhere(colors_of) or everywhere(ranks_of) else 4
        return Strategy(n, max(range(len(masks)), key=score))

    def strategy(self, masks: Masks, at: Position, board: Board) -> Strategy:
        if not masks:
            return Strategy(0)
        found = packing(masks, at)
        return found if found.n > 4 else self.card_index(masks, at, board)

    def strategies(self, at: Position, giver: int, board: Board) -> list[tuple[int, Strategy]]:
        n = at.config.players
        order = [(giver + offset) % n for offset in range(1, n)]
        return [(p, self.strategy(self.masks[p], at, board)) for p in order]

    def masks_for_goodness(self, at: Position, player: int, board: Board) -> list[Mask]:
        total = 3 * (at.config.players - 1)
        value = self.value_of(at, player, total, board)
        return self.decoded(self.masks[player], value, total, board)

    def goodness(self, masks: Masks, at: Position, player: int, hint: Attribute) -> Any:
        board = Board(at)
        good = self.real(1)
        for mask, card in zip(masks, at.hands[player], strict=True):
            if mask <= board.dead or len(mask) == 1:
                continue
            ids = ids_of(hint, at)
            after = mask & ids if card in ids else mask - ids
            if after:
                bonus = 2 if len(after) == 1 or after <= board.dead else 1
                good *= self.real(bonus * board.weight(mask)) / self.real(board.weight(after))
        return good

    def give_hint(self, at: Position, board: Board) -> int:
        listed = self.strategies(at, at.to_move, board)
        number = self.sum_of(at, at.to_move, sum(s.n for _, s in listed), board)
        while number >= listed[0][1].n:
            number -= listed.pop(0)[1].n
        player, strategy = listed[0]
        hand = [card for card in at.hands[player] if card is not None]
        walk = [attribute for card in hand for attribute in attributes(card, at)]

        def touched(hint: Attribute) -> frozenset[int]:
            return frozenset(i for i, card in enumerate(hand) if card in ids_of(hint, at))

        fits = [hint for hint in walk if strategy.type_of(hint, touched(hint)) == number]
        options = list(dict.fromkeys(fits or walk))
        masks = self.masks_for_goodness(at, player, board)
        best = max(options, key=lambda hint: self.goodness(masks, at, player, hint))
        game = at.config
        offset = (player - at.to_move) % game.players - 1
        if best[0] == "color":
            return 2 * game.hand_size + offset * game.colors + best[1]
        first = 2 * game.hand_size + (game.players - 1) * game.colors
        return first + offset * game.ranks + best[1]

    # ------------------------------------------------------------------------------ decisions

    def useless(self, masks: Masks, board: Board) -> list[int]:
        def twice(i: int) -> bool:
            mask = masks[i]
            return len(mask) == 1 and sum(mask == other for other in masks) > 1

        return [i for i, m in enumerate(masks) if m <= board.dead or twice(i)]

    def rule_one(self, at: Position, mine: Masks, w: dict[int, int], board: Board) -> int | None:
        others = [hand for p, hand in enumerate(at.hands) if p != at.to_move]

        def score(i: int) -> Any:
            total = self.real(0)
            for c in sorted(mine[i]):
                holders = 1 + sum(c in hand for hand in others) if at.deck else 1
                value = self.real(9 - c % at.config.ranks) / self.real(holders)
                total = total + self.real(w[c]) * value
            return total / self.real(sum(w[c] for c in mine[i]))

        certain = [i for i, mask in enumerate(mine) if mask <= board.play]
        return max(certain, key=score) if certain else None

    def rule_two(self, mine: Masks, w: dict[int, int], board: Board) -> int | None:
        def p(i: int) -> float:
            return sum(w[c] for c in mine[i] & board.play) / sum(w[c] for c in mine[i])

        slots = [i for i, m in enumerate(mine) if m <= board.play | board.dead and p(i) > 0.75]
        return max(slots, key=p) if slots else None

    def rule_seven(self, at: Position, mine: Masks, w: dict[int, int], board: Board) -> int:
        seen = {c for p, hand in enumerate(at.hands) if p != at.to_move for c in hand}
        real = self.real

        def score(i: int) -> Any:
            whole = real(sum(w[c] for c in mine[i]))
            held = real(sum(w[c] for c in mine[i] if c in seen)) / whole
            spare = real(sum(w[c] for c in mine[i] & board.dispensable)) / whole
            values = real(sum(w[c] * (c % at.config.ranks + 1) for c in mine[i])) / whole
            return real(20) * held + real(10) * spare + values

        return max(range(len(mine)), key=score)

    def prefers_hint(
        self, at: Position, useless: list[int], others: list[int], board: Board
    ) -> bool:
        """Between a hint and a discard that are both legal."""
        public = self.useless(self.masks[at.to_move], board)
        if board.is_early() and (useless or len(public) > 1):
            return False
        return any(card in board.play for p in others for card in at.hands[p])

    def give_discard(self, at: Position, useless: list[int], board: Board) -> int | None:
        """A coded or certain discard; None: there is none."""
        public = self.useless(self.masks[at.to_move], board)
        if len(public) > 1:
            return public[self.sum_of(at, at.to_move, len(public), board)]
        return useless[0] if useless else None

    def decide(self, at: Position) -> int:
        me, game, board = at.to_move, at.config, Board(at)
        others = [p for p in range(game.players) if p != me]
        visible = [card for p in others for card in at.hands[p]]
        w = {c: max(board.left[c] - visible.count(c), 0) for c in at.all}
        unseen = frozenset(c for c in at.all if w[c])
        pairs = zip(self.masks[me], self.told[me], strict=True)
        mine = [(mask & unseen) or (told & unseen) for mask, told in pairs]
        slot = self.rule_one(at, mine, w, board)
        if slot is None and board.is_early() and at.lives > 1:
            slot = self.rule_two(mine, w, board)
        if slot is not None:
            return game.hand_size + slot
        useless = self.useless(mine, board)
        can_hint = at.tokens > 0 and bool(visible)
        can_discard = at.tokens < game.information_tokens and bool(mine)
        if not can_hint and not can_discard:
            return game.hand_size  # no rule: the lowest legal action, to play the oldest card
        if can_hint and (not can_discard or self.prefers_hint(at, useless, others, board)):
            return self.give_hint(at, board)
        slot = self.give_discard(at, useless, board)
        return self.rule_seven(at, mine, w, board) if slot is None else slot

    # ---------------------------------------------------------------------------- observations

    def hear_discard(self, before: Position, move: Move, board: Board) -> None:
        useless = self.useless(self.masks[before.to_move], board)
        if len(useless) > 1:
            announced = useless.index(move.slot) if move.slot in useless else 0
            self.learn(before, before.to_move, len(useless), announced, board)

    def hear_hint(self, before: Position, move: Move, board: Board) -> None:
        listed = self.strategies(before, before.to_move, board)
        hint: Attribute = ("color" if move.kind == "color" else "rank", move.value)
        announced = 0
        for player, strategy in listed:
            if player == move.target:
                announced += strategy.type_of(hint, move.touched)
                break
            announced += strategy.n
        self.learn(before, before.to_move, sum(s.n for _, s in listed), announced, board)
        ids = ids_of(hint, before)
        for known in (self.masks[move.target], self.told[move.target]):
            for i, mask in enumerate(known):
                known[i] = mask & ids if i in move.touched else mask - ids

    def observe(self, before: Position, move: Move, after: Position) -> None:
        actor, board = before.to_move, Board(before)
        if move.kind == "discard":
            self.hear_discard(before, move, board)
        if move.kind in ("color", "rank"):
            self.hear_hint(before, move, board)
        else:
            for known in (self.masks[actor], self.told[actor]):
                del known[move.slot]
                known += [after.all] * (len(after.hands[actor]) - len(known))
        left = frozenset(c for c in after.all if after.seen[c] < after.copies(c))
        for masks, told in zip(self.masks, self.told, strict=True):
            masks[:] = [(m & left) or (t & left) for m, t in zip(masks, told, strict=True)]


class ReferenceHatBotB(ReferenceHatBot):
    """One seat, Version B."""

    real = staticmethod(np.float32)

    def hand_value(self, masks: Masks, hand: Sequence[int], total: int, board: Board) -> int:
        value, scale = 0, 1
        while True:
            left = (total - value - 1) // scale + 1
            question = question_b(masks, left, board) if left > 1 else None
            if question is None:
                return value
            answer = question.answer(hand)
            masks = acknowledged(masks, question, answer)
            value += scale * answer
            scale = min(total, scale * question.modulus)

    def decoded(self, masks: Masks, value: int, total: int, board: Board) -> list[Mask]:
        size = total
        while True:
            question = question_b(masks, size, board) if size > 1 else None
            if question is None:
                return list(masks)
            value, answer = divmod(value, question.modulus)
            masks = acknowledged(masks, question, answer)
            size = (size - answer - 1) // question.modulus + 1

    def index_score(self, mask: Mask, at: Position) -> int:
        colors, ranks = set(colors_of(mask, at)), set(ranks_of(mask, at))
        return 1 + (len(colors) > 1) + (len(ranks) > 1)

    def strategy(self, masks: Masks, at: Position, board: Board) -> Strategy:
        return self.card_index(masks, at, board) if masks else Strategy(0)

    def masks_for_goodness(self, at: Position, player: int, board: Board) -> list[Mask]:
        return self.masks[player]

    def knows(self, player: int, board: Board) -> bool:
        return any(mask <= board.play for mask in self.masks[player])

    def nobody_needs(self, giver: int, board: Board) -> None:
        for p, masks in enumerate(self.masks):
            if p != giver and not self.knows(p, board):
                masks[:] = [mask - board.play for mask in masks]

    def prefers_hint(
        self, at: Position, useless: list[int], others: list[int], board: Board
    ) -> bool:
        holders = [p for p in others if any(card in board.play for card in at.hands[p])]
        if any(not self.knows(p, board) for p in holders):
            return True
        if board.is_early() and useless:
            return False
        return bool(holders) or at.tokens > 4

    def give_discard(self, at: Position, useless: list[int], board: Board) -> int | None:
        before = [list(masks) for masks in self.masks]
        if at.tokens > 0:
            self.nobody_needs(at.to_move, board)
        slot = super().give_discard(at, useless, board)
        self.masks = before
        return slot

    def hear_discard(self, before: Position, move: Move, board: Board) -> None:
        if before.tokens > 0:
            self.nobody_needs(before.to_move, board)
        super().hear_discard(before, move, board)
