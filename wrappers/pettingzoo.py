"""PettingZoo: native Hanabi as an environment, our agents in Hanabi, other AEC games to search.

* ``env`` and ``raw_env`` are Hanabi, in place of ``pettingzoo.classic.hanabi_v5`` and much faster
* ``SeatAgent`` plays a seat of either by what the seat observes; its ``last_result`` is the
  SearchResult of its latest decision
* ``RecordObservations`` wraps an environment so that agents see every move; needed from 3 players on
* ``hanabi_config`` is the configuration of a PettingZoo Hanabi
* ``AECGame`` makes another AEC environment one that can be searched, ``DeterministicAECGame`` one
  without chance; an ``AECAdapter`` that you write says how to keep its state and put it back
"""

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
    "DeterministicAECGame",
    "RecordObservations",
    "SeatAgent",
    "env",
    "hanabi_config",
    "raw_env",
]
