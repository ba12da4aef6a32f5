"""The bidding of contract bridge: a game, bidders, boards and their scores.

``BridgeBidding`` is the game; ``OtherTable`` makes its returns IMPs. ``NaturalBidder`` bids by
rules; ``load_jps`` reads the network of Joint Policy Search. Tricks are those of perfect play, by
the library endplay, from the extra ``bridge``.
"""

from hanabi_search_plugin.bridge.bidding_game import BridgeBidding
from hanabi_search_plugin.bridge.jps_bidder import JpsBidder, load_jps
from hanabi_search_plugin.bridge.natural_bidder import NaturalBidder
from hanabi_search_plugin.bridge.other_table import OtherTable

__all__ = ["BridgeBidding", "JpsBidder", "NaturalBidder", "OtherTable", "load_jps"]
