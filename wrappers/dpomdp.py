"""Dec-POMDPs as games: several agents move at once, see different things and share one reward.

* ``load_dpomdp(path, horizon)`` reads a file in the .dpomdp format of the MADP toolbox
* ``DecPomdpGame`` is such a problem played for so many stages; a ``DecPomdp`` is its tables
* ``load_game("FILE(horizon=4)")`` is for the command line: ``--game 'dpomdp:FILE(horizon=4)'``
"""

from hanabi_search_plugin.wrappers._dpomdp_game import DecPomdpGame, load_dpomdp, load_game
from hanabi_search_plugin.wrappers._dpomdp_reader import DecPomdp

__all__ = ["DecPomdp", "DecPomdpGame", "load_dpomdp", "load_game"]
