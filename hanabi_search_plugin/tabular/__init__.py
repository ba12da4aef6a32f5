"""Small games as tables: every information state listed, exact values, policies as arrays.

* ``GameTree`` lists a game, ``TreeGame`` plays it from there, ``InformationStates`` numbers what
  seats may have seen
* ``TabularPolicy`` plays a table, ``tabulate`` makes one of what any policies play
* ``Replies`` lets the seats reply best, one or all in turn
* ``joint_policy_search`` changes the information states of several seats at once

For games of identical rewards that list their chance (``core.Enumerable``).
"""

from hanabi_search_plugin.tabular.game_tree import GameTree
from hanabi_search_plugin.tabular.information_states import InformationStates
from hanabi_search_plugin.tabular.policy_search import joint_policy_search
from hanabi_search_plugin.tabular.replies import Replies, best_reply
from hanabi_search_plugin.tabular.tables import TabularPolicy, tabulate
from hanabi_search_plugin.tabular.tree_game import TreeGame

__all__ = [
    "GameTree",
    "InformationStates",
    "Replies",
    "TabularPolicy",
    "TreeGame",
    "best_reply",
    "joint_policy_search",
    "tabulate",
]
