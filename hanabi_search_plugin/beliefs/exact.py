"""The beliefs of a game: its own if it ``HasBeliefs``, else by following every world.

Where worlds are too many to list and the game ``DealsTokens``, a private belief is a sample of
them.
"""

from __future__ import annotations

from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.public_enumerated import EnumeratedPublicBelief
from hanabi_search_plugin.beliefs.seatwise import UNCERTAINTY, Seatwise
from hanabi_search_plugin.beliefs.tracked_worlds import not_listed
from hanabi_search_plugin.core.belief import Belief, require_one_view
from hanabi_search_plugin.core.capabilities import DealsTokens, Enumerable, HasBeliefs
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Game, View, require_game
from hanabi_search_plugin.core.policy import Blueprint, Policy, as_blueprint
from hanabi_search_plugin.core.public_belief import PublicBelief


def require_exact(game: Game, *, public: bool = False, epsilon: float = 0.0) -> None:
    """Raises what ``private_belief`` (or ``public_belief``) raises for any view, as far as the game
    tells it without a deal."""
    if isinstance(game, HasBeliefs):
        game.require_beliefs()
    elif isinstance(game, Enumerable):
        game.require_few_deals()
    elif public or not isinstance(game, DealsTokens):
        raise not_listed(game)
    elif epsilon:
        raise _no_epsilon(game, epsilon)


def _no_epsilon(game: Game, epsilon: float) -> ConfigError:
    return ConfigError(
        f"epsilon must be 0 in {game.name}, where uncertainty does the same, got {epsilon}"
    )


def private_belief(
    game: Game,
    blueprint: Policy | Blueprint,
    view: View,
    *,
    epsilon: float = 0.0,
    uncertainty: float = 0.0,
) -> Belief:
    """The private belief of ``view.player`` at the start of a game, before any event.

    ``blueprint`` is one policy for all seats, or one a seat (``load_policy`` makes one of a name).
    ``view`` is that seat's first view, a batch of one, as ``worlds.view(seat)`` gives it.
    ``epsilon`` is the probability with which the others are assumed to move uniformly at random
    instead of by their policies. ``uncertainty`` u is SPARTA's remedy against beliefs that rule out
    every world: a world in which the mover makes its move with probability p is weighted by
    p + u (1 - p) in place of p.

    Raises UnsupportedError for what is no policy or no view, if the game has no beliefs of its own
    and neither is ``Enumerable`` nor ``DealsTokens``, or has too many worlds to list; ConfigError
    for numbers outside 0 to 1, and for an epsilon where the belief is a sample seat by seat.
    """
    blueprint = _blueprint("private_belief", game, blueprint, view)
    if isinstance(game, HasBeliefs):
        return game.private_belief(blueprint, view, epsilon=epsilon, uncertainty=uncertainty)
    if isinstance(game, DealsTokens) and not isinstance(game, Enumerable):
        if epsilon:
            raise _no_epsilon(game, epsilon)
        return Seatwise(uncertainty=max(uncertainty, UNCERTAINTY))(blueprint, view)
    return EnumeratedBelief.start(game, blueprint, view, epsilon=epsilon, uncertainty=uncertainty)


def public_belief(
    game: Game, blueprint: Policy | Blueprint, view: View, *, epsilon: float = 0.0
) -> PublicBelief:
    """The public belief at the start of a game, kept by ``view.player``.

    Parameters and errors are as in ``private_belief``.
    """
    blueprint = _blueprint("public_belief", game, blueprint, view)
    if isinstance(game, HasBeliefs):
        return game.public_belief(blueprint, view, epsilon=epsilon)
    return EnumeratedPublicBelief.start(game, blueprint, view, epsilon=epsilon)


def _blueprint(call: str, game: Game, blueprint: Policy | Blueprint, view: View) -> Blueprint:
    require_game(game, blueprint, call=f"{call}(game, policy, view)")
    require_one_view(view, game)
    return as_blueprint(blueprint, game.num_players)
