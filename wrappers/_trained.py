"""What the adapters of RL libraries share: the spaces that a model was made for."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Game

MASKS = ("action_mask", "mask")


def mask_keys(space: Any) -> tuple[str, str] | None:
    """The names of the observation and of the mask in a Dict space that holds both, else None.

    Raises UnsupportedError for any other Dict space.
    """
    if not isinstance(space, spaces.Dict):
        return None
    names = list(space.spaces)
    masks = [name for name in names if name in MASKS]
    if len(names) != 2 or len(masks) != 1:
        raise UnsupportedError(
            f"expected observations with a mask under one of {', '.join(MASKS)}, got a Dict of "
            f"{', '.join(names)}"
        )
    names.remove(masks[0])
    return names[0], masks[0]


def require_fit(name: str, game: Game, encoding: str | None, seen: Any, acts: Any) -> None:
    """Raises UnsupportedError unless a model of these spaces can play ``game``.

    ``seen`` is None where nobody knows.
    """
    if not isinstance(acts, spaces.Discrete) or acts.n != game.num_actions:
        raise UnsupportedError(
            f"expected a {name} of {game.num_actions} actions for {game.name}, got one of {acts}"
        )
    encoding = encoding or next(iter(game.encodings))
    if encoding not in game.encodings:
        listed = ", ".join(game.encodings)
        raise UnsupportedError(f"{game.name} has the encodings {listed}, got {encoding!r}")
    keys = mask_keys(seen)
    box = seen if keys is None else seen[keys[0]]
    shape = game.deal(np.random.default_rng(0), 1).view(0).observation(encoding).shape[1:]
    if box is not None and box.shape != shape:
        raise UnsupportedError(
            f"expected a {name} of observations of shape {shape}, which is {encoding!r} of "
            f"{game.name}, got one of shape {box.shape}"
        )
