"""``hanabi-search record``: searched games with the values of all moves, to learn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hanabi_search_plugin.cli import shared
from hanabi_search_plugin.cli.searches import NONE, make_search
from hanabi_search_plugin.core.agent import TeamSearch
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.evaluation.match import GameResult
from hanabi_search_plugin.hanabi.files.searched_games import record_games
from hanabi_search_plugin.jit import compile_progress


def record(settings: Mapping[str, Any]) -> None:
    """Play, and say how it went."""
    console = shared.open_console(None)
    who = [shared.line_up(one) for one in _by_game(settings)]
    shared.show_warnings(console, who[0])
    scores: list[float] = []
    seconds = 0.0
    try:
        with shared.progress_bar(console, "games", settings["games"]) as show:

            def on_game(result: GameResult) -> None:
                nonlocal seconds
                scores.append(result.score)
                seconds += result.cpu_seconds
                show(len(scores))

            with compile_progress(console):
                record_games(
                    who[0].hanabi(),
                    [one.policies for one in who],
                    settings["out"],
                    policy=settings["policy"],
                    games=settings["games"],
                    seed=settings["seed"],
                    threads=settings["threads"],
                    on_game=on_game,
                )
    finally:
        if scores:
            mean, cost = sum(scores) / len(scores), seconds / len(scores)
            text = f"{len(scores)} games played: mean {mean:.2f}, {cost:.2f} CPU seconds each"
            console.print(text, soft_wrap=True)
    console.print(f"{settings['games']} games are in {settings['out']}", soft_wrap=True)


def _by_game(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The settings of each line-up: one, or one a seat where seats search in turn."""
    if settings["search"] == NONE:
        raise ConfigError("search must be one, got none: there would be nothing to record")
    search = make_search(settings["search"], settings, 1)
    if settings["search_seats"] is not None or isinstance(search, TeamSearch):
        return [dict(settings)]
    return [{**settings, "search_seats": str(seat)} for seat in range(settings["players"])]
