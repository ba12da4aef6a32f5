"""Options made of settings: a command takes a frozen object, the command line shows its fields.

A command is a function whose parameters are annotated. Where an annotation carries a ``Group``, the
options of the group stand in place of the parameter, and the function gets what they make:

    def train(*, settings: Annotated[Distillation, Fields(Distillation)], out: Out) -> None: ...

Names, types, defaults and help texts are those of the settings (``core.settings``).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, is_dataclass, replace
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from hanabi_search_plugin.cli import option_names
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.plain_json import parse_json
from hanabi_search_plugin.core.settings import Setting, settings_of


class Group(ABC):
    """Options that together make one parameter of a command."""

    @abstractmethod
    def settings(self) -> dict[str, Setting]:
        """What the options set, by the names of the parameters that carry them."""

    @abstractmethod
    def make(self, given: Mapping[str, Any]) -> Any:
        """The parameter, from the values of the options. Raises ConfigError."""

    panel: str | None = None  # the heading of the options in the help

    def completes(self, one: Setting) -> option_names.Completes | None:
        """What a shell completes after the option of a setting; None: files."""
        return option_names.completes(one)

    def parameters(self) -> list[inspect.Parameter]:
        """The options as parameters of a function that Typer reads."""
        return [self.parameter(one) for one in self.settings().values()]

    def parameter(self, one: Setting) -> inspect.Parameter:
        """One of them."""
        return _parameter(one, self.panel, self.completes(one))


class Fields(Group):
    """An option for each field of a frozen dataclass; a dataclass in a field has its own.

    ``only`` these fields, or all ``without`` those; the others keep their defaults. ``panel`` is
    the heading of the options in the help; the text of a field that is a dataclass heads its own.
    """

    def __init__(
        self,
        kind: type[Any],
        *,
        panel: str | None = None,
        only: tuple[str, ...] = (),
        without: tuple[str, ...] = (),
    ) -> None:
        own = settings_of(kind)
        self.kind, self.panel, self.without = kind, panel, without
        self.nested = {
            name: Fields(one.kind, panel=one.text, without=without)
            for name, one in own.items()
            if is_dataclass(one.kind) and isinstance(one.kind, type) and name not in without
        }
        self.own = {
            name: one
            for name, one in own.items()
            if name not in (*self.nested, *without) and (not only or name in only)
        }

    def settings(self) -> dict[str, Setting]:
        found = dict(self.own)
        for group in self.nested.values():
            found |= group.settings()
        return found

    def parameters(self) -> list[inspect.Parameter]:
        own = [self.parameter(one) for one in self.own.values()]
        return own + [one for group in self.nested.values() for one in group.parameters()]

    def make(self, given: Mapping[str, Any]) -> Any:
        nested = {name: group.make(given) for name, group in self.nested.items()}
        return self.kind(**{name: given[name] for name in self.own}, **nested)


class Given(Fields):
    """The same, but every option may be left out; makes a dictionary of those that were given."""

    def __init__(self, kind: type[Any], *, without: tuple[str, ...] = ()) -> None:
        super().__init__(kind, without=without)
        self.own = {
            name: replace(one, default=None, kind=one.kind | None) for name, one in self.own.items()
        }

    def make(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: given[name] for name in self.own if given[name] is not None}


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """``function`` with the options of its groups in place of the parameters that they make."""
    kinds = get_type_hints(function, include_extras=True)
    groups: dict[str, Group] = {}
    parameters: list[inspect.Parameter] = []
    for name, one in inspect.signature(function).parameters.items():
        group = group_of(kinds[name])
        if group is None:
            parameters.append(one.replace(annotation=kinds[name], kind=one.KEYWORD_ONLY))
        else:
            groups[name] = group
            parameters += group.parameters()

    def run(**given: Any) -> None:
        made = {}
        for name, group in groups.items():
            values = {one: _value(s, given.pop(one)) for one, s in group.settings().items()}
            made[name] = group.make(values)
        function(**given, **made)

    run.__doc__ = function.__doc__
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def group_of(annotation: Any) -> Group | None:
    """The group that an annotation carries, if any."""
    carried = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((one for one in carried if isinstance(one, Group)), None)


def _parameter(
    one: Setting, panel: str | None, completes: option_names.Completes | None
) -> inspect.Parameter:
    """As Typer reads it. Values of a ``Literal`` are texts here: the dataclass checks them."""
    flag, kind, default, metavar = f"--{one.name.replace('_', '-')}", one.kind, one.default, None
    if one.kinds == (bool,):
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    elif one.choices:
        metavar, kind = "|".join(one.choices), str | None if one.optional else str
    elif _is_dict(one):
        flag, metavar, kind, default = "--set", "NAME=VALUE", list[str] | None, None
    option = typer.Option(
        flag, help=one.text, metavar=one.metavar or metavar, rich_help_panel=panel,
        autocompletion=completes,
    )  # fmt: skip
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[kind, option],
    )


def _value(one: Setting, value: Any) -> Any:
    return named_values(value) if _is_dict(one) else value


def _is_dict(one: Setting) -> bool:
    return get_origin(one.kind) is dict


def named_values(texts: list[str] | None) -> dict[str, Any]:
    """Of NAME=VALUE each, the value as JSON where it is any. Raises ConfigError."""
    found: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"set must be NAME=VALUE, got {text!r}")
        try:
            found[name] = parse_json(value)
        except ValueError:
            found[name] = value
    return found
