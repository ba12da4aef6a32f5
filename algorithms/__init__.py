"""Searches: each a frozen configuration that is called with (rng, belief) for a SearchResult."""

from hanabi_search_plugin.algorithms.ismcts import MoIsmcts, RisMcts, SoIsmcts
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.predictor import Predictor
from hanabi_search_plugin.algorithms.sparta import Sparta

__all__ = ["JointSparta", "Lbs", "MoIsmcts", "Predictor", "RisMcts", "SoIsmcts", "Sparta"]
