"""Agents that are ordered lists of rules: those of the literature, and your own.

Write an agent of your own in a line::

    RuleAgent([PlaySafe(), PlayProbablySafe(0.6, if_lives_above=1), TellAnyoneAboutUseful(),
               DiscardOldest(), TellRandomly()])

The first rule of the list that proposes a move makes it. ``bots.rulebook`` has the rules, and says
what they do in both readings and what the convention means.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import ParamSpec, Self, get_args

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError, ContractError
from hanabi_search_plugin.core.game import BoolArray, IntArray, View, Worlds
from hanabi_search_plugin.core.near_names import near_names
from hanabi_search_plugin.core.policy import Memory, RedrawingGuide
from hanabi_search_plugin.core.require import class_given, require_choice, unknown
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots import action_rules as ops
from hanabi_search_plugin.hanabi.bots.compiled import CompiledBot, Routines, _native
from hanabi_search_plugin.hanabi.bots.memories import require_words, words_of
from hanabi_search_plugin.hanabi.bots.redraw import redraw_rows
from hanabi_search_plugin.hanabi.bots.rulebook import (
    CompleteTellUseful,
    Convention,
    DiscardHighest,
    DiscardLeastLikelyNecessary,
    DiscardOldest,
    DiscardOldestNoInfo,
    DiscardProbablyUseless,
    DiscardRandomly,
    DiscardUnidentified,
    OsawaDiscard,
    PlayAnything,
    PlayIfCertain,
    PlayProbablySafe,
    PlaySafe,
    Rule,
    TellAnyoneAboutUseful,
    TellAnyoneAboutUseless,
    TellDispensable,
    TellIllInformed,
    TellMostInformation,
    TellMostNewInformation,
    TellOldestUseful,
    TellPlayable,
    TellPlayableOuter,
    TellRandomly,
    TellUnknown,
    TryToUnblock,
)
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView, HanabiWorlds

UNNAMED = "rules"  # the name of an agent that was not given one
_ROUTINES = Routines(decide=ops.decide, observe=ops.observe, common=ops.common)


Arguments = ParamSpec("Arguments")


def _of_one_list(make: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Makes ``__init__`` refuse, by a ConfigError, rules that are not in a list."""

    @functools.wraps(make)
    def asked(*given: Arguments.args, **options: Arguments.kwargs) -> None:
        rules = given[1:]
        if len(rules) > 1:
            listed = ", ".join(map(repr, rules))
            raise ConfigError(f"rules must be one list, as RuleAgent([{listed}]), got {listed}")
        make(*given, **options)

    return asked


