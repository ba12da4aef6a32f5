"""Beliefs for any game: what a seat may hold, given what it has seen and how the others play.

``upgrade(..., belief=...)`` takes one of these: ``Particles``, worlds drawn; ``Seatwise``, hands
drawn seat by seat where all is dealt out at the start; ``Learned``, drawn by a ``BeliefModel``;
``UnknownPartners``, over partners of unknown policy, with ``favouring`` for a prior. Exact beliefs
need none: ``hanabi_search_plugin.private_belief`` is what ``upgrade`` uses by itself.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hanabi_search_plugin.core.lazy import lazily

if TYPE_CHECKING:
    from hanabi_search_plugin.beliefs.belief_model import BeliefModel, Grounded
    from hanabi_search_plugin.beliefs.learned_belief import Learned
    from hanabi_search_plugin.beliefs.particles import Particles
    from hanabi_search_plugin.beliefs.seatwise import Seatwise
    from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners, favouring

__all__ = [
    "BeliefModel",
    "Grounded",
    "Learned",
    "Particles",
    "Seatwise",
    "UnknownPartners",
    "favouring",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "belief_model": ("BeliefModel", "Grounded"),
        "learned_belief": ("Learned",),
        "particles": ("Particles",),
        "seatwise": ("Seatwise",),
        "unknown_partners": ("UnknownPartners", "favouring"),
    },
)
