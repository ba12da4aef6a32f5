"""Measure clones of a search by data, objective and network (docs/results/clone.md).

python -m benchmarks.clone train searched --held-out held-out   # every row, resumable
python -m benchmarks.clone page                                  # its page from results

Rows are trained one by one, each in a folder of its own, and play games beside the blueprint's on
the same decks. A row that was measured is not measured again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import mean_and_error
from benchmarks.networks import MODELS, RESULTS, ROOT
from benchmarks.pages import fill, rewrite
from hanabi_search_plugin import HanabiGame, Policy, evaluate, load_policy
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.hanabi.files.searched_games import LOG, read_about
from hanabi_search_plugin.networks.catalogue import network_models
from hanabi_search_plugin.networks.checkpoint import load_network
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.training.clone_examples import OBJECTIVES
from hanabi_search_plugin.networks.training.clone_training import CloneRun
from hanabi_search_plugin.networks.training.training_run import METRICS
from hanabi_search_plugin.networks.training.training_settings import Cloning

FILE = RESULTS / "clone.json"
PAGE = ROOT / "docs" / "results" / "clone.md"

app = CommandLine(__doc__)
console = Console(highlight=False)


@dataclass(frozen=True)
class Row:
    """A clone of the tables."""

    architecture: str
    games: int  # learned from
    objective: str = "reward"

    @property
    def name(self) -> str:
        return f"{self.architecture}-{self.games}-{self.objective}"

    @property
    def settings(self) -> dict[str, Any]:
        own = {"architecture": self.architecture, "games": self.games, "objective": self.objective}
        return own | {"start": "" if self.architecture == "advised-lstm" else "smartnet"}


SIZES = (1_250, 2_500, 5_000, 10_000)
COMPARED = 5_000  # games on which objectives are compared
ROWS = (
    *(Row(kind, games) for kind in ("advised-masks", "masks") for games in SIZES),
    *(
        Row(kind, COMPARED, objective)
        for kind in ("advised-masks", "masks", "advised-lstm")
        for objective in OBJECTIVES
        if kind == "advised-lstm" or objective != "reward"
    ),
)


@app.command()
def train(
    data: Annotated[Path, typer.Argument(help="Games of `hanabi-search record`.")],
    held_out: Annotated[Path, typer.Option(help="Others, to measure on.")],
    out: Annotated[Path, typer.Option(help="For a folder a row.")] = Path("runs/clones"),
    only: Annotated[str, typer.Option(help="Rows with this in their name alone.")] = "",
    games: Annotated[int, typer.Option(help="Games of a finished clone.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of those games.")] = 1,
) -> None:
    """Train and measure every row that is missing and has the games that it needs."""
    torch.set_num_threads(1)
    recorded = described(data)["games"]
    for row in ROWS:
        results = json.loads(FILE.read_text()) if FILE.exists() else {"rows": {}}
        if row.name in results["rows"] or only not in row.name or row.games > recorded:
            continue
        settings = Cloning(data=str(data), held_out=str(held_out), **row.settings)
        run = CloneRun(settings, out / row.name)
        run.finish()
        last = json.loads((out / row.name / METRICS).read_text().splitlines()[-1])
        game = HanabiGame(run.about.config)
        about = {
            "settings": settings.to_dict() | {"data": data.name, "held_out": held_out.name},
            "decisions": len(run.examples),
            "held_out": {name: last[name] for name in ("loss", "gain", "changed", "agreement")},
            "cpu_seconds": round(run.seconds, 1),
        }
        played = measured(network_policy(run.network), run.about.policy, game, games, seed)
        results["rows"][row.name] = about | played
        if "start" not in results:
            start = load_policy("smartnet", game)
            results["start"] = measured(start, run.about.policy, game, games, seed)
        results["data"] = {"learned_from": described(data), "held_out": described(held_out)}
        with atomic_write(FILE) as file:
            file.write(json.dumps(results, indent=1).encode() + b"\n")
        console.print(row.name, played["score"], played["gain"])


def measured(
    policy: Policy, blueprint: str, game: HanabiGame, games: int, seed: int
) -> dict[str, Any]:
    """Self-play, beside the blueprint's on the same decks."""
    reference = load_policy(blueprint, game)
    found = evaluate(game, policy, games=games, seed=seed, baseline=reference)
    return {
        "games": games,
        "seed": seed,
        "score": mean_and_error(found.scores),
        "blueprint": mean_and_error(found.blueprint_scores),
        "gain": mean_and_error(found.scores - found.blueprint_scores),
        "perfect": float((found.scores == game.config.max_score).mean()),
        "lost": float(np.mean([played.lives_left == 0 for played in found.games])),
    }


