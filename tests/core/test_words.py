"""Numbers in sentences."""

from __future__ import annotations

import pytest

from hanabi_search_plugin.core.words import counted, duration


def test_one_is_singular() -> None:
    assert [counted(n, "game") for n in (0, 1, 2, 12_000)] == [
        *("0 games", "1 game", "2 games", "12,000 games")
    ]
    assert [counted(n, "policy", "policies") for n in (1, 2)] == ["1 policy", "2 policies"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (3.21, "3.2 s"),
        (9.97, "10 s"),
        (119.4, "119 s"),
        (119.6, "2 min"),
        (3_590, "1 h"),
        (7_800, "2 h 10 min"),
        (86_000, "23 h 53 min"),
        (90_000, "1 d 1 h"),
        (172_799, "2 d"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words
