"""Where in a game an error of a policy or a game arose.

A broken contract or an illegal move begins with turn and seat. What the code of others raises by
itself goes on as it is, and a note tells the place: "in act of Mine, seat 1, turn 12, game 3 of
seed 7".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from hanabi_search_plugin.core.call_checks import require_call
from hanabi_search_plugin.core.errors import ContractError, HanabiSearchError, IllegalActionError


class _Place(str):
    """A note of this module: what lies around the place is told at its end."""

    def names(self, kind: str) -> bool:
        return any(part.startswith(f"{kind} ") for part in self.removeprefix("in ").split(", "))


def note_place(error: BaseException, place: str) -> None:
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
def naming_place(place: Literal["turn", "seat"], number: int) -> Iterator[None]:
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
        note_place(error, f"{place} {number}")
        raise


@contextmanager
def noting_place(place: str) -> Iterator[None]:
    """Errors within say in a note that they arose in ``place``, a game say."""
    try:
        yield
    except Exception as error:
        note_place(error, place)
        raise


@contextmanager
def noting_source(what: Callable[[], str]) -> Iterator[None]:
    """Errors within that are none of this package name ``what()`` in a note, unless one says more.

    ``what`` is called where there is an error.
    """
    try:
        yield
    except HanabiSearchError:
        raise
    except Exception as error:  # whatever another's code may raise
        if not has_place(error):
            note_place(error, " ".join(what().split()))
        raise


@contextmanager
def asking(policy: object, seat: int, method: str = "") -> Iterator[None]:
    """``policy`` at ``seat`` is asked within, by ``method``; see ``naming_place``.

    Raises ContractError for a method that takes other arguments.
    """
    with naming_place("seat", seat):
        try:
            yield
        except HanabiSearchError:
            raise
        except Exception as error:  # whatever another's code may raise
            asked = f"{method} of {policy!r}" if method else repr(policy)
            if isinstance(error, TypeError):
                require_call(policy, method, asked)
            if not has_place(error):
                note_place(error, " ".join(asked.split()))
            raise


MAX_REPR = 200  # characters of a value that are shown


def ask_each(
    game: object,
    method: str,
    ask: Callable[..., Any],
    states: Sequence[Any],
    *beside: Iterable[Any],
) -> list[Any]:
    """``ask`` of each state and what lies ``beside`` it: ``method`` of a game written by others.

    What it raises by itself goes on, with a note that names the method and shows the state.
    """
    answers: list[Any] = []
    try:
        answers.extend(map(ask, states, *beside))  # keeps those before one that raises
    except HanabiSearchError:
        raise
    except Exception as error:  # whatever another's code may raise
        note_place(
            error, f"{type(game).__name__}.{method} of the state {short_repr(states[len(answers)])}"
        )
        raise
    return answers


def short_repr(value: object) -> str:
    """``value`` on one line that is not too long: a state, say."""
    words = " ".join(repr(value).split())
    return words if len(words) <= MAX_REPR else f"{words[:MAX_REPR]}..."
