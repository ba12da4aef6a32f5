"""SPARTA over the bidding network of Joint Policy Search, board by board (docs/results/bridge.md).

    python -m benchmarks.bridge_bidding check --files FOLDER
    python -m benchmarks.bridge_bidding measure --network FILE --boards 500 --out runs/bridge.jsonl
    python -m benchmarks.bridge_bidding show runs/bridge.jsonl
    python -m benchmarks.bridge_bidding tables   # its page from docs/results/bridge-*.jsonl

FOLDER has the network's own match record (jps_14days.log.gz, against_WBridge5.raw.gz) and its file,
which are not shipped. A board's return is IMPs against the network at the other table, so that a
board that nobody searches is 0. What each searched call gains is estimated once more, in worlds
that nothing was chosen by. ``measure`` goes on where it was stopped.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import with_error
from benchmarks.pages import fill, rewrite
from hanabi_search_plugin import Sparta, Streams, upgrade
from hanabi_search_plugin.beliefs.seatwise import Seatwise
from hanabi_search_plugin.bridge import BridgeBidding, JpsBidder, OtherTable, load_jps
from hanabi_search_plugin.bridge.auction import DOUBLE, PASS, REDOUBLE, STRAINS, call_text
from hanabi_search_plugin.bridge.bidding_game import VULNERABLE, BridgeWorlds
from hanabi_search_plugin.bridge.deals import read_deal
from hanabi_search_plugin.bridge.scoring import imps
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.rollout import action_values

app = CommandLine(__doc__)
ROOT = Path(__file__).resolve().parents[1]
RESULTS = {  # files of ``measure``
    "one seat": ROOT / "docs" / "results" / "bridge-one.jsonl",
    "both seats of a side": ROOT / "docs" / "results" / "bridge-both.jsonl",
}
PAGE = ROOT / "docs" / "results" / "bridge.md"
SEATS = {"one": (0,), "both": (0, 2)}


# ------------------------------------------------------------------- the network's own record


@dataclass(frozen=True)
class Recorded:
    """One auction of the record."""

    deal: str
    dealer: int
    vulnerable: str
    calls: tuple[int, ...]
    by_network: tuple[bool, ...]


def read_log(path: Path) -> list[Recorded]:
    """The auctions of a match record, two a board: the network is N and S in the first."""
    found = []
    text = gzip.decompress(path.read_bytes()).decode()
    for board in re.split(r"(?m)^(?=dealer is)", text)[1:]:
        head = re.match(r'dealer is (\d) \[Vulnerability (\w+)\]\s*\[Deal "([^"]+)"\]', board)
        assert head is not None
        for auction in re.findall(r"Table \d, dealer: \d\s+(.*)", board):
            words = auction.split()
            calls = tuple(_call(word.strip("()")) for word in words)
            by_network = tuple(not word.startswith("(") for word in words)
            found.append(Recorded(head[3], int(head[1]), head[2].lower(), calls, by_network))
    return found


def _call(word: str) -> int:
    named = {"P": PASS, "X": DOUBLE, "XX": REDOUBLE}
    return named[word] if word in named else 5 * (int(word[0]) - 1) + "CDHSN".index(word[1])


def worlds_of(game: BridgeBidding, records: list[Recorded]) -> BridgeWorlds:
    """The boards of the records before the first call."""
    return game.boards(
        np.array([read_deal(record.deal) for record in records]),
        np.array([record.dealer for record in records], dtype=np.int8),
        np.array([VULNERABLE[record.vulnerable] for record in records], dtype=np.bool_),
    )


def reproduced(game: BridgeBidding, network: JpsBidder, records: list[Recorded]) -> tuple[int, int]:
    """Calls of the network in the record that it makes again, and all of them."""
    worlds, alive, again, every = worlds_of(game, records), np.arange(len(records)), 0, 0
    turn = 0
    while len(alive):
        calls = np.array([records[i].calls[turn] for i in alive])
        asked = np.array([records[i].by_network[turn] for i in alive])
        for seat in range(4):
            rows = np.flatnonzero(asked & (worlds.current_player == seat))
            if len(rows):
                view = worlds.view(seat).select(rows)
                made = network.act(view, view.legal, None, Streams.still(len(rows)))
                again, every = again + int((made == calls[rows]).sum()), every + len(rows)
        worlds.step(calls)
        on = np.flatnonzero(~worlds.terminal)
        alive, worlds, turn = alive[on], worlds.select(on), turn + 1
    return again, every


def margin(game: BridgeBidding, records: list[Recorded]) -> np.ndarray[Any, Any]:
    """[boards] IMPs of the network's side, from the recorded auctions and tables of tricks."""
    played = []
    for record in records:
        one = worlds_of(game, [record])
        for call in record.calls:
            one.step(np.array([call]))
        played.append(float(one.points[0]))
    points = np.array(played).reshape(-1, 2)
    return imps(points[:, 0] - points[:, 1])


