"""The same play from the same seed, wherever and however an agent runs.

In threads, with an agent each and with one for all; after fork and spawn; from another seed of
hashes; pickled and copied in mid-game. For every kind of agent that the package has.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import RunningGame
from hanabi_search_plugin.registry import load_policy
from tests.helpers.small_agents import KINDS, SMALL, agent_of

ROOT = Path(__file__).resolve().parents[2]
GAME = SMALL[2]
GAMES = 4
MOVES = 4  # of a game: particles as few as these lose its track later


def begun(agent: SearchAgent, number: int) -> RunningGame:
    """Game ``number``, which the agent plays with its blueprint."""
    worlds = GAME.deal(np.random.default_rng(number), 1)
    policies = (agent, load_policy("smartbot", GAME))
    return RunningGame.begin(worlds, policies, Streams(np.zeros(1, dtype=np.uint64)), (number,))


def played(game: RunningGame) -> str:
    """A digest of the moves from here on and of the figures behind them.

    Without the count of likelihoods, which learned beliefs that grew from one share.
    """
    found: list[object] = []
    while not game.over and game.number < MOVES:
        turn = game.decide()
        figures = None if turn.result is None else turn.result.to_dict() | {"likelihoods": 0}
        found.append((turn.action, repr(figures)))
        game.play(turn.action)
    return hashlib.sha256(repr(found).encode()).hexdigest()


def one(kind: str, number: int) -> str:
    """A game by an agent of its own."""
    return played(begun(agent_of(kind, GAME), number))


def digests(kind: str) -> list[str]:
    return [one(kind, number) for number in range(GAMES)]


def every_kind() -> list[list[str]]:
    return [digests(kind) for kind in KINDS]


@pytest.mark.parametrize("kind", KINDS)
def test_threads(kind: str) -> None:
    alone, shared = digests(kind), agent_of(kind, GAME)
    with ThreadPoolExecutor(GAMES) as pool:
        assert list(pool.map(one, [kind] * GAMES, range(GAMES))) == alone
        games = [begun(shared, number) for number in range(GAMES)]
        assert list(pool.map(played, games)) == alone
    assert len(set(alone)) == GAMES


@pytest.mark.parametrize("kind", KINDS)
def test_copies_in_mid_game(kind: str) -> None:
    game = begun(agent_of(kind, GAME), 0)
    for _ in range(2):
        game.play(game.decide().action)
    ways = [copy.deepcopy(game), pickle.loads(pickle.dumps(game)), game.copy()]
    before = pickle.dumps(game.worlds.view(0).keys())
    ends = {played(way) for way in ways}
    assert pickle.dumps(game.worlds.view(0).keys()) == before  # they go on by themselves
    assert ends == {played(game)}


PROCESSES = """
import json, multiprocessing
from concurrent.futures import ProcessPoolExecutor
from tests.evaluation.test_anywhere import KINDS, digests

if __name__ == "__main__":
    found = {"here": [digests(kind) for kind in KINDS]}
    for way in %s:
        with ProcessPoolExecutor(1, multiprocessing.get_context(way)) as pool:
            found[way] = list(pool.map(digests, KINDS))
    print(json.dumps(found))
"""


def in_a_process(ways: list[str], hash_seed: str, tmp_path: Path) -> dict[str, list[list[str]]]:
    """Games of every kind there, and in processes that it starts."""
    program = tmp_path / "program.py"  # which spawned processes import again
    program.write_text(PROCESSES % ways)
    done = subprocess.run(
        [sys.executable, program], cwd=ROOT, capture_output=True, text=True, timeout=900,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[list[str]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_processes_and_seeds_of_hashes(tmp_path: Path) -> None:
    one = in_a_process(["fork", "spawn"], "1", tmp_path)
    other = in_a_process([], "2", tmp_path)
    assert one["fork"] == one["spawn"] == one["here"] == other["here"] == every_kind()
