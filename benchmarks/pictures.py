"""Draw the pictures of the README into docs/pictures.

python -m benchmarks.pictures demo     # demo.svg: turns of ``hanabi-search demo``, animated
python -m benchmarks.pictures cost     # score_against_cost.svg, and its table in docs/searches/index.md

``search.svg`` beside them is drawn by hand.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from benchmarks.pages import fill
from hanabi_search_plugin.atomic_files import atomic_write

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
RESULTS = ROOT / "docs" / "results"
PAGE = ROOT / "docs" / "searches" / "index.md"

app = typer.Typer(add_completion=False, help=__doc__)


@app.callback()
def commands() -> None:
    """Draw the pictures of the README."""


# ------------------------------------------------------------------------------------ the demo

WIDTH = 80  # columns of the terminal
OPENING, GAINS = 3, 3  # the first turns, and of the others those in which the search gains most
SECONDS = 6  # that a turn stays
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
FRAME = "<g><style>{styles}</style><g class='text'>{matrix}</g></g>"  # of Console.export_svg
CELL_WIDTH, LINE_HEIGHT, MARGIN = 12.2, 24.4, 20  # the first two are rich's


@app.command()
def demo() -> None:
    """Turns of the demo as an SVG that runs by CSS alone."""
    turns = telling(turns_of_demo())
    lines = 2 + max(turn.count("\n") for turn in turns)
    with atomic_write(PICTURES / "demo.svg") as file:
        file.write(animated([frame(turn, n) for n, turn in enumerate(turns)], lines).encode())


def turns_of_demo() -> list[str]:
    """What ``hanabi-search demo`` prints, with its colours, cut before each rule."""
    printed = subprocess.run(
        [sys.executable, "-m", "hanabi_search_plugin", "demo"],
        env=os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    return [turn for turn in re.split(r"(?m)^(?=\S*─+ )", printed) if "─" in turn]


def telling(turns: list[str]) -> list[str]:
    """The first turns, those in which the search gains most, and the end, in order."""
    gains = {n: gain_of(turn) for n, turn in enumerate(turns) if n >= OPENING}
    best = sorted(gains, key=lambda n: gains[n], reverse=True)[:GAINS]
    return [*turns[:OPENING], *(turns[n] for n in sorted(best)), turns[-1]]


def gain_of(turn: str) -> float:
    """Of a move that was changed; 0 where none was."""
    found = re.search(r"^gain +([+-][\d.]+)", Text.from_ansi(turn).plain, re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def frame(turn: str, number: int) -> str:
    """A turn as a group of SVG."""
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, legacy_windows=False)
        console.print(Text("$ hanabi-search demo", "dim"))
        console.print(Text.from_ansi(turn), end="")
        drawn = console.export_svg(code_format=FRAME, unique_id=f"t{number}")
    drawn = re.sub(r' clip-path="[^"]*"', "", drawn)  # a line is no longer than its text
    return re.sub(r"\s*\n\s*", "", drawn)


def animated(frames: list[str], lines: int) -> str:
    """Frames one after the other, for ever; the second alone where motion is not wanted."""
    width = round(WIDTH * CELL_WIDTH + 2 * MARGIN)
    height = round(lines * LINE_HEIGHT + 2 * MARGIN)
    share = 100 / len(frames)
    shown = "".join(
        f"<g class='frame' style='animation-delay:{n * SECONDS}s'>{drawn}</g>\n"
        for n, drawn in enumerate(frames)
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>Turns of a game of Hanabi in which a search changes a bot's moves</title>
<style>
.text {{ font: 20px {FONT}; white-space: pre }}
.frame {{ visibility: hidden; animation: turn {len(frames) * SECONDS}s step-end infinite }}
.bar {{ transform-origin: 0 0; animation: run {len(frames) * SECONDS}s linear infinite }}
@keyframes turn {{ 0% {{ visibility: visible }} {share:.3f}% {{ visibility: hidden }} }}
@keyframes run {{ from {{ transform: scaleX(0) }} to {{ transform: scaleX(1) }} }}
@media (prefers-reduced-motion: reduce) {{
.frame, .bar {{ animation: none }}
.frame:nth-of-type(2) {{ visibility: visible }}
}}
</style>
<rect width="{width}" height="{height}" rx="10" fill="#292929"/>
<g transform="translate({MARGIN} {MARGIN})">
{shown}</g>
<rect class="bar" y="{height - 4}" width="{width}" height="4" fill="#6a9955"/>
</svg>
"""


# ------------------------------------------------------------------------------ score against cost


@dataclass(frozen=True)
class Point:
    """A score in 2-player Hanabi, a lost game counts 0, and the seconds of a game."""

    series: str
    label: str
    score: float
    sem: float
    seconds: tuple[float, float]  # at least, at most
    source: str
    note: str = ""


