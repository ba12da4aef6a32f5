"""Numba decorators of the package."""

from numba import njit

kernel = njit(cache=True, nogil=True)
inline = njit(forceinline=True, nogil=True)
