"""One ingester a machine: its lock, and the pipe by which readers of statistics wake it."""

import fcntl
import os
import select as os_select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import IO

from waypost.clicks.journal.writer import WAKE

_IDLE_SECONDS = 0.25


@contextmanager
def alone(folder: Path, stop: Event) -> Iterator[int | None]:
    """Hold this machine's ingester lock; the answer is a pipe that readers of statistics wake us by.

    None when `stop` was set while another one held it.
    """
    with (folder / "ingest.lock").open("w") as lock:
        while not _locked(lock):
            if stop.wait(_IDLE_SECONDS):
                yield None
                return
        pipe = folder / WAKE
        if not pipe.is_fifo():
            os.mkfifo(pipe, 0o600)
        wake = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        try:
            yield wake
        finally:
            os.close(wake)


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait(wake: int) -> None:
    """Sleep a moment, or until somebody waits for the numbers."""
    ready, _, _ = os_select.select([wake], [], [], _IDLE_SECONDS)
    if ready:
        with suppress(BlockingIOError):
            os.read(wake, 4096)
