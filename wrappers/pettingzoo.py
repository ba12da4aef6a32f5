"""PettingZoo: native Hanabi as an environment, our agents in Hanabi, other AEC games to search.

* ``env`` and ``raw_env`` are Hanabi, in place of ``pettingzoo.classic.hanabi_v5`` and much faster
* ``SeatAgent`` plays a seat of either by what the seat observes; its ``last_result`` is the
  SearchResult of its latest decision
* ``RecordObservations`` wraps an environment so that agents see every move: needed by 3 or more
* ``hanabi_config`` is the configuration of a PettingZoo Hanabi
* ``AECGame`` makes another AEC environment one that can be searched, ``DeterministicAECGame`` one
  without chance; an ``AECAdapter`` says how to keep its state and put it back: ``ShimmyAdapter``
  and ``RlcardAdapter`` do for Shimmy's games of OpenSpiel and PettingZoo's card games, others are
  for you to write
* ``AECSeatAgent`` plays a seat of such an environment, which ``RecordMoves`` wraps
"""

from hanabi_search_plugin.core.extras import needing

with needing("", "wrappers.pettingzoo", "PettingZoo and Gymnasium"):
    from hanabi_search_plugin.wrappers._pettingzoo_adapters import RlcardAdapter, ShimmyAdapter
    from hanabi_search_plugin.wrappers._pettingzoo_any_seat import AECSeatAgent, RecordMoves
    from hanabi_search_plugin.wrappers._pettingzoo_env import env, raw_env
    from hanabi_search_plugin.wrappers._pettingzoo_games import (
        AECAdapter,
        AECGame,
        DeterministicAECGame,
    )
    from hanabi_search_plugin.wrappers._pettingzoo_seats import (
        RecordObservations,
        SeatAgent,
        hanabi_config,
    )

__all__ = [
    "AECAdapter",
    "AECGame",
    "AECSeatAgent",
    "DeterministicAECGame",
    "RecordMoves",
    "RecordObservations",
    "RlcardAdapter",
    "SeatAgent",
    "ShimmyAdapter",
    "env",
    "hanabi_config",
    "raw_env",
]
