"""Signals of the service's processes.

Python and the kernel end a process at a signal for which it has no handler. The processes of the service ignore such
signals from the start, and only the parent handles SIGHUP. A signal that arrives during a fork waits for the handlers
of the child process.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_IGNORED = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTTIN, signal.SIGTTOU)
_HANDLED = (*_IGNORED, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGWINCH)
"""Those for which the parent has handlers, which a forked process must not inherit."""


def ignore() -> None:
    """Ignore the signals that would end this process without need."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def blocked() -> Iterator[None]:
    """Block signals while the block forks a process, which calls `reset`."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def reset() -> None:
    """Remove the handlers of the parent from a forked process, and end the block of signals."""
    for number in set(_HANDLED).difference(_IGNORED):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    ignore()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
