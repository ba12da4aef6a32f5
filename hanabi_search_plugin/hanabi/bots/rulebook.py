"""Rules of thumb for Hanabi, of which ``bots.rule_agents`` makes agents.

Each proposes a move, or none. The rules, the sets of them and the named agents are those of two
public programs, github.com/fossgalaxy/hanabi (v0.2.4) and the search built on it,
github.com/hopshackle/fireworks (2019), described in arXiv:1902.06075. They come in two readings. By
default they play as those programs do, flaws and all. With ``strict=True``:

=========================== ==================================== ===================================
what                        as coded                             strict
=========================== ==================================== ===================================
"first", "last", ties       by position: a card stays where it   by slot, oldest card first
                            was drawn, a new one comes where a
                            card has left
``if_deck_at_most``         deck and own hand: ``0`` never fires the deck
players are considered      ... from player 0 up                 ... in turn order
 TellDispensable,
 TellMostNewInformation,
 TellNotDiscardable
TellMostInformation         may repeat what is known, or propose at least one card learns something
                            an empty hint, that is nothing
TellAboutSingleUseful       may repeat what is known             something has to be unknown
TellPlayable                may repeat what is known             something has to be unknown; the
                                                                 coin only where both are
TellAnyoneAboutUseless      gives up at the first useless card   goes on
                            if it is fully known
TellOldestUseful            the last playable card of the first  the oldest playable card that is
                            player who has one, nothing there    not fully known of the first player
                            if it is fully known                 who has one
DiscardOldestNoInfo         the first card without a hint: ages  the oldest card without a hint
                            are compared with positions
DiscardProbablyUseless      with ``falls_back`` (rules 11, 13)   nothing below the threshold
                            the first card, whatever the
                            threshold
TellNotDiscardable          ignores bans                         obeys them
no rule proposes            nothing: the game goes on with the   DiscardOldest, else the hint that
                            lowest legal move (in those          tells most, else the likeliest play
                            programs it ended)
=========================== ==================================== ===================================

TellRandomly is random in both: it may repeat what is known. The order of cards, hands that shrink
and the end of the game are alike otherwise.

The *convention* "a hint that touches one card says: playable now" changes what an own card may be,
wherever a rule asks, and bans hints that would be misread:

* ``"any-giver"`` (2019): each such hint, by anybody, leaves the cards that were playable when it
  was given, if the letter of the hints has any. Hints that touch one card are banned if it is not
  playable and its holder could take it for playable. (That program loses count of the fireworks
  where a card is misplayed that lies on top of them; here the table is as it was. Of more than
  four tables at which one card was singled out, the last four count.)
* ``"previous-player"`` (2018, and the wording of the paper): only hints by the player before; they
  leave the cards that are playable today, and are forgotten once anybody plays. Of the rules,
  TellMostInformation, TellAnyoneAboutUseful, TellDispensable and TellIllInformed give no hint
  that touches one card of the next player; TellAboutSingleUseful(next_only=True) gives those.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.reprs import changed
from hanabi_search_plugin.core.require import unknown
from hanabi_search_plugin.hanabi.bots import action_rules as ops

Convention = Literal["off", "any-giver", "previous-player"]

_OFF, _ANY_GIVER, _PREVIOUS = get_args(Convention)


@dataclass(frozen=True, kw_only=True, repr=False)
class Rule:
    """A rule and when it may fire. ``literal``: hints mean what they say, whatever the convention.

    The guards count life tokens, hint tokens and cards in the deck as they are before the move.
    Raises ConfigError for a number out of its range.
    """

    if_lives_above: int = 0  #: fires only with more life tokens
    if_lives_at_most: int | None = None  #: fires only with at most so many life tokens; None: any
    if_hints_below: int | None = None  #: fires only with fewer hint tokens; None: any
    if_hints_full: bool = False  #: fires only with all hint tokens there
    #: fires only with at most so many cards in the deck; None: any
    if_deck_at_most: int | None = None
    if_two_players: bool = False  #: fires only in games of two
    literal: bool = False  #: hints mean what they say, whatever the convention

    operation: ClassVar[int]  #: its number among the compiled rules
    options: ClassVar[int] = 0  #: its flags, in both readings
    only_coded: ClassVar[int] = 0  #: flags of its original's reading, faults included, alone
    only_strict: ClassVar[int] = 0  #: flags of the strict reading alone
    obeys: ClassVar[tuple[str, ...]] = ()  #: the conventions whose bans it obeys
    random: ClassVar[bool] = False  #: True if it draws among several moves

    def __post_init__(self) -> None:
        for name in ("if_lives_above", "if_lives_at_most", "if_hints_below", "if_deck_at_most"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 0 <= value < ops.NO_LIMIT):
                raise ConfigError(f"{name} must be from 0 to {ops.NO_LIMIT - 1}, got {value!r}")

    def __repr__(self) -> str:
        set_to = ", ".join(f"{name}={value!r}" for name, value in changed(self).items())
        return f"{type(self).__name__}({set_to})"

    @property
    def millionths(self) -> int:
        """The threshold of the rule."""
        return 0

    def word(self, convention: Convention = "off", strict: bool = False) -> int:
        """The rule as one number, which ``bots.action_rules`` reads."""

        def limit(value: int | None) -> int:
            return ops.NO_LIMIT if value is None else value

        word = self.operation | self.millionths << ops.THRESHOLD
        word |= self.if_lives_above << ops.LIVES_ABOVE
        word |= limit(self.if_lives_at_most) << ops.LIVES_AT_MOST
        word |= limit(self.if_hints_below) << ops.HINTS_BELOW
        word |= limit(self.if_deck_at_most) << ops.DECK_AT_MOST
        word |= self.all_options() | (self.only_strict if strict else self.only_coded)
        word |= ops.TRUE_DECK if strict else 0
        word |= ops.HINTS_FULL if self.if_hints_full else 0
        word |= ops.TWO_PLAYERS if self.if_two_players else 0
        word |= ops.LITERAL if self.literal else 0
        word |= ops.OBEYS if convention in self.obeys and not self.literal else 0
        return word

    def all_options(self) -> int:
        """Its flags, those of its settings included."""
        return self.options


@dataclass(frozen=True, kw_only=True, repr=False)
class _Threshold(Rule):
    """A rule with a smallest probability, in at most six decimals."""

    threshold: float = field(default=0.0, kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        value = self.threshold
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1 or self.millionths / ops.MILLION != value:
            raise ConfigError(
                f"threshold must be from 0 to 1, in at most six decimals, got {value!r}"
            )

    @property
    def millionths(self) -> int:
        return round(self.threshold * ops.MILLION)


@dataclass(frozen=True, kw_only=True, repr=False)
class PlayIfCertain(Rule):
    """Plays the first card whose colour and rank are known and that scores."""

    operation = ops.PLAY_CERTAIN


@dataclass(frozen=True, kw_only=True, repr=False)
class PlaySafe(Rule):
    """Plays the first card that can only be one that scores."""

    operation = ops.PLAY_SAFE


@dataclass(frozen=True, kw_only=True, repr=False)
class PlayProbablySafe(_Threshold):
    """Plays the card most likely to score, from ``threshold`` up; ties go to the last."""

    threshold: float = field(default=0.7, kw_only=False)
    operation = ops.PLAY_PROBABLE


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscardSafe(Rule):
    """Discards the first card that the hints alone show to be useless."""

    operation = ops.DISCARD_SAFE


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscardUseless(Rule):
    """Discards the first card of known colour that can only be out of reach."""

    operation = ops.DISCARD_USELESS


@dataclass(frozen=True, kw_only=True, repr=False)
class OsawaDiscard(Rule):
    """DiscardSafe, else DiscardUseless."""

    operation = ops.DISCARD_OSAWA


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscardProbablyUseless(_Threshold):
    """Discards the card most likely to be useless, from ``threshold`` up; ties go to the last."""

    falls_back: bool = False  #: below the threshold it discards all the same, where not strict
    operation = ops.DISCARD_PROBABLE

    def word(self, convention: Convention = "off", strict: bool = False) -> int:
        falls_back = self.falls_back and not strict
        return super().word(convention, strict) | (ops.FALL_BACK if falls_back else 0)


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscardLeastLikelyNecessary(Rule):
    """Discards the card least likely to be the last of a kind still needed; ties: the last."""

    operation = ops.DISCARD_UNNECESSARY


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscardOldest(Rule):
    """Discards the oldest card."""

    operation = ops.DISCARD_OLDEST


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscardUnidentified(Rule):
    """Discards the first card of which neither colour nor rank is known."""

    operation = ops.DISCARD_UNIDENTIFIED


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscardOldestNoInfo(Rule):
    """Discards the oldest card of which neither colour nor rank is known; see the table above."""

    operation = ops.DISCARD_UNIDENTIFIED  #: ages against positions: no later card ever wins


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscardHighest(Rule):
    """Discards the card of the highest known rank; ties go to the first."""

    operation = ops.DISCARD_HIGHEST


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscardRandomly(Rule):
    """Discards any card, all equally likely."""

    operation = ops.DISCARD_RANDOM
    random = True


@dataclass(frozen=True, kw_only=True, repr=False)
class TryToUnblock(Rule):
    """Without hint tokens: gains one by a known useless card or a known last rank.

    But only if a player who knows no useless and no playable card moves before one who could.
    """

    operation = ops.UNBLOCK


@dataclass(frozen=True, kw_only=True, repr=False)
class TellAnyoneAboutUseful(Rule):
    """Tells of the first playable card that is not fully known: rank first."""

    operation = ops.TELL_USEFUL
    obeys = (_ANY_GIVER, _PREVIOUS)


@dataclass(frozen=True, kw_only=True, repr=False)
class TellPlayableOuter(TellAnyoneAboutUseful):
    """TellAnyoneAboutUseful, the next player alone."""

    options = ops.NEXT_ONLY


@dataclass(frozen=True, kw_only=True, repr=False)
class TellPlayable(Rule):
    """Tells the next player of the first playable card: colour or rank, by a coin."""

    operation = ops.TELL_PLAYABLE
    options = ops.NEXT_ONLY
    only_strict = ops.NEW_ONLY
    random = True


@dataclass(frozen=True, kw_only=True, repr=False)
class TellUnknown(Rule):
    """Tells the next player of the first card that is not fully known: colour first."""

    operation = ops.TELL_UNKNOWN
    options = ops.NEXT_ONLY
    obeys = (_ANY_GIVER,)


@dataclass(frozen=True, kw_only=True, repr=False)
class TellIllInformed(Rule):
    """Tells of the first card, playable or (unless all tokens are there) useless: rank first."""

    operation = ops.TELL_ILL_INFORMED
    obeys = (_ANY_GIVER, _PREVIOUS)


@dataclass(frozen=True, kw_only=True, repr=False)
class TellAnyoneAboutUseless(Rule):
    """Tells of the first useless card: rank first."""

    operation = ops.TELL_USELESS
    only_strict = ops.NEW_ONLY
    obeys = (_ANY_GIVER,)


@dataclass(frozen=True, kw_only=True, repr=False)
class TellDispensable(Rule):
    """Tells what makes a card known to be discardable, of the first card where something does.

    That is the colour where all of it is played, the rank where all of it is, and what is missing
    of a card that is played already.
    """

    operation = ops.TELL_DISPENSABLE
    only_coded = ops.BY_ID
    obeys = (_ANY_GIVER, _PREVIOUS)


@dataclass(frozen=True, kw_only=True, repr=False)
class TellOldestUseful(Rule):
    """Tells of the first player's oldest playable card: colour first; see the table above."""

    operation = ops.TELL_OLDEST_USEFUL
    only_strict = ops.NEW_ONLY
    obeys = (_ANY_GIVER,)


