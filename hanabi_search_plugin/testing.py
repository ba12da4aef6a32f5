"""Checks of the contracts, for games, policies, beliefs and agents of your own.

Each plays some games and raises ContractError, one sentence, at the first breach. None takes more
than seconds on a small game; a check that passes has seen only the positions that it played.
"""

from hanabi_search_plugin._check_belief import check_belief
from hanabi_search_plugin._check_game import check_game
from hanabi_search_plugin._check_policy import check_agent, check_policy

__all__ = ["check_agent", "check_belief", "check_game", "check_policy"]
