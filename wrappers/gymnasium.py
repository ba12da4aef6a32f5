"""Gymnasium: one seat of native Hanabi as an environment; any policies play the other seats.

Importing the package registers ``ID``, "HanabiSearch/Hanabi-v0", once Gymnasium is there, too:

* ``HanabiEnv`` is what ``gymnasium.make(ID)`` makes: one game
* ``HanabiVectorEnv`` is what ``gymnasium.make_vec(ID)`` makes: thousands of games at a time
* ``ILLEGAL_REWARD`` is the reward of an illegal action, which ends a game
* ``MaskInObservation`` is a wrapper for libraries that look for the legal actions in observations
"""

from hanabi_search_plugin.core.extras import needing

with needing("", "wrappers.gymnasium", "Gymnasium"):
    from hanabi_search_plugin.wrappers._gymnasium_env import (
        ILLEGAL_REWARD,
        HanabiEnv,
        MaskInObservation,
    )
    from hanabi_search_plugin.wrappers._gymnasium_names import ID
    from hanabi_search_plugin.wrappers._gymnasium_vector import HanabiVectorEnv

__all__ = ["ID", "ILLEGAL_REWARD", "HanabiEnv", "HanabiVectorEnv", "MaskInObservation"]
