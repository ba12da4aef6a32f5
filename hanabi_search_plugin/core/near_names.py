"""What somebody may have meant by a name that nobody has."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """ ": did you mean smartbot?", the end of a message; empty where nothing is near.

    Case, dashes and underscores make no difference.
    """
    spelled = {_plain(str(one)): str(one) for one in known}
    near = get_close_matches(_plain(str(name)), spelled, n=2, cutoff=0.7)
    return f": did you mean {' or '.join(spelled[one] for one in near)}?" if near else ""


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
