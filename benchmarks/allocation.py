"""Measure how well settings of SPARTA spend their rollouts (docs/results/sparta.md, By rollouts).

At positions of games in which one seat searched, all moves are tried in 16,000 worlds, bad ones in
1,000. A search is then given these returns in place of rollouts, in another order each time. So its
decisions cost next to nothing, are judged by the means of all worlds, and differ between settings
by the settings alone.

python -m benchmarks.allocation record --games 16 --out runs/allocation
python -m benchmarks.allocation compare rollouts=10000 indifference=0.003 rollouts=5000
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Column, Table

from benchmarks.command_line import CommandLine
from benchmarks.decisions import SEAT, decisions_of, exact_belief
from benchmarks.means import with_error
from hanabi_search_plugin import (
    Belief,
    HanabiGame,
    Policy,
    Sparta,
    Streams,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core import FloatArray, IntArray, Worlds, action_values
from hanabi_search_plugin.core.policy import Blueprint, Memory
from hanabi_search_plugin.evaluation.match import GameResult, Match
from hanabi_search_plugin.evaluation.threads import Threads

WORLDS, AT_FIRST, AT_ONCE = 16_000, 1_000, 3_000
KEPT = Path("runs/allocation")

app = CommandLine(__doc__)


class ReplayedGame(HanabiGame):
    """Hanabi in which the returns of rollouts are those of a recorded position, one by one."""

    def begin(self, legal: IntArray, returns: FloatArray) -> None:
        """``returns`` [M, worlds] are those of the moves ``legal`` [M] from now on."""
        self._legal, self._returns, self._used = legal, returns, 0

    def compiled_action_values(
        self,
        worlds: Worlds,
        actions: IntArray,
        blueprint: Blueprint,
        memories: tuple[Memory, ...],
        seat: int,
        rng: Streams,
        *,
        threads: int = 1,
    ) -> FloatArray:
        """[M, B] the next B of the recorded returns."""
        columns = (self._used + np.arange(len(worlds))) % self._returns.shape[1]
        self._used += len(worlds)
        rows = np.searchsorted(self._legal, actions)
        return np.asarray(self._returns[np.ix_(rows, columns)], dtype=np.float64)


@app.command()
def record(
    policy: Annotated[str, typer.Option(help="A compiled bot.")] = "smartbot",
    games: Annotated[int, typer.Option(help="Searched by the defaults of SPARTA.")] = 16,
    seed: Annotated[int, typer.Option(help="Of the games.")] = 11,
    out: Annotated[Path, typer.Option(help="A folder, a file a game; resumable.")] = KEPT,
) -> None:
    """Keep the returns of all moves at each decision of a searching seat."""
    game, player = HanabiGame(players=2), load_policy(policy)
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(out / "about.json") as file:
        file.write(json.dumps({"policy": policy, "seed": seed}).encode())
    for index in range(games):
        if not (out / f"{index}.npz").exists():
            arrays = _record_game(game, player, seed, index)
            with atomic_write(out / f"{index}.npz") as file:
                np.savez_compressed(file, **arrays)
            print(f"game {index}: {len(arrays['turns'])} decisions", flush=True)


def _record_game(game: HanabiGame, player: Policy, seed: int, index: int) -> dict[str, Any]:
    """The moves of a searched game, the turns of its decisions, and at each what the moves earn."""
    searched: list[GameResult] = []
    agent = upgrade(player, game, Sparta())
    Match(game, (player, agent), "policies", SEAT, seed).play([index], Threads(), searched.append)
    moves = list(searched[0].actions)
    kept: dict[str, Any] = {"moves": np.array(moves), "turns": []}

    def legal_moves(rng: np.random.Generator, belief: Belief) -> IntArray:
        return np.flatnonzero(belief.view.legal[0])

    told = seed, index, moves
    for turn, belief, legal, _ in decisions_of(
        game, player, exact_belief(game), legal_moves, *told
    ):
        if len(legal) > 1:
            kept["turns"].append(turn)
            kept[f"returns-{turn}"] = _returns(belief, legal, [seed, 95, index, turn])
    return kept


def _returns(belief: Belief, legal: IntArray, seed: list[int]) -> Any:
    """int8 [M, WORLDS] what each move earns; -1 where it has been dropped."""
    rng = np.random.default_rng(seed)

    def play(moves: IntArray, worlds: int) -> FloatArray:
        drawn, memories = belief.sample(rng, worlds)
        streams = Streams.spawn(rng, worlds)
        return action_values(drawn, moves, belief.blueprint, memories, SEAT, streams)

    found = np.full((len(legal), WORLDS), -1, dtype=np.int8)
    found[:, :AT_FIRST] = first = play(legal, AT_FIRST)
    behind = first[first.mean(axis=1).argmax()] - first
    error = behind.std(axis=1) / np.sqrt(AT_FIRST)
    near = np.flatnonzero(behind.mean(axis=1) <= np.maximum(5 * error, 0.15))
    for start in range(AT_FIRST, WORLDS, AT_ONCE):
        found[near, start : start + AT_ONCE] = play(legal[near], AT_ONCE)
    return found


@app.command()
def compare(
    searches: Annotated[list[str], typer.Argument(help="Options, rollouts=1000,errors=0.5.")],
    kept: Annotated[Path, typer.Option("--values", help="What the other command kept.")] = KEPT,
    times: Annotated[int, typer.Option(help="Decisions at each position.")] = 3,
) -> None:
    """The gain over the blueprint's moves, summed over the turns of a game, and its rollouts."""
    about = json.loads((kept / "about.json").read_text())
    game, player, seed = ReplayedGame(players=2), load_policy(about["policy"]), about["seed"]
    settings = [Sparta(**_options(words.split(","))) for words in searches]
    gains, spent = [], []  # [games, settings]
    for file in sorted(kept.glob("*.npz"), key=lambda file: int(file.stem)):
        found = np.zeros((2, len(settings)))
        with np.load(file, allow_pickle=False) as arrays:
            told = seed, int(file.stem), arrays["moves"].tolist()
            turns = set(arrays["turns"].tolist())
            for turn, belief, _, _ in decisions_of(
                game, player, exact_belief(game), _nothing, *told
            ):
                if turn in turns:
                    returns = arrays[f"returns-{turn}"]
                    rng = np.random.default_rng([seed, 96, int(file.stem), turn])
                    for _ in range(times):
                        found += _replayed(rng, game, belief, returns, settings) / times
        gains.append(found[0])
        spent.append(found[1])
    table = Table(
        Column("", overflow="fold"), "gain a game", "beside the first", "rollouts a game", box=None
    )
    gain = np.array(gains)
    for k, words in enumerate(searches):
        beside = gain[:, k] - gain[:, 0]
        shown = with_error(beside, 3, "+") if k else ""
        table.add_row(
            words, with_error(gain[:, k], 3, "+"), shown, f"{np.mean(spent, axis=0)[k]:,.0f}"
        )
    Console().print(table)


