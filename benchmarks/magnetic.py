"""Measure the magnetic step of Mds in adversarial games (docs/searches/mirror_descent.md).

python -m benchmarks.magnetic exact             # exploitability of steps by exact values
python -m benchmarks.magnetic searched          # of what Mds plays by rollouts, tabulated
python -m benchmarks.magnetic versus            # head to head on 3 x 3 boards; 0.1 CPU s a game
python -m benchmarks.magnetic tables            # docs/searches/mirror_descent.md

All but the last are resumable: what was measured is kept, and ``versus`` goes on with the next
game. Exploitability is OpenSpiel's, in points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyspiel
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import with_error
from benchmarks.pages import fill, read_results, write_results
from benchmarks.zero_sum_tree import ZeroSumTree
from hanabi_search_plugin import Mds, MoIsmcts, SearchAgent, UniformPolicy, upgrade
from hanabi_search_plugin.algorithms.mds import mirror_step
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.game import Event, FloatArray
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, as_policy

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "magnetic.json"
PAGE = ROOT / "docs" / "searches" / "mirror_descent.md"

SMALL = {  # what OpenSpiel can reply to exactly
    "Kuhn poker": "kuhn_poker",
    "Leduc poker": "leduc_poker",
    "liar's dice, 4 sides": "liars_dice(dice_sides=4)",
    "abrupt dark hex, 2 x 2": "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "abrupt dark hex, 2 x 3": "dark_hex(num_rows=2,num_cols=3,gameversion=adh)",
}
BOARDS = {  # the paper's
    "abrupt dark hex, 3 x 3": "dark_hex(num_rows=3,num_cols=3,gameversion=adh)",
    "abrupt phantom tic-tac-toe": "phantom_ttt(gameversion=abrupt)",
}
STEPS = ((1.0, 0.5), (4.0, 0.05), (10.0, 0.05))  # eta, magnet; of a game whose best return is 1
COUNTS = (1, 3, 10, 30, 100)  # of steps one after the other
ROLLOUTS = 1_000  # of a decision
ITERATED = 10_000  # the same, in Kuhn poker
PLAYERS: dict[str, Any] = {
    "greedy": Mds(rollouts=ROLLOUTS, eta=math.inf),
    "magnetic": Mds(rollouts=ROLLOUTS, eta=10.0, magnet=0.05),
    "MO-ISMCTS": MoIsmcts(iterations=ROLLOUTS, nodes="observations", exploration=1.0),
}
PAIRS = (
    ("greedy", "uniform"),
    ("magnetic", "uniform"),
    ("magnetic", "greedy"),
    ("greedy", "MO-ISMCTS"),
    ("magnetic", "MO-ISMCTS"),
)

app = CommandLine(__doc__)
console = Console(highlight=False)


# ----------------------------------------------------------------------------------- exact values


def stepped(tree: ZeroSumTree, table: FloatArray, eta: float, magnet: float) -> FloatArray:
    """[I, A] a step from ``table`` everywhere at once, by exact values: Mds of endless rollouts.

    Information states that the other's play never leads to keep their rows.
    """
    found, values, legal = table.copy(), tree.action_values(table), tree.legal
    for state in np.flatnonzero((np.isfinite(values) == legal).all(axis=1)):
        moves = legal[state]
        found[state, moves] = mirror_step(
            table[state, moves], values[state, moves], eta, magnet=magnet
        )
    return found


def schedule(best: float, t: int) -> tuple[float, float]:
    """eta and magnet of step ``t`` in a game whose largest return is ``best``: both decrease."""
    return 2.0 / (best * math.sqrt(t)), best / (2.0 * math.sqrt(t))


def followed(tree: ZeroSumTree, magnetic: bool) -> Iterator[tuple[str, float]]:
    """The exploitability after each of COUNTS of steps from uniform, with and without a magnet."""
    table, best = tree.uniform, tree.spiel.max_utility()
    for t in range(1, COUNTS[-1] + 1):
        eta, magnet = schedule(best, t)
        table = stepped(tree, table, eta, magnet if magnetic else 0.0)
        if t in COUNTS:
            yield str(t), tree.exploitability(table)


def scaled(tree: ZeroSumTree, eta: float, magnet: float) -> tuple[float, float]:
    """The same step in the game's points."""
    best = tree.spiel.max_utility()
    return eta / best, magnet * best


