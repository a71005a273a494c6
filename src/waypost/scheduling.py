"""Ask the kernel to run redirects before requests of the API and the ingester, when they need the same processor."""

import ctypes
import os
import platform
import struct
import sys
import threading
from contextlib import suppress
from typing import Any

_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
"""Numbers of the system call: the C library of Debian 12 has no function for it."""
_ATTRIBUTES = struct.Struct("=IIQiIQQQII")  # struct sched_attr of sched_setattr(2)
_RESET_ON_FORK = 1
"""SCHED_FLAG_RESET_ON_FORK: what the thread starts has the usual slice, and no negative niceness."""
_SLICE_NANOSECONDS = 100_000  # the shortest that Linux allows
_BACKGROUND_NICENESS = 10
_LAST_NICENESS = 19
_this_thread = threading.local()


def run_first() -> None:
    """Give this thread short time slices: since Linux 6.12, it then interrupts others as soon as it has work.

    Does nothing on other systems, and on kernels that do not support it.
    """
    number = _SCHED_SETATTR.get(platform.machine()) if platform.system() == "Linux" else None
    if number is not None:
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        slices = (0, _SLICE_NANOSECONDS, 0, 0, 0, 0)
        attributes = _ATTRIBUTES.pack(_ATTRIBUTES.size, os.SCHED_OTHER, _RESET_ON_FORK, niceness, *slices)
        ctypes.CDLL(None).syscall(number, 0, attributes, 0)


def run_in_background() -> None:
    """Lower the priority of this process: to about a tenth of a processor that redirects use completely."""
    _lower_priority(_BACKGROUND_NICENESS)


def run_last() -> None:
    """Lower the priority of this process more: to about 1.5 % of a processor that redirects use completely."""
    _lower_priority(_LAST_NICENESS)


def run_api_thread() -> None:
    """Lower the priority of this thread, so that redirects in the event loop come first. Only Linux can."""
    if sys.platform == "linux":
        _lower_priority(_LAST_NICENESS)
        _this_thread.yields = True


def yield_to_redirects(*_event: Any) -> None:
    """In a thread of the API: let redirects that wait for this processor continue. Linux might run them later."""
    if getattr(_this_thread, "yields", False):
        os.sched_yield()


def _lower_priority(niceness: int) -> None:
    """Raise the niceness. Linux also waits for a break of other threads, instead of interrupting them for this one."""
    with suppress(OSError):  # a sandbox may refuse it
        os.nice(niceness)
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
