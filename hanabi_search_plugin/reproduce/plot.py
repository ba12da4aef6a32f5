"""Draw a measured figure as PNG. Matplotlib comes with the extra ``plots``."""

from __future__ import annotations

from typing import IO, Any


def plot(content: dict[str, Any], file: IO[bytes]) -> None:
    """Draw what ``curves`` made, with one standard error on either side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for curve in content["curves"]:
        points = curve["points"]
        axes.errorbar(
            [point["x"] for point in points],
            [point["mean"] for point in points],
            yerr=[point["sem"] or 0.0 for point in points],
            label=curve["label"],
            marker=".",
            capsize=2,
        )
    if content["kind"] == "turns":
        axes.set_xlabel("turn")
        axes.set_ylabel("predicted score")
    elif content["kind"] == "beliefs":
        axes.set_xlabel("turn")
        axes.set_ylabel("cross entropy, nats a card")
    elif content["kind"] == "splits":
        axes.set_xticks(range(len(content["ticks"])), content["ticks"])
        axes.set_xlabel(content["axis"])
        axes.set_ylabel("score")
    else:
        axes.set_xscale("log")
        budgets = content["kind"] == "budgets"
        axes.set_xlabel("rollouts a searched move" if budgets else "CPU seconds a game")
        axes.set_ylabel("score")
    axes.set_title(content["title"], fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, format="png", dpi=150, metadata={"Software": None})
