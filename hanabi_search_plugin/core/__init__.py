"""The contracts of games, policies, beliefs, searches and agents, for any game.

Read ``game``, ``policy`` and ``belief`` first, then ``agent`` and ``result``; these are all that a
search sees. ``plain_game`` is the short way to a game of one's own, ``capabilities`` are optional
abilities of games, ``rollout`` plays worlds on, ``public_belief`` is for joint search. Names load
on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hanabi_search_plugin.core.lazy import lazily

if TYPE_CHECKING:
    from hanabi_search_plugin.core.agent import (
        CutsRollouts,
        MakeBelief,
        Search,
        SearchAgent,
        TeamSearch,
        WrapsBelief,
    )
    from hanabi_search_plugin.core.belief import Belief, ExplicitBelief, WrappedBelief
    from hanabi_search_plugin.core.capabilities import (
        Branches,
        CompilesRollouts,
        DealsTokens,
        Enumerable,
        HasBeliefs,
        PrivateTokens,
        Redeterminizes,
        Replays,
        SharesFutures,
    )
    from hanabi_search_plugin.core.errors import (
        CheckpointError,
        ConfigError,
        ContractError,
        HanabiSearchError,
        IllegalActionError,
        MissingExtraError,
        RecordError,
        TooFewWorldsError,
        UnsupportedError,
    )
    from hanabi_search_plugin.core.game import (
        NOBODY,
        PAD,
        SKIP,
        UNSEEN,
        BoolArray,
        Event,
        FloatArray,
        Game,
        History,
        IntArray,
        View,
        Worlds,
    )
    from hanabi_search_plugin.core.plain_game import PlainGame
    from hanabi_search_plugin.core.policy import (
        Blueprint,
        EstimatingGuide,
        Guide,
        Memory,
        Policy,
        RedrawingGuide,
        Shared,
        UniformPolicy,
        Value,
        join,
        take,
    )
    from hanabi_search_plugin.core.public_belief import PublicBelief
    from hanabi_search_plugin.core.result import Reason, SearchResult
    from hanabi_search_plugin.core.rollout import PlaysRollouts, action_values, likelihood, play_out
    from hanabi_search_plugin.core.solving import Solution, SolvesEndgames
    from hanabi_search_plugin.core.streams import Stream, Streams
    from hanabi_search_plugin.core.tree import GrownTree, GrowsTrees, MoveStats, TreeSettings
    from hanabi_search_plugin.core.walk import Walk, Walkable, walks

__all__ = [
    "NOBODY",
    "PAD",
    "SKIP",
    "UNSEEN",
    "Belief",
    "Blueprint",
    "BoolArray",
    "Branches",
    "CheckpointError",
    "CompilesRollouts",
    "ConfigError",
    "ContractError",
    "CutsRollouts",
    "DealsTokens",
    "Enumerable",
    "EstimatingGuide",
    "Event",
    "ExplicitBelief",
    "FloatArray",
    "Game",
    "GrownTree",
    "GrowsTrees",
    "Guide",
    "HanabiSearchError",
    "HasBeliefs",
    "History",
    "IllegalActionError",
    "IntArray",
    "MakeBelief",
    "Memory",
    "MissingExtraError",
    "MoveStats",
    "PlainGame",
    "PlaysRollouts",
    "Policy",
    "PrivateTokens",
    "PublicBelief",
    "Reason",
    "RecordError",
    "Redeterminizes",
    "RedrawingGuide",
    "Replays",
    "Search",
    "SearchAgent",
    "SearchResult",
    "Shared",
    "SharesFutures",
    "Solution",
    "SolvesEndgames",
    "Stream",
    "Streams",
    "TeamSearch",
    "TooFewWorldsError",
    "TreeSettings",
    "UniformPolicy",
    "UnsupportedError",
    "Value",
    "View",
    "Walk",
    "Walkable",
    "Worlds",
    "WrappedBelief",
    "WrapsBelief",
    "action_values",
    "join",
    "likelihood",
    "play_out",
    "take",
    "walks",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "agent": (
            "CutsRollouts",
            "WrapsBelief",
            "MakeBelief",
            "Search",
            "SearchAgent",
            "TeamSearch",
        ),
        "belief": ("Belief", "ExplicitBelief", "WrappedBelief"),
        "capabilities": (
            "Branches",
            "CompilesRollouts",
            "DealsTokens",
            "Enumerable",
            "HasBeliefs",
            "PrivateTokens",
            "Redeterminizes",
            "Replays",
            "SharesFutures",
        ),
        "errors": (
            "CheckpointError",
            "ConfigError",
            "ContractError",
            "HanabiSearchError",
            "IllegalActionError",
            "MissingExtraError",
            "RecordError",
            "TooFewWorldsError",
            "UnsupportedError",
        ),
        "game": (
            "NOBODY",
            "PAD",
            "SKIP",
            "UNSEEN",
            "BoolArray",
            "Event",
            "FloatArray",
            "Game",
            "History",
            "IntArray",
            "View",
            "Worlds",
        ),
        "plain_game": ("PlainGame",),
        "policy": (
            "Blueprint",
            "EstimatingGuide",
            "Memory",
            "Policy",
            "Guide",
            "RedrawingGuide",
            "Shared",
            "UniformPolicy",
            "Value",
            "join",
            "take",
        ),
        "public_belief": ("PublicBelief",),
        "result": ("Reason", "SearchResult"),
        "rollout": ("PlaysRollouts", "action_values", "likelihood", "play_out"),
        "solving": ("Solution", "SolvesEndgames"),
        "streams": ("Stream", "Streams"),
        "tree": ("GrownTree", "GrowsTrees", "MoveStats", "TreeSettings"),
        "walk": ("Walk", "Walkable", "walks"),
    },
)