class RuleAgent(CompiledBot, RedrawingGuide):
    """Play the move of the first rule that proposes one; ``bots.rulebook`` has the two readings.

    The words of its memory are those of ``bots.action_rules``, the same for all seats. Raises
    ConfigError for an empty or too long list, what is no rule, or an unknown convention.
    """

    @_of_one_list
    def __init__(
        self,
        rules: Sequence[Rule],
        *,
        convention: Convention = "off",
        strict: bool = False,
        name: str = UNNAMED,
    ) -> None:
        _require_list(rules)
        last_resort: tuple[Rule, ...] = ()
        if strict:
            last_resort = (DiscardOldest(), TellMostInformation(), PlayAnything(0.0))
        most = ops.MAX_RULES - len(last_resort)
        if not 1 <= len(rules) <= most:
            raise ConfigError(f"rules must be from 1 to {most}, got {len(rules)}")
        for rule in rules:
            if not isinstance(rule, Rule) or not hasattr(rule, "operation"):
                given = class_given(rule) if isinstance(rule, type) else repr(rule)
                raise ConfigError(
                    "rules must be those of hanabi_search_plugin.hanabi, as PlaySafe(), got "
                    f"{given}"
                )
        if not isinstance(strict, bool):
            raise ConfigError(f"strict must be true or false, got {strict!r}")
        require_choice("convention", convention, get_args(Convention))
        words = [rule.word(convention, strict) for rule in (*rules, *last_resort)]
        self._recent = any(word & ops.NOT_TWICE for word in words)
        settings = get_args(Convention).index(convention)
        settings |= (ops.BY_AGE if strict else 0) | (ops.RECENT if self._recent else 0)
        super().__init__(
            name,
            _ROUTINES,
            parameters=(len(words), settings, *words),
            deterministic=not any(rule.random for rule in rules),
        )
        self.rules = tuple(rules)
        self.convention = convention
        self._set_to: tuple[tuple[str, object], ...] = ()  # what a name was given besides
        self.strict = strict

    def words(self, game: HanabiRules) -> int:
        config = game.config
        cards = config.players * config.hand_size
        planes = cards * ops.PLANES if self.convention == "any-giver" else 0
        return cards + planes + (ops.RECENT_WORDS if self._recent else 0)

    def blank(self, game: HanabiRules) -> NDArray[np.int32]:
        config = game.config
        cards = np.arange(config.players * config.hand_size)
        unknown = ((1 << config.colors) - 1) | ((1 << config.ranks) - 1) << 5
        memory = np.zeros(self.words(game), dtype=np.int32)
        memory[cards] = unknown | (cards % config.hand_size) << ops.SLOT
        return memory

    def proposals(self, view: View, memory: Memory) -> IntArray:
        """[B, rules] what each rule proposes: a legal action, or a code of ``bots.script``.

        ``view.player`` is to move in all worlds. What a strict agent falls back on comes last.
        """
        native = _native(view)
        memory, script = self.read(native, memory), self.script(native.game)
        codes = np.empty((len(view), int(script[ops.RULES])), dtype=np.int64)
        ops.propose_rows(native.game.dims, script, native.rows, memory, codes)
        return codes

    def proposed(self, view: View, legal: BoolArray, memory: Memory) -> BoolArray:
        """[B, A] what the rules propose; of a rule that leaves it to chance, all it may come to."""
        native = _native(view)
        memory, script = self.read(native, memory), self.script(native.game)
        proposed = np.empty((len(native), native.game.num_actions), dtype=np.bool_)
        ops.proposed_rows(native.game.dims, script, native.rows, memory, proposed)
        return proposed

    def redraw(self, worlds: Worlds, player: int, memory: Memory, rng: Streams) -> HanabiWorlds:
        """See ``RedrawingGuide``: hands whose cards the convention allows, each of them as likely.

        After 64 draws in which two slots took the same card, hints alone count. Takes a varying
        number of draws of ``rng``.
        """
        if not isinstance(worlds, HanabiWorlds):
            raise TypeError(f"expected worlds of native Hanabi, got {type(worlds).__name__}")
        game, rows = worlds.game, worlds.rows.copy()
        rng.state = rng.state.copy()
        seer = bool(game.visible[player, player])
        words = self.read(worlds, memory)
        redraw_rows(game.dims, self.script(game), rows, words, player, seer, rng.state)
        return HanabiWorlds(game, rows)

    def read(self, seen: HanabiView | HanabiWorlds, memory: Memory) -> NDArray[np.int32]:
        """[B or 1, words] the words of a guide's memory, B rows or one."""
        rows = 1 if np.shape(memory)[:1] == (1,) and len(seen) else len(seen)
        require_words(self, memory, self.words(seen.game), seen.game, rows)
        config = seen.game.config
        slots = memory[:, : config.players * config.hand_size] >> ops.SLOT & 15
        if ((slots >= config.hand_size) & (slots != ops.EMPTY)).any():
            raise ContractError(f"expected the memory of {self!r}, got that of another bot")
        return words_of(memory)

    def __repr__(self) -> str:
        set_to = dict(self._set_to)
        if self.convention != "off":
            set_to["convention"] = self.convention
        if self.strict:
            set_to["strict"] = True
        shown = "".join(f", {name}={value!r}" for name, value in set_to.items())
        what = list(self.rules) if self.name == UNNAMED else self.name
        return f"{type(self).__name__}({what!r}{shown})"

    def set_to(self, **options: object) -> Self:
        """This agent, whose ``repr`` shows these options beside its name from now on."""
        self._set_to = tuple(options.items())
        return self


def _require_list(rules: object) -> None:
    """Raises ConfigError for what is no list of rules, with the way out."""
    if isinstance(rules, str):
        name = next(iter(near_names(rules, AGENTS)), AGENTS[0])
        raise ConfigError(
            f"rules must be a list of rules, got {rules!r}: load_policy({name!r}, game) loads an "
            "agent by name"
        )
    if not isinstance(rules, Sequence):
        raise ConfigError(f"rules must be a list of rules, as [PlaySafe()], got {rules!r}")


