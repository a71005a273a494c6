"""An ingester in a thread of the process that runs a test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.connection_cache import ConnectionCache
from tests.support.threads import join
from waypost.clicks.ingest import coordination
from waypost.clicks.ingest.coordination import exclusive_lock, wait_for_wakeup, wake_ingester
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import segment_sizes
from waypost.core.settings import Settings


@contextmanager
def running_ingester(settings: Settings, connections: ConnectionCache) -> Iterator[None]:
    """Run an ingester with its own connections until the block ends. It opens them for the first visit only."""
    stop = threading.Event()

    def run() -> None:
        _wait_for_visits(settings.journal_dir, stop)
        if not stop.is_set():
            with connections.open("ingester", settings.database) as database:
                Ingester(settings, database).run(stop)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    stop.set()
    wake_ingester(settings.journal_dir)
    join(thread)


def _wait_for_visits(folder: Path, stop: threading.Event) -> None:
    """Do what an idle ingester does for other processes, without a database, until there is a line to count."""
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(folder, stop) as wake_fd:
        while wake_fd is not None and not stop.is_set() and not any(segment_sizes(folder).values()):
            coordination.record_step(folder)
            wait_for_wakeup(wake_fd)
