"""Empty figures of Matplotlib, which the extra ``plots`` brings."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hanabi_search_plugin.core.extras import require_extra


def blank_figure(what: str, width: float, height: float) -> tuple[Any, Any]:
    """A figure of so many inches and its axes. Raises UnsupportedError without Matplotlib.

    ``what`` is drawn: "a plot of an evaluation", say.
    """
    require_extra("plots", what, "matplotlib")
    figure = import_module("matplotlib.figure").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure, figure.subplots()
