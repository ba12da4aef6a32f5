"""The contracts, for any game: what games, policies, beliefs, searches and agents are.

Read ``game``, ``policy`` and ``belief`` first, then ``agent`` and ``result``. ``capabilities`` is
what a game may be able to do beyond the contract, ``rollout`` what costs the time, ``plain_game``
the short way to a small game. Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hanabi_search_plugin._lazy import lazily

if TYPE_CHECKING:
    from hanabi_search_plugin.core.agent import (
        CutsRollouts,
        FollowingSearch,
        MakeBelief,
        Search,
        SearchAgent,
        TeamSearch,
    )
    from hanabi_search_plugin.core.belief import Belief, ExplicitBelief, WrappedBelief
    from hanabi_search_plugin.core.capabilities import (
        CompilesRollouts,
        Enumerable,
        HasBeliefs,
        PrivateTokens,
        Redeterminizes,
        Replays,
    )
    from hanabi_search_plugin.core.errors import (
        CheckpointError,
        ConfigError,
        ContractError,
        HanabiSearchError,
        IllegalActionError,
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
        Estimates,
        Memory,
        Policy,
        Proposes,
        Redraws,
        Shared,
        UniformPolicy,
        Value,
        join,
        take,
    )
    from hanabi_search_plugin.core.public_belief import PublicBelief
    from hanabi_search_plugin.core.result import Reason, SearchResult
    from hanabi_search_plugin.core.rollout import PlaysOn, action_values, likelihood, play_out
    from hanabi_search_plugin.core.streams import Streams
    from hanabi_search_plugin.core.tree import GrownTree, GrowsTrees, Move, TreeSettings

__all__ = [
    "NOBODY",
    "PAD",
    "SKIP",
    "UNSEEN",
    "Belief",
    "Blueprint",
    "BoolArray",
    "CheckpointError",
    "CompilesRollouts",
    "ConfigError",
    "ContractError",
    "CutsRollouts",
    "Enumerable",
    "Estimates",
    "Event",
    "ExplicitBelief",
    "FloatArray",
    "FollowingSearch",
    "Game",
    "GrownTree",
    "GrowsTrees",
    "HanabiSearchError",
    "HasBeliefs",
    "History",
    "IllegalActionError",
    "IntArray",
    "MakeBelief",
    "Memory",
    "Move",
    "PlainGame",
    "PlaysOn",
    "Policy",
    "PrivateTokens",
    "Proposes",
    "PublicBelief",
    "Reason",
    "RecordError",
    "Redeterminizes",
    "Redraws",
    "Replays",
    "Search",
    "SearchAgent",
    "SearchResult",
    "Shared",
    "Streams",
    "TeamSearch",
    "TooFewWorldsError",
    "TreeSettings",
    "UniformPolicy",
    "UnsupportedError",
    "Value",
    "View",
    "Worlds",
    "WrappedBelief",
    "action_values",
    "join",
    "likelihood",
    "play_out",
    "take",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "agent": (
            "CutsRollouts",
            "FollowingSearch",
            "MakeBelief",
            "Search",
            "SearchAgent",
            "TeamSearch",
        ),
        "belief": ("Belief", "ExplicitBelief", "WrappedBelief"),
        "capabilities": (
            "CompilesRollouts",
            "Enumerable",
            "HasBeliefs",
            "PrivateTokens",
            "Redeterminizes",
            "Replays",
        ),
        "errors": (
            "CheckpointError",
            "ConfigError",
            "ContractError",
            "HanabiSearchError",
            "IllegalActionError",
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
            "Estimates",
            "Memory",
            "Policy",
            "Proposes",
            "Redraws",
            "Shared",
            "UniformPolicy",
            "Value",
            "join",
            "take",
        ),
        "public_belief": ("PublicBelief",),
        "result": ("Reason", "SearchResult"),
        "rollout": ("PlaysOn", "action_values", "likelihood", "play_out"),
        "streams": ("Streams",),
        "tree": ("GrownTree", "GrowsTrees", "Move", "TreeSettings"),
    },
)
