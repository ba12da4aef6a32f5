"""What to search with where every seat searches: together, or each alone but in doubt.

Single-agent SPARTA at every seat is unsound: each seat's belief takes the others to play the
blueprint, and a searching partner does not (Lerer et al., 2020, Table 4). Joint search mends that
where seats can keep what everybody knows at a bearable price. Elsewhere the paper's remedy is a
belief that doubts its model of the partner, and a higher threshold.
"""

from __future__ import annotations

import dataclasses
from typing import get_args

import numpy as np

from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.range_search import RangePruning
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.beliefs.exact import public_belief
from hanabi_search_plugin.core.agent import Search
from hanabi_search_plugin.core.capabilities import CompilesRollouts
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.reprs import changed
from hanabi_search_plugin.core.rollout import start_memories
from hanabi_search_plugin.core.streams import Streams

MAX_RANGE = 80  # of the paper's (Table 3): some eight times the price of one searching seat
UNCERTAINTY, THRESHOLD = 0.05, 0.2  # the best cell of the paper's Table 4


def joint_search(search: Search, game: Game, blueprint: Blueprint) -> JointSparta | None:
    """The joint search with the settings of ``search``; None where there is none, or none bearable.

    That is for SPARTA without settings of its own (``seconds``, ``pruning="off"``), a game of
    identical rewards whose moves all see, and rollouts that are compiled or a public belief that is
    small enough to list.
    """
    if type(search) is not Sparta:
        return None
    own = changed(search).keys()
    if not own <= {field.name for field in dataclasses.fields(JointSparta)}:
        return None
    if search.pruning not in get_args(RangePruning):
        return None
    if game.rewards != "identical" or not game.public_actions or not _affordable(game, blueprint):
        return None
    settings = {name: getattr(search, name) for name in own}
    if "min_rollouts" not in own:  # so many as the budget has, for what nobody has set
        each = max(1, search.rollouts // game.num_actions)
        settings["min_rollouts"] = min(JointSparta.min_rollouts, each)
    return JointSparta(max_range=MAX_RANGE, **settings)


def doubtful_search(search: Search) -> Search:
    """SPARTA with the paper's threshold for independent searches, unless another is set; else as
    given."""
    if isinstance(search, Sparta) and "threshold" not in changed(search):
        return dataclasses.replace(search, threshold=THRESHOLD)
    return search


def _affordable(game: Game, blueprint: Blueprint) -> bool:
    """Whether ranges of thousands of worlds can be searched, by one game's first position."""
    rng = np.random.default_rng(0)
    worlds = game.deal(rng, 1)
    if isinstance(game, CompilesRollouts):
        memories = start_memories(worlds, blueprint)
        played = game.compiled_play_out(worlds, blueprint, memories, Streams.spawn(rng, 1))
        return played is not None
    try:
        public_belief(game, blueprint, worlds.view(0))
    except UnsupportedError:
        return False
    return True
