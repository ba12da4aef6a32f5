"""Draw the pictures of the README into docs/pictures, and one of the results.

python -m benchmarks.pictures demo     # demo.svg: turns of ``hanabi-search demo``, animated
python -m benchmarks.pictures cost     # score_against_cost.svg, and the table of its page
python -m benchmarks.pictures depths   # docs/results/lbs/score_by_depth.svg: LBS cut at each depth

``search.svg`` beside them is drawn by hand.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from benchmarks.command_line import CommandLine
from benchmarks.pages import fill, read_results, rewrite
from benchmarks.reproduction_costs import measured
from hanabi_search_plugin import Lbs
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.reproduce.lbs_paper import FIGURE_3
from hanabi_search_plugin.reproduce.plan import Run

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
RESULTS = ROOT / "docs" / "results"
PAGE = ROOT / "docs" / "results" / "cost.md"

app = CommandLine(__doc__)


@app.callback()
def commands() -> None:
    """Draw the pictures of the README and of the results."""


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
    """A score in 2-player Hanabi, where a lost game counts 0, and the seconds of a game."""

    series: str
    name: str
    label: str  # in the chart
    score: float
    sem: float
    seconds: tuple[float, float]  # at least, at most
    source: str
    note: str = ""


SERIES = {  # colour of Okabe and Ito's palette, marker
    "smartbot": ("#0072B2", "o"),
    "team": ("#56B4E9", "s"),
    "rlnet": ("#009E73", "^"),
    "beliefnet": ("#CC79A7", "D"),
    "published SPARTA": ("#D55E00", "o"),
    "published LBS": ("#B87800", "^"),
}
FIVE_CORES = "wall-clock seconds of 5 cores and a GPU; at most 5 times as many of CPU"
PUBLISHED = (
    Point(
        "published SPARTA",
        "paper: SPARTA over SmartBot",
        "paper: SPARTA\nover SmartBot",
        24.21,
        0.002,
        (7_200, 7_200),
        "[SPARTA](https://arxiv.org/abs/1912.02318), Table 1 and its section on Hanabi",
        "about 2 core-hours; its published program took 86 to 274 CPU seconds on our machine",
    ),
    Point(
        "published SPARTA",
        "paper: all seats over SmartBot, range 10,000",
        "paper: all seats\nover SmartBot",
        24.48,
        0.01,
        (324_000, 324_000),
        "SPARTA, Table 3 and its section on Hanabi",
        "90 core-hours",
    ),
    *(
        Point(
            "published LBS",
            f"paper: {label}",
            f"paper: {label}",
            score,
            0.01,
            (seconds, 5 * seconds),
            f"[LBS](https://arxiv.org/abs/2106.09086), {where}",
            FIVE_CORES,
        )
        for label, score, seconds, where in (
            ("LBS-4, 20 h network", 24.41, 14, 'Table 2, "strong"'),
            ("LBS-16, 20 h network", 24.48, 47, 'Table 2, "strong"'),
            ("SPARTA, 20 h network", 24.52, 215, 'Table 2, "strong"'),
            ("LBS-16, 72 h network", 24.62, 69, 'Table 2, "best", and section 6.1'),
            ("SPARTA, 72 h network", 24.66, 364, 'Table 2, "best", and section 6.1'),
        )
    ),
)
EVALUATIONS = (  # series, name, label, file of ``evaluate --json``
    *(
        ("smartbot", f"SPARTA over SmartBot, {n:,} rollouts", f"{n:,} rollouts", name)
        for n in (300, 1_000, 3_000, 10_000)
        for name in [f"sparta-smartbot-2p-{n}.json"]
    ),
    (
        "team",
        "all seats over SmartBot, range 80",
        "all seats over SmartBot",
        "sparta-smartbot-2p-joint-80.json",
    ),
    (
        "team",
        "all seats over SmartBot, range 2,000",
        "range 2,000",
        "sparta-smartbot-2p-joint-2000.json",
    ),
    ("beliefnet", "SPARTA over `beliefnet`", "SPARTA over beliefnet", "beliefnet-sparta.json"),
    ("beliefnet", "LBS over `beliefnet`", "LBS over beliefnet", "beliefnet-lbs.json"),
)
ROWS = (  # series, name, label, file of ``reproduce``, its row
    (
        "rlnet",
        "SPARTA over `rlnet`",
        "SPARTA over rlnet",
        "lbs/lbs-table-2.json",
        "rlnet, SPARTA",
    ),
    (
        "rlnet",
        "LBS over `rlnet`, hands listed",
        "LBS over rlnet",
        "lbs/lbs-table-2.json",
        "rlnet, LBS, depth 12, 200 rollouts, up to 100,000 hands listed",
    ),
    (
        "beliefnet",
        "LBS over `beliefnet`, both seats",
        "LBS at both seats",
        "lbs/lbs-both-seats.json",
        "both seats",
    ),
)


@app.command()
def cost() -> None:
    """Score against CPU seconds a game, ours and published, as a chart and as a table."""
    points = [*recorded(), *PUBLISHED]
    draw(points)
    rewrite(PAGE, lambda text: fill(text, {"score against cost": table(points)}))


def recorded() -> Iterator[Point]:
    """What docs/results holds."""
    for series, name, label, file in EVALUATIONS:
        yield _point(series, name, label, file, read_results(RESULTS / file))
    for series, name, label, file, row in ROWS:
        rows = read_results(RESULTS / file)["rows"]
        (measured,) = (each["measured"] for each in rows if each["label"] == row)
        yield _point(series, name, label, file, measured)


def _point(series: str, name: str, label: str, file: str, measured: dict[str, float]) -> Point:
    seconds = measured["cpu_seconds_per_game"]
    source = f"[{file}]({file})"
    score, sem = measured["mean"], measured["sem"]
    games = f"{measured['games']:,} games"
    return Point(series, name, label, score, sem, (seconds, seconds), source, games)


def table(points: list[Point]) -> list[str]:
    lines = ["| | score | seconds a game | source | |", "|---|---|---|---|---|"]
    for point in points:
        least = point.seconds[0]
        seconds = f"{least:,.0f}" if least >= 10 else f"{least:.2f}"
        digits = 3 if point.sem < 0.005 else 2
        lines.append(
            f"| {point.name} | {point.score:.2f} ± {point.sem:.{digits}f} "
            f"| {seconds} | {point.source} | {point.note} |"
        )
    return lines


PLACES = {  # of labels, in points from the end of the marker or its bar: x, y, alignment
    "1,000 rollouts": (-9, 0, "right"),
    "10,000 rollouts": (-9, 0, "right"),
    "SPARTA over beliefnet": (7, 19, "left"),
    "LBS over beliefnet": (-2, 14, "right"),
    "LBS at both seats": (-9, 0, "right"),
}


@contextmanager
def chart(path: Path, salt: str, height: float) -> Iterator[Any]:
    """The axes of a picture of scores by CPU seconds, which is written when the block ends."""
    import matplotlib
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": salt, "font.size": 10.5, "axes.axisbelow": True}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(8, height), layout="constrained", facecolor="white")
        axes = figure.subplots()
        yield axes
        axes.set_ylabel("mean score of 25, ± standard error")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        with atomic_write(path) as file:
            figure.savefig(file, format="svg", metadata={"Date": None})


def draw(points: list[Point]) -> None:
    with chart(PICTURES / "score_against_cost.svg", "cost", 5) as axes:
        for point in points:
            color, marker = SERIES[point.series]
            low, high = point.seconds
            error: Any = [[0], [high - low]] if high > low else None
            axes.errorbar(
                low,
                point.score,
                yerr=point.sem,
                xerr=error,
                color=color,
                marker=marker,
                markersize=8,
                markerfacecolor="white" if point in PUBLISHED else color,
                capsize=2,
            )
            x, y, side = PLACES.get(point.label, (9, 0, "left"))
            axes.annotate(
                point.label,
                (high, point.score),
                (x, y),
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=9.5,
                color="0.15",
            )
        line = [point for point in points if point.series == "smartbot"]
        color, _ = SERIES["smartbot"]
        axes.plot([p.seconds[0] for p in line], [p.score for p in line], color=color, lw=1)
        axes.text(3, 24.34, "SPARTA over SmartBot", ha="right", fontsize=9.5, weight="bold")
        axes.set_xscale("log")
        axes.set_xlim(0.012, 3e7)
        ticks = {
            0.1: "0.1",
            1: "1",
            10: "10",
            100: "100",
            1e3: "1,000",
            1e4: "10,000",
            1e5: "100,000",
        }
        axes.set_xticks(list(ticks), list(ticks.values()))
        axes.set_xlabel(
            "CPU seconds a game (filled: ours; open: published, bars: times up to 5 cores)"
        )
        axes.set_title("2-player Hanabi: what a searched game scores, and what it costs")


# --------------------------------------------------------------------------------- score by depth

DEPTHS = RESULTS / "lbs" / "score_by_depth.svg"
LOWEST = 22.0  # score that the picture shows


@app.command()
def depths() -> None:
    """Score against CPU seconds of LBS by depth, as far as it is measured.

    Figure 3 of the LBS paper.
    """
    figures = measured()
    with chart(DEPTHS, "depths", 4.5) as axes:
        colors = iter(SERIES.values())
        for curve in FIGURE_3.curves:
            known = [run for run in curve.runs if run.name in figures]
            runs = [run for run in known if figures[run.name]["mean"] >= LOWEST]
            if not runs:
                continue
            color, marker = next(colors)
            seconds, scores, errors = (
                [figures[run.name][name] for run in runs]
                for name in ("cpu_seconds_per_game", "mean", "sem")
            )
            axes.errorbar(
                seconds,
                scores,
                yerr=errors,
                color=color,
                marker=marker,
                capsize=2,
                lw=1,
                label=curve.label,
            )
            for place, run in zip(zip(seconds, scores, strict=True), runs, strict=True):
                axes.annotate(
                    depth_of(run), place, (5, -11), textcoords="offset points", fontsize=9
                )
        axes.set_xscale("log")
        axes.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"])
        axes.set_xlabel("CPU seconds a game; numbers are depths")
        axes.legend(loc="lower right")


def depth_of(run: Run) -> str:
    """Of its rollouts, in the picture; SPARTA's have none."""
    if not isinstance(run.search, Lbs):
        return ""
    return "end" if run.search.depth is None else str(run.search.depth)


if __name__ == "__main__":
    app()
