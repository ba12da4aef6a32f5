"""Where in a game an error of a policy or a game arose.

A broken contract or an illegal move begins with turn and seat. What the code of others raises by
itself goes on as it is, and a note tells the place: "in act of Mine, seat 1, turn 12, game 3 of
seed 7".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from hanabi_search_plugin.core.errors import ContractError, HanabiSearchError, IllegalActionError


class _Place(str):
    """A note of this module: what lies around the place is told at its end."""

    def names(self, kind: str) -> bool:
        return any(part.startswith(f"{kind} ") for part in self.removeprefix("in ").split(", "))


def tell_place(error: BaseException, place: str) -> None:
    """Say in the note of an error that it arose in ``place``, which holds what the note says."""
    notes = getattr(error, "__notes__", [])
    if notes and isinstance(notes[-1], _Place):
        if not notes[-1].names(place.partition(" ")[0]):  # once each: one seat, one turn, one game
            notes[-1] = _Place(f"{notes[-1]}, {place}")
    else:
        error.add_note(_Place(f"in {place}"))


def has_place(error: BaseException) -> bool:
    """Does a note say where the error arose?"""
    return any(isinstance(note, _Place) for note in getattr(error, "__notes__", ()))


def with_notes(message: str, error: BaseException) -> str:
    """``message`` and the notes of an error, on a line: "... (in act of Mine, seat 1)"."""
    return " ".join([message, *(f"({note})" for note in getattr(error, "__notes__", ()))])


@contextmanager
def at(place: Literal["turn", "seat"], number: int) -> Iterator[None]:
    """Errors within name the turn or the seat, once: broken contracts and illegal actions first,
    those that are none of this package in a note."""
    try:
        yield
    except (ContractError, IllegalActionError) as error:
        words = str(error)
        if words.startswith((f"{place} ", "turn ")):
            raise
        raise type(error)(f"{place} {number}: {words}") from error
    except HanabiSearchError:
        raise
    except Exception as error:  # whatever another's code may raise
        tell_place(error, f"{place} {number}")
        raise


@contextmanager
def around(place: str) -> Iterator[None]:
    """Errors within say in a note that they arose in ``place``, a game say."""
    try:
        yield
    except Exception as error:
        tell_place(error, place)
        raise


@contextmanager
def within(what: str) -> Iterator[None]:
    """Errors within that are none of this package name ``what`` in a note, unless one says more."""
    try:
        yield
    except HanabiSearchError:
        raise
    except Exception as error:  # whatever another's code may raise
        if not has_place(error):
            tell_place(error, " ".join(what.split()))
        raise


@contextmanager
def asking(policy: object, seat: int, method: str = "") -> Iterator[None]:
    """``policy`` at ``seat`` is asked within, by ``method``; see ``at``.

    Raises ContractError for a method that takes other arguments.
    """
    with at("seat", seat):
        try:
            yield
        except HanabiSearchError:
            raise
        except Exception as error:  # whatever another's code may raise
            asked = f"{method} of {policy!r}" if method else repr(policy)
            if isinstance(error, TypeError):
                require_call(policy, method, asked)
            if not has_place(error):
                tell_place(error, " ".join(asked.split()))
            raise


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


LONG = 200  # characters of a value that are shown


def answers(
    game: object,
    method: str,
    ask: Callable[..., Any],
    states: Sequence[Any],
    *beside: Iterable[Any],
) -> list[Any]:
    """``ask`` of each state and what lies ``beside`` it: ``method`` of a game written by others.

    What it raises by itself goes on, with a note that names the method and shows the state.
    """
    found: list[Any] = []
    try:
        found.extend(map(ask, states, *beside))  # keeps those before one that raises
    except HanabiSearchError:
        raise
    except Exception as error:  # whatever another's code may raise
        tell_place(
            error, f"{type(game).__name__}.{method} of the state {shown(states[len(found)])}"
        )
        raise
    return found


def shown(value: object) -> str:
    """``value`` on one line that is not too long: a state, say."""
    words = " ".join(repr(value).split())
    return words if len(words) <= LONG else f"{words[:LONG]}..."