def tell_tables(game: BridgeBidding, path: Path) -> None:
    """Take the recorded double-dummy tables: two lines a board, the deal and twenty numbers."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    pairs = [
        (match[1], line.split())
        for head, line in pairwise(lines)
        if (match := re.match(r'\[Deal "([^"]+)"\]', head))
    ]
    owners = np.array([read_deal(deal) for deal, _ in pairs])
    tables = np.array([numbers for _, numbers in pairs], dtype=np.int64)
    game.tricks.tell(owners, tables.reshape(-1, len(STRAINS), 4))


@app.command()
def check(
    files: Annotated[Path, typer.Option(help="Has the network's file and its record.")],
) -> None:
    """Hold the adapter against the network's own record of its match."""
    game, records = BridgeBidding(), read_log(files / "jps_14days.log.gz")
    tell_tables(game, files / "against_WBridge5.raw.gz")
    again, every = reproduced(game, load_jps(files / "agent-1610-0.63.pth"), records)
    print(f"calls made again: {again:,} of {every:,}")
    gains = margin(game, records)
    print(f"IMPs a board over {len(gains):,}: {with_error(gains, 3, '+')}")


# ----------------------------------------------------------------------------------- searching


@dataclass(frozen=True)
class Options:
    """What results are for."""

    searching: str
    rollouts: int
    confirm: int
    threshold: float
    preferred: float
    seed: int
    fresh: int


@app.command()
def measure(
    network: Annotated[Path, typer.Option(help="The network's file.")],
    out: Annotated[Path, typer.Option(help="One line a board; goes on from there.")],
    boards: Annotated[int, typer.Option(help="Dealt at random.")] = 500,
    searching: Annotated[str, typer.Option(help="one: N; both: N and S.")] = "one",
    rollouts: Annotated[int, typer.Option(help="Of a decision.")] = 1_000,
    confirm: Annotated[int, typer.Option(help="Fresh worlds that decide.")] = 200,
    threshold: Annotated[float, typer.Option(help="IMPs that a call must gain.")] = 0.1,
    preferred: Annotated[float, typer.Option(help="Probability of calls that are tried.")] = 0.03,
    fresh: Annotated[int, typer.Option(help="Worlds that a gain is estimated in again.")] = 200,
    seed: Annotated[int, typer.Option(help="Decides on everything.")] = 1,
) -> None:
    """Play the boards."""
    bidder = load_jps(network)
    options = Options(searching, rollouts, confirm, threshold, preferred, seed, fresh)
    out.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    if done and done[0]["options"] != asdict(options):
        raise typer.BadParameter(f"{out} is of other options: {done[0]['options']}")
    with out.open("a") as file:
        for board in range(len(done), boards):
            line = {"board": board, **one_board(bidder, options, board)}
            if board == 0:
                line["options"] = asdict(options)
            file.write(json.dumps(line) + "\n")
            file.flush()
    show(out)


