"""Search as a judge: what every legal move of a position is worth, given what its player knows.

* ``Judge``: one call a position, or ``many`` at once, or every move of a recorded ``game``
* ``Verdict``: values with errors, the best move, regret, and a reward in [0, 1] for a move
* ``play_games``, ``judged_lines``, ``write_parquet``: data sets of judged positions
* ``observation_text``, ``read_observation_text``, ``move_name``, ``read_move``: positions and moves
  in OpenSpiel's words

docs/how_to/judge.md has what they mean.
"""

from __future__ import annotations

from hanabi_search_plugin.hanabi.files.move_names import move_name, read_move
from hanabi_search_plugin.hanabi.files.observation_text import (
    observation_text,
    read_observation_text,
)
from hanabi_search_plugin.judge.data_set import judged_lines, play_games, write_parquet
from hanabi_search_plugin.judge.judging import Judge
from hanabi_search_plugin.judge.verdict import Verdict

__all__ = [
    "Judge",
    "Verdict",
    "judged_lines",
    "move_name",
    "observation_text",
    "play_games",
    "read_move",
    "read_observation_text",
    "write_parquet",
]