def _risky(threshold: float) -> list[Rule]:
    return [
        PlayIfCertain(),
        PlayProbablySafe(threshold),
        TellAnyoneAboutUseful(),
        OsawaDiscard(),
        DiscardOldest(),
    ]


def _risky2(threshold: float) -> list[Rule]:
    return [
        PlayIfCertain(),
        PlayProbablySafe(threshold),
        TellAnyoneAboutUseful(),
        TellMostNewInformation(),
        OsawaDiscard(),
        TellRandomly(),
        DiscardProbablyUseless(0.0, falls_back=True),
    ]


_THRESHOLDS: dict[str, tuple[Callable[[float], list[Rule]], float]] = {
    "risky": (_risky, 0.75),
    "risky2": (_risky2, 0.7),
}

_LISTS: dict[str, list[Rule]] = {
    "cautious": [
        PlayIfCertain(),
        PlaySafe(),
        TellAnyoneAboutUseful(),
        OsawaDiscard(),
        DiscardRandomly(),
        TellRandomly(),
    ],
    "iggi": [
        PlayIfCertain(),
        PlaySafe(),
        TellAnyoneAboutUseful(),
        OsawaDiscard(),
        DiscardOldest(),
        TellRandomly(),
    ],
    "internal": [
        PlaySafe(),
        OsawaDiscard(),
        TellPlayable(),
        TellRandomly(),
        DiscardRandomly(),
    ],
    "outer": [
        PlaySafe(),
        OsawaDiscard(),
        TellPlayableOuter(),
        TellUnknown(),
        DiscardRandomly(),
    ],
    "piers": [
        PlayProbablySafe(0.0, if_lives_above=1, if_deck_at_most=0),
        PlaySafe(),
        PlayProbablySafe(0.6, if_lives_above=1),
        TellAnyoneAboutUseful(),
        TellDispensable(if_hints_below=4),
        OsawaDiscard(),
        DiscardOldest(),
        TellRandomly(),
        DiscardRandomly(),
    ],
    "flawed": [
        PlaySafe(),
        PlayProbablySafe(0.25),
        TellRandomly(),
        OsawaDiscard(),
        DiscardOldest(),
        DiscardRandomly(),
    ],
    "vdb": [
        PlayProbablySafe(0.6, if_lives_above=1),
        PlaySafe(if_lives_at_most=1),
        DiscardProbablyUseless(1.0),
        TellAnyoneAboutUseful(),
        TellMostNewInformation(),
        DiscardProbablyUseless(0.0),
    ],
    "iggi2": [
        PlayProbablySafe(0.0, if_lives_above=1, if_deck_at_most=0),
        PlayIfCertain(),
        PlaySafe(),
        PlayProbablySafe(0.6, if_lives_above=1),
        OsawaDiscard(),
        TellOldestUseful(),
        CompleteTellUseful(),
        DiscardOldestNoInfo(),
        DiscardOldest(),
        TellMostNewInformation(),
        TellRandomly(),
    ],
    "clivej2": [
        TryToUnblock(),
        PlaySafe(),
        TellIllInformed(),
        OsawaDiscard(),
        CompleteTellUseful(),
        TellAnyoneAboutUseful(),
        TellAnyoneAboutUseless(),
        TellMostNewInformation(),
        DiscardUnidentified(),
        DiscardHighest(),
        DiscardLeastLikelyNecessary(),
        DiscardProbablyUseless(0.0, falls_back=True),
    ],
}

AGENTS = (*_LISTS, *_THRESHOLDS)
"""The names that ``rule_agent`` knows."""


def rule_agent(
    name: str,
    *,
    threshold: float | None = None,
    convention: Convention = "off",
    strict: bool = False,
) -> RuleAgent:
    """A named agent. ``threshold`` is for "risky" (0.75 unless given) and "risky2" (0.7).

    Raises ConfigError for an unknown name, or a threshold where there is none.
    """
    if name in _THRESHOLDS:
        make, usual = _THRESHOLDS[name]
        rules = make(usual if threshold is None else threshold)
    elif name in _LISTS:
        if threshold is not None:
            raise ConfigError(f"threshold must be left out for {name}, got {threshold!r}")
        rules = _LISTS[name]
    else:
        raise unknown("agent", name, AGENTS)
    agent = RuleAgent(rules, convention=convention, strict=strict, name=name)
    at_default = threshold is None or threshold == _THRESHOLDS[name][1]
    return agent if at_default else agent.set_to(threshold=threshold)