def described(folder: Path) -> dict[str, Any]:
    """What is in a folder of searched games, and what it cost."""
    found = map(json.loads, (folder / LOG).read_text().splitlines())
    lines = {line["first"]: line for line in found}.values()  # a file may have been made anew
    about = read_about(folder)
    return {
        "policy": about.policy,
        "parameters": about.parameters,
        "games": sum(line["games"] for line in lines),
        "score": sum(line["score"] * line["games"] for line in lines)
        / sum(line["games"] for line in lines),
        "cpu_seconds": round(sum(line["cpu_seconds"] for line in lines)),
        "megabytes": round(sum(p.stat().st_size for p in folder.glob("*.npz")) / 2**20, 1),
    }


@app.command()
def page() -> None:
    """Write what was measured into docs/results/clone.md."""
    rewrite(PAGE, filled)


def filled(text: str) -> str:
    """docs/results/clone.md with its tables made anew."""
    results = json.loads(FILE.read_text())
    rows = results["rows"]
    sizes = [row for row in ROWS if row.objective == "reward" and row.name in rows]
    sizes = [row for row in sizes if row.architecture != "advised-lstm"]
    kinds = [row for row in ROWS if row.games == COMPARED and row.name in rows]
    kinds = sorted(kinds, key=lambda row: row.architecture)
    sections = {
        "data": _data(results["data"]),
        "data size": _table(sizes, results),
        "objectives": _table(kinds, results),
    }
    return fill(text, sections | ({"card": _card()} if "clonebot" in network_models() else {}))


def _data(folders: dict[str, Any]) -> Iterable[str]:
    yield "| | games | score, one seat searching | CPU s a game | MB |"
    yield "|---|---|---|---|---|"
    for name, found in folders.items():
        cost = found["cpu_seconds"] / found["games"]
        yield (
            f"| {name.replace('_', ' ')} | {found['games']:,} | {found['score']:.2f} "
            f"| {cost:.2f} | {found['megabytes']} |"
        )


def _table(chosen: list[Row], results: dict[str, Any]) -> Iterable[str]:
    measures = ("score", "gain over SmartBot", "perfect", "lost", "changed", "held-out gain")
    yield f"| clone | games | objective | {' | '.join(measures)} | CPU s |"
    yield f"|{'---|' * (len(measures) + 4)}"
    start = results["start"]
    yield "| SmartBot | | | {:.3f} ± {:.3f} | | | | | | |".format(*start["blueprint"])
    yield f"| `smartnet` | | | {_played(start)} | | | |"
    for row in chosen:
        found = results["rows"][row.name]
        held = found["held_out"]
        yield (
            f"| `{row.architecture}` | {row.games:,} | {row.objective} | {_played(found)} "
            f"| {held['changed']:.1%} | {held['gain']:+.4f} | {found['cpu_seconds']:.0f} |"
        )


def _played(found: dict[str, Any]) -> str:
    score = "{:.3f} ± {:.3f}".format(*found["score"])
    gain = "{:+.3f} ± {:.3f}".format(*found["gain"])
    return f"{score} | {gain} | {found['perfect']:.1%} | {found['lost']:.2%}"


def _card() -> Iterable[str]:
    (model,) = network_models()["clonebot"]["models"]
    path, played = MODELS / model["file"], model["self_play"]
    loaded = load_network(path)
    record, network = loaded.training, loaded.network
    count = sum(parameter.numel() for parameter in network.parameters())
    sizes = ", ".join(f"{key} {value}" for key, value in network.options.items())
    more, error = played["less_than_bot"]
    yield "| | |"
    yield "|---|---|"
    yield f"| file | `{model['file']}`, {path.stat().st_size / 2**20:.2f} MB |"
    yield f"| network | `{record['architecture']}` ({sizes}), {count:,} parameters |"
    yield f"| encoding | `{network.encoding.name}` |"
    games = f"{played['games']:,} games, seed {played['seed']}"
    for key, words in (("zero", "a lost game counts 0"), ("keep", "it keeps its points")):
        score, sem = played[key]
        yield f"| score, {words} | **{score:.3f} ± {sem:.3f}** ({games}) |"
    yield f"| more than its adviser on the same decks | {-more:.3f} ± {error:.3f} |"
    yield f"| perfect / lost games | {played['perfect']:.2%} / {played['bombs']:.2%} |"
    yield (
        f"| training | {record['passes']} passes, batches of {record['batch']}, rate "
        f"{record['rate']}, objective {record['objective']}, seed {record['seed']} |"
    )
    minutes = record["cpu_seconds"] / 60
    yield f"| its cost, without that of the games | {minutes:.1f} minutes of one core |"


if __name__ == "__main__":
    app()
