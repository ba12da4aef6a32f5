"""Options that every command has: --config, --save-config, --quiet and --debug."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from hanabi_search_plugin.cli import config_files, help_pages
from hanabi_search_plugin.core.errors import ConfigError

_PANEL = "Every command"


@dataclass
class _Said:
    """What the options of this call said."""

    quiet: bool = False
    debug: bool = False
    save: Path | None = None
    config: Path | None = None


_said = _Said()


def quiet() -> bool:
    """Was the command told to show results and errors alone?"""
    return _said.quiet


def debug() -> bool:
    """Was the command told to show the traceback of an error?"""
    return _said.debug


def forget() -> None:
    """Begin anew: one process may run many commands."""
    global _said
    _said = _Said()


class EveryCommand(TyperCommand):
    """Writes its options to the file of ``--save-config`` before it runs."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        help_pages.write_options(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        if ctx.params.get("search") == "none" and _given_by(ctx, "search") == "COMMANDLINE":
            _leave_aside_searches(ctx)
        if _said.save is not None:
            config_files.write(_said.save, ctx)
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            if _said.config is not None and config_files.is_of_file(error, ctx):
                raise ConfigError(f"{_said.config}: {error}") from error
            raise


def _given_by(ctx: Any, name: str) -> str:
    source = ctx.get_parameter_source(name)
    return "" if source is None else str(source.name)


def _leave_aside_searches(ctx: Any) -> None:
    """Take the defaults of what a search alone reads where the file of --config has set it."""
    from hanabi_search_plugin.cli.line_ups import OF_SEARCHES

    for one in ctx.command.params:
        if one.name in OF_SEARCHES and _given_by(ctx, one.name) == "DEFAULT_MAP":
            ctx.params[one.name] = one.default


def with_common_options(function: Callable[..., None]) -> Callable[..., None]:
    """``function`` with the options of every command after its own."""
    own = inspect.signature(function).parameters.values()

    def run(**given: Any) -> None:
        function(**{name: value for name, value in given.items() if name not in COMMON})

    run.__doc__ = function.__doc__
    parameters = [*own, *COMMON.values()]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _read_config(context: typer.Context, path: Path | None) -> None:
    if path is not None and not context.resilient_parsing:
        _said.config = path
        context.default_map = config_files.read(path, context)


def _keep(name: str) -> Callable[[typer.Context, Any], None]:
    def keep(context: typer.Context, value: Any) -> None:
        if not context.resilient_parsing:
            setattr(_said, name, value)

    return keep


def _common(
    name: str, kind: Any, default: Any, callback: Callable[..., None], text: str, **more: Any
) -> inspect.Parameter:
    option = typer.Option(
        f"--{name.removesuffix('_file').replace('_', '-')}",
        help=text,
        callback=callback,
        expose_value=False,
        is_eager=True,
        rich_help_panel=_PANEL,
        **more,
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


COMMON = {
    one.name: one
    for one in (
        _common(
            "config_file", Path | None, None, _read_config,
            "Take options from a TOML file, by their long names; those given here win.",
            metavar="FILE",
        ),
        _common(
            "save_config", Path | None, None, _keep("save"),
            "Write the options that are not at their defaults to a file for --config, without "
            "files of output (json, trace, save, resume).",
            metavar="FILE",
        ),
        _common(
            "quiet", bool, False, _keep("quiet"), "Show results and errors alone: no progress, no "
            "warnings, no advice.",
        ),
        _common(
            "debug", bool, False, _keep("debug"), "Show the traceback of an error.",
        ),
    )
}  # fmt: skip
"""The options as parameters of a function that Typer reads, by name."""
