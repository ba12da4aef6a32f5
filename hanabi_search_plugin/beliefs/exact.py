"""The exact beliefs of any game: its own where it has them, else every world is followed."""

from __future__ import annotations

from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.public_enumerated import EnumeratedPublicBelief
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.capabilities import HasBeliefs
from hanabi_search_plugin.core.game import Game, View
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.public_belief import PublicBelief


def private_belief(
    game: Game,
    blueprint: Blueprint,
    view: View,
    *,
    epsilon: float = 0.0,
    uncertainty: float = 0.0,
) -> Belief:
    """The private belief of ``view.player`` at the start of a game, before any event.

    ``view`` is that seat's first view, a batch of one. ``epsilon`` mixes the others' policies with
    uniform random legal moves. ``uncertainty`` u is no such model but SPARTA's remedy against
    beliefs that rule everything out: a world counts u where its partner would have moved otherwise,
    1 where not (p + u (1 - p) for a probability p of the move).

    Raises UnsupportedError where the game has no beliefs of its own and cannot list its chance (or
    has too many worlds for that), ConfigError for numbers outside 0 to 1.
    """
    if isinstance(game, HasBeliefs):
        return game.private_belief(blueprint, view, epsilon=epsilon, uncertainty=uncertainty)
    return EnumeratedBelief.start(game, blueprint, view, epsilon=epsilon, uncertainty=uncertainty)


def public_belief(
    game: Game, blueprint: Blueprint, view: View, *, epsilon: float = 0.0
) -> PublicBelief:
    """What everybody knows at the start of a game; as ``private_belief``, kept by that player."""
    if isinstance(game, HasBeliefs):
        return game.public_belief(blueprint, view, epsilon=epsilon)
    return EnumeratedPublicBelief.start(game, blueprint, view, epsilon=epsilon)
