"""The command line ``hanabi-search``. Each command imports what it needs when it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import (
    train_belief,
    train_clone,
    train_critic,
    train_distill,
    train_rl,
)
from hanabi_search_plugin.core.errors import HanabiSearchError

DEMO_SEED = 3  # fixed, so that the demo is the same everywhere: one where the search helps
INTERRUPTED = 130
_USAGE_ERROR: Any = typer.BadParameter.__base__  # Typer does not name it


class _Group(TyperGroup):
    """Turns every foreseen failure into one line on the standard error and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        code = self._run(args, prog_name, **extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(self, args: Sequence[str] | None, prog_name: str | None, **extra: Any) -> int:
        try:
            code = super().main(args, prog_name, standalone_mode=False, **extra)
            return code if isinstance(code, int) else 0
        except BrokenPipeError:  # whoever read the output has left
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (KeyboardInterrupt, typer.Abort):
            return INTERRUPTED
        except _USAGE_ERROR as error:
            message = error.format_message()
        except HanabiSearchError as error:
            message = str(error)
        except OSError as error:
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"hanabi-search: {' '.join(message.split())}", file=sys.stderr)
        return 2


app = typer.Typer(
    cls=_Group,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Search for Hanabi: make any blueprint policy stronger.",
)


training = typer.Typer(
    no_args_is_help=True, help="Train evaluation functions, networks, critics and beliefs."
)
training.command()(train_distill.distill)
training.command()(train_belief.belief)
training.command()(train_clone.clone)
training.command()(train_rl.rl)
training.command()(train_critic.critic)
app.add_typer(training, name="train")


@app.command()
def demo(
    context: typer.Context,
    seed: Annotated[
        int, typer.Option(help="The deck; the default is one on which the search helps visibly.")
    ] = DEMO_SEED,
    search_seats: option.SearchSeats = None,
    rollouts: option.Rollouts = 10_000,
    threads: option.Threads = 1,
    json_file: option.JsonFile = None,
) -> None:
    """One 2-player game in which SPARTA upgrades SmartBot, turn by turn."""
    from hanabi_search_plugin.cli import commands

    commands.play(context.params | commands.DEMO, "demo")


@app.command()
def play(
    context: typer.Context,
    seats: option.SeatNames = None,
    policy: option.PolicyName = "smartbot",
    search: option.SearchName = "none",
    belief: option.BeliefName = None,
    explain: option.Explain = True,
    search_seats: option.SearchSeats = None,
    rollouts: option.Rollouts = 10_000,
    depth: option.Depth = None,
    iterations: option.Iterations = 1_000,
    seconds: option.Seconds = None,
    exploration: option.Exploration = 0.1,
    rules: option.RulesName = "all",
    convention: option.ConventionName = "off",
    by_convention: option.ByConvention = False,
    evaluation: option.EvaluationName = "none",
    leaves: option.LeavesKind = "rollouts",
    threshold: option.Threshold = 0.05,
    pruning: option.PruningName = "paired",
    deviations: option.Deviations = 2.0,
    min_rollouts: option.MinRollouts = 100,
    round_size: option.RoundSize = 100,
    reallocate: option.Reallocate = True,
    candidates: option.Candidates = None,
    max_range: option.MaxRange = 2000,
    epsilon: option.Epsilon = 0.0,
    uncertainty: option.Uncertainty = 0.0,
    partners: option.PartnerNames = None,
    likelihoods: option.LikelihoodsName = "exact",
    favourite: option.Favourite = None,
    players: option.Players = 2,
    colors: option.Colors = 5,
    ranks: option.Ranks = 5,
    hand_size: option.HandSize = 0,
    information_tokens: option.InformationTokens = 8,
    life_tokens: option.LifeTokens = 3,
    random_start_player: option.RandomStart = False,
    observation_type: option.ObservationKind = "card_knowledge",
    bomb: option.BombOption = "zero",
    seed: option.Seed = 0,
    threads: option.Threads = 1,
    json_file: option.JsonFile = None,
    trace: option.Trace = None,
    save: option.Save = None,
) -> None:
    """One game on the terminal, with people (--seats human,smartbot) or without."""
    from hanabi_search_plugin.cli import commands

    commands.play(context.params, "play")


