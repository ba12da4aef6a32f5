"""Small cooperative games of the literature, each in a page: for searches to be measured on.

Those of Joint Policy Search (Tian, Gong and Jiang, NeurIPS 2020): ``Communication``,
``SimpleBidding``, ``MiniBridge``.
"""

from hanabi_search_plugin.games.communication import Communication
from hanabi_search_plugin.games.mini_bridge import MiniBridge
from hanabi_search_plugin.games.simple_bidding import SimpleBidding

__all__ = ["Communication", "MiniBridge", "SimpleBidding"]
