"""What is shown of long work: bars on a terminal, paced lines elsewhere."""

from __future__ import annotations

import io
import sys
from itertools import pairwise
from typing import Any

import pytest
from rich.console import Console

from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.evaluation import evaluate as module
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.evaluation.progress import ProgressLines, progress_bar
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def paced(total: int | None, done: int = 0) -> tuple[ProgressLines, Clock, list[str]]:
    clock, lines = Clock(), list[str]()
    shown = ProgressLines("games", total, done=done, write=lines.append, clock=clock)
    return shown, clock, lines


def test_lines_come_after_10_seconds_and_then_every_30() -> None:
    shown, clock, lines = paced(1_000)
    for second in range(1, 100):
        clock.now += 1
        shown.show(second // 2)
        shown.tick()
    assert lines == [
        "games: 5 of 1,000 (0 %), 2.0 s each, about 33 min left",
        "games: 20 of 1,000 (2 %), 2.0 s each, about 33 min left",
        "games: 35 of 1,000 (3 %), 2.0 s each, about 32 min left",
    ]


def test_a_line_at_each_tenth_of_what_lasts() -> None:
    shown, clock, lines = paced(100)
    for done in range(1, 101):
        clock.now += 1.25
        shown.show(done)
        shown.tick()
    assert [line.partition(" (")[0] for line in lines] == [
        f"games: {done} of 100" for done in (8, 16, 24, 32, 40, 50, 60, 70, 80, 90, 100)
    ]
    assert lines[5].endswith("(50 %), 1.2 s each, about 62 s left")


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.9, 1.6, 7.0])
def test_lines_keep_their_distance(seconds: float) -> None:
    """The clock's line at 19 of 200 is not followed by that of a tenth at 20 of 200."""
    shown, clock, lines = paced(200)
    times: list[float] = []
    for done in range(1, 201):
        clock.now += seconds
        for report in (lambda done=done: shown.show(done), shown.tick):
            before = len(lines)
            report()
            times += [clock.now] * (len(lines) - before)
    assert len(lines) == len(times) == len(set(lines)) >= 200 * seconds // 45
    assert all(later - earlier >= 9.99 for earlier, later in pairwise(times))


def test_what_is_quick_shows_no_line() -> None:
    shown, clock, lines = paced(10)
    for done in range(1, 11):
        clock.now += 0.5
        shown.show(done)
        shown.tick()
    assert lines == []


def test_what_was_done_before_is_no_part_of_the_rate() -> None:
    shown, clock, lines = paced(200, done=100)
    clock.now += 10
    shown.tick()
    clock.now += 10
    shown.show(120)
    assert lines == [
        "games: 100 of 200 (50 %) after 10 s",
        "games: 120 of 200 (60 %), 1.0 s each, about 80 s left",
    ]


def test_work_of_unknown_length() -> None:
    shown, clock, lines = paced(None)
    clock.now += 12
    shown.show(3_000)
    shown.tick()
    assert lines == ["games: 3,000, 250.0 a second"]


def test_a_bar_on_a_terminal_and_nothing_where_it_is_off(capsys: Any) -> None:
    screen = Console(force_terminal=True, width=100, file=io.StringIO())
    with progress_bar("games", 7, console=screen) as show:
        show(3)
    assert isinstance(screen.file, io.StringIO)
    assert "games" in screen.file.getvalue() and "3/7" in screen.file.getvalue()
    for console in (False, Console(force_terminal=True, quiet=True)):
        with progress_bar("games", 7, console=console) as show:
            show(3)
    assert capsys.readouterr() == ("", "")


def test_evaluate_counts_each_side_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(force_terminal=True, width=100, file=io.StringIO())
    evaluate(GAME, UniformPolicy(), baseline=UniformPolicy(), games=300, progress=screen)
    assert isinstance(screen.file, io.StringIO)
    text = screen.file.getvalue()
    first, second = text.index("baseline games"), text.rindex("300/300")
    assert "600" not in text and first < second

    heard: list[Any] = []

    def listened(what: str, total: int, *, done: int, console: Any, status: Any) -> Any:
        heard.append((what, total, done, console))
        return progress_bar(what, total, done=done, console=False)

    monkeypatch.setattr(module, "progress_bar", listened)
    evaluate(GAME, UniformPolicy(), games=5, progress=True)
    evaluate(GAME, UniformPolicy(), games=5)
    assert heard == [("games", 5, 0, True), ("games", 5, 0, False)]


def test_python_shows_lines_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("hanabi_search_plugin.evaluation.progress.SOON", 0.0)
    evaluate(GAME, UniformPolicy(), games=20, progress=True)
    assert "games: 20 of 20 (100 %)" in capsys.readouterr().err
    assert not sys.stderr.isatty()


def test_workers_and_retries_are_shown_beside_the_rate() -> None:
    clock, lines = Clock(), list[str]()
    shown = ProgressLines(
        "games", 100, write=lines.append, clock=clock, status=lambda: "3 workers, 1 retried"
    )
    clock.now += 10
    shown.tick()
    clock.now += 30
    shown.show(5)
    shown.tick()
    assert lines == [
        "games: 0 of 100 (0 %) after 10 s, 3 workers, 1 retried",
        "games: 5 of 100 (5 %), 8.0 s each, about 13 min left, 3 workers, 1 retried",
    ]
    screen = Console(file=io.StringIO(), force_terminal=True, width=150, no_color=True)
    with progress_bar("games", 10, console=screen, status=lambda: "2 workers") as show:
        show(4)
    assert isinstance(screen.file, io.StringIO)
    assert "a second, 2 workers" in screen.file.getvalue()
