"""The child process: it takes its limits, then calls one function, which interprets the content of strangers."""

import ctypes
import os
import resource
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from signal import SIGKILL

from waypost.core.errors import Problem
from waypost.core.sandbox.channel import BrokenMessage, Channel

NO_MEMORY = 80
"""Exit status of a child that had too little memory. It sends no message, which would need some."""
_FAILED = 81
_NICENESS = 10
_OPEN_FILES = 64
_MAX_MESSAGE, _MAX_TRACEBACK = 1000, 8000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
Target = Callable[[Channel], object]


def main(arguments: Sequence[str]) -> None:
    """Call `module:function` with the channel. The other arguments are its descriptor, the parent, and the limits."""
    target, *numbers = arguments
    descriptor, parent, memory, seconds, file_bytes = map(int, numbers)
    _end_with(parent)
    os.nice(_NICENESS)  # the process holds no lock that a redirect needs
    module, _, name = target.partition(":")
    function: Target = getattr(import_module(module), name)
    _set_limits(memory, seconds, file_bytes)
    os._exit(_run(function, Channel(socket.socket(fileno=descriptor))))  # no destructors of a stranger's values


def _run(function: Target, channel: Channel) -> int:
    """Return the exit status."""
    try:
        _report(function, channel)
    except MemoryError:
        return NO_MEMORY
    except (OSError, EOFError, BrokenMessage):  # the parent is gone
        return _FAILED
    return 0


def _report(function: Target, channel: Channel) -> None:
    """Call the function; tell the parent how it failed."""
    try:
        function(channel)
    except (MemoryError, EOFError, ConnectionError):
        raise
    except Problem as problem:
        value = [problem.kind.name, problem.message[:_MAX_MESSAGE], problem.field, problem.retry_after]
        channel.send(value, kind="problem")
    except OSError as error:
        channel.send([error.errno, error.strerror], kind="system_error")
    except Exception:  # noqa: BLE001  # the parent logs it
        channel.send(traceback.format_exc()[-_MAX_TRACEBACK:], kind="error")


def _end_with(parent: int) -> None:
    """Let the kernel kill this process when its parent ends, also when the parent is killed.

    Elsewhere than on Linux, it ends when it next uses the channel. A lack of memory kills it first.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        library.prctl(_PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
    if os.getppid() != parent:
        os._exit(_FAILED)


def _set_limits(memory: int, seconds: int, file_bytes: int) -> None:
    """Bound memory above that of the loaded modules, processor time, and the size of written files."""
    limits = {
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NOFILE: (_OPEN_FILES, _OPEN_FILES),
        resource.RLIMIT_FSIZE: (file_bytes, file_bytes),
        resource.RLIMIT_CPU: (seconds, seconds + 1),  # a signal that tells the cause, then SIGKILL
        resource.RLIMIT_AS: (_address_space() + memory,) * 2,
    }
    for kind, values in limits.items():
        with suppress(ValueError, OSError):  # lower already, or unknown here
            resource.setrlimit(kind, values)


def _address_space() -> int:
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except OSError:
        return 1 << 30
