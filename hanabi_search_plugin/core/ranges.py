"""Ranges of rows, written out: what CSR-like tables need to gather the entries of many cells."""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.core.game import IntArray


def entries_of(first: IntArray, number: IntArray) -> tuple[IntArray, IntArray]:
    """All entries of cells whose entries begin at ``first`` [C], so ``number`` [C] of each.

    Returns the cell of each, and its place, both [sum of number], by cell and then in order.
    """
    cell = np.repeat(np.arange(len(number)), number)
    return cell, np.repeat(first - np.cumsum(number) + number, number) + np.arange(len(cell))