@app.command()
def exact() -> None:
    """Exploitability of uniform, of greedy replies to it, of one step, and of many."""
    for label, name in SMALL.items():
        if "exact" in read_results(RESULTS).get(label, {}):
            continue
        tree = ZeroSumTree(pyspiel.load_game(name))
        uniform = tree.uniform
        row: dict[str, Any] = {
            "states": len(uniform),
            "uniform": tree.exploitability(uniform),
            "greedy": tree.exploitability(stepped(tree, uniform, math.inf, 0.0)),
        }
        for eta, magnet in STEPS:
            table = stepped(tree, uniform, *scaled(tree, eta, magnet))
            row[words(eta, magnet)] = tree.exploitability(table)
        row["plain"] = dict(followed(tree, magnetic=False))
        row["magnetic"] = dict(followed(tree, magnetic=True))
        keep(label, exact=row)
        console.print(f"{label}: {row}")


def words(eta: float, magnet: float) -> str:
    return f"eta {eta:g}, magnet {magnet:g}"


def keep(label: str, **parts: Any) -> None:
    before = read_results(RESULTS)
    write_results(RESULTS, before | {label: before.get(label, {}) | parts})


# -------------------------------------------------------------------------------- what Mds plays


def tabulated(game: OpenSpielGame, agent: SearchAgent, tree: ZeroSumTree, seed: int) -> FloatArray:
    """[I, A] the policy that a search draws its moves from, asked once in each information state.

    The seed of a decision is made of ``seed`` and of the state's number.
    """
    found = np.zeros((len(tree.number), tree.actions))
    worlds, _ = game.deals()
    memories: list[dict[Any, Any]] = [{} for _ in range(2)]
    for p, known in enumerate(memories):
        for b, key in enumerate(strings(worlds, p)):
            if key not in known:
                known[key] = agent.start(worlds.view(p).select(np.array([b])))
    while len(worlds):
        mover = worlds.current_player
        for state, p in zip(worlds.states, mover.tolist(), strict=True):
            key = state.information_state_string(p)
            number = tree.number[key]
            if not found[number].any():
                rng = np.random.default_rng([seed, number])
                result = agent.decide(memories[p][key][0], rng)
                assert result.policy is not None
                found[number, result.actions] = result.policy
        row, action = np.nonzero(worlds.legal)
        after, source, _ = game.branch(worlds.select(row), action)
        inside = np.flatnonzero(~after.terminal)
        after, source = after.select(inside), source[inside]
        event = Event(mover[row[source]], action[source])
        memories = [
            observed(game, agent, p, known, strings(worlds, p), (after, row[source], event))
            for p, known in enumerate(memories)
        ]
        worlds = after
    return found


def observed(
    game: OpenSpielGame,
    agent: SearchAgent,
    player: int,
    known: dict[str, Any],
    before: list[str],
    moved: tuple[Any, Any, Event],
) -> dict[str, Any]:
    """The agent's memories after a move, by what ``player`` has seen then."""
    worlds, parent, event = moved
    found: dict[str, Any] = {}
    seen = event.seen_by(player, game)
    for b, key in enumerate(strings(worlds, player)):
        if key not in found:
            one = np.array([b])
            memory = known[before[parent[b]]]
            found[key] = agent.observe(worlds.view(player).select(one), seen.select(one), memory)
    return found


def strings(worlds: Any, player: int) -> list[str]:
    return [state.information_state_string(player) for state in worlds.states]


def policy_of(tree: ZeroSumTree, table: FloatArray, game: OpenSpielGame) -> Policy:
    """A table as a blueprint."""
    rows = {
        key: [(int(a), float(table[i, a])) for a in np.flatnonzero(tree.legal[i])]
        for key, i in tree.number.items()
    }
    return as_policy(pyspiel.TabularPolicy(rows), game)


@app.command()
def searched() -> None:
    """Exploitability of what Mds plays by rollouts: over uniform, and in Kuhn poker over itself."""
    for label, name in SMALL.items():
        if "searched" in read_results(RESULTS).get(label, {}):
            continue
        game = OpenSpielGame(name)
        tree = ZeroSumTree(game.spiel)
        row = {}
        for eta, magnet in ((math.inf, 0.0), *STEPS):
            step = scaled(tree, eta, magnet)
            search = Mds(rollouts=ROLLOUTS, eta=step[0], magnet=step[1])
            agent = upgrade(UniformPolicy(), game, search)
            table = tabulated(game, agent, tree, seed=0)
            row[words(eta, magnet)] = tree.exploitability(table)
        keep(label, searched=row)
        console.print(f"{label}: {row}")
    label, name = next(iter(SMALL.items()))
    if "iterated" not in read_results(RESULTS)[label]:
        game = OpenSpielGame(name)
        tree = ZeroSumTree(game.spiel)
        keep(label, iterated=dict(iterated(game, tree)))


def iterated(game: OpenSpielGame, tree: ZeroSumTree) -> Iterator[tuple[str, float]]:
    """The exploitability after COUNTS of searches, each over the table of the one before."""
    blueprint: Policy = UniformPolicy()
    for t in range(1, COUNTS[-1] + 1):
        eta, magnet = schedule(tree.spiel.max_utility(), t)
        agent = upgrade(blueprint, game, Mds(rollouts=ITERATED, eta=eta, magnet=magnet))
        table = tabulated(game, agent, tree, seed=t)
        blueprint = policy_of(tree, table, game)
        if t in COUNTS:
            yield str(t), tree.exploitability(table)


