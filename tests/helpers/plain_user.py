"""Processes that file modes hold for, even where root runs the tests."""

from __future__ import annotations

import ctypes

_PR_CAPBSET_DROP = 24  # <linux/prctl.h>
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2  # <linux/capability.h>


def obey_modes() -> None:
    """What ``subprocess`` may call before it starts a program: root's rights over files are gone.

    Of anybody else nothing is changed.
    """
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
