"""Numbers in sentences: "1 game", "2,000 games", "once", "3 min"."""

from __future__ import annotations


def counted(number: int, thing: str, things: str | None = None) -> str:
    """``number`` and its noun, which is ``thing`` for one and ``things`` (default: with an s) else.

    "1 game", "0 games", "12,000 matches".
    """
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def an(noun: str) -> str:
    """ "a dict", "an int"."""
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def times(number: int) -> str:
    """ "once", "2 times"."""
    return "once" if number == 1 else f"{number:,} times"


def duration(seconds: float) -> str:
    """Some seconds in the two largest units that say something: "0.4 s", "90 s", "3 min",
    "2 h 10 min", "3 d 4 h"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def with_error(mean: float | None, sem: float | None, sign: str = "") -> str:
    """ "23.150 +- 0.393"; "-" where there is no mean, without an error where there is none.

    What is nan is not there.
    """
    if mean is None or mean != mean:
        return "-"
    return f"{mean:{sign}.3f}" + ("" if sem is None or sem != sem else f" +- {sem:.3f}")
