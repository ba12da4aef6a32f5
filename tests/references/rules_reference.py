"""The rules of the rule-based agents once more, in plain Python: slow, and to be compared with.

A table plays along with the engine, from the deck and the actions alone. Cards lie where the
programs that the rules come from would have them: in fixed positions, a new card where one has just
left, or by age for strict agents. The history is kept, and walked where a convention asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hanabi_search_plugin.hanabi.bots import rulebook
from hanabi_search_plugin.hanabi.bots.rulebook import Convention, Rule
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig

Proposal = int | str | tuple[int, int] | None  # an action, a random one, a coin, or nothing


class Card(NamedTuple):
    color: int
    rank: int


@dataclass(eq=False)
class Held:
    """A card in a hand and what hints say of it."""

    card: Card
    drawn: int  # when
    colors: set[int]
    ranks: set[int]

    @property
    def color(self) -> int | None:
        return next(iter(self.colors)) if len(self.colors) == 1 else None

    @property
    def rank(self) -> int | None:
        return next(iter(self.ranks)) if len(self.ranks) == 1 else None

    def allows(self, card: Card) -> bool:
        return card.color in self.colors and card.rank in self.ranks


@dataclass(frozen=True)
class Hint:
    giver: int
    target: int
    by_rank: bool
    value: int
    touched: tuple[Held, ...]


@dataclass(frozen=True)
class Left:
    """A card left a hand."""

    player: int
    held: Held
    played: bool
    scored: bool


@dataclass
class Table:
    config: HanabiConfig
    deck: list[Card]  # the next card last
    by_age: bool
    hands: list[list[Held | None]] = field(default_factory=list)
    turn: int = 0
    history: list[Hint | Left] = field(default_factory=list)
    discards: Counter[Card] = field(default_factory=Counter)  # misplayed ones, too
    draws: int = 0
    piles: list[int] = field(default_factory=list)
    moves_without_deck: int = 0
    tokens: int = 0
    lives: int = 0
    pools: dict[tuple[int, ...], Counter[Card]] = field(default_factory=dict)  # until the next move
    reaches: dict[int, int] = field(default_factory=dict)  # by colour, until the next move

    @classmethod
    def deal(cls, config: HanabiConfig, deck: list[int], by_age: bool) -> Table:
        table = cls(config, [Card(*divmod(c, config.ranks)) for c in reversed(deck)], by_age)
        table.piles = [0] * config.colors
        table.tokens, table.lives = config.information_tokens, config.life_tokens
        for _ in range(config.players):
            table.hands.append([table.draw() for _ in range(config.hand_size)])
        return table

    def draw(self) -> Held | None:
        if not self.deck:
            return None
        self.draws += 1
        colors, ranks = range(self.config.colors), range(self.config.ranks)
        return Held(self.deck.pop(), self.draws, set(colors), set(ranks))

    def cards(self, player: int) -> list[Held]:
        """The filled positions, in order."""
        return [held for held in self.hands[player] if held is not None]

    def slot(self, player: int, held: Held) -> int:
        """Where the engine has it: the oldest card first."""
        return sorted(other.drawn for other in self.cards(player)).index(held.drawn)

    # ----------------------------------------------------------------------------------- moves

    def apply(self, action: int) -> None:
        game, h = self.config, self.config.hand_size
        me = self.turn
        self.pools.clear()
        self.reaches.clear()
        self.moves_without_deck += not self.deck
        self.turn = (me + 1) % game.players
        if action < 2 * h:
            held = sorted(self.cards(me), key=lambda card: card.drawn)[action % h]
            scored = action >= h and self.playable(held.card)
            self.history.append(Left(me, held, action >= h, scored))
            if scored:
                self.piles[held.card.color] += 1
                if self.piles[held.card.color] == game.ranks:
                    self.tokens = min(self.tokens + 1, game.information_tokens)
            else:
                self.discards[held.card] += 1
                if action >= h:
                    self.lives -= 1
                else:
                    self.tokens += 1
            at = self.hands[me].index(held)
            if self.by_age:
                del self.hands[me][at]
                self.hands[me].append(self.draw())
            else:
                self.hands[me][at] = self.draw()
            return
        hint = action - 2 * h
        by_rank = hint >= (game.players - 1) * game.colors
        if by_rank:
            hint -= (game.players - 1) * game.colors
        offset, value = divmod(hint, game.ranks if by_rank else game.colors)
        target = (me + 1 + offset) % game.players
        touched = []
        for held in self.cards(target):
            known = held.ranks if by_rank else held.colors
            if (held.card.rank if by_rank else held.card.color) == value:
                touched.append(held)
                known.intersection_update({value})
            else:
                known.discard(value)
        self.tokens -= 1
        self.history.append(Hint(me, target, by_rank, value, tuple(touched)))

    def hint(self, target: int, by_rank: bool, value: int) -> int:
        """The action id of a hint by the player to move."""
        game = self.config
        offset = (target - self.turn) % game.players - 1
        if by_rank:
            ranks = 2 * game.hand_size + (game.players - 1) * game.colors
            return ranks + offset * game.ranks + value
        return 2 * game.hand_size + offset * game.colors + value

    # ----------------------------------------------------------------------------------- cards

    def playable(self, card: Card) -> bool:
        return card.rank == self.piles[card.color]

    def played(self, card: Card) -> bool:
        return card.rank < self.piles[card.color]

    def finished(self, color: int) -> bool:
        return self.piles[color] == self.config.ranks

    def gone(self, card: Card) -> bool:
        return self.discards[card] == self.config.copies[card.rank]

    def reachable(self, color: int) -> int:
        """How many cards of the colour can still come to lie there."""
        if color not in self.reaches:
            ranks = range(self.piles[color], self.config.ranks)
            gone = (rank for rank in ranks if self.gone(Card(color, rank)))
            self.reaches[color] = next(gone, self.config.ranks)
        return self.reaches[color]

    def useless(self, card: Card) -> bool:
        return self.played(card) or card.rank >= self.reachable(card.color)

    def last(self, card: Card) -> bool:
        return self.discards[card] == self.config.copies[card.rank] - 1

    def necessary(self, card: Card) -> bool:
        return not self.useless(card) and self.last(card)

    def known_useless(self, held: Held) -> bool:
        color, rank = held.color, held.rank
        if color is not None and self.finished(color):
            return True
        if rank is not None and rank < min(self.piles):
            return True
        return color is not None and rank is not None and self.useless(Card(color, rank))

    def known_playable(self, held: Held) -> bool:
        color, rank = held.color, held.rank
        return color is not None and rank is not None and self.playable(Card(color, rank))

    # ------------------------------------------------------------------------------- the views

    def pool(self, *players: int) -> Counter[Card]:
        """What lies in the deck and in these players' hands."""
        if players not in self.pools:
            hands = (held.card for player in players for held in self.cards(player))
            self.pools[players] = Counter([*self.deck, *hands])
        return self.pools[players]

    def possible(
        self, player: int, convention: Convention, eyes: int | None = None
    ) -> dict[Held, Counter[Card]]:
        """What each of a player's cards may be, in the player's own eyes.

        In another player's: what that one cannot see either, or sees in that hand alone.
        """
        pool = self.pool(player) if eyes in (None, player) else self.pool(eyes, player)
        cards = {
            held: Counter({c: n for c, n in pool.items() if held.allows(c)})
            for held in self.cards(player)
        }
        if convention == "any-giver":
            piles = list(self.piles)
            tables: dict[Held, list[list[int]]] = {held: [] for held in cards}
            for event in reversed(self.history):
                if isinstance(event, Left):
                    piles[event.held.card.color] -= event.scored
                elif event.target == player and len(event.touched) == 1:
                    (held,) = event.touched
                    if held in cards and piles not in tables[held] and len(tables[held]) < 4:
                        tables[held].append(list(piles))
                        self._narrow(cards, held, piles)
        if convention == "previous-player":
            for event in reversed(self.history):
                if isinstance(event, Left):
                    if event.played:
                        break
                elif event.target == player and len(event.touched) == 1:
                    (held,) = event.touched
                    before = (player - 1) % self.config.players
                    if held in cards and event.giver == before:
                        self._narrow(cards, held, self.piles)
        return cards

    @staticmethod
    def _narrow(cards: dict[Held, Counter[Card]], held: Held, piles: list[int]) -> None:
        fits = Counter({c: n for c, n in cards[held].items() if piles[c.color] == c.rank})
        if fits:
            cards[held] = fits

    def misleading(self, target: int, by_rank: bool, value: int, convention: Convention) -> bool:
        """Is the hint banned?"""
        touched = [
            held
            for held in self.cards(target)
            if (held.card.rank if by_rank else held.card.color) == value
        ]
        if len(touched) != 1 or convention == "off":
            return False
        if convention == "previous-player":
            return target == (self.turn + 1) % self.config.players
        (held,) = touched
        return not self.playable(held.card) and any(
            held.allows(c) and self.playable(c) and (c.rank if by_rank else c.color) == value
            for c in self.pool(self.turn, target)
        )


