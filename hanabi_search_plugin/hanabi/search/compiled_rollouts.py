"""Play games and rollouts by compiled bots, spread over threads.

The kernels release the GIL. Every world has its own chance and its own random stream, so the
numbers do not depend on how the worlds are spread. Letters: B worlds, M first actions, P players.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.game import FloatArray, IntArray
from hanabi_search_plugin.core.policy import Memory
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots import game_loops
from hanabi_search_plugin.hanabi.bots.compiled import pack_memories
from hanabi_search_plugin.hanabi.bots.script import KIND, SMARTBOT
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds

WORTH_A_THREAD = 256  # games; handing fewer over costs more than it saves
NO_ROWS = np.empty((0, 0), dtype=np.int32)
PLAY_ON = np.array([game_loops.NO_MOVE])


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="rollouts")


def action_values(
    worlds: HanabiWorlds,
    actions: IntArray,
    scripts: IntArray,
    memories: tuple[Memory, ...],
    rng: Streams,
    *,
    threads: int = 1,
) -> FloatArray:
    """[M, B] see ``core.rollout.action_values``.

    ``scripts`` int64 [P, SCRIPT] says who they are, or [B, P, SCRIPT] where that differs by world.
    """
    values, _ = _play(worlds, actions, scripts, memories, rng, threads, keep=False, resign=False)
    return values.T


def play_out(
    worlds: HanabiWorlds,
    scripts: IntArray,
    memories: tuple[Memory, ...],
    rng: Streams,
    *,
    threads: int = 1,
    resign: bool = False,
) -> HanabiWorlds:
    """The worlds after the bots have played them to the end.

    ``resign``: a game also stops where a bot has no move to make (its rules are silent).
    """
    _, final = _play(worlds, PLAY_ON, scripts, memories, rng, threads, keep=True, resign=resign)
    return HanabiWorlds(worlds.game, final)


def _play(
    worlds: HanabiWorlds,
    actions: IntArray,
    scripts: IntArray,
    memories: tuple[Memory, ...],
    rng: Streams,
    threads: int,
    keep: bool,
    resign: bool,
) -> tuple[FloatArray, NDArray[np.int32]]:
    rows, first = worlds.rows, actions.reshape(len(actions), -1)
    packed = pack_memories(memories)
    tables = scripts.reshape(-1, *scripts.shape[-2:])
    smart = True if (tables[..., KIND] == SMARTBOT).any() else None
    values = np.empty((len(rows), len(actions)))
    final = np.empty((len(rows) * len(actions), rows.shape[1]), np.int32) if keep else NO_ROWS

    def part(start: int, stop: int) -> None:
        game_loops.play_rows(
            worlds.game.dims,
            rows[start:stop],
            first[:, start:stop] if first.shape[1] > 1 else first,
            tables[start:stop] if len(tables) > 1 else tables,
            packed[start:stop] if len(packed) > 1 else packed,
            resign,
            smart,
            rng.state[start:stop],
            values[start:stop],
            final[start * len(actions) : stop * len(actions)] if keep else final,
        )

    threads = max(1, min(threads, len(rows), len(rows) * len(first) // WORTH_A_THREAD))
    if threads == 1:
        part(0, len(rows))
    else:
        edges = np.linspace(0, len(rows), threads + 1).astype(int).tolist()
        # list() so that an exception in a thread is raised here.
        list(_pool(threads).map(part, edges[:-1], edges[1:]))
    return values, final
