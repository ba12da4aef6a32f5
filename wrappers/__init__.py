"""Adapters to other frameworks. Importing one loads its framework and no other.

* ``openspiel``, ``pettingzoo``, ``gymnasium``: games, environments, policies and agents
* ``dpomdp``: Dec-POMDPs of files as games
* ``stable_baselines3``, ``rllib``, ``tianshou``: trained models as policies, by ``as_policy``
* ``ray``: games on a cluster

They are attributes, too, loaded on first use. Modules whose names begin with an underscore are
their parts, and are not for users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hanabi_search_plugin.core.lazy import lazily

if TYPE_CHECKING:
    from hanabi_search_plugin.wrappers import dpomdp as dpomdp
    from hanabi_search_plugin.wrappers import gymnasium as gymnasium
    from hanabi_search_plugin.wrappers import openspiel as openspiel
    from hanabi_search_plugin.wrappers import pettingzoo as pettingzoo
    from hanabi_search_plugin.wrappers import ray as ray
    from hanabi_search_plugin.wrappers import rllib as rllib
    from hanabi_search_plugin.wrappers import stable_baselines3 as stable_baselines3
    from hanabi_search_plugin.wrappers import tianshou as tianshou

__all__: list[str] = []  # no ``import *`` loads every framework

__getattr__, __dir__ = lazily(
    __name__,
    {
        "": (
            "dpomdp",
            "gymnasium",
            "openspiel",
            "pettingzoo",
            "ray",
            "rllib",
            "stable_baselines3",
            "tianshou",
        )
    },
)
