"""Solve small two-player Hanabi: the best joint policy, not a bound (docs/results/other_games.md).

What both players know together ("common information": Nayyar, Mahajan and Teneketzis, 2013) is the
public part of the game and the set of pairs of hands that the moves so far allow; given those, all
orders of the other cards are equally likely. A joint policy chooses, for every such public state, a
move for each hand that the mover may see at the partner's side. What a move is worth depends only
on the hands it is chosen for, so the best choice is a best partition of them among the moves.

Only for some eight cards and hands of one: the public states grow beyond that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from hanabi_search_plugin import HanabiConfig

Hand = tuple[int, ...]  # cards, ranks * colour + rank, the oldest first
Pair = tuple[Hand, Hand]  # of player 0 and of player 1
Move = int  # as HanabiGame numbers them


@dataclass(frozen=True)
class Public:
    """What both players know together, at a decision or an end."""

    unseen: tuple[int, ...]  # copies of each card that were neither played nor discarded
    fireworks: tuple[int, ...]  # a colour
    hints: int
    lives: int
    mover: int
    last_moves: int  # moves left once the deck is empty
    pairs: frozenset[Pair]  # the hands that are possible

    @property
    def deck(self) -> int:
        pair = next(iter(self.pairs))
        return sum(self.unseen) - len(pair[0]) - len(pair[1])


class Optimum:
    """The best joint policy of a configuration: ``value``, and ``move`` for what a player sees."""

    def __init__(self, config: HanabiConfig) -> None:
        assert config.players == 2 and not config.random_start_player and config.bomb == "zero"
        self.config = config
        self._best: dict[Public, tuple[float, dict[Hand, Move]]] = {}
        size, unseen = config.hand_size, tuple(config.copies) * config.colors
        hands = [(pair[:size], pair[size:]) for pair in _draws(unseen, 2 * size)]
        self.start = Public(
            unseen, (0,) * config.colors, config.information_tokens, config.life_tokens, 0, 2,
            frozenset(hands),
        )  # fmt: skip

    @property
    def value(self) -> float:
        """The expected score."""
        return self._value(self.start)

    @property
    def public_states(self) -> int:
        """How many were solved."""
        return len(self._best)

    def move(self, public: Public, partner: Hand) -> Move:
        """The best move for the mover who sees ``partner``."""
        self._value(public)
        return self._best[public][1][partner]

    def after(self, public: Public, move: Move, seen: Hand) -> Public:
        """What is public after ``move``: ``seen`` is the card that it showed, or its touched slots.

        All hands of the partner for which the policy makes this move stay possible.
        """
        self._value(public)
        chosen = self._best[public][1]
        hands = frozenset(hand for hand, best in chosen.items() if best == move)
        return self._outcomes(public, move, hands)[seen][1]

    def _value(self, public: Public) -> float:
        if public.lives == 0:
            return 0.0
        if sum(public.fireworks) == self.config.max_score or public.last_moves == 0:
            return float(sum(public.fireworks))
        if public not in self._best:
            self._best[public] = self._solve(public)
        return self._best[public][0]

    def _solve(self, public: Public) -> tuple[float, dict[Hand, Move]]:
        """The best partition of the partner's hands among the moves, by dynamic programming."""
        hands = sorted({pair[1 - public.mover] for pair in public.pairs})
        best: dict[int, tuple[float, dict[Hand, Move]]] = {0: (0.0, {})}  # by the hands served
        for move in range(self.config.num_actions):
            able = sum(1 << k for k, hand in enumerate(hands) if self._legal(public, move, hand))
            now = dict(best)
            for part in _parts(able):
                chosen = [hand for k, hand in enumerate(hands) if part >> k & 1]
                outcomes = self._outcomes(public, move, frozenset(chosen)).values()
                worth = sum(mass * self._value(after) for mass, after in outcomes)
                for served, (value, policy) in best.items():
                    union = served | part
                    if served & part == 0 and (union not in now or value + worth > now[union][0]):
                        now[union] = (value + worth, policy | dict.fromkeys(chosen, move))
            best = now
        value, policy = best[(1 << len(hands)) - 1]
        return value / sum(_orders(pair, public.unseen) for pair in public.pairs), policy

    def _legal(self, public: Public, move: Move, partner: Hand) -> bool:
        own = len(next(iter(public.pairs))[public.mover])
        kind, detail = self._kind(move)
        if kind == "hint":
            return public.hints > 0 and any(self._touches(detail, card) for card in partner)
        return detail < own and (kind == "play" or public.hints < self.config.information_tokens)

    def _kind(self, move: Move) -> tuple[str, int]:
        size = self.config.hand_size
        if move >= 2 * size:
            return "hint", move - 2 * size  # colours first, then ranks
        return ("discard", "play")[move // size], move % size

    def _touches(self, hint: int, card: int) -> bool:
        color, rank = divmod(card, self.config.ranks)
        return hint in (color, self.config.colors + rank)

    def _outcomes(
        self, public: Public, move: Move, chosen: frozenset[Hand]
    ) -> dict[Hand, tuple[float, Public]]:
        """What ``move`` can show, how many orders of the cards show it, and what follows.

        ``chosen``: the partner's hands for which it is made.
        """
        kind, detail = self._kind(move)
        mass: Counter[Hand] = Counter()
        pairs: dict[Hand, set[Pair]] = {}
        for pair in public.pairs:
            own, partner = pair[public.mover], pair[1 - public.mover]
            if partner not in chosen:
                continue
            if kind == "hint":
                seen = tuple(k for k, card in enumerate(partner) if self._touches(detail, card))
                hands = [own]
            else:
                seen = (own[detail],)
                left = own[:detail] + own[detail + 1 :]
                drawn = _draws(_without(public.unseen, own + partner), min(1, public.deck))
                hands = [left + card for card in drawn]
            mass[seen] += _orders(pair, public.unseen)
            turned = [(hand, partner) if public.mover == 0 else (partner, hand) for hand in hands]
            pairs.setdefault(seen, set()).update(turned)
        return {
            seen: (mass[seen], self._moved(public, kind, seen, frozenset(pairs[seen])))
            for seen in pairs
        }

    def _moved(self, public: Public, kind: str, seen: Hand, pairs: frozenset[Pair]) -> Public:
        public = replace(
            public,
            pairs=pairs,
            mover=1 - public.mover,
            last_moves=public.last_moves - (public.deck == 0),
        )
        if kind == "hint":
            return replace(public, hints=public.hints - 1)
        color, rank = divmod(seen[0], self.config.ranks)
        fireworks, hints, lives = list(public.fireworks), public.hints, public.lives
        if kind == "discard":
            hints += 1
        elif fireworks[color] == rank:
            fireworks[color] += 1
            if rank == self.config.ranks - 1:
                hints = min(hints + 1, self.config.information_tokens)
        else:
            lives -= 1
        return replace(
            public, unseen=_without(public.unseen, seen), fireworks=tuple(fireworks), hints=hints,
            lives=lives,
        )  # fmt: skip


@cache
def _draws(unseen: tuple[int, ...], number: int) -> tuple[Hand, ...]:
    """All sequences of ``number`` cards."""
    if number == 0:
        return ((),)
    firsts = [card for card, copies in enumerate(unseen) if copies]
    return tuple(
        (card, *rest) for card in firsts for rest in _draws(_without(unseen, (card,)), number - 1)
    )


@cache
def _without(unseen: tuple[int, ...], cards: Hand) -> tuple[int, ...]:
    gone = Counter(cards)
    return tuple(copies - gone[card] for card, copies in enumerate(unseen))


def _orders(pair: Pair, unseen: tuple[int, ...]) -> int:
    """In how many ways the unseen copies make these two hands."""
    held = Counter(pair[0] + pair[1])
    return math.prod(math.perm(unseen[card], number) for card, number in held.items())


def _parts(of: int) -> Iterator[int]:
    """Every subset of a set of bits but the empty one."""
    part = of
    while part:
        yield part
        part = (part - 1) & of