SERIES = {  # colour of Okabe and Ito's palette, marker
    "SPARTA over SmartBot": ("#0072B2", "o"),
    "all seats, over SmartBot": ("#56B4E9", "s"),
    "SPARTA and LBS over rlnet": ("#009E73", "^"),
    "SPARTA over beliefnet": ("#CC79A7", "D"),
    "published: SPARTA over SmartBot": ("#D55E00", "o"),
    "published: LBS over networks": ("#E69F00", "^"),
}
FIVE_CORES = "wall-clock seconds of 5 cores and a GPU; at most 5 times as many of CPU"
SPARTA = "SPARTA paper"
LBS = "LBS paper"
PUBLISHED = (
    Point(
        "published: SPARTA over SmartBot",
        "paper, one seat",
        24.21,
        0.002,
        (7_200, 7_200),
        f"{SPARTA}, Table 1 and section 5",
        "about 2 core-hours a game; its program takes 86 to 274 CPU seconds on our machine",
    ),
    Point(
        "published: SPARTA over SmartBot",
        "paper, all seats",
        24.48,
        0.01,
        (324_000, 324_000),
        f"{SPARTA}, Table 3 and section 5",
        "90 core-hours a game, range 10,000",
    ),
    *(
        Point(
            "published: LBS over networks",
            label,
            score,
            0.01,
            (seconds, 5 * seconds),
            f"{LBS}, {where}",
            FIVE_CORES,
        )
        for label, score, seconds, where in (
            ("paper, LBS-4", 24.41, 14, "Table 2, strong"),
            ("paper, LBS-16", 24.48, 47, "Table 2, strong"),
            ("paper, SPARTA", 24.52, 215, "Table 2, strong"),
            ("paper, LBS-16, 72 h network", 24.62, 69, "Table 2, best, and section 6.1"),
            ("paper, SPARTA, 72 h network", 24.66, 364, "Table 2, best, and section 6.1"),
        )
    ),
)
EVALUATIONS = (  # series, label, file of ``evaluate --json``
    *(
        ("SPARTA over SmartBot", f"{n:,} rollouts", f"sparta-smartbot-2p-errors-{n}.json")
        for n in (300, 1_000, 3_000, 10_000)
    ),
    ("SPARTA over beliefnet", "SPARTA, beliefnet", "beliefnet-sparta.json"),
)
ROWS = (  # series, label, file of ``reproduce``, its row
    ("all seats, over SmartBot", "all seats", "sparta/sparta-table-3.json", "max range 80"),
    ("SPARTA and LBS over rlnet", "SPARTA, rlnet", "lbs/lbs-table-2.json", "rlnet, SPARTA"),
    (
        "SPARTA and LBS over rlnet",
        "LBS, rlnet",
        "lbs/lbs-table-2.json",
        "rlnet, LBS, depth 12, 200 rollouts, up to 100,000 hands listed",
    ),
)


@app.command()
def cost() -> None:
    """Score against CPU seconds a game, ours and published, as a chart and as a table."""
    points = [*recorded(), *PUBLISHED]
    draw(points)
    text = fill(PAGE.read_text(encoding="utf-8"), {"score against cost": table(points)})
    with atomic_write(PAGE) as file:
        file.write(text.encode())


def recorded() -> Iterator[Point]:
    """What docs/results holds."""
    for series, label, name in EVALUATIONS:
        yield _point(series, label, name, json.loads((RESULTS / name).read_text()))
    for series, label, name, row in ROWS:
        rows = json.loads((RESULTS / name).read_text())["rows"]
        (measured,) = (each["measured"] for each in rows if each["label"] == row)
        yield _point(series, label, name, measured)


def _point(series: str, label: str, name: str, measured: dict[str, float]) -> Point:
    seconds = measured["cpu_seconds_per_game"]
    source = f"[{name}](../results/{name}), {measured['games']:,} games"
    return Point(series, label, measured["mean"], measured["sem"], (seconds, seconds), source)


def table(points: list[Point]) -> list[str]:
    lines = ["| | score | seconds a game | source | |", "|---|---|---|---|---|"]
    for point in points:
        least = point.seconds[0]
        seconds = f"{least:,.0f}" if least >= 10 else f"{least:.2f}"
        digits = 3 if point.sem < 0.005 else 2
        lines.append(
            f"| {point.series}: {point.label} | {point.score:.2f} ± {point.sem:.{digits}f} "
            f"| {seconds} | {point.source} | {point.note} |"
        )
    return lines


OFFSETS = {  # of labels, in points, where the usual place is taken
    "10,000 rollouts": (-6, 8, "right"),
}


def draw(points: list[Point]) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    settings = {"svg.hashsalt": "cost", "font.size": 10, "axes.axisbelow": True}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(8, 4.8), layout="constrained", facecolor="white")
        axes = figure.subplots()
        for series, (color, marker) in SERIES.items():
            own = [point for point in points if point.series == series]
            published = series.startswith("published")
            if series == "SPARTA over SmartBot":
                axes.plot([p.seconds[0] for p in own], [p.score for p in own], color=color, lw=1)
            for p in own:
                low, high = p.seconds
                axes.errorbar(
                    low,
                    p.score,
                    yerr=p.sem,
                    xerr=[[0], [high - low]] if high > low else None,
                    color=color,
                    marker=marker,
                    markersize=7,
                    markerfacecolor="white" if published else color,
                    capsize=2,
                    lw=1.2,
                )
                x, y, side = OFFSETS.get(p.label, (8, 0, "left"))
                axes.annotate(
                    p.label,
                    (high if side == "left" else low, p.score),
                    (x, y),
                    textcoords="offset points",
                    ha=side,
                    va="center",
                    fontsize=8.5,
                    color="0.15",
                )
        axes.set_xscale("log")
        axes.set_xlim(0.12, 3e6)
        axes.set_xlabel("CPU seconds a game (open markers: published)")
        axes.set_ylabel("mean score of 25, ± standard error")
        axes.set_title("2-player Hanabi: what a searched game scores, and what it costs")
        axes.grid(alpha=0.3)
        with atomic_write(PICTURES / "score_against_cost.svg") as file:
            figure.savefig(file, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    app()
