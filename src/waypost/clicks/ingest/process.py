"""The ingester runs in its own process next to the workers, so that ingest work does not slow redirects down."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.process import BaseProcess
from socket import socket
from typing import Any, Self

from waypost import process_signals
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.ingest.lock import wake_ingester
from waypost.db.database import Database
from waypost.observability import logging
from waypost.settings import Settings

BackgroundJob = Callable[[Settings, Database, threading.Event], None]
"""A job that runs until the event is set."""
ProcessFactory = Callable[..., BaseProcess]
_SPAWN: ProcessFactory = multiprocessing.get_context("spawn").Process
# A fork reuses the loaded modules. Outside Linux, system libraries do not survive a fork.
_FORK: ProcessFactory = multiprocessing.get_context("fork").Process if sys.platform == "linux" else _SPAWN
_RESTART_DELAY_SECONDS = 1.0


class IngesterProcess:
    """Context manager that runs an ingester and an optional background job in a child process."""

    def __init__(self, settings: Settings, background: BackgroundJob | None, listeners: Sequence[socket] = ()) -> None:
        """`listeners` are sockets of the workers, which a forked ingester must not keep open."""
        self._listeners = listeners
        self._process_args = (settings, background, os.getpid())
        self._dead_since: float | None = None
        self._factory = _FORK

    def __enter__(self) -> Self:
        self._process = self._start()
        return self

    def ensure_running(self) -> None:
        """Restart a dead process after one second. Call this periodically."""
        if self._process.is_alive():
            return
        now = time.monotonic()
        if self._dead_since is None:
            self._dead_since = now
        elif now - self._dead_since >= _RESTART_DELAY_SECONDS:
            self._dead_since = None
            with suppress(OSError):  # out of memory: the next call tries again
                self._process = self._start()

    def replace(self) -> None:
        """End the process after its current batch. `ensure_running` starts another one, with the installed code.

        Call this only if the installed code has proven to work: until then, the code in memory replaces a dead process.
        """
        self._factory = _SPAWN
        self._process.terminate()

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join(timeout=20)

    def _start(self) -> BaseProcess:
        target = self._close_listeners_and_run if self._factory is not _SPAWN else _main
        process = self._factory(target=target, args=self._process_args, name="waypost ingester", daemon=True)
        with process_signals.blocked():
            process.start()
        return process

    def _close_listeners_and_run(self, *process_args: Any) -> None:
        for listener in self._listeners:
            listener.close()
        _main(*process_args)


def _main(settings: Settings, background: BackgroundJob | None, parent: int) -> None:
    """Run the ingester until SIGTERM, or until the parent process has ended."""
    process_signals.reset()
    logging.configure(settings)
    stop = threading.Event()

    def handle_sigterm(*_: object) -> None:
        stop.set()
        wake_ingester(settings.journal_dir)

    signal.signal(signal.SIGTERM, handle_sigterm)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the parent decides

    database = Database(settings.database)

    def supervise() -> None:
        while not stop.wait(0.5):
            database.reap_stalled_connections()
            if os.getppid() != parent:
                stop.set()

    threading.Thread(target=supervise, daemon=True).start()
    if background is not None:
        threading.Thread(target=background, args=(settings, database, stop), daemon=True).start()
    try:
        Ingester(settings, database).run(stop)
    finally:
        database.close()
