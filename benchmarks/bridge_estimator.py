"""Would an estimate of tricks save solving deals in bridge? (docs/results/bridge.md)

python -m benchmarks.bridge_estimator fit --examples 6000       # solves deals of its own
python -m benchmarks.bridge_estimator measure --network FILE --decisions 100
python -m benchmarks.bridge_estimator show

A search of a call needs its mean gain in IMPs over worlds, and most of its time solves deals. A
control variate takes the part of a gain that a cheap estimate of tricks foresees from many worlds,
and solves few for the rest. ``fit`` fits the estimate, linear in what players count: points,
trumps, short suits. ``measure`` plays auctions, and where the network finds two calls worth a try
it values both in the same worlds, by solutions and by estimates. The share of the variance of gains
that the estimate explains, and what a world costs by each, say what time is left at equal error:

    (sqrt((1 - explained) * (s + r)) + sqrt(explained * r))^2 / (s + r)

with s for solving and r for bidding, if the number of worlds of each kind is the best one.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from benchmarks.command_line import CommandLine
from benchmarks.pages import read_results, write_results
from hanabi_search_plugin import upgrade
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.beliefs import Seatwise
from hanabi_search_plugin.bridge import BridgeBidding, OtherTable, load_jps
from hanabi_search_plugin.bridge.deals import HAND, POINTS, Owners
from hanabi_search_plugin.bridge.double_dummy import DoubleDummy
from hanabi_search_plugin.bridge.scoring import NO_TRUMP
from hanabi_search_plugin.core.game import FloatArray, IntArray
from hanabi_search_plugin.core.rollout import action_values
from hanabi_search_plugin.core.streams import Streams

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "bridge-estimator.json"
PREFERRED = 0.03  # probability of a call that is worth a try, as in benchmarks.bridge_bidding
RIDGE = 1.0
SHIFTS = (-1.2, -0.6, 0.0, 0.6, 1.2)  # tricks: an estimate's gain is the mean over these errors

app = CommandLine(__doc__)
console = Console(highlight=False)


class EstimatedTricks:
    """In place of ``DoubleDummy``: what the declarer wins by a linear estimate, rounded."""

    def __init__(self, weights: FloatArray, shift: float = 0.0) -> None:
        self.weights = weights  # [2, features] of suit contracts and of no trump
        self.shift = shift  # tricks that are added before they are rounded

    def tricks(self, owners: Owners, strain: IntArray, declarer: IntArray) -> IntArray:
        """[B] as ``DoubleDummy.tricks``."""
        return np.clip(np.rint(self.exact(owners, strain, declarer) + self.shift), 0, 13).astype(
            np.int64
        )

    def exact(self, owners: Owners, strain: IntArray, declarer: IntArray) -> FloatArray:
        """[B] before it is rounded."""
        found = features(owners, strain, declarer)
        return np.asarray((found * self.weights[(strain == NO_TRUMP).astype(int)]).sum(axis=1))


def features(owners: Owners, strain: IntArray, declarer: IntArray) -> FloatArray:
    """[B, features] of deals [B, 52]: what the four seats hold, the trump suit first."""
    n, row = len(owners), np.arange(len(owners))
    suits = np.where(strain == NO_TRUMP, 3, strain)
    order = (suits[:, None] + np.arange(4)) % 4  # [B, 4] the trump suit is 0
    relative = (owners.astype(np.int64) - declarer[:, None]) % 4  # 0 declarer, 2 its partner
    relative = relative.reshape(n, 4, HAND)[row[:, None], order]
    columns = [np.ones(n)]
    honours = POINTS[:HAND]
    length = np.stack([(relative == seat).sum(axis=2) for seat in range(4)], axis=1)  # [B, 4, 4]
    points = np.stack([((relative == seat) * honours).sum(axis=2) for seat in range(4)], axis=1)
    side = points[:, 0] + points[:, 2]
    both = length[:, 0] + length[:, 2]
    columns += [points[:, seat].sum(axis=1) for seat in (0, 1, 2)]
    columns += [side[:, suit] for suit in range(4)]
    columns += [both[:, 0], both[:, 0] ** 2 / 10, np.abs(length[:, 0, 0] - length[:, 2, 0])]
    for seat in (0, 2):
        side_suits = length[:, seat, 1:]
        columns += [(side_suits == short).sum(axis=1) for short in (0, 1, 2)]
        columns += [(side_suits <= 1).sum(axis=1) * length[:, seat, 0]]
        columns += [(length[:, seat] ** 2).sum(axis=1) / 10]
    columns += [(length[:, seat] ** 2).sum(axis=1) / 10 for seat in (1, 3)]
    for card in range(3):  # ace, king, queen
        ours = relative[:, :, card] % 2 == 0
        columns += [ours[:, 0], ours[:, 1:].sum(axis=1)]
        columns += [(ours[:, 1:] * np.minimum(both[:, 1:], 9)).sum(axis=1) / 10]
    columns += [(both[:, 1:] >= 8).sum(axis=1), both[:, 1:].max(axis=1)]
    columns += [np.maximum(length[:, 1, 0], length[:, 3, 0])]
    columns += [(np.maximum(length[:, 0], length[:, 2]) * (side >= 5)).sum(axis=1) / 10]
    columns += [(side[:, 1:] <= 1).sum(axis=1), (side[:, 1:] >= 7).sum(axis=1)]
    return np.stack(columns, axis=1).astype(np.float64)


@app.command()
def fit(
    examples: Annotated[int, typer.Option(help="Deals, each with one contract.")] = 6_000,
    seed: Annotated[int, typer.Option(help="Of the deals.")] = 1,
) -> None:
    """Solve deals at random strains, by the side with more points, and fit the estimate."""
    rng = np.random.default_rng(seed)
    game = BridgeBidding()
    owners = game.deal(rng, examples).owners
    strain = rng.integers(0, 5, examples)
    held = np.stack([(owners == seat) @ POINTS for seat in range(4)], axis=1)
    better = (held[:, 1] + held[:, 3] > 20).astype(np.int64)
    declarer = better + 2 * rng.integers(0, 2, examples)
    solver, started = DoubleDummy(), time.process_time()
    won = np.concatenate(
        [
            solver.tricks(owners[b : b + 1], strain[b : b + 1], declarer[b : b + 1])
            for b in track(range(examples))
        ]
    )
    cost = (time.process_time() - started) / examples
    inputs, fitted = features(owners, strain, declarer), np.arange(examples) < 0.8 * examples
    weights = np.zeros((2, inputs.shape[1]))
    for no_trump in (0, 1):
        use = fitted & ((strain == NO_TRUMP) == no_trump)
        square = inputs[use].T @ inputs[use] + RIDGE * np.eye(inputs.shape[1])
        weights[no_trump] = np.linalg.solve(square, inputs[use].T @ won[use])
    error = EstimatedTricks(weights).exact(owners, strain, declarer) - won
    kept = {
        "examples": examples,
        "seed": seed,
        "weights": np.round(weights, 6).tolist(),
        "error": float(np.sqrt((error[~fitted] ** 2).mean())),
        "spread": float(won[~fitted].std()),
        "cpu_seconds_a_solution": cost,
    }
    write_results(RESULTS, {"fit": kept})
    show()


@app.command()
def measure(
    network: Annotated[Path, typer.Option(help="The network's file.")],
    decisions: Annotated[int, typer.Option(help="Turns with two calls worth a try.")] = 100,
    worlds: Annotated[int, typer.Option(help="Of a decision.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the boards.")] = 1,
) -> None:
    """Value two calls by solutions and by estimates; goes on where it was stopped."""
    content = read_results(RESULTS)
    if "fit" not in content:
        raise typer.BadParameter("nothing is fitted yet: run fit")
    bidder = load_jps(network)
    exact = BridgeBidding(other_table=OtherTable(bidder))
    weights = np.array(content["fit"]["weights"])
    estimated = [
        BridgeBidding(
            other_table=OtherTable(bidder),
            tricks=EstimatedTricks(weights, shift),  # type: ignore[arg-type]
        )
        for shift in SHIFTS
    ]
    found = content.get("decisions", [])
    board = found[-1]["board"] + 1 if found else 0
    while len(found) < decisions:
        rng = np.random.default_rng([seed, board])
        for line in _decisions(bidder, exact, estimated, worlds, rng):
            found.append({"board": board} | line)
        board += 1
        write_results(RESULTS, read_results(RESULTS) | {"decisions": found})
    show()


def _decisions(
    bidder: Any,
    exact: BridgeBidding,
    estimated: list[BridgeBidding],
    n: int,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """The turns of N in one auction that have two calls worth a try."""
    agent = upgrade(bidder, exact, Sparta(), belief=Seatwise(explained_by=bidder.softened(0.9)))
    board, found = exact.deal(rng, 1), []
    memory = agent.start(board.view(0))
    while not board.terminal[0]:
        seat = int(board.current_player[0])
        view = board.view(seat)
        call = int(bidder.act(view, view.legal, None, Streams.still(1))[0])
        if seat == 0:
            chances = bidder.preferences(view, view.legal, None)[0].copy()
            chances[call] = -1.0
            other = int(chances.argmax())
            if chances[other] >= PREFERRED:
                found.append(_compared(memory[0], exact, estimated, call, other, n, rng))
        event = board.step(np.array([call]))
        memory = agent.observe(board.view(0), event, memory)
    return found


def _compared(
    belief: Any, exact: BridgeBidding, estimated: list[BridgeBidding], call: int, other: int,
    n: int, rng: np.random.Generator,
) -> dict[str, Any]:  # fmt: skip
    worlds, memories = belief.sample(rng, n)
    chance, gains, seconds = Streams.spawn(rng, n), [], []
    for game in (*estimated, exact):
        again = game.boards(worlds.owners, worlds.auctions.dealer, worlds.vulnerable)
        again.auctions = worlds.auctions.select(np.arange(n))
        started = time.process_time()
        values = action_values(
            again, np.array([call, other]), belief.blueprint, memories, belief.seat, chance
        )
        seconds.append(time.process_time() - started)
        gains.append(values[1] - values[0])
    solved, foreseen = gains[-1], np.mean(gains[:-1], axis=0)
    return {
        "variance": float(solved.var(ddof=1)),
        "variance_of_estimate": float(foreseen.var(ddof=1)),
        "covariance": float(np.cov(foreseen, solved)[0, 1]),
        "seconds_estimated": min(seconds[:-1]),  # the bids of both are the same
        "seconds_solved": seconds[-1],
    }


@app.command()
def show() -> None:
    """Print what was measured."""
    content = read_results(RESULTS)
    fitted, found = content["fit"], content.get("decisions", [])
    console.print(
        f"tricks: error {fitted['error']:.2f} (spread {fitted['spread']:.2f}), "
        f"{1000 * fitted['cpu_seconds_a_solution']:.0f} ms of CPU a solution"
    )
    if not found:
        return
    total, shared, own = (
        np.array([line[name] for line in found])
        for name in ("variance", "covariance", "variance_of_estimate")
    )
    bidding, solving = (
        float(np.mean([line[name] for line in found]))
        for name in ("seconds_estimated", "seconds_solved")
    )
    scale = shared.sum() / own.sum()  # one for all decisions, as a search would use
    explained = 1 - (total - 2 * scale * shared + scale**2 * own).sum() / total.sum()
    ratio = bidding / solving
    left = (np.sqrt((1 - explained) * 1.0) + np.sqrt(explained * ratio)) ** 2
    console.print(
        f"{len(found)} decisions: {explained:.0%} of the variance of gains is explained; a world "
        f"costs {ratio:.0%} of its time without solving; at equal error {left:.0%} of the time"
    )


if __name__ == "__main__":
    app()
