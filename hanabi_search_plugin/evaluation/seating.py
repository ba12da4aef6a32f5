"""Who sits where: agents that may search at every seat, and the policies without a search."""

from __future__ import annotations

import logging

from hanabi_search_plugin.core.agent import SearchAgent, require_same_game
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.registry import AnyBlueprint

_logger = logging.getLogger("hanabi_search_plugin")

MANY_SEARCHERS = (
    "seats %s search independently: each one's belief assumes that the others play the blueprint, "
    "which a searching partner breaks, and such teams can score below the blueprint (SPARTA, "
    "Table 4); agent.for_all_seats(), --search-seats all, gives what is sound"
)

NOT_ALL_JOINT = (
    "%r takes all seats to search jointly, and sits at %d of %d: seat it everywhere, as "
    "evaluate(game, agent) does, or let one seat search alone, by upgrade(policy, game, Sparta())"
)


def seated_everywhere(policies: AnyBlueprint, game: Game) -> AnyBlueprint:
    """``policies``; for one search agent at all seats the one to seat there, which is logged.

    Raises ConfigError where that agent can sit at one seat alone, UnsupportedError for one of
    another game.
    """
    if not isinstance(policies, SearchAgent):
        return policies
    require_same_game((policies,), game)
    seated = policies.for_all_seats()
    if seated is not policies:
        say_seated(policies, seated)
    return seated


def say_seated(given: SearchAgent, seated: SearchAgent) -> None:
    """Log what plays every seat in place of the agent that was given for all."""
    _logger.warning(
        "all seats search: %r plays them, since %r takes the others to play the blueprint%s",
        seated,
        given,
        ""
        if seated.searches_jointly
        else "; searching independently, they doubt each other and ask for more gain where no "
        "threshold was set (uncertainty, threshold: SPARTA, Table 4)",
    )


def warn_of_independent_searches(policies: Blueprint) -> None:
    """Log a warning where several seats search and take the others to play the blueprint, and
    where an agent that takes all seats to search jointly has not all of them."""
    alone = [
        p
        for p, policy in enumerate(policies)
        if isinstance(policy, SearchAgent) and policy.assumes_blueprint
    ]
    if len(alone) > 1:
        _logger.warning(MANY_SEARCHERS, ", ".join(map(str, alone)))
    joint = [policy for policy in policies if getattr(policy, "searches_jointly", False)]
    if 0 < len(joint) < len(policies):
        _logger.warning(NOT_ALL_JOINT, joint[0], len(joint), len(policies))


def without_search(policies: Blueprint) -> Blueprint:
    """The policies with each search agent replaced by its blueprint at that seat."""
    return tuple(
        policy.blueprint[p] if isinstance(policy, SearchAgent) else policy
        for p, policy in enumerate(policies)
    )