def chance(cards: Counter[Card], predicate: Callable[[Card], bool]) -> float | None:
    total = cards.total()
    if total == 0:
        return None
    return sum(n for card, n in cards.items() if predicate(card)) / total


class Reader:
    """What rules propose to the player to move at a table."""

    def __init__(self, table: Table, convention: Convention) -> None:
        self.table = table
        self.convention = convention
        self.strict = table.by_age
        self.me = table.turn
        self.mine = table.cards(self.me)
        self._possible = {kind: table.possible(self.me, kind) for kind in ("off", convention)}

    def propose(self, rule: Rule) -> Proposal:
        if not self._applies(rule):
            return None
        return getattr(self, f"_{type(rule).__name__}")(rule)

    def first(self, rules: tuple[Rule, ...]) -> Proposal:
        proposals = (self.propose(rule) for rule in rules)
        return next((found for found in proposals if found is not None), None)

    def _applies(self, rule: Rule) -> bool:
        table = self.table
        full = table.tokens == table.config.information_tokens
        name = type(rule).__name__
        if "Discard" in name and not name.startswith(("Tell", "Complete")) and full:
            return False
        if name.startswith(("Tell", "Complete")) and table.tokens == 0:
            return False
        deck = len(table.deck) + (0 if self.strict else len(self.mine))
        return (
            table.lives > rule.if_lives_above
            and (rule.if_lives_at_most is None or table.lives <= rule.if_lives_at_most)
            and (rule.if_hints_below is None or table.tokens < rule.if_hints_below)
            and (rule.if_deck_at_most is None or deck <= rule.if_deck_at_most)
            and (not rule.if_hints_full or full)
            and (not rule.if_two_players or table.config.players == 2)
        )

    # ------------------------------------------------------------------------------ own cards

    def _discard(self, held: Held | None) -> int | None:
        return None if held is None else self.table.slot(self.me, held)

    def _play(self, held: Held | None) -> int | None:
        slot = self._discard(held)
        return None if slot is None else self.table.config.hand_size + slot

    def _cards(self, rule: Rule) -> dict[Held, Counter[Card]]:
        return self._possible["off" if rule.literal else self.convention]

    def _likeliest(
        self, rule: Rule, threshold: float, predicate: Callable[[Card], bool]
    ) -> Held | None:
        best, chosen = threshold, None
        for held, cards in self._cards(rule).items():
            p = chance(cards, predicate)
            if p is not None and p >= best:
                best, chosen = p, held
        return chosen

    def _PlayIfCertain(self, rule: Rule) -> Proposal:
        return self._play(next(filter(self.table.known_playable, self.mine), None))

    def _PlaySafe(self, rule: Rule) -> Proposal:
        for held, cards in self._cards(rule).items():
            if chance(cards, self.table.playable) == 1:
                return self._play(held)
        return None

    def _PlayProbablySafe(self, rule: rulebook.PlayProbablySafe) -> Proposal:
        return self._play(self._likeliest(rule, rule.threshold, self.table.playable))

    def _DiscardProbablyUseless(self, rule: rulebook.DiscardProbablyUseless) -> Proposal:
        held = self._likeliest(rule, rule.threshold, self.table.useless)
        if held is None and rule.falls_back and not self.strict:
            held = self.mine[0]
        return self._discard(held)

    def _DiscardLeastLikelyNecessary(self, rule: Rule) -> Proposal:
        best, chosen = 1.0, None
        for held, cards in self._cards(rule).items():
            p = chance(cards, self.table.necessary)
            if p is not None and p <= best:
                best, chosen = p, held
        return self._discard(chosen)

    def _DiscardSafe(self, rule: Rule) -> Proposal:
        return self._discard(next(filter(self.table.known_useless, self.mine), None))

    def _DiscardUseless(self, rule: Rule) -> Proposal:
        for held, cards in self._cards(rule).items():
            if held.color is not None:
                reach = self.table.reachable(held.color)
                if held.rank is not None and held.rank >= reach:
                    return self._discard(held)
                if cards and min(card.rank for card in cards) >= reach:
                    return self._discard(held)
        return None

    def _OsawaDiscard(self, rule: Rule) -> Proposal:
        found = self._DiscardSafe(rule)
        return self._DiscardUseless(rule) if found is None else found

    def _DiscardOldest(self, rule: Rule) -> Proposal:
        return self._discard(min(self.mine, key=lambda held: held.drawn))

    def _no_info(self) -> list[Held]:
        return [held for held in self.mine if held.color is None and held.rank is None]

    def _DiscardUnidentified(self, rule: Rule) -> Proposal:
        return self._discard(next(iter(self._no_info()), None))

    def _DiscardOldestNoInfo(self, rule: Rule) -> Proposal:
        cards = self._no_info()
        if not cards:
            return None
        if self.strict:
            return self._discard(min(cards, key=lambda held: held.drawn))
        hand = self.table.hands[self.me]
        stamps = {held: self._stamp(held) for held in cards}
        chosen = cards[0]
        for held in cards[1:]:
            if stamps[held] <= hand.index(chosen):
                chosen = held
        return self._discard(chosen)

    def _stamp(self, held: Held) -> int:
        """The how-manieth card of this hand it is, from 0."""
        me = self.me
        drawn = [
            event.held.drawn
            for event in self.table.history
            if isinstance(event, Left) and event.player == me
        ]
        drawn += [card.drawn for card in self.mine]
        return sorted(drawn).index(held.drawn)

    def _DiscardHighest(self, rule: Rule) -> Proposal:
        known = [held for held in self.mine if held.rank is not None]
        return self._discard(max(known, key=lambda held: held.rank or 0, default=None))

    def _DiscardRandomly(self, rule: Rule) -> Proposal:
        return "discard any"

    def _TryToUnblock(self, rule: Rule) -> Proposal:
        table = self.table
        if table.tokens != 0 or table.config.information_tokens == 0:
            return None

        def last_rank(held: Held) -> bool:
            return table.known_playable(held) and held.rank == table.config.ranks - 1

        def can_unblock(player: int) -> bool:
            return any(table.known_useless(h) or last_rank(h) for h in table.cards(player))

        mine = self._DiscardSafe(rule)
        if mine is None:
            mine = self._play(next(filter(last_rank, self.mine), None))
        if mine is None:
            return None
        for player in self._others(by_id=False):
            cards = table.cards(player)
            if not any(table.known_useless(h) or table.known_playable(h) for h in cards):
                return mine
            if can_unblock(player):
                return None
        return None

    # ---------------------------------------------------------------------------------- hints

    def _others(self, by_id: bool) -> Iterator[int]:
        n = self.table.config.players
        order = range(n) if by_id and not self.strict else range(self.me + 1, self.me + n)
        return (player % n for player in order if player % n != self.me)

    def _allowed(self, rule: Rule, player: int, by_rank: bool, value: int) -> bool:
        """Not banned, as far as this rule minds bans."""
        name = type(rule).__name__
        minds = name not in ("TellPlayable", "TellForPlayableNewCard", "TellRandomly")
        if self.convention == "previous-player":
            minds = name in (
                "TellMostInformation",
                "TellMostNewInformation",
                "TellAnyoneAboutUseful",
                "TellPlayableOuter",
                "TellDispensable",
                "TellIllInformed",
            )
        elif name == "TellNotDiscardable":
            minds = self.strict
        if rule.literal or not minds:
            return True
        return not self.table.misleading(player, by_rank, value, self.convention)

    def _tell(self, rule: Rule, player: int, held: Held, by_rank: bool) -> int | None:
        value = held.card.rank if by_rank else held.card.color
        if not self._allowed(rule, player, by_rank, value):
            return None
        return self.table.hint(player, by_rank, value)

    def _tell_first(
        self,
        rule: Rule,
        predicate: Callable[[Card], bool],
        *,
        by_id: bool = False,
        half: bool = False,
        color_first: bool = False,
        next_only: bool = False,
    ) -> Proposal:
        for player in list(self._others(by_id))[: 1 if next_only else None]:
            for held in self.table.cards(player):
                unknown = (held.color is None) + (held.rank is None)
                if predicate(held.card) and unknown >= 1 and not (half and unknown == 2):
                    by_rank = held.rank is None
                    if color_first:
                        by_rank = held.color is not None
                    found = self._tell(rule, player, held, by_rank)
                    if found is not None:
                        return found
        return None

    def _TellAnyoneAboutUseful(self, rule: Rule) -> Proposal:
        return self._tell_first(rule, self.table.playable)

    def _TellPlayableOuter(self, rule: Rule) -> Proposal:
        return self._tell_first(rule, self.table.playable, next_only=True)

    def _TellUnknown(self, rule: Rule) -> Proposal:
        return self._tell_first(rule, lambda card: True, next_only=True, color_first=True)

    def _TellIllInformed(self, rule: Rule) -> Proposal:
        table = self.table
        full = table.tokens == table.config.information_tokens
        return self._tell_first(
            rule, lambda card: table.playable(card) or (not full and table.useless(card))
        )

    def _TellNotDiscardable(self, rule: Rule) -> Proposal:
        table = self.table
        return self._tell_first(
            rule, lambda card: not table.played(card) and table.last(card), by_id=True
        )

    def _CompleteTellUseful(self, rule: Rule) -> Proposal:
        return self._tell_first(rule, self.table.playable, half=True)

    def _CompleteTellDispensable(self, rule: Rule) -> Proposal:
        return self._tell_first(rule, self.table.played, half=True)

    def _CompleteTellUnplayable(self, rule: Rule) -> Proposal:
        piles = self.table.piles
        return self._tell_first(rule, lambda card: card.rank > piles[card.color], half=True)

    def _TellPlayable(self, rule: Rule) -> Proposal:
        player = next(self._others(by_id=False))
        for held in self.table.cards(player):
            if self.table.playable(held.card):
                color = self.table.hint(player, False, held.card.color)
                rank = self.table.hint(player, True, held.card.rank)
                if self.strict and held.color is not None:
                    if held.rank is not None:
                        continue
                    return rank
                return color if self.strict and held.rank is not None else (color, rank)
        return None

    def _TellAnyoneAboutUseless(self, rule: Rule) -> Proposal:
        for player in self._others(by_id=False):
            for held in self.table.cards(player):
                if self.table.useless(held.card):
                    found = None
                    if held.rank is None:
                        found = self._tell(rule, player, held, True)
                    elif held.color is None:
                        found = self._tell(rule, player, held, False)
                    if found is not None or not self.strict:
                        return found
        return None

    def _TellDispensable(self, rule: Rule) -> Proposal:
        table = self.table
        for player in self._others(by_id=True):
            for held in table.cards(player):
                color, rank = held.color, held.rank
                found = None
                if color is None and table.finished(held.card.color):
                    found = self._tell(rule, player, held, False)
                if found is None and rank is None and held.card.rank < min(table.piles):
                    found = self._tell(rule, player, held, True)
                if found is None and (color is None) != (rank is None) and table.played(held.card):
                    found = self._tell(rule, player, held, rank is None)
                if found is not None:
                    return found
        return None

    def _TellOldestUseful(self, rule: Rule) -> Proposal:
        for player in self._others(by_id=False):
            cards = [h for h in self.table.cards(player) if self.table.playable(h.card)]
            if self.strict:
                cards.sort(key=lambda held: held.drawn)
            else:
                cards = cards[-1:]
            for held in cards:
                if held.color is None or held.rank is None:
                    found = self._tell(rule, player, held, held.color is not None)
                    if found is not None:
                        return found
        return None

    def _TellAboutSingleUseful(self, rule: rulebook.TellAboutSingleUseful) -> Proposal:
        for player in list(self._others(by_id=False))[: 1 if rule.next_only else None]:
            cards = self.table.cards(player)
            for held in cards:
                if not self.table.playable(held.card):
                    continue
                ranks = [other.card.rank for other in cards].count(held.card.rank)
                colors = [other.card.color for other in cards].count(held.card.color)
                news_rank = held.rank is None or not self.strict
                news_color = held.color is None or not self.strict
                found = None
                if ranks == 1 and news_rank:
                    found = self._unless_told(rule, player, held, True)
                elif colors == 1 and news_color:
                    found = self._unless_told(rule, player, held, False)
                if found is not None:
                    return found
        return None

    def _unless_told(
        self, rule: rulebook.TellAboutSingleUseful, player: int, held: Held, by_rank: bool
    ) -> int | None:
        value = held.card.rank if by_rank else held.card.color
        if not rule.next_only:
            rounds = 3 * self.table.config.players
            for event in list(reversed(self.table.history))[:rounds]:
                if isinstance(event, Left):
                    if event.played or event.player == player:
                        break
                elif (event.target, event.by_rank, event.value) == (player, by_rank, value):
                    return None
        return self._tell(rule, player, held, by_rank)

    def _TellForPlayableNewCard(self, rule: Rule) -> Proposal:
        for player in self._others(by_id=False):
            cards = self.table.cards(player)
            newest = max(cards, key=lambda held: held.drawn, default=None)
            if newest is None or not self.table.playable(newest.card):
                continue
            if newest.color is not None and newest.rank is not None:
                continue
            for color in (0, 3):
                if any(held.card.color == color for held in cards):
                    return self.table.hint(player, False, color)
        return None

    def _most(self, rule: Rule, best: int, by_id: bool) -> Proposal:
        table = self.table
        chosen = None
        for player in self._others(by_id):
            for by_rank in (True, False):
                for value in range(table.config.ranks if by_rank else table.config.colors):
                    touched = [
                        held
                        for held in table.cards(player)
                        if (held.card.rank if by_rank else held.card.color) == value
                    ]
                    new = sum((h.rank if by_rank else h.color) is None for h in touched)
                    if new > best and self._allowed(rule, player, by_rank, value):
                        best = new
                        chosen = table.hint(player, by_rank, value) if touched else None
        return chosen

    def _TellMostInformation(self, rule: rulebook.TellMostInformation) -> Proposal:
        return self._most(rule, 0 if rule.at_least or self.strict else -1, False)

    def _TellMostNewInformation(self, rule: Rule) -> Proposal:
        return self._most(rule, 0, True)

    def _TellRandomly(self, rule: Rule) -> Proposal:
        return "tell any" if self.table.cards(next(self._others(by_id=False))) else None
