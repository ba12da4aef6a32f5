"""Gymnasium: one player's view of native Hanabi, with any policies as partners.

Importing this module registers ``ID``, "HanabiSearch/Hanabi-v0", for ``gymnasium.make``
(``HanabiEnv``) and, thousands of games at a time, ``gymnasium.make_vec`` (``HanabiVectorEnv``).
``MaskInObservation`` is for libraries that look for the legal actions in the observation.
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
