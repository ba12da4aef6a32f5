"""Settings: fields of frozen dataclasses that carry their help text, and their values from text.

The text documents the Python class and the option of the command line that sets the field: there
is one default and one text. What a plugin may be set to is read in the same way. And what is given
by a wrong name is refused, with what was meant.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import (
    Any,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.near_names import did_you_mean
from hanabi_search_plugin.core.require import unknown

SEED = "Decides on all chance; the same seed gives the same results."
DEPTH = "Moves of a rollout before the blueprint's values stand for the rest; None: to the end."
THREADS = "Threads; results do not depend on them."


def setting(default: Any = MISSING, text: str = "", *, metavar: str | None = None) -> Any:
    """A field of a dataclass with its help text; without a default it must be given.

    A class in place of a default is called for each new object: ``setting(dict, ...)``.
    ``metavar`` stands for a value in the help of the command line.
    """
    metadata = {"text": text, "metavar": metavar}
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Setting:
    """A parameter of a class or a function, and how text becomes its value."""

    name: str
    kind: Any  # its type; Any where that is not known
    default: Any  # MISSING where it must be given
    text: str = ""
    metavar: str | None = None

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that a value may have; without None."""
        union = get_origin(self.kind) in (Union, types.UnionType)
        kinds = get_args(self.kind) if union else (self.kind,)
        return tuple(kind for kind in kinds if kind is not type(None))

    @property
    def optional(self) -> bool:
        """May the value be None?"""
        return type(None) in get_args(self.kind)

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a ``Literal``; empty for other types."""
        return tuple(
            choice
            for kind in self.kinds
            if get_origin(kind) is Literal
            for choice in get_args(kind)
        )

    def __str__(self) -> str:
        """The default and the help text."""
        parts = [] if self.default is MISSING else [f"default {self.default!r}"]
        return ": ".join([*parts, self.text] if self.text else parts)

    def read(self, text: str) -> Any:
        """The value that a text stands for; ``none`` is None where that is allowed.

        A parameter whose type says nothing takes the first of bool, int, float and str that fits.
        Raises ConfigError.
        """
        if self.optional and text == "none":
            return None
        known = all(kind in _READERS or get_origin(kind) is Literal for kind in self.kinds)
        kinds = self.kinds if known else (bool, int, float, str)
        for kind in kinds:
            if get_origin(kind) is Literal:
                if text in get_args(kind):
                    return text
                continue
            try:
                return _READERS[kind][0](text)
            except ValueError:
                continue
        words = [f"one of {', '.join(self.choices)}"] if self.choices else []
        words += [_READERS[kind][1] for kind in kinds if kind in _READERS]
        words += ["none"] if self.optional else []
        raise ConfigError(f"{self.name} must be {' or '.join(words)}, got {text!r}")


class NamedOptions:
    """Base of dataclasses whose options have names: a wrong one is refused with what was meant."""

    def __new__(cls, *given: Any, **options: Any) -> Self:
        """Raises ConfigError for an option that there is not, and for one without its name."""
        known = list(inspect.signature(cls.__init__).parameters.values())[1:]
        names = [one.name for one in known]
        takes_any = any(one.kind is one.VAR_KEYWORD for one in known)  # a subclass of its own
        for name in options:
            if name not in names and not takes_any:
                raise unknown(f"an option of {cls.__name__}", name, names)
        if given and all(one.kind is one.KEYWORD_ONLY for one in known):
            raise ConfigError(
                f"options of {cls.__name__} have names, as in {cls.__name__}({names[0]}=...), got "
                f"{given[0]!r}"
            )
        return super().__new__(cls)


Class = TypeVar("Class", bound=type)


def described(cls: Class) -> Class:
    """A dataclass whose docstring lists its options, each with its default and its help text."""
    if cls.__doc__ is not None:  # it is, under python -OO
        about = inspect.cleandoc(cls.__doc__)
        cls.__doc__ = "\n".join([about, "", "Options:", "", *map(_line, settings_of(cls).values())])
    return cls


def _line(one: Setting) -> str:
    default = "" if one.default is MISSING else f"={one.default!r}"
    words = f": {one.text}" if one.text else ""
    return textwrap.fill(f"* ``{one.name}{default}``{words}", 92, subsequent_indent="  ")


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def named_arguments(
    meant: Callable[[str], str] = lambda name: "", unnamed: str = ""
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Makes a function refuse an argument that it does not have by a ConfigError, which says what
    was meant: one of its own, or else what ``meant(name)`` adds to the message. The same for one
    that has to be given by name and is not, where ``unnamed`` is added."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        parameters = inspect.signature(function).parameters
        known = tuple(name for name in parameters if name != "self")
        called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
        placed = sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters.values())

        @functools.wraps(function)
        def asked(*given: Arguments.args, **options: Arguments.kwargs) -> Result:
            if len(given) > placed:
                named = (*parameters, "")
                others = f"have names, as in {named[placed]}=..." if named[placed] else "are none"
                raise ConfigError(
                    f"arguments of {called} after {named[placed - 1]} {others}, got "
                    f"{given[placed]!r}{unnamed}"
                )
            for name in options:
                if name not in known:
                    also = did_you_mean(name, known) or meant(name)
                    raise ConfigError(
                        f"an argument of {called} must be one of {', '.join(known)}, "
                        f"got {name!r}{also}"
                    )
            return function(*given, **options)

        return asked

    return decorate


def settings_of(make: Callable[..., Any]) -> dict[str, Setting]:
    """What a dataclass, another class or a function can be set to, by name.

    Parameters without a name of their own (``*args``, positional-only) are left out.
    """
    kinds = _kinds(make)
    if is_dataclass(make):
        found = [_of_field(one, kinds.get(one.name, Any)) for one in fields(make) if one.init]
        return {one.name: one for one in found}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        name: Setting(
            name, kinds.get(name, Any), MISSING if one.default is one.empty else one.default
        )
        for name, one in inspect.signature(make).parameters.items()
        if one.kind in named
    }


def _of_field(one: Any, kind: Any) -> Setting:
    default = one.default if one.default_factory is MISSING else one.default_factory()
    text, metavar = one.metadata.get("text", ""), one.metadata.get("metavar")
    return Setting(one.name, kind, default, text, metavar)


def _kinds(make: Callable[..., Any]) -> dict[str, Any]:
    """The types of parameters by name, as far as their annotations can be understood."""
    of = make.__init__ if inspect.isclass(make) and not is_dataclass(make) else make
    try:
        return get_type_hints(of)
    except (NameError, TypeError, AttributeError):  # names that only a type checker knows
        return {}


def _read_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    bool: (_read_bool, "true or false"),
    int: (int, "an integer"),
    float: (float, "a number"),
    str: (str, "a text"),
}
