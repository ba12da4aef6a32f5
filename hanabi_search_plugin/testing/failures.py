"""Errors that code under test raises by itself, told as breaches of its contract."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import ParamSpec

from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import ContractError, HanabiSearchError
from hanabi_search_plugin.core.game import Game, View, Worlds
from hanabi_search_plugin.core.policy import Policy

P = ParamSpec("P")


def naming_failures(check: Callable[P, None]) -> Callable[P, None]:
    """``check``, of which every error is typed.

    A ContractError names the check. What is no error of this package becomes one, which names the
    method that was asked and what came, too. A lack of memory passes.
    """

    @functools.wraps(check)
    def named(*given: P.args, **options: P.kwargs) -> None:
        try:
            check(*given, **options)
        except ContractError as error:
            if str(error).startswith("check_"):
                raise
            raise ContractError(f"{check.__name__}: {error}") from error
        except (HanabiSearchError, MemoryError):
            raise
        except Exception as error:  # whatever another's code may raise
            came = f"{type(error).__name__}: {error}".partition("\n")[0].removesuffix(": ")
            raise ContractError(
                f"{check.__name__}: {_asked(error, (*given, *options.values()))} must answer "
                f"wherever it is asked, got {came}"
            ) from error

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
