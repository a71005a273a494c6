"""The ingester and other processes: its machine-wide lock, the named pipe that wakes it, and its progress.

The progress is the time of a file that the ingester touches between its steps.
"""

import fcntl
import os
import select as os_select
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import IO

LOCK_FILE = "ingest.lock"
WAKE_PIPE = "wake"
_IDLE_SECONDS = 0.25
_FILE = "ingest.progress"


@contextmanager
def exclusive_lock(folder: Path, stop: Event) -> Iterator[int | None]:
    """Hold this machine's ingester lock and yield the file descriptor of the wake pipe.

    Yields None if `stop` was set while another process held the lock.
    """
    with (folder / LOCK_FILE).open("w") as lock:
        while not try_lock(lock):
            if stop.wait(_IDLE_SECONDS):
                yield None
                return
        pipe = folder / WAKE_PIPE
        if not pipe.is_fifo():
            os.mkfifo(pipe, 0o600)
        wake_fd = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        try:
            yield wake_fd
        finally:
            os.close(wake_fd)


def try_lock(file: IO[str]) -> bool:
    """Lock a file, without waiting. Return False if another process holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_wakeup(wake_fd: int) -> None:
    """Sleep for the idle interval, or until `wake_ingester` is called."""
    ready, _, _ = os_select.select([wake_fd], [], [], _IDLE_SECONDS)
    if ready:
        with suppress(BlockingIOError):
            os.read(wake_fd, 4096)


def wake_ingester(folder: Path) -> None:
    """Wake this machine's ingester. Does nothing if none is running."""
    try:
        fd = os.open(folder / WAKE_PIPE, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return
    with suppress(OSError):  # the pipe is full, or the ingester has just ended
        os.write(fd, b"!")
    os.close(fd)


def record_step(folder: Path) -> None:
    """Record a step of the ingester of a journal."""
    with suppress(OSError):  # the folder is missing, or the disk is full
        (folder / _FILE).touch(mode=0o600)


def record_failure(folder: Path) -> None:
    """Record that the ingester waits for the database or the disk, and tries again."""
    with suppress(OSError):
        os.utime(folder / _FILE, (0, 0))


def is_counting(folder: Path, seconds: float) -> bool:
    """Return whether the ingester made a step within the last seconds."""
    return time.time() - _changed(folder) <= seconds


def is_stuck(folder: Path, seconds: float) -> bool:
    """Return whether the ingester is in the middle of a step that began longer than these seconds ago."""
    changed = _changed(folder)
    return changed > 0 and time.time() - changed > seconds


def _changed(folder: Path) -> float:
    try:
        return (folder / _FILE).stat().st_mtime
    except OSError:
        return 0.0