def one_board(bidder: JpsBidder, options: Options, board: int) -> dict[str, Any]:
    """What a search makes of one board, and what it changed."""
    game = BridgeBidding(other_table=OtherTable(bidder))
    search = Sparta(
        rollouts=options.rollouts, confirm=options.confirm, threshold=options.threshold,
        preferred=options.preferred, min_rollouts=32, round_size=64,
    )  # fmt: skip
    belief = Seatwise(explained_by=bidder.softened(0.9))
    agent = upgrade(bidder, game, search, belief=belief)
    rng = np.random.default_rng([options.seed, board])
    began, worlds, changes = time.process_time(), game.deal(rng, 1), []
    memories = {seat: agent.start(worlds.view(seat)) for seat in SEATS[options.searching]}
    rechecking = 0.0
    while not worlds.terminal[0]:
        seat = int(worlds.current_player[0])
        view = worlds.view(seat)
        call = int(bidder.act(view, view.legal, None, Streams.still(1))[0])
        if seat in memories:
            result = agent.decide(memories[seat][0], rng)
            if result.action != call:
                paused = time.process_time()
                again = gain_of(memories[seat][0], call, result.action, options.fresh, rng)
                rechecking += time.process_time() - paused
                changes.append(
                    {"from": call_text(call), "to": call_text(result.action),
                     "gain": result.gain, "fresh": again[0], "fresh_stderr": again[1]}
                )  # fmt: skip
            call = result.action
        event = worlds.step(np.array([call]))
        memories = {
            at: agent.observe(worlds.view(at), event, memory) for at, memory in memories.items()
        }
    return {
        "imps": float(worlds.returns[0, 0]),
        "changes": changes,
        "cpu_seconds": round(time.process_time() - began - rechecking, 2),
        "auction": worlds.text(),
    }


def gain_of(
    belief: Belief, call: int, instead: int, n: int, rng: np.random.Generator
) -> tuple[float, float]:
    """IMPs that ``instead`` gains over ``call`` in n fresh worlds, and the standard error."""
    worlds, memories = belief.sample(rng, n)
    values = action_values(
        worlds, np.array([call, instead]), belief.blueprint, memories, belief.seat,
        Streams.spawn(rng, n),
    )  # fmt: skip
    gains = values[1] - values[0]
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(n))


@app.command()
def show(results: Path) -> None:
    """Print what was measured."""
    lines = _lines(results)
    console = Console(highlight=False)
    console.print(lines[0]["options"])
    for name, figure in figures(lines).items():
        console.print(f"{name:<40} {figure}")


@app.command()
def tables() -> None:
    """Write the measured figures into docs/results/bridge.md."""
    rewrite(PAGE, page)


def page(text: str) -> str:
    """docs/results/bridge.md with its table made anew from what was measured."""
    return fill(text, {"bridge-search": search_table()})


def search_table() -> Iterator[str]:
    """Markdown: SPARTA over the network, at one seat and at both of a side."""
    columns = {seats: figures(_lines(path)) for seats, path in RESULTS.items()}
    yield "| SPARTA at | " + " | ".join(columns) + " |"
    yield "|---|" + "---|" * len(columns)
    for name in next(iter(columns.values())):
        yield f"| {name} | " + " | ".join(column[name] for column in columns.values()) + " |"


def figures(lines: list[dict[str, Any]]) -> dict[str, str]:
    """What was measured, in words."""
    true = np.array([line["imps"] for line in lines])
    fresh, claimed = (
        np.array([sum(change[kind] for change in line["changes"]) for line in lines])
        for kind in ("fresh", "gain")
    )
    changed = np.array([bool(line["changes"]) for line in lines])
    cost = np.array([line["cpu_seconds"] for line in lines])
    return {
        "boards": f"{len(lines)}",
        "IMPs a board, true deals": with_error(true, 3, "+"),
        "IMPs a board, fresh worlds": with_error(fresh, 3, "+"),
        "IMPs a board, the search's own estimate": with_error(claimed, 3, "+"),
        "boards with a changed call": f"{changed.mean():.1%}",
        "boards that end better, worse": f"{(true > 0).mean():.1%}, {(true < 0).mean():.1%}",
        "CPU seconds a board, mean and most": f"{cost.mean():.1f}, {cost.max():.1f}",
    }


def _lines(results: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in results.read_text().splitlines()]


if __name__ == "__main__":
    app()