def _nothing(rng: np.random.Generator, belief: Belief) -> None:
    """Positions are asked for, no decisions."""


def _replayed(
    rng: np.random.Generator,
    game: ReplayedGame,
    belief: Belief,
    returns: Any,
    settings: list[Sparta],
) -> FloatArray:
    """[2, settings] what each search gains by its move, and its rollouts.

    All get the returns int8 [M, WORLDS] in the same order. A move that was dropped when they were
    recorded repeats those of its first worlds.
    """
    legal = np.flatnonzero(belief.view.legal[0])
    dropped = returns[:, -1] < 0
    value = np.where(dropped, returns[:, :AT_FIRST].mean(axis=1), returns.mean(axis=1))
    order = np.concatenate(
        [rng.permutation(AT_FIRST), AT_FIRST + rng.permutation(WORLDS - AT_FIRST)]
    )
    shown = returns[:, order]
    shown[dropped] = np.resize(shown[dropped, :AT_FIRST].T, (WORLDS, int(dropped.sum()))).T
    found = np.empty((2, len(settings)))
    for k, search in enumerate(settings):
        game.begin(legal, shown)
        result = search(rng, belief)
        played, base = np.searchsorted(legal, [result.action, result.blueprint_action])
        found[:, k] = value[played] - value[base], result.rollouts
    return found


def _options(words: list[str]) -> dict[str, Any]:
    pairs = (word.split("=") for word in words)
    return {name: value if name == "pruning" else ast.literal_eval(value) for name, value in pairs}


if __name__ == "__main__":
    app()
