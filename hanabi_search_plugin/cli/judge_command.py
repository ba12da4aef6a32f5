"""``hanabi-search judge``: what every legal move of many positions is worth, as JSON lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.cluster_options import ClusterChoice, the_cluster
from hanabi_search_plugin.cli.option_names import policy_names, several_partners
from hanabi_search_plugin.cli.table_options import GameChoice, the_game
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.words import counted

if TYPE_CHECKING:
    from hanabi_search_plugin.core.objective import Named
    from hanabi_search_plugin.judge.data_set import Question

OBJECTIVES = ("score", "perfect")


def judge(
    *,
    questions: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="JSON lines: recorded games, or positions in words as observation (or "
            "observations and moves), with a move, if one is asked about. Default: games are "
            "played.",
        ),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            metavar="NAME[,NAME...]",
            autocompletion=policy_names,
            help="What everybody plays after the judged move (one name, or one a seat).",
        ),
    ] = "smartbot",
    partners: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            autocompletion=several_partners,
            help="What the others may play, or mixed-track; their moves tell which. Default: "
            "--policy.",
        ),
    ] = None,
    epsilon: option.AnyEpsilon = 0.0,
    rollouts: option.MoveRollouts = 1_000,
    objective: Annotated[
        str,
        typer.Option(
            metavar="|".join(OBJECTIVES),
            autocompletion=lambda: list(OBJECTIVES),
            help="What points are: the score, or the score and a bonus for a perfect game.",
        ),
    ] = "score",
    scale: Annotated[float, typer.Option(help="Points of regret that divide a reward by e.")] = 1.0,
    seats: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            autocompletion=policy_names,
            help="Who plays the games, where no FILE is given. Default: --policy.",
        ),
    ] = None,
    game: Annotated[GameChoice, the_game("game", "random_start_player", "observation_type")],
    games: option.Games = 10,
    seed: option.Seed = 0,
    threads: option.Threads = 1,
    cluster: Annotated[ClusterChoice, the_cluster()],
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the lines there, and go on where a run was stopped. Default: the standard "
            "output.",
        ),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the lines of --record as Parquet, too."),
    ] = None,
) -> None:
    """Judge, and write a line a position.

    Raises ConfigError for a Parquet file without --record, and for seats beside a FILE.
    """
    from hanabi_search_plugin.cli import result_files, terminal
    from hanabi_search_plugin.cli.line_ups import per_seat
    from hanabi_search_plugin.core.extras import require_extra
    from hanabi_search_plugin.core.require import require_choice, require_integer
    from hanabi_search_plugin.evaluation.provenance import describe
    from hanabi_search_plugin.judge import Judge
    from hanabi_search_plugin.judge.data_set import (
        judged_lines,
        line_bytes,
        play_games,
        read_questions,
        record_lines,
        write_parquet,
    )
    from hanabi_search_plugin.registry import policy_names as listed

    console = terminal.open_console("-" if record is None else None)
    require_choice("objective", objective, OBJECTIVES)
    games = require_integer("games", games, 1)
    if parquet is not None:
        if record is None:
            raise ConfigError("parquet needs record, the lines that it is made of")
        require_extra("parquet", "a Parquet file", "pyarrow")
    if questions is not None and seats is not None:
        raise ConfigError("seats are of games that are played, give them without a FILE")
    result_files.check_files(record=record, parquet=parquet)
    names = per_seat(policy, game.config.players, "policy")
    the_judge = Judge(
        policy=tuple(names) if len(set(names)) > 1 else names[0],
        partners=None if partners is None else listed(partners),
        rollouts=rollouts,
        epsilon=epsilon,
        objective=cast("Named", objective),
        scale=scale,
        config=None if _standard(game) else game.config,
        bomb=game.config.bomb,
        seed=seed,
    )
    terminal.show_warnings(console)
    asked: Iterator[Question]
    if questions is not None:
        asked, total = read_questions(questions), None
        about: dict[str, Any] = {"file": os.path.basename(questions)}
    else:
        players = per_seat(seats or policy, game.config.players, "seats")
        asked, total = play_games(game.load(), players, games, seed), games  # type: ignore[arg-type]
        about = {"game": describe(game.config), "seats": players, "seed": seed}
    totals = _Totals()
    what = "games" if questions is None else "questions"
    with (
        cluster.executor(threads) as executor,
        terminal.progress_bar(console, what, total, status=executor.status) as show,
        terminal.compile_progress(console),
    ):

        def hear(lines: list[dict[str, Any]]) -> None:
            totals.add(lines)
            show(totals.questions)

        if record is not None:
            record_lines(the_judge, asked, record, executor, about=about, on_lines=hear)
        else:
            for lines in judged_lines(the_judge, asked, executor):
                sys.stdout.write("".join(line_bytes(line).decode() for line in lines))
                sys.stdout.flush()
                hear(lines)
    console.print(totals.text(), markup=False, soft_wrap=True)
    if parquet is not None and record is not None:
        rows = write_parquet(record, parquet)
        console.print(f"written: {parquet}, {counted(rows, 'row')}", markup=False, soft_wrap=True)


def _standard(game: GameChoice) -> bool:
    """True where texts say by themselves of which game they are."""
    from dataclasses import replace

    from hanabi_search_plugin.hanabi.engine.config import HanabiConfig

    return replace(game.config, bomb="zero") == HanabiConfig(players=game.config.players)


class _Totals:
    """What was judged so far."""

    def __init__(self) -> None:
        self.questions = self.positions = self.best = 0
        self.rewards: list[float] = []

    def add(self, lines: list[dict[str, Any]]) -> None:
        self.questions += 1
        self.positions += len(lines)
        self.best += sum(line["move"] == line["best"] for line in lines)
        self.rewards += [line["reward"] for line in lines if line["reward"] is not None]

    def text(self) -> str:
        summary = f"{counted(self.positions, 'position')} judged"
        if self.rewards:
            mean = sum(self.rewards) / len(self.rewards)
            summary += (
                f"; {counted(len(self.rewards), 'move')}: mean reward {mean:.3f}, "
                f"{100 * self.best / len(self.rewards):.0f} % the best"
            )
        return summary
