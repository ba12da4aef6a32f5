"""How the environments of Hanabi show their table. W: words of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.text import describe

RENDER_MODES = ("human", "ansi", "rgb_array")


def check_render_mode(mode: Any) -> None:
    """Raise ConfigError for a mode that there is not."""
    if mode is not None and mode not in RENDER_MODES:
        raise ConfigError(f"render_mode must be None or {', '.join(RENDER_MODES)}, got {mode!r}")


def rendered(
    mode: str | None, config: HanabiConfig, row: NDArray[np.int32], seat: int | None = None
) -> str | NDArray[np.uint8] | None:
    """The board of ``row`` [W], a world or what ``seat`` sees of it.

    "ansi" gives a text, "rgb_array" a picture, uint8 [height, width, 3]; "human" prints the text in
    colour and gives None, as no mode does. Raises UnsupportedError for a picture without Pillow.
    """
    if mode == "ansi":
        return describe(config, row, seat)
    if mode == "rgb_array":
        from hanabi_search_plugin.rendering.picture import picture

        return picture(config, row, seat)
    if mode == "human":
        from hanabi_search_plugin.rendering.colored_text import print_board

        print_board(config, row, seat)
    return None
