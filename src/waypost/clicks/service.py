"""The ingester as a process of its own, beside the workers, so that counting takes no time from redirects."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from waypost import logs
from waypost.clicks import journal
from waypost.clicks.ingest import Ingester
from waypost.db import Database
from waypost.settings import Settings

Beside = Callable[[Settings, Database, threading.Event], None]
"""Work that goes on until the event is set."""
_RESTART_SECONDS = 1.0
_NICE = 10  # who waits for a redirect goes before who waits for numbers


@contextmanager
def counting(settings: Settings, beside: Beside | None) -> Iterator[None]:
    """Keep an ingester running as long as the block runs: one that dies is replaced. It does work `beside`, too."""
    over = threading.Event()
    watch = threading.Thread(target=_keep, args=(settings, beside, over), name="ingester watch", daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join(timeout=30)


def _keep(settings: Settings, beside: Beside | None, over: threading.Event) -> None:
    context = multiprocessing.get_context("spawn")
    while not over.is_set():
        told = (settings, beside, os.getpid())
        process = context.Process(target=_main, args=told, name="waypost ingester", daemon=True)
        process.start()
        while process.is_alive() and not over.wait(0.2):
            pass
        if process.is_alive():
            process.terminate()
            process.join(timeout=20)
        else:
            over.wait(_RESTART_SECONDS)


def _main(settings: Settings, beside: Beside | None, parent: int) -> None:
    """The process: counts until it is told to stop, or finds its parent gone."""
    logs.configure(settings)
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
            database.cut_hanging()
            if os.getppid() != parent:
                stop.set()

    threading.Thread(target=look_around, daemon=True).start()
    if beside is not None:
        threading.Thread(target=beside, args=(settings, database, stop), daemon=True).start()
    try:
        Ingester(settings, database).run(stop)
    finally:
        database.close()
