"""Errors of a check: what breaks a contract, and what the code under test raises by itself."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable
from typing import ParamSpec

from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.error_places import has_place, note_place
from hanabi_search_plugin.core.errors import ConfigError, ContractError, HanabiSearchError
from hanabi_search_plugin.core.game import Game, View, Worlds
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.require import require_integer

P = ParamSpec("P")


def naming_failures(check: Callable[P, None]) -> Callable[P, None]:
    """``check``, of which every error says where it arose.

    A call with other arguments is a ConfigError, which shows how the check is called.
    A ContractError names the check. What is no error of this package goes on as it is, with a note
    that names the method that was asked and the check.
    """

    signature = inspect.signature(check)
    shown = ", ".join(
        f"{one.name}=..." if one.kind is one.KEYWORD_ONLY else one.name
        for one in signature.parameters.values()
    )

    @functools.wraps(check)
    def named(*given: P.args, **options: P.kwargs) -> None:
        try:
            asked = signature.bind(*given, **options)
        except TypeError as error:
            raise ConfigError(f"{check.__name__}({shown}) is the call: {error}") from None
        asked.apply_defaults()
        require_integer("games", asked.arguments["games"], 1)
        require_integer("seed", asked.arguments["seed"], 0)
        try:
            check(*given, **options)
        except ContractError as error:
            if str(error).startswith("check_"):
                raise
            raise ContractError(f"{check.__name__}: {error}") from error
        except HanabiSearchError:
            raise
        except Exception as error:  # whatever another's code may raise
            if not has_place(error):
                note_place(error, _asked(error, (*given, *options.values())))
            note_place(error, check.__name__)
            raise

    return named


def _asked(error: Exception, given: tuple[object, ...]) -> str:
    """The innermost public method of what was ``given``, or of a contract, that raised."""
    found = "what is checked"
    for frame, _ in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if any(getattr(each, "__code__", None) is code for each in given):  # a function
            found = code.co_name
        elif code.co_argcount and (code.co_name == "__call__" or code.co_name[0] not in "_<"):
            asked = frame.f_locals.get(code.co_varnames[0])
            contract = isinstance(asked, Game | Worlds | View | Policy | Belief)
            method = hasattr(type(asked), code.co_name)
            if method and (contract or any(asked is each for each in given)):
                found = f"{type(asked).__name__}.{code.co_name}"
    return found
