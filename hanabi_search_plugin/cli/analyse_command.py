"""``hanabi-search analyse``: what every move of a recorded game was worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.fitted_table import FittedTable
from hanabi_search_plugin.cli.option_names import policy_names, several_partners
from hanabi_search_plugin.cli.page_beliefs import (
    AnalysedBelief,
    named_shown_belief,
    say_strangers,
)
from hanabi_search_plugin.cli.plain_text import printable
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.named_beliefs import EXACT

if TYPE_CHECKING:
    from rich.console import Console

    from hanabi_search_plugin.core.objective import Named
    from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
    from hanabi_search_plugin.hanabi.files.analysis import AnalysedTurn, Analysis
    from hanabi_search_plugin.hanabi.files.recorded_positions import Candidates
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

PARTNERS = "smartbot,vdb,piers,iggi"
SLIPS = 0.1
OBJECTIVES = ("score", "perfect")


def analyse(
    *,
    context: typer.Context,
    games: Annotated[
        str,
        typer.Argument(
            metavar="GAME",
            help="A recorded game, of any format that convert reads; of several the first, or "
            "--game.",
        ),
    ],
    game: option.GameNumber = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            autocompletion=policy_names,
            help="The blueprint (one name, or one a seat), which players follow after a valued "
            "move. Default: of --partners the one that explains a player's moves best.",
        ),
    ] = None,
    partners: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            autocompletion=several_partners,
            help="What the others may play, or mixed-track; their moves tell which. Default: "
            f"--policy where it is given, else {PARTNERS}.",
        ),
    ] = None,
    epsilon: option.AnyEpsilon = SLIPS,
    rollouts: option.MoveRollouts = 1_000,
    objective: Annotated[
        str,
        typer.Option(
            metavar="|".join(OBJECTIVES),
            autocompletion=lambda: list(OBJECTIVES),
            help="What points are: the score, or the score with 0.4 times the best one added to a "
            "perfect game, as searches have it.",
        ),
    ] = "score",
    belief: AnalysedBelief = EXACT,
    threads: option.Threads = 1,
    seed: option.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the page of `hanabi-search view`, with values."),
    ] = None,
    json_file: option.JsonFile = None,
) -> None:
    """Read a game, value its moves, and print what was found.

    Raises ConfigError for a belief to show without a page.
    """
    from hanabi_search_plugin.cli import result_files, terminal
    from hanabi_search_plugin.cli.line_ups import per_seat
    from hanabi_search_plugin.core.require import require_choice, require_integer
    from hanabi_search_plugin.evaluation.provenance import versions
    from hanabi_search_plugin.hanabi.files.analysis import analyse_game
    from hanabi_search_plugin.hanabi.files.annotated_games import read_annotated_game
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.registry import blueprint_of
    from hanabi_search_plugin.rendering.game_page import write_page

    console = terminal.open_console(json_file)
    require_integer("threads", threads, 1)
    require_choice("objective", objective, OBJECTIVES)
    result_files.check_files(json=json_file, out=out)
    terminal.show_warnings(console)
    record = read_annotated_game(games, game).record
    rules = HanabiGame(record.config)
    if out is None and belief != EXACT:
        raise ConfigError(f"belief needs out, the page that shows it, got {belief!r}")
    shown = named_shown_belief(belief, rules, seed)
    if not isinstance(shown, str):
        say_strangers(shown, record.policies or ())
    names: list[str] = []
    blueprint = None
    if policy is not None:
        names = per_seat(policy, rules.num_players, "policy")
        blueprint = blueprint_of(names, rules)
    candidates = _candidates(rules, names, partners, epsilon)
    total = len(record.actions)
    with terminal.progress_bar(console, "moves", total) as show, terminal.compile_progress(console):
        analysis = analyse_game(
            record, candidates, blueprint, names,
            rollouts=rollouts, objective=cast('Named', objective), threads=threads, seed=seed,
            with_beliefs=out is not None and belief == EXACT, on_turn=show,
        )  # fmt: skip
    _print(console, analysis)
    content = {"command": "analyse", "parameters": result_files.parameters(context)}
    content |= analysis.to_dict() | {"versions": versions()}
    result_files.write_json(json_file, content)
    if out is not None:
        taken_for = [_taken_for(analysis, seat) for seat in range(rules.num_players)]
        write_page(out, analysis.document(taken_for, shown))
        console.print(f"written: {out}", markup=False, soft_wrap=True)


def _candidates(
    rules: HanabiGame, policies: list[str], partners: str | None, epsilon: float
) -> Candidates:
    """What each seat may play. Raises ConfigError."""
    from hanabi_search_plugin.core.require import require_share
    from hanabi_search_plugin.hanabi.files.recorded_positions import Candidates
    from hanabi_search_plugin.registry import load_policies, load_policy
    from hanabi_search_plugin.registry import policy_names as listed

    require_share("epsilon", epsilon)
    if policies and partners is None:
        loaded = tuple((load_policy(name, rules),) for name in policies)
        return Candidates(loaded, tuple((name,) for name in policies), epsilon)
    text = partners or PARTNERS
    same = load_policies(text, rules)
    return Candidates((same,) * rules.num_players, (listed(text),) * rules.num_players, epsilon)


def _taken_for(analysis: Analysis, seat: int) -> str:
    """Who the others take a seat to be, for people."""
    names, prior = analysis.candidates.names[seat], analysis.explained[seat].posterior
    return " or ".join(name for name, chance in zip(names, prior, strict=True) if chance >= 0.01)


# ---------------------------------------------------------------------------------- what is shown


def _print(console: Console, analysis: Analysis) -> None:
    console.print(_moves(analysis))
    console.print()
    console.print(_players(analysis))
    console.print()
    gain, players = sum(turn.gain for turn in analysis.turns), analysis.players()
    ended = "worth where the record stops"
    if analysis.finished:
        ended = "final score" if analysis.objective == "score" else "final score's worth"
    lines = [
        f"{analysis.before:.2f} before the first move {gain:+.2f} by skill {analysis.luck:+.2f} by "
        f"luck = {analysis.end:.2f}, the {ended}",
    ]
    for one, seen, names in zip(
        players, analysis.explained, analysis.candidates.names, strict=True
    ):
        likeliest = seen.likeliest
        agreement = 100 * seen.agreement[likeliest]
        lines.append(
            f"P{one.seat} is taken for {_taken_for(analysis, one.seat)}: {names[likeliest]} makes "
            f"{agreement:.0f} % of its moves, chance {100 * seen.chance:.0f} %"
        )
    for line in lines:
        console.print(printable(line), markup=False, soft_wrap=True)


def _moves(analysis: Analysis) -> FittedTable:
    config = analysis.record.config
    rows = [
        (
            f"{turn.turn + 1} {_words(config, turn, turn.action)}",
            f"{turn.worth:.2f}",
            f"{turn.gain:+.2f}" if turn.action != turn.blueprint_action else "=",
            f"{turn.luck:+.2f}",
            f"{turn.lost:.2f}" if turn.action != turn.best else "",
            f"{turn.lost_stderr:.2f}" if turn.action != turn.best else "",
            _words(config, turn, turn.best).partition(" ")[2] if turn.mistake else "",
        )
        for turn in analysis.turns
    ]
    return FittedTable(
        ("move", "worth", "gain", "luck", "lost", "+-", "better"),
        rows,
        title=f"game {analysis.record.game}, in points of {_points(analysis)}",
        strong=frozenset(n for n, turn in enumerate(analysis.turns) if turn.mistake),
    )


def _points(analysis: Analysis) -> str:
    if analysis.objective == "score":
        return "the final score"
    return "the final score and a bonus for a perfect game"


def _words(config: HanabiConfig, turn: AnalysedTurn, action: int) -> str:
    from hanabi_search_plugin.hanabi.engine.text import action_in_words

    return action_in_words(config, turn.seat, action)


def _players(analysis: Analysis) -> FittedTable:
    rows = [
        (
            f"P{one.seat}",
            str(one.moves),
            f"{one.as_blueprint}",
            str(one.mistakes),
            f"{one.lost:.2f} +- {one.lost_stderr:.2f}",
            f"{one.gain:+.2f} +- {one.gain_stderr:.2f}",
        )
        for one in analysis.players()
    ]
    headings = ("player", "moves", "as the blueprint", "mistakes", "points lost", "skill")
    return FittedTable(headings, rows)
