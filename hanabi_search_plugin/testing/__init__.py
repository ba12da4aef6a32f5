"""Checks of the contracts, for games, policies, beliefs, searches and agents of your own.

Each plays some games and raises ContractError, one sentence, at the first breach. None takes more
than seconds on a small game; a check that passes has seen only the positions that it played.
"""

from hanabi_search_plugin.testing.belief_checks import check_belief
from hanabi_search_plugin.testing.game_checks import check_game
from hanabi_search_plugin.testing.policy_checks import check_agent, check_policy
from hanabi_search_plugin.testing.search_checks import check_search

__all__ = ["check_agent", "check_belief", "check_game", "check_policy", "check_search"]
