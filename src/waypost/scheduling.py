"""Ask the kernel to run redirects before requests of the API and the ingester, when they need the same processor."""

import ctypes
import os
import platform
import struct
import sys

_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
"""Numbers of the system call: the C library of Debian 12 has no function for it."""
_ATTRIBUTES = struct.Struct("=IIQiIQQQII")  # struct sched_attr of sched_setattr(2)
_SLICE_NANOSECONDS = 100_000  # the shortest that Linux allows
_NICENESS = 10
_is_last = False
"""Set by `run_last`."""


def run_first() -> None:
    """Give this process short time slices: since Linux 6.12, it then interrupts others as soon as it has work.

    Does nothing on other systems, and on kernels that do not support it.
    """
    number = _SCHED_SETATTR.get(platform.machine()) if platform.system() == "Linux" else None
    if number is not None:
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        attributes = _ATTRIBUTES.pack(_ATTRIBUTES.size, os.SCHED_OTHER, 0, niceness, 0, _SLICE_NANOSECONDS, 0, 0, 0, 0)
        ctypes.CDLL(None).syscall(number, 0, attributes, 0)


def run_last() -> None:
    """Lower the priority of this process: about a tenth of a processor that others use completely."""
    global _is_last  # noqa: PLW0603  # one per process
    _is_last = True
    os.nice(_NICENESS)


def run_after_event_loop() -> None:
    """Lower the priority of this thread, so that redirects in the event loop come first. Only Linux can.

    Does nothing after `run_last`: with an even lower priority, the kernel owes a waiting thread so much time that
    redirects of other processes wait for it.
    """
    if sys.platform == "linux" and not _is_last:
        os.nice(_NICENESS)
