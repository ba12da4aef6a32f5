"""What the trainings here share: their games, PyTorch, and the record beside their networks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.evaluation.provenance import versions
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig

EVERY_TABLE = tuple(HanabiConfig(players=players, bomb="keep") for players in (2, 3, 4, 5))
"""Games for any number of players, as in the RIS-MCTS paper."""


def versions_with_torch() -> dict[str, str]:
    """``provenance.versions`` and PyTorch's. Raises UnsupportedError without PyTorch."""
    require_extra("torch", "training", "torch")
    import torch

    return versions() | {"torch": torch.__version__}


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write ``record`` as JSON, atomically."""
    with atomic_write(path) as file:
        file.write(json.dumps(record, indent=1).encode() + b"\n")
