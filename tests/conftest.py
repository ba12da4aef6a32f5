"""Fixtures of all tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_golden() -> Path:
    """The folder of recorded games of other programs, beside the repository; skips without it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "golden"
    if not folder.is_dir():
        pytest.skip(f"recorded games of other programs are not here: {folder}")
    return folder
