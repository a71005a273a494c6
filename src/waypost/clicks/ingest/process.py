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

import structlog

from waypost.clicks.ingest import coordination
from waypost.clicks.ingest.coordination import wake_ingester
from waypost.clicks.ingest.ingester import Ingester, VisitReader
from waypost.core import logging, process_signals
from waypost.core.actor import SYSTEM, acting
from waypost.core.settings import Settings
from waypost.db.database import Database

BackgroundJob = Callable[[Settings, Database, threading.Event], None]
"""A job that runs until the event is set. After an error it is started again."""
ProcessFactory = Callable[..., BaseProcess]
_SPAWN: ProcessFactory = multiprocessing.get_context("spawn").Process
# A fork reuses the loaded modules. Outside Linux, system libraries do not survive a fork.
_FORK: ProcessFactory = multiprocessing.get_context("fork").Process if sys.platform == "linux" else _SPAWN
_RESTART_DELAY_SECONDS = 1.0
_JOB_RESTART_SECONDS = 60.0
_STUCK_SECONDS = 60.0  # a step takes less than a second, the first one of a large installation some seconds
_log = structlog.get_logger("ingest")


class IngesterProcess:
    """Context manager that runs an ingester and background jobs in a child process."""

    def __init__(
        self,
        settings: Settings,
        background: Sequence[BackgroundJob],
        listeners: Sequence[socket] = (),
        *,
        readers: Sequence[VisitReader] = (),
    ) -> None:
        """`listeners` are sockets of the workers, which a forked ingester must not keep open."""
        self._listeners = listeners
        self._process_args = (settings, background, readers, os.getpid())
        self._dead_since: float | None = None
        self._journal = settings.journal_dir
        self._stuck_seconds = _STUCK_SECONDS
        self._started = 0.0
        self._factory = _FORK

    def __enter__(self) -> Self:
        self._process = self._start()
        return self

    def ensure_running(self) -> None:
        """Restart a dead process after one second, and end one that is stuck. Call this periodically."""
        if self._process.is_alive():
            self._end_if_stuck()
            return
        now = time.monotonic()
        if self._dead_since is None:
            self._dead_since = now
        elif now - self._dead_since >= _RESTART_DELAY_SECONDS:
            self._dead_since = None
            with suppress(OSError):  # out of memory: the next call tries again
                self._process = self._start()

    def _end_if_stuck(self) -> None:
        """End a process that makes no progress: it is stopped, or waits for a server that does not answer.

        Each time it gets twice as long, in case a step needs that.
        """
        is_old = time.monotonic() - self._started > self._stuck_seconds
        if is_old and coordination.is_stuck(self._journal, self._stuck_seconds):
            _log.error("ingester makes no progress, starting another", seconds=self._stuck_seconds)
            self._stuck_seconds *= 2
            self._process.kill()
            self._started = time.monotonic()

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
        self._started = time.monotonic()
        return process

    def _close_listeners_and_run(self, *process_args: Any) -> None:
        for listener in self._listeners:
            listener.close()
        _main(*process_args)


def _keep_running(job: BackgroundJob, settings: Settings, database: Database, stop: threading.Event) -> None:
    """Run a job until `stop` is set, again after an error."""
    while not stop.is_set():
        try:
            job(settings, database, stop)
        except Exception:  # noqa: BLE001  # the edge of the task: it must not end
            _log.exception("background job failed")
            stop.wait(_JOB_RESTART_SECONDS)


def _main(settings: Settings, background: Sequence[BackgroundJob], readers: Sequence[VisitReader], parent: int) -> None:
    """Run the ingester until SIGTERM, or until the parent process has ended."""
    process_signals.reset()
    logging.configure(settings)
    stop = threading.Event()

    def handle_sigterm(*_: object) -> None:
        stop.set()
        wake_ingester(settings.journal_dir)

    signal.signal(signal.SIGTERM, handle_sigterm)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the parent decides

    # A file that was removed while this process started must not be created again, empty.
    database = Database(settings.database, creates=False)

    def supervise() -> None:
        while not stop.wait(0.5):
            database.reap_stalled_connections()
            database.check_file()
            if os.getppid() != parent:
                stop.set()

    threading.Thread(target=supervise, daemon=True).start()
    for job in background:
        threading.Thread(target=_keep_running, args=(job, settings, database, stop), daemon=True).start()
    try:
        with acting(lambda: SYSTEM):  # not the command that started the parent
            Ingester(settings, database, readers=readers).run(stop)
    finally:
        database.close()
