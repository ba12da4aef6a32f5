"""Where in a game an error of a policy or a game arose: turn and seat go before its words.

What code of others raises by itself becomes a ContractError, which names the policy and what came.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from hanabi_search_plugin.core.errors import ContractError, HanabiSearchError, IllegalActionError


@contextmanager
def at(place: Literal["turn", "seat"], number: int) -> Iterator[None]:
    """Broken contracts and illegal actions within name the turn or the seat first, once."""
    try:
        yield
    except (ContractError, IllegalActionError) as error:
        words = str(error)
        if words.startswith((f"{place} ", "turn ")):
            raise
        raise type(error)(f"{place} {number}: {words}") from error


@contextmanager
def asking(policy: object, seat: int, method: str = "") -> Iterator[None]:
    """``policy`` at ``seat`` is asked within, by ``method``; see ``at``.

    Raises ContractError for what it raises by itself; errors of this package and those of the
    operating system pass.
    """
    with at("seat", seat):
        try:
            yield
        except (HanabiSearchError, OSError, MemoryError):
            raise
        except Exception as error:  # whatever another's code may raise
            came = f"{type(error).__name__}: {error}".partition("\n")[0]
            asked = f"{method} of {policy!r}" if method else repr(policy)
            require_call(policy, method, asked)
            raise ContractError(f"{asked} must answer, got {came}") from error


CALLS = {  # of the methods of policies
    "start": ("view",),
    "observe": ("view", "event", "memory"),
    "act": ("view", "legal", "memory", "rng"),
    "probabilities": ("view", "legal", "memory"),
    "preferences": ("view", "legal", "memory"),
    "value": ("view", "memory"),
}


def require_call(policy: object, method: str, name: str) -> None:
    """Raises ContractError, which begins with ``name``, if a method takes other arguments."""
    given = CALLS.get(method, ())
    try:
        signature = inspect.signature(getattr(policy, method))
    except (AttributeError, TypeError, ValueError):
        return  # there is none, or it does not say
    try:
        signature.bind(*given)
    except TypeError:
        raise ContractError(
            f"{name} is called as {method}({', '.join(given)}), got {method}{signature}"
        ) from None


def parameter_names(function: object) -> list[str]:
    """What a function, or an object that is called, names its parameters; [] if it does not say."""
    try:
        return list(inspect.signature(function).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []


def require_belief_call(make: object) -> None:
    """Raises ContractError for what is not called as ``belief(blueprint, view)``."""
    try:
        signature = inspect.signature(make)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return  # it does not say
    try:
        signature.bind("blueprint", "view")
    except TypeError:
        kind = getattr(make, "__name__", type(make).__name__)
        raise ContractError(
            f"{kind}, which is given as belief, is called as belief(blueprint, view), got "
            f"{signature}"
        ) from None


def require_search_call(search: object) -> None:
    """Raises ContractError for a search that is not called as ``search(rng, belief)``."""
    try:
        signature = inspect.signature(search)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return  # it does not say
    names = list(signature.parameters)
    fits = True
    try:
        signature.bind("rng", "belief")
    except TypeError:
        fits = False
    if not fits or names[:1] == ["belief"] or names[1:2] == ["rng"]:
        kind = getattr(search, "__name__", type(search).__name__)
        raise ContractError(f"{kind} is called as search(rng, belief), got {signature}")


LONG = 200  # characters of a state that are shown


def answers(
    game: object,
    method: str,
    ask: Callable[..., Any],
    states: Sequence[Any],
    *beside: Iterable[Any],
) -> list[Any]:
    """``ask`` of each state and what lies ``beside`` it: ``method`` of a game written by others.

    Raises ContractError, which names the method and shows the state, for what it raises by itself;
    errors of this package and those of the operating system pass.
    """
    found: list[Any] = []
    try:
        found.extend(map(ask, states, *beside))  # keeps those before one that raises
    except (HanabiSearchError, OSError, MemoryError):
        raise
    except Exception as error:  # whatever another's code may raise
        came = f"{type(error).__name__}: {error}".partition("\n")[0]
        shown = " ".join(repr(states[len(found)]).split())
        shown = shown if len(shown) <= LONG else f"{shown[:LONG]}..."
        raise ContractError(
            f"{type(game).__name__}.{method} must answer in every state of a game, got {came} in "
            f"the state {shown}"
        ) from error
    return found
