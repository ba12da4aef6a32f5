"""PettingZoo: native Hanabi as an environment, agents from observations alone, other AEC games.

* environments: ``env`` and ``raw_env``, in place of ``pettingzoo.classic.hanabi_v5``
* agents that play a seat: ``SeatAgent``; ``RecordObservations`` and ``hanabi_config`` for
  environments that are not ours
* other games: ``AECGame`` and ``DeterministicAECGame``, of what an ``AECAdapter`` says
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
