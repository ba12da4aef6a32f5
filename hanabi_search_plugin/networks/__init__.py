"""Neural networks as policies and as beliefs. Needs PyTorch, from the extra ``torch``.

* a network that plays: ``network_policy`` makes a ``NetworkPolicy`` of a ``Network``;
  ``load_policy("rlnet", game)`` does so by name, and ``network_models`` lists the names
* networks in files: ``load_network`` and ``save_network``; ``load_foreign`` reads public
  checkpoints of other projects
* networks of your own: ``make_network`` makes one of ``ARCHITECTURES`` by name; a new one is a
  ``Network`` that returns an ``Output`` and reads an ``Encoding`` (``make_encoding``)
* learned beliefs: ``load_belief_model`` by name or file, ``belief_models`` lists the names; a
  ``NetworkBelief`` samples hidden cards from a ``BeliefNet``, ``save_belief`` writes one
* ``OwnBelief``: what a network with a public belief itself takes a hand to be

Trainings are in ``networks.training``: distillation of a bot, self-play (PPO), imitation of a
search, belief models and critics, a module each.

Names load on first use, and PyTorch with the first that needs it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hanabi_search_plugin.core.extras import needing
from hanabi_search_plugin.core.lazy import lazily

if TYPE_CHECKING:
    from hanabi_search_plugin.networks.architectures import ARCHITECTURES, make_network
    from hanabi_search_plugin.networks.belief_files import NetworkBelief, save_belief
    from hanabi_search_plugin.networks.catalogue import (
        belief_models,
        load_belief_model,
        network_models,
    )
    from hanabi_search_plugin.networks.checkpoint import load_network, save_network
    from hanabi_search_plugin.networks.encodings.named_encodings import make_encoding
    from hanabi_search_plugin.networks.encodings.network_encoding import Encoding
    from hanabi_search_plugin.networks.foreign import load_foreign
    from hanabi_search_plugin.networks.modules import Network, Output
    from hanabi_search_plugin.networks.nets.belief_net import BeliefNet
    from hanabi_search_plugin.networks.network_policies import NetworkPolicy
    from hanabi_search_plugin.networks.own_belief import OwnBelief
    from hanabi_search_plugin.networks.policy_of_network import network_policy

__all__ = [
    "ARCHITECTURES",
    "BeliefNet",
    "Encoding",
    "Network",
    "NetworkBelief",
    "NetworkPolicy",
    "Output",
    "OwnBelief",
    "belief_models",
    "load_belief_model",
    "load_foreign",
    "load_network",
    "make_encoding",
    "make_network",
    "network_models",
    "network_policy",
    "save_belief",
    "save_network",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "architectures": ("ARCHITECTURES", "make_network"),
        "belief_files": ("NetworkBelief", "save_belief"),
        "catalogue": ("belief_models", "load_belief_model", "network_models"),
        "checkpoint": ("load_network", "save_network"),
        "encodings.named_encodings": ("make_encoding",),
        "encodings.network_encoding": ("Encoding",),
        "foreign": ("load_foreign",),
        "modules": ("Network", "Output"),
        "nets.belief_net": ("BeliefNet",),
        "network_policies": ("NetworkPolicy",),
        "own_belief": ("OwnBelief",),
        "policy_of_network": ("network_policy",),
    },
    partial(needing, "torch", "a network"),
)