@dataclass(frozen=True, kw_only=True, repr=False)
class TellNotDiscardable(Rule):
    """Tells of the first card above the fireworks of which one copy is left: rank first."""

    operation = ops.TELL_NOT_DISCARDABLE
    only_coded = ops.BY_ID

    def word(self, convention: Convention = "off", strict: bool = False) -> int:
        obeys = strict and convention == "any-giver" and not self.literal
        return super().word(convention, strict) | (ops.OBEYS if obeys else 0)


@dataclass(frozen=True, kw_only=True, repr=False)
class TellAboutSingleUseful(Rule):
    """Tells of a playable card by a hint that touches it alone: rank first.

    Not what was told already since the last play, and the last discard by that player, within three
    rounds. With ``next_only`` (2018) the next player alone is told, and told again.
    """

    next_only: bool = False
    operation = ops.TELL_SINGLE
    only_strict = ops.NEW_ONLY
    obeys = (_ANY_GIVER,)

    def all_options(self) -> int:
        return ops.NEXT_ONLY if self.next_only else ops.NOT_TWICE


@dataclass(frozen=True, kw_only=True, repr=False)
class CompleteTellUseful(Rule):
    """Tells what is missing of the first playable card that is half known."""

    operation = ops.COMPLETE_USEFUL
    obeys = (_ANY_GIVER,)