@app.command()
def evaluate(
    context: typer.Context,
    policy: option.PolicyName = "smartbot",
    search: option.SearchName = "none",
    belief: option.BeliefName = None,
    explain: option.Explain = True,
    search_seats: option.SearchSeats = None,
    rollouts: option.Rollouts = 10_000,
    depth: option.Depth = None,
    iterations: option.Iterations = 1_000,
    seconds: option.Seconds = None,
    exploration: option.Exploration = 0.1,
    rules: option.RulesName = "all",
    convention: option.ConventionName = "off",
    by_convention: option.ByConvention = False,
    evaluation: option.EvaluationName = "none",
    leaves: option.LeavesKind = "rollouts",
    threshold: option.Threshold = 0.05,
    pruning: option.PruningName = "paired",
    deviations: option.Deviations = 2.0,
    min_rollouts: option.MinRollouts = 100,
    round_size: option.RoundSize = 100,
    reallocate: option.Reallocate = True,
    candidates: option.Candidates = None,
    max_range: option.MaxRange = 2000,
    epsilon: option.Epsilon = 0.0,
    uncertainty: option.Uncertainty = 0.0,
    partners: option.PartnerNames = None,
    likelihoods: option.LikelihoodsName = "exact",
    favourite: option.Favourite = None,
    game: option.GameName = "hanabi",
    players: option.Players = 2,
    colors: option.Colors = 5,
    ranks: option.Ranks = 5,
    hand_size: option.HandSize = 0,
    information_tokens: option.InformationTokens = 8,
    life_tokens: option.LifeTokens = 3,
    random_start_player: option.RandomStart = False,
    observation_type: option.ObservationKind = "card_knowledge",
    bomb: option.BombOption = "zero",
    games: option.Games = 100,
    seed: option.Seed = 0,
    threads: option.Threads = 1,
    resume: option.Resume = None,
    json_file: option.JsonFile = None,
    trace: option.Trace = None,
    save: option.Save = None,
) -> None:
    """Many games: mean score, and what a search gains on the same decks."""
    from hanabi_search_plugin.cli import commands

    commands.evaluate(context.params)


@app.command()
def record(
    context: typer.Context,
    out: Annotated[
        Path,
        typer.Option(
            path_type=Path,
            metavar="DIR",
            help="For the games; a run that was stopped, or with more --games, goes on from there.",
        ),
    ],
    policy: option.PolicyName = "smartbot",
    search: option.SearchName = "sparta",
    belief: option.BeliefName = None,
    explain: option.Explain = True,
    search_seats: Annotated[
        str | None,
        typer.Option(
            metavar="SEAT[,SEAT...]",
            help="Seats that search. Default: one seat a game, in turn; all in a joint search.",
        ),
    ] = None,
    rollouts: option.Rollouts = 10_000,
    depth: option.Depth = None,
    iterations: option.Iterations = 1_000,
    seconds: option.Seconds = None,
    exploration: option.Exploration = 0.1,
    rules: option.RulesName = "all",
    convention: option.ConventionName = "off",
    by_convention: option.ByConvention = False,
    evaluation: option.EvaluationName = "none",
    leaves: option.LeavesKind = "rollouts",
    threshold: option.Threshold = 0.05,
    pruning: option.PruningName = "paired",
    deviations: option.Deviations = 2.0,
    min_rollouts: option.MinRollouts = 100,
    round_size: option.RoundSize = 100,
    reallocate: option.Reallocate = True,
    candidates: option.Candidates = None,
    max_range: option.MaxRange = 2000,
    epsilon: option.Epsilon = 0.0,
    uncertainty: option.Uncertainty = 0.0,
    players: option.Players = 2,
    colors: option.Colors = 5,
    ranks: option.Ranks = 5,
    hand_size: option.HandSize = 0,
    information_tokens: option.InformationTokens = 8,
    life_tokens: option.LifeTokens = 3,
    bomb: option.BombOption = "zero",
    games: option.Games = 100,
    seed: option.Seed = 0,
    threads: option.Threads = 1,
) -> None:
    """Searched games, and what every move was worth, in files to learn from (train clone)."""
    from hanabi_search_plugin.cli.record import record as run

    run(context.params)


@app.command()
def replay(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(path_type=Path, metavar="FILE", help="Recorded games (JSON lines, .gz)."),
    ],
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="NAME[,NAME...]",
            help="Compare each recorded move with this policy's (one name, or one a seat).",
        ),
    ] = None,
    bomb: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="What a bombed game's score must follow: zero, keep, minus_one; "
            "auto takes the record's own rule, or any.",
        ),
    ] = "auto",
    seed: option.Seed = 0,
    json_file: option.JsonFile = None,
) -> None:
    """Play recorded games again: are they legal, do their scores fit, who moves alike?"""
    from hanabi_search_plugin.cli import commands

    commands.replay(context.params)


