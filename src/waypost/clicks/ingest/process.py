"""The ingester as a process of its own, beside the workers, so that counting takes no time from redirects."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.process import BaseProcess
from typing import Self

from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import writer as journal
from waypost.db.database import Database
from waypost.observability import logging
from waypost.settings import Settings

Beside = Callable[[Settings, Database, threading.Event], None]
"""Work that goes on until the event is set."""
Begin = Callable[..., BaseProcess]
_ANEW: Begin = multiprocessing.get_context("spawn").Process
# What this process has loaded is not loaded again; elsewhere the system's own libraries do not survive it.
_COPY: Begin = multiprocessing.get_context("fork").Process if sys.platform == "linux" else _ANEW
_RESTART_SECONDS = 1.0
_NICE = 10  # who waits for a redirect goes before who waits for numbers


class Counting:
    """An ingester that runs as long as the block does, and does work `beside`, too."""

    def __init__(self, settings: Settings, beside: Beside | None) -> None:
        self._told = (settings, beside, os.getpid())
        self._gone_since: float | None = None

    def __enter__(self) -> Self:
        self._process = self._started(_COPY)
        return self

    def keep(self) -> None:
        """Replace one that died, a second later: by one that starts anew, with nothing of what this process has by now
        opened. To be called again and again."""
        if self._process.is_alive():
            return
        now = time.monotonic()
        if self._gone_since is None:
            self._gone_since = now
        elif now - self._gone_since >= _RESTART_SECONDS:
            self._gone_since = None
            with suppress(OSError):  # no memory for it just now: the next call tries again
                self._process = self._started(_ANEW)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join(timeout=20)

    def _started(self, begin: Begin) -> BaseProcess:
        process = begin(target=_main, args=self._told, name="waypost ingester", daemon=True)
        process.start()
        return process


def _main(settings: Settings, beside: Beside | None, parent: int) -> None:
    """The process: counts until it is told to stop, or finds its parent gone."""
    logging.configure(settings)
    os.nice(_NICE)
    stop = threading.Event()

    def end(*_: object) -> None:
        stop.set()
        journal.wake(settings.journal_dir)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent decides

    database = Database(settings.database)

    def look_around() -> None:
        while not stop.wait(0.5):
            database.reap_stalled_connections()
            if os.getppid() != parent:
                stop.set()

    threading.Thread(target=look_around, daemon=True).start()
    if beside is not None:
        threading.Thread(target=beside, args=(settings, database, stop), daemon=True).start()
    try:
        Ingester(settings, database).run(stop)
    finally:
        database.close()