@dataclass(frozen=True, kw_only=True, repr=False)
class CompleteTellDispensable(CompleteTellUseful):
    """Tells what is missing of the first half-known card that is played already."""

    operation = ops.COMPLETE_DISPENSABLE


@dataclass(frozen=True, kw_only=True, repr=False)
class CompleteTellUnplayable(CompleteTellUseful):
    """Tells what is missing of the first half-known card that is neither played nor playable."""

    operation = ops.COMPLETE_UNPLAYABLE


@dataclass(frozen=True, kw_only=True, repr=False)
class TellForPlayableNewCard(Rule):
    """Tells red, else orange, to the first player whose newest card scores and is not fully known.

    Colours 0 and 3. In 2019 those hints meant "play your newest card"; that side is not here.
    """

    operation = ops.TELL_NEW_CARD


@dataclass(frozen=True, kw_only=True, repr=False)
class TellMostInformation(Rule):
    """The hint that tells most cards something new; ties go to the earlier player, then to ranks.

    ``at_least``: cards that have to learn something (2019: 0, 2018: 1).
    """

    at_least: int = 0
    operation = ops.TELL_MOST
    only_strict = ops.NEW_ONLY
    obeys = (_ANY_GIVER, _PREVIOUS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_least not in (0, 1):
            raise ConfigError(f"at_least must be 0 or 1, got {self.at_least!r}")

    def all_options(self) -> int:
        return ops.NEW_ONLY if self.at_least else 0


@dataclass(frozen=True, kw_only=True, repr=False)
class TellMostNewInformation(Rule):
    """TellMostInformation of the older program: at least one card learns something."""

    operation = ops.TELL_MOST
    options = ops.NEW_ONLY
    only_coded = ops.BY_ID
    obeys = (_ANY_GIVER, _PREVIOUS)


@dataclass(frozen=True, kw_only=True, repr=False)
class TellRandomly(Rule):
    """Tells the next player the colour or the rank, by a coin, of any of its cards."""

    operation = ops.TELL_RANDOM
    random = True


@dataclass(frozen=True, kw_only=True, repr=False)
class PlayAnything(PlayProbablySafe):
    """Plays the card most likely to score, whatever that is."""

    options = ops.FALL_BACK


# -------------------------------------------------------------------------------------- rule sets

RULES: dict[int, Rule] = {
    1: TellAboutSingleUseful(),
    2: TellMostInformation(),
    3: TellAnyoneAboutUseful(),
    4: TellDispensable(),
    5: TellForPlayableNewCard(),
    6: CompleteTellUseful(),
    7: CompleteTellDispensable(),
    8: CompleteTellUnplayable(),
    9: PlayProbablySafe(0.7),
    10: PlayProbablySafe(0.4, if_deck_at_most=5),
    11: DiscardProbablyUseless(0.8, falls_back=True),
    12: DiscardLeastLikelyNecessary(),
    13: DiscardProbablyUseless(0.0, falls_back=True),
    14: PlayProbablySafe(0.0, if_two_players=True, if_hints_full=True),
    15: TellNotDiscardable(),
    16: PlayProbablySafe(0.0),
    17: PlayProbablySafe(0.0, if_hints_full=True),
    18: PlayProbablySafe(1.0),
}
"""The rules by the numbers that the 2019 program gives them."""


def rule_set(numbers: str) -> tuple[Rule, ...]:
    """Rules by number, as in "2|3|9". Raises ConfigError for a number that is not in RULES."""
    known = {str(number): rule for number, rule in RULES.items()}
    for number in numbers.split("|"):
        if number not in known:
            raise ConfigError(f"rule numbers must be from 1 to {len(RULES)}, got {number!r}")
    return tuple(known[number] for number in numbers.split("|"))


TABLE_II = rule_set("2|3|4|6|7|8|9|10|13")
"""The nine rules of the paper's Table II, in its order."""

SHIPPED_2018 = (
    TellAboutSingleUseful(next_only=True),
    TellMostInformation(at_least=1),
    TellAnyoneAboutUseful(),
    TellDispensable(),
    TellIllInformed(),
    *rule_set("6|7|8|9|10|13"),
)
"""The competition entry of 2018 (there with the convention "previous-player")."""

SHIPPED_EVALUATION = rule_set("1|2|3|4|6|7|8|9|10|11|12|15")
"""Agents that choose among rules by a learned evaluation."""

SHIPPED_2019 = rule_set("1|2|3|4|5|6|7|8|9|10|12|15")
"""The mirror-track entry of 2019."""

RULE_SETS = {
    "table-2": TABLE_II,
    "shipped-2018": SHIPPED_2018,
    "shipped-2019": SHIPPED_2019,
    "shipped-evaluation": SHIPPED_EVALUATION,
}
"""What ``named_rules`` knows."""


def named_rules(name: str, *, words: tuple[str, ...] = ()) -> tuple[Rule, ...]:
    """A set of RULE_SETS, or rules by number.

    Raises ConfigError for what is neither, which lists the sets and ``words``, what else there is
    for an option; and as ``rule_set`` does.
    """
    if name in RULE_SETS:
        return RULE_SETS[name]
    if not any(c.isdigit() for c in name.partition("|")[0]):
        raise unknown("rules", name, (*words, *RULE_SETS), "or numbers as in '2|3|9'")
    return rule_set(name)
