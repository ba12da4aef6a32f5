"""Gymnasium: one seat of native Hanabi as an environment; any policies play the other seats.

Importing this module registers ``ID``, "HanabiSearch/Hanabi-v0":

* ``HanabiEnv`` is what ``gymnasium.make(ID)`` makes: one game
* ``HanabiVectorEnv`` is what ``gymnasium.make_vec(ID)`` makes: thousands of games at a time
* ``ILLEGAL_REWARD`` is the reward of an illegal action, which ends a game
* ``MaskInObservation`` is a wrapper for libraries that look for the legal actions in observations
"""

import gymnasium as _gymnasium

from hanabi_search_plugin.wrappers._gymnasium_env import (
    ID,
    ILLEGAL_REWARD,
    HanabiEnv,
    MaskInObservation,
)
from hanabi_search_plugin.wrappers._gymnasium_vector import HanabiVectorEnv

__all__ = ["ID", "ILLEGAL_REWARD", "HanabiEnv", "HanabiVectorEnv", "MaskInObservation"]

if ID not in _gymnasium.registry:
    _gymnasium.register(
        id=ID,
        entry_point=f"{__name__}:HanabiEnv",
        vector_entry_point=f"{__name__}:HanabiVectorEnv",
    )