# ---------------------------------------------------------------------------------- head to head


@app.command()
def versus(
    games: Annotated[int, typer.Option(help="Of a pair, half of them from each seat.")] = 1_000,
) -> None:
    """Games won, drawn and lost by the first of each pair, on the boards of the paper."""
    for most in range(100, games + 100, 100):
        for label, name in BOARDS.items():
            game = OpenSpielGame(name)
            for pair in PAIRS:
                key = " against ".join(pair)
                done = read_results(RESULTS).get(label, {}).get(key, [[0, 0, 0], [0, 0, 0]])
                agents = [player(who, game) for who in pair]
                begun = sum(map(sum, done))
                for g in range(begun, min(most, games)):
                    done[g % 2][1 - round(played(game, agents, g))] += 1
                if begun < min(most, games):
                    keep(label, **{key: done})
                    console.print(f"{label}, {key}: {done}")


def player(who: str, game: OpenSpielGame) -> SearchAgent | None:
    """None makes each legal move alike."""
    return upgrade(UniformPolicy(), game, PLAYERS[who]) if who in PLAYERS else None


def played(game: OpenSpielGame, agents: list[SearchAgent | None], g: int) -> float:
    """What the first agent gets in game ``g``, in which it sits at seat ``g % 2``."""
    rng = np.random.default_rng([7, g])
    seated = agents if g % 2 == 0 else agents[::-1]
    worlds = game.deal(rng, 1)
    memories: list[Any] = [a and a.start(worlds.view(p)) for p, a in enumerate(seated)]
    while not worlds.terminal[0]:
        p = int(worlds.current_player[0])
        agent, memory = seated[p], memories[p]
        if agent is None:
            action = int(rng.choice(np.flatnonzero(worlds.legal[0])))
        else:
            action = agent.decide(memory[0], rng).action
        event = worlds.step(np.array([action]))
        if not worlds.terminal[0]:
            memories = [
                a and a.observe(worlds.view(q), event, memories[q]) for q, a in enumerate(seated)
            ]
    return float(worlds.returns[0, g % 2])


# ---------------------------------------------------------------------------------------- tables


@app.command()
def tables() -> None:
    """Write what was measured into the page."""
    found = read_results(RESULTS)
    sections = {
        "magnetic exploitability": exploitability_table(found),
        "magnetic steps": steps_table(found),
        "magnetic head to head": versus_table(found),
    }
    with atomic_write(PAGE) as file:
        file.write(fill(PAGE.read_text(), sections).encode())


def exploitability_table(found: dict[str, Any]) -> Iterator[str]:
    names = [words(*step) for step in STEPS]
    yield from head("game", "states", "values", "uniform", "greedy", *names)
    for label in SMALL:
        row, searched = found[label]["exact"], found[label]["searched"]
        exact = [row["uniform"], row["greedy"], *(row[name] for name in names)]
        ours = [searched[words(math.inf, 0.0)], *(searched[name] for name in names)]
        yield line(label, f"{row['states']:,}", "exact", *(f"{e:.3f}" for e in exact))
        yield line("", "", f"{ROLLOUTS:,} rollouts", "", *(f"{e:.3f}" for e in ours))


def steps_table(found: dict[str, Any]) -> Iterator[str]:
    yield from head("game", "steps", *map(str, COUNTS))
    for label in SMALL:
        row = found[label]
        many = {"plain": row["exact"]["plain"], "magnetic": row["exact"]["magnetic"]}
        if "iterated" in row:
            many[f"magnetic, {ITERATED:,} rollouts"] = row["iterated"]
        for n, (kind, by_count) in enumerate(many.items()):
            values = (f"{by_count[str(t)]:.3f}" for t in COUNTS)
            yield line("" if n else label, kind, *values)


def versus_table(found: dict[str, Any]) -> Iterator[str]:
    yield from head("game", "", "games", "moves first", "moves second", "points a game")
    for label in BOARDS:
        for n, pair in enumerate(PAIRS):
            key = " against ".join(pair)
            seats = found[label][key]
            returns = np.repeat([1.0, 0.0, -1.0], np.sum(seats, axis=0))
            first, second = (f"{(one[0] - one[2]) / sum(one):+.2f}" for one in seats)
            points = with_error(returns, 3, "+")
            yield line("" if n else label, key, f"{len(returns):,}", first, second, points)


def head(*names: str) -> Iterator[str]:
    yield line(*names)
    yield "|" + "---|" * len(names)


def line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    app()
