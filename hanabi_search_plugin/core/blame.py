"""Where in a game an error of a policy or a game arose: turn and seat go before its words.

What code of others raises by itself becomes a ContractError, which names the policy and what came.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

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
            raise ContractError(f"{asked} must answer, got {came}") from error
