"""The command line ``hanabi-search``: its commands, and how they fail.

A function here says what a command is for and imports the one that does it, which has the options:
what a search or a training is set to is slow to import.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hanabi_search_plugin._version import __version__
from hanabi_search_plugin.cli import every_command, help_pages
from hanabi_search_plugin.cli.plain_text import number_expected, one_line, require_plain
from hanabi_search_plugin.core.error_places import with_notes
from hanabi_search_plugin.core.errors import HanabiSearchError

BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130  # exit codes
_USAGE_ERROR: Any = typer.BadParameter.__base__  # Typer does not name it

Command = Callable[..., None]


class _Group(TyperGroup):
    """Imports the command that is asked for, with its options; alone it shows its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            print(ctx.get_help())
            raise typer.Exit(BAD_INPUT)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        help_pages.write_options(ctx, formatter)
        help_pages.write_commands(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not isinstance(command, TyperGroup):
            command = imported(command)
        return name, command, rest


def imported(named: Any) -> Any:
    """The command that a function of this module stands for."""
    from hanabi_search_plugin.cli.option_groups import with_options

    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    function = every_command.with_common_options(with_options(named.callback()))
    alone.command(named.name, cls=every_command.EveryCommand, help=named.help)(function)
    return typer.main.get_command(alone)


class _Program(_Group):
    """Turns every failure into one line on the standard error and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        code = self._run(args, prog_name, complete_var, **extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(
        self,
        args: Sequence[str] | None,
        prog_name: str | None,
        complete_var: str | None,
        **extra: Any,
    ) -> int:
        every_command.forget()
        given = sys.argv[1:] if args is None else list(args)
        try:
            require_plain(given)
            code = super().main(given, prog_name, complete_var, standalone_mode=False, **extra)
            return code if isinstance(code, int) else 0
        except BrokenPipeError:  # whoever read the output has left
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        except (KeyboardInterrupt, typer.Abort):
            return INTERRUPTED
        except Exception as error:  # the last net: no traceback unless it is asked for
            if every_command.debug():
                raise
            code, message = _told(error)
            message = _of_numbers(message, given)
        print(f"hanabi-search: {one_line(message)}", file=sys.stderr)
        return code


def _of_numbers(message: str, given: Sequence[str]) -> str:
    """``message`` in this package's words where it is of an option that takes a number."""
    found = re.match(r"Invalid value for '(--[\w-]+)': (.*)", message)
    kind = number_expected(found[2]) if found else None
    if found is None or kind is None:
        return message
    option = found[1]
    values = [b for a, b in itertools.pairwise(given) if a == option]
    values += [word.partition("=")[2] for word in given if word.startswith(f"{option}=")]
    got = f", got {values[-1]!r}" if values else ""
    return f"{option.removeprefix('--')} must be {kind}{got}"


def _told(error: Exception) -> tuple[int, str]:
    """The exit code and the message of what went wrong, with its notes of where."""
    code, message = _message(error)
    hint = "; --debug shows the traceback" if code == FAILED else ""
    return code, with_notes(message, error) + hint


def _message(error: Exception) -> tuple[int, str]:
    if isinstance(error, _USAGE_ERROR):
        return BAD_INPUT, error.format_message()
    if isinstance(error, HanabiSearchError):
        return BAD_INPUT, str(error)
    if isinstance(error, OSError):
        named = error.filename is not None and error.strerror is not None
        return BAD_INPUT, f"{error.filename}: {error.strerror}" if named else str(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return FAILED, f"this went wrong inside: {text}"


app = typer.Typer(
    cls=_Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
training = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Train evaluation functions, networks, critics and beliefs.",
)

online = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    help="Play on hanab.live, a site for Hanabi with people.",
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"hanabi-search {__version__}")
        raise typer.Exit()


@app.callback()
def program(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Search for Hanabi: make any blueprint policy stronger."""


@training.command()
def distill() -> Command:
    """A network that plays as a compiled bot does, on the games it plays itself."""
    from hanabi_search_plugin.cli.train_distill import distill

    return distill


@training.command()
def belief() -> Command:
    """A model of a seat's own cards, from a stream of games of a policy, for lbs."""
    from hanabi_search_plugin.cli.train_belief import belief

    return belief


@training.command()
def clone() -> Command:
    """A network that plays at once what a search would, from what every move was worth to it."""
    from hanabi_search_plugin.cli.train_clone import clone

    return clone


@training.command()
def rl() -> Command:
    """A network that learns from its own games alone (PPO), from nothing or from another."""
    from hanabi_search_plugin.cli.train_rl import rl

    return rl


@training.command()
def critic() -> Command:
    """A critic beside a network that stays as it is: LBS cuts rollouts by it."""
    from hanabi_search_plugin.cli.train_critic import critic

    return critic


@training.command()
def evalfn() -> Command:
    """Train the evaluation function and the rule classifier on games of RIS-MCTS."""
    from hanabi_search_plugin.cli.train_evalfn import evalfn

    return evalfn


@training.command()
def partners() -> Command:
    """Train the network that recognises partners by their moves (--likelihoods)."""
    from hanabi_search_plugin.cli.train_evalfn import partners

    return partners


@online.command()
def bot() -> Command:
    """A bot that plays at tables to which it is invited."""
    from hanabi_search_plugin.cli.hanab_live_bot import bot

    return bot


app.add_typer(training, name="train")
app.add_typer(online, name="hanab-live")


@app.command()
def demo() -> Command:
    """One 2-player game in which SPARTA upgrades SmartBot, turn by turn."""
    from hanabi_search_plugin.cli.commands import demo

    return demo


@app.command()
def play() -> Command:
    """One game on the terminal: you and a bot, or whom --seats names."""
    from hanabi_search_plugin.cli.commands import play

    return play


@app.command()
def serve() -> Command:
    """Tables in your browser: you and others at any seats, policies and searches at the rest."""
    from hanabi_search_plugin.cli.serve_command import serve

    return serve


@app.command()
def evaluate() -> Command:
    """Many games: mean score, and what a search gains on the same decks."""
    from hanabi_search_plugin.cli.commands import evaluate

    return evaluate


@app.command()
def compare() -> Command:
    """Result files beside each other: what was gained, game by game on the same decks."""
    from hanabi_search_plugin.cli.compare_command import compare

    return compare


@app.command()
def record() -> Command:
    """Searched games, and what every move was worth, in files to learn from (train clone)."""
    from hanabi_search_plugin.cli.record import record

    return record


@app.command()
def replay() -> Command:
    """Play recorded games again: are they legal, do their scores fit, who moves alike?"""
    from hanabi_search_plugin.cli.replay_command import replay

    return replay


@app.command()
def convert() -> Command:
    """Recorded games in another format: hanab.live's, its short links, AH2AC2's, ours."""
    from hanabi_search_plugin.cli.convert import convert

    return convert


@app.command()
def view() -> Command:
    """A recorded game as a page for your browser: table, beliefs, what every move was worth."""
    from hanabi_search_plugin.cli.view_command import view

    return view


@app.command()
def analyse() -> Command:
    """What every move of a recorded game was worth: mistakes, luck and skill, player by player."""
    from hanabi_search_plugin.cli.analyse_command import analyse

    return analyse


@app.command()
def judge() -> Command:
    """What every legal move of many positions is worth, and a reward for one: JSON lines."""
    from hanabi_search_plugin.cli.judge_command import judge

    return judge


@app.command()
def decode() -> Command:
    """What observation vectors say. Options left out are worked out where they can be."""
    from hanabi_search_plugin.cli.decode import decode

    return decode


@app.command()
def reproduce() -> Command:
    """A published table or figure, measured again and shown beside the paper's."""
    from hanabi_search_plugin.cli.reproduction import reproduce

    return reproduce


@app.command()
def bench() -> Command:
    """Measure the speed of this machine, with OpenSpiel's beside it."""
    from hanabi_search_plugin.cli.bench import bench

    return bench


@app.command(name="compile")
def compile_kernels() -> Command:
    """Compile now what the first use of each thing would compile, all or some."""
    from hanabi_search_plugin.cli.compile_kernels import compile_kernels

    return compile_kernels


@app.command(name="list")
def list_names() -> Command:
    """What can be named: policies, searches and games, those of plugins, too."""
    from hanabi_search_plugin.cli.listing import list_names

    return list_names


def main() -> None:
    """The console script. Interrupted, it leaves at once, whatever its threads still play."""
    try:
        app()
    except KeyboardInterrupt:  # before the command had begun
        os._exit(INTERRUPTED)
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
