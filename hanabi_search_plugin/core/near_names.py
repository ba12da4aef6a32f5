"""What somebody may have meant by a name that nobody has."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: object, known: Iterable[object], *, before: str = "") -> str:
    """ ": did you mean smartbot?", the end of a message; empty where nothing is near.

    ``before`` is what must be written before those ``known``. See ``near_names``.
    """
    near = near_names(name, known)
    return f": did you mean {' or '.join(before + one for one in near)}?" if near else ""


_ALIKE = (
    ("iterations", "rollouts", "simulations", "num-simulations", "playouts"),
    ("threads", "workers", "processes", "n-jobs"),
    ("seconds", "time", "time-limit", "timeout"),
)
"""Names that others have for one thing."""


def near_names(name: object, known: Iterable[object]) -> list[str]:
    """At most two of those ``known``, the nearest first.

    Case, dashes and underscores make no difference. A name that is none may be another word for
    one (``_ALIKE``), or how others begin, or nearly.
    """
    spelled = {_plain(str(one)): str(one) for one in known}
    given = _plain(str(name))
    if given in spelled:
        return [spelled[given]]
    alike = [one for group in _ALIKE if given in group for one in group if one in spelled]
    if alike:
        return [spelled[one] for one in alike[:2]]
    near = get_close_matches(given, spelled, n=2, cutoff=0.7)
    if not near and len(given) > 2:
        near = sorted(one for one in spelled if one.startswith(given))[:2]
    if not near and len(given) > 3:
        begins: dict[str, list[str]] = {}
        for one in spelled:
            begins.setdefault(one[: len(given)], []).append(one)
        close = get_close_matches(given, begins, n=2, cutoff=0.8)
        near = [one for begin in close for one in begins[begin]][:2]
    return [spelled[one] for one in near]


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
