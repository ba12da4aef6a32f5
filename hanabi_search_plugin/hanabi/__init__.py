"""Native Hanabi: the game, its bots, and what a bot of your own is made of.

* the game: ``HanabiGame``, ``HanabiConfig``
* bots: ``SmartBot``, ``HatBot``, ``HatBotB``, ``RuleAgent`` of rules such as ``PlaySafe`` (all of
  ``bots.rulebook``; ``TABLE_II`` is the RIS-MCTS paper's list)
* compiled bots of your own: ``CompiledBot`` of ``Routines``; ``routine``
  compiles one, it reads a row by ``layout``; ``legal_mask``, ``hint_action`` and ``hint_of`` help
* partners of whom nothing is known but their moves: ``LearnedPartners``, ``shipped_recogniser``
* recorded games: ``RecordedGame``, ``read_games``, ``read_any_games`` (of hanab.live, too),
  ``write_games``, ``replay``
* observations: ``observation_size``, ``read_observation``

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hanabi_search_plugin.core.lazy import lazily

if TYPE_CHECKING:
    from hanabi_search_plugin.hanabi.beliefs.learned_partners import (
        LearnedPartners,
        shipped_recogniser,
    )
    from hanabi_search_plugin.hanabi.bots.compiled import CompiledBot, Routines, SmartBot
    from hanabi_search_plugin.hanabi.bots.hats import HatBot, HatBotB
    from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
    from hanabi_search_plugin.hanabi.bots.rulebook import (
        TABLE_II,
        CompleteTellDispensable,
        CompleteTellUnplayable,
        CompleteTellUseful,
        DiscardHighest,
        DiscardLeastLikelyNecessary,
        DiscardOldest,
        DiscardOldestNoInfo,
        DiscardProbablyUseless,
        DiscardRandomly,
        DiscardSafe,
        DiscardUnidentified,
        DiscardUseless,
        OsawaDiscard,
        PlayAnything,
        PlayIfCertain,
        PlayProbablySafe,
        PlaySafe,
        Rule,
        TellAboutSingleUseful,
        TellAnyoneAboutUseful,
        TellAnyoneAboutUseless,
        TellDispensable,
        TellForPlayableNewCard,
        TellIllInformed,
        TellMostInformation,
        TellMostNewInformation,
        TellNotDiscardable,
        TellOldestUseful,
        TellPlayable,
        TellPlayableOuter,
        TellRandomly,
        TellUnknown,
        TryToUnblock,
    )
    from hanabi_search_plugin.hanabi.engine import layout
    from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
    from hanabi_search_plugin.hanabi.engine.encoding import observation_size
    from hanabi_search_plugin.hanabi.engine.rules import hint_action, hint_of, legal_mask
    from hanabi_search_plugin.hanabi.files.any_games import read_any_games
    from hanabi_search_plugin.hanabi.files.observation import read_observation
    from hanabi_search_plugin.hanabi.files.records import RecordedGame, read_games, write_games
    from hanabi_search_plugin.hanabi.files.replay import replay
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.jit import routine

__all__ = [
    "TABLE_II",
    "CompiledBot",
    "CompleteTellDispensable",
    "CompleteTellUnplayable",
    "CompleteTellUseful",
    "DiscardHighest",
    "DiscardLeastLikelyNecessary",
    "DiscardOldest",
    "DiscardOldestNoInfo",
    "DiscardProbablyUseless",
    "DiscardRandomly",
    "DiscardSafe",
    "DiscardUnidentified",
    "DiscardUseless",
    "HanabiConfig",
    "HanabiGame",
    "HatBot",
    "HatBotB",
    "LearnedPartners",
    "OsawaDiscard",
    "PlayAnything",
    "PlayIfCertain",
    "PlayProbablySafe",
    "PlaySafe",
    "RecordedGame",
    "Routines",
    "Rule",
    "RuleAgent",
    "SmartBot",
    "TellAboutSingleUseful",
    "TellAnyoneAboutUseful",
    "TellAnyoneAboutUseless",
    "TellDispensable",
    "TellForPlayableNewCard",
    "TellIllInformed",
    "TellMostInformation",
    "TellMostNewInformation",
    "TellNotDiscardable",
    "TellOldestUseful",
    "TellPlayable",
    "TellPlayableOuter",
    "TellRandomly",
    "TellUnknown",
    "TryToUnblock",
    "hint_action",
    "hint_of",
    "layout",
    "legal_mask",
    "observation_size",
    "read_any_games",
    "read_games",
    "read_observation",
    "replay",
    "routine",
    "shipped_recogniser",
    "write_games",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "beliefs.learned_partners": ("LearnedPartners", "shipped_recogniser"),
        "bots.compiled": ("CompiledBot", "Routines", "SmartBot"),
        "bots.hats": ("HatBot", "HatBotB"),
        "bots.rule_agents": ("RuleAgent",),
        "bots.rulebook": (
            "CompleteTellDispensable",
            "CompleteTellUnplayable",
            "CompleteTellUseful",
            "DiscardHighest",
            "DiscardLeastLikelyNecessary",
            "DiscardOldest",
            "DiscardOldestNoInfo",
            "DiscardProbablyUseless",
            "DiscardRandomly",
            "DiscardSafe",
            "DiscardUnidentified",
            "DiscardUseless",
            "OsawaDiscard",
            "PlayAnything",
            "PlayIfCertain",
            "PlayProbablySafe",
            "PlaySafe",
            "Rule",
            "TABLE_II",
            "TellAboutSingleUseful",
            "TellAnyoneAboutUseful",
            "TellAnyoneAboutUseless",
            "TellDispensable",
            "TellForPlayableNewCard",
            "TellIllInformed",
            "TellMostInformation",
            "TellMostNewInformation",
            "TellNotDiscardable",
            "TellOldestUseful",
            "TellPlayable",
            "TellPlayableOuter",
            "TellRandomly",
            "TellUnknown",
            "TryToUnblock",
        ),
        "engine.config": ("HanabiConfig",),
        "engine": ("layout",),
        ".jit": ("routine",),
        "engine.encoding": ("observation_size",),
        "engine.rules": ("hint_action", "hint_of", "legal_mask"),
        "files.any_games": ("read_any_games",),
        "files.observation": ("read_observation",),
        "files.records": ("RecordedGame", "read_games", "write_games"),
        "files.replay": ("replay",),
        "hanabi_game": ("HanabiGame",),
    },
)