@app.command()
def decode(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="[FILE]",
            help="One observation or a list of them, JSON or NPY; - is the standard input.",
        ),
    ] = "-",
    seat: Annotated[int, typer.Option(help="Whose observation it is.")] = 0,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="openspiel, packed or v0.")
    ] = None,
    players: Annotated[int | None, typer.Option(help="Seats.")] = None,
    colors: Annotated[int | None, typer.Option(help="Colours.")] = None,
    ranks: Annotated[int | None, typer.Option(help="Ranks of a colour.")] = None,
    hand_size: Annotated[int | None, typer.Option(help="Cards a hand.")] = None,
    information_tokens: Annotated[int | None, typer.Option(help="Hints at most.")] = None,
    life_tokens: Annotated[int | None, typer.Option(help="Lives.")] = None,
    observation_type: Annotated[
        str | None, typer.Option(metavar="KIND", help="minimal, card_knowledge or seer.")
    ] = None,
    json_file: option.JsonFile = None,
) -> None:
    """What observation vectors say. Options left out are worked out where they can be."""
    from hanabi_search_plugin.cli.decode import decode as run

    run(context.params)


class _Reproduce(TyperCommand):
    """Its help names what can be reproduced, which is slow to import."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from hanabi_search_plugin.cli.reproduction import names

        (what,) = (parameter for parameter in self.params if parameter.name == "what")
        setattr(what, "help", names())  # noqa: B010  # not every parameter has one
        super().format_help(ctx, formatter)


@app.command(cls=_Reproduce)
def reproduce(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="NAME")],
    games: Annotated[
        int, typer.Option(help="Games of a searched row; others have 100 times as many.")
    ] = 200,
    only: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Measure the row or curve TEXT, or else those with TEXT in their label; show "
            "others as measured before.",
        ),
    ] = "",
    seed: option.Seed = 7,
    threads: option.Threads = 1,
    out: Annotated[
        Path,
        typer.Option(
            path_type=Path,
            metavar="DIR",
            help="For NAME.json, NAME.png and finished games, which are not replayed.",
        ),
    ] = Path("runs"),
) -> None:
    """A published table or figure, measured again and shown beside the paper's."""
    from hanabi_search_plugin.cli.reproduction import reproduce as run

    run(context.params)


@training.command()
def evalfn(
    context: typer.Context,
    games: Annotated[
        str, typer.Option(metavar="N,N,N", help="Games of each stage, as many as there are.")
    ] = "80,60,50",
    iterations: Annotated[
        str, typer.Option(metavar="N,N,N", help="Iterations of a decision in each stage.")
    ] = "1500,800,1000",
    exploration: Annotated[
        str, typer.Option(metavar="C,C,C", help="The constant C of the trees of each stage.")
    ] = "0.1,0.1,3",
    players: Annotated[
        str, typer.Option(metavar="N[,N...]", help="Seats, in turn from game to game.")
    ] = "2,3,4,5",
    seed: option.Seed = 0,
    out: Annotated[
        Path,
        typer.Option(
            path_type=Path,
            metavar="DIR",
            help="For networks, the record and the games, which are not played again.",
        ),
    ] = Path("runs/evalfn"),
) -> None:
    """Train the evaluation function and the rule classifier on games of RIS-MCTS."""
    from hanabi_search_plugin.cli import train_evalfn

    train_evalfn.train(context.params)


@training.command()
def partners(
    context: typer.Context,
    partners: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME[,NAME...]",
            help="The policies to recognise, compiled ones, or mixed-track (the paper's list).",
        ),
    ] = "mixed-track",
    games: Annotated[int, typer.Option(help="Games; a fifth of them is held out.")] = 5_000,
    players: Annotated[
        str, typer.Option(metavar="N[,N...]", help="Seats, drawn for every game.")
    ] = "2,3,4,5",
    seed: option.Seed = 0,
    out: Annotated[
        Path, typer.Option(path_type=Path, metavar="DIR", help="For the network and the record.")
    ] = Path("runs/partners"),
) -> None:
    """Train the network that recognises partners by their moves (--likelihoods)."""
    from hanabi_search_plugin.cli import train_evalfn

    train_evalfn.train_partners(context.params)


@app.command()
def bench() -> None:
    """Measure the speed of this machine, with OpenSpiel's beside it."""
    from hanabi_search_plugin.cli import commands

    commands.bench()


@app.command(name="list")
def list_names() -> None:
    """What can be named: policies, searches and games, those of plugins, too."""
    from hanabi_search_plugin.cli import commands

    commands.list_names()


def main() -> None:
    """The console script."""
    app()
