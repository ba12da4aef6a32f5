"""Options of a command in a TOML file: ``--config`` reads it, ``--save-config`` writes it.

    command = "evaluate"
    search = "sparta"
    rollouts = 1000

A key is an option's long name, with dashes or underscores, or an argument's. ``command`` may be
left out; where it is given the file is of that command alone. ``set`` may be a list or a table.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import typer

from hanabi_search_plugin.cli.plain_text import number_expected, require_plain
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.near_names import did_you_mean
from hanabi_search_plugin.core.require import require_writable
from hanabi_search_plugin.core.whole_files import read_whole

COMMAND = "command"
OUTPUTS = ("json_file", "trace", "save", "resume")
"""What ``write`` leaves out: a configuration that runs again overwrites nothing."""
_USAGE_ERROR: Any = typer.BadParameter.__base__


def read(path: Path, context: typer.Context) -> dict[str, Any]:
    """The file's values by the names of the command's parameters.

    Raises ConfigError for what is no TOML, another command's file, an unknown key or a value of
    another type; OSError for a file that cannot be read.
    """
    written = read_whole(path)
    try:
        content = tomllib.loads(written.decode())
    except ValueError as error:
        raise ConfigError(f"{path}: expected TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: expected TOML: it is nested too deeply") from None
    command = _command_of(context)
    meant = content.pop(COMMAND, command)
    if meant != command:
        raise ConfigError(f"{path}: command must be {command!r} here, got {meant!r}")
    known = {_key(one): one for one in _own(context)}
    values = {}
    for key, value in content.items():
        parameter = known.get(key.replace("_", "-"))
        if parameter is None:
            raise ConfigError(
                f"{path}: {key!r} is no option of {command}{did_you_mean(key, known)}"
            )
        values[parameter.name] = _checked(path, key, value, parameter, context)
    return values


def write(path: Path, context: typer.Context) -> None:
    """Write what is not at its default and is no output, whole or not at all.

    Raises ConfigError, OSError.
    """
    from hanabi_search_plugin.atomic_files import atomic_write

    require_writable("save-config", path)
    lines = [f"{COMMAND} = {_toml(_command_of(context))}"]
    for one in _own(context):
        value = context.params.get(one.name)
        if one.name in OUTPUTS:
            continue
        if value is not None and value != one.default and value != []:
            lines.append(f"{_key(one)} = {_toml(value)}")
    with atomic_write(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def is_of_file(error: ConfigError, context: typer.Context) -> bool:
    """Is the error, which begins with the name of an option, of a value that the file gave?"""
    name = str(error).partition(" ")[0].replace("_", "-")
    for one in _own(context):
        source = context.get_parameter_source(str(one.name))
        if name in (_key(one), str(one.name).replace("_", "-")):
            return source is not None and source.name == "DEFAULT_MAP"
    return False


def _command_of(context: typer.Context) -> str:
    """ "train rl", say."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent  # type: ignore[assignment]  # of the same class
    return " ".join(names)


def _own(context: typer.Context) -> list[Any]:
    """The command's own parameters, as Click has them."""
    return [one for one in context.command.params if one.expose_value and one.name != "help"]


def _key(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.name).replace("_", "-")
    return str(parameter.opts[0]).removeprefix("--")


def _checked(path: Path, key: str, value: Any, parameter: Any, context: typer.Context) -> Any:
    """The value as the command line would give it."""
    flag = getattr(parameter, "is_flag", False)
    several = getattr(parameter, "multiple", False)
    if flag:
        if isinstance(value, bool):
            return value
        raise ConfigError(f"{path}: {key} must be true or false, got {value!r}")
    if several and isinstance(value, dict):
        value = [f"{name}={json.dumps(one)}" for name, one in value.items()]
    scalars = value if several and isinstance(value, list) else [value]
    for one in scalars:
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            expected = "a list of texts" if several else "a text or a number"
            raise ConfigError(f"{path}: {key} must be {expected}, got {value!r}")
    texts = [str(one) for one in scalars]
    try:
        require_plain(texts)
    except ConfigError as error:
        raise ConfigError(f"{path}: {key}: {error}") from None
    given = texts if several else texts[0]
    try:
        parameter.process_value(context, given)
    except _USAGE_ERROR as error:
        number = number_expected(error.message)
        if number is not None:
            raise ConfigError(f"{path}: {key} must be {number}, got {value!r}") from None
        reason = error.message.removesuffix(".")
        raise ConfigError(f"{path}: {key}: {reason}, got {value!r}") from None
    return given


def _toml(value: Any) -> str:
    """A text, a number, a truth value or a list of them in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # The escapes of a JSON text are among those of TOML, which wants DEL escaped, too.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
