"""A second installation on a database of the same kind, to move an account to."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import Person, create_person
from tests.support.asgi_client import AsgiClient
from tests.support.threads import join
from waypost.app import build
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.ingest.lock import wake_ingester
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.settings import Settings


@contextmanager
def second_service(url: str, folder: Path, *, base: str, username: str) -> Iterator[tuple[Person, Settings]]:
    """Run the service in process with one empty account; yield it and the settings."""
    folder.mkdir()
    database = Database(url)
    upgrade(database)
    settings = Settings(data_dir=folder, base_url=base, database_url=url)
    stop, ingesting = threading.Event(), Database(url)
    thread = threading.Thread(target=Ingester(settings, ingesting).run, args=(stop,))
    thread.start()
    with AsgiClient(build(settings, database)) as client:
        yield create_person(client, database, username), settings
    stop.set()
    wake_ingester(settings.journal_dir)
    join(thread)
    ingesting.close()
    database.close()
