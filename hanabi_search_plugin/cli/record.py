"""``hanabi-search record``: searched games with the values of all moves, to learn from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.cluster_options import ClusterChoice, the_cluster
from hanabi_search_plugin.cli.searches import ChosenSearch, SearchOptions
from hanabi_search_plugin.cli.table_options import (
    BeliefChoice,
    GameChoice,
    Seating,
    beliefs,
    seating,
    the_game,
)
from hanabi_search_plugin.core.agent import TeamSearch
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.words import counted

if TYPE_CHECKING:
    from hanabi_search_plugin.evaluation.match import GameResult


def record(
    *,
    out: option.Out,
    table: Annotated[Seating, seating("seats")],
    search: Annotated[ChosenSearch, SearchOptions("sparta")],
    belief: Annotated[BeliefChoice, beliefs("partners", "likelihoods", "favourite")],
    game: Annotated[GameChoice, the_game("game", "random_start_player", "observation_type")],
    games: option.Games = 100,
    seed: option.Seed = 0,
    threads: option.Threads = 1,
    cluster: Annotated[ClusterChoice, the_cluster()],
) -> None:
    """Play, and say how it went."""
    from hanabi_search_plugin.cli import terminal
    from hanabi_search_plugin.cli.line_ups import line_up
    from hanabi_search_plugin.hanabi.files.searched_games import record_games

    console = terminal.open_console(None)
    terminal.show_warnings(console)  # of what sits down, too
    rules = game.load()
    tables = _by_game(table, search, rules.num_players)
    who = [line_up(rules, one, search, belief) for one in tables]
    terminal.show_warnings(console, who[0].policies)
    scores: list[float] = []
    seconds = 0.0
    try:
        with (
            cluster.executor(threads) as executor,
            terminal.progress_bar(console, "games", games, status=executor.status) as show,
        ):

            def on_game(result: GameResult) -> None:
                nonlocal seconds
                scores.append(result.score)
                seconds += result.cpu_seconds
                show(len(scores))

            with terminal.compile_progress(console):
                record_games(
                    who[0].hanabi(),
                    [one.policies for one in who],
                    out,
                    policy=table.policy,
                    games=games,
                    seed=seed,
                    executor=executor,
                    on_game=on_game,
                )
    finally:
        if scores:
            mean, cost = sum(scores) / len(scores), seconds / len(scores)
            played = counted(len(scores), "game")
            text = f"{played} played: mean {mean:.2f}, {cost:.2f} CPU seconds each"
            console.print(text, soft_wrap=True)
    console.print(
        f"{counted(games, 'game')} {'is' if games == 1 else 'are'} in {out}", soft_wrap=True
    )


def _by_game(table: Seating, search: ChosenSearch, players: int) -> list[Seating]:
    """The table of each game: one, or one a seat where seats search in turn."""
    if search.search is None:
        raise ConfigError("search must be one, got none: there would be nothing to record")
    if table.search_seats is not None or isinstance(search.search, TeamSearch):
        return [table]
    return [replace(table, search_seats=str(seat)) for seat in range(players)]
