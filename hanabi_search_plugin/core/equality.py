"""Results that are equal by what they hold, arrays included."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


class EqualByValue:
    """Base of dataclasses, declared with ``eq=False``, that hold arrays or what is to be left out.

    Two of one class are equal where all that they compare is: arrays by shape and elements, nan
    equal to nan. They have no hash.
    """

    def _compared(self) -> list[Any]:
        """What decides: the fields, without those of ``compare=False``."""
        return [getattr(self, f.name) for f in fields(self) if f.compare]  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, EqualByValue)
        return all(map(_same, self._compared(), other._compared()))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=True)
    return bool(a == b or (a != a and b != b))
