"""Time a finished auction of bridge_uncontested_bidding in OpenSpiel (docs/results/other_games.md).

The game is not searched for this reason: a rollout is a finished auction. OpenSpiel scores each
by a double-dummy analysis of the deal, for as many layouts of the opponents' cards as
``num_redeals`` says, and keeps nothing of it for the next auction of the same deal.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyspiel

AUCTION = (11, 15, 0)  # 3C, 3NT, pass; where 2NT is forced, the first of these follows it
SETTINGS = (
    "bridge_uncontested_bidding",
    "bridge_uncontested_bidding(num_redeals=1)",
    "bridge_uncontested_bidding(subgame=2NT,num_redeals=1)",
)
PER_MOVE = 100  # rollouts of each move before SPARTA drops any


def measure(name: str, deals: int) -> dict[str, Any]:
    """CPU seconds of the last pass, and what a searched decision at an opening would take."""
    game, seconds = pyspiel.load_game(name), []
    for _ in range(deals):
        state = game.new_initial_state()
        state.apply_action(0)
        moves = len(state.legal_actions())
        for action in AUCTION[:-1]:
            state.apply_action(action)
        start = time.process_time()
        state.apply_action(AUCTION[-1])
        seconds.append(time.process_time() - start)
    mean = float(np.mean(seconds))
    return {
        "game": name, "deals": deals, "cpu_seconds": mean, "moves": moves,
        "cpu_seconds_sem": float(np.std(seconds, ddof=1) / np.sqrt(deals)),
        "hours_a_decision": mean * moves * PER_MOVE / 3600, "rollouts_a_move": PER_MOVE,
    }  # fmt: skip
