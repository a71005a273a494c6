"""A second installation on a database of the same kind, to move an account to."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.conftest import Person, create_person
from tests.support.asgi_client import AsgiClient
from tests.support.connection_cache import ConnectionCache
from tests.support.ingester import running_ingester
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.server.app import build


@contextmanager
def second_service(url: str, folder: Path, *, base: str, username: str) -> Iterator[tuple[Person, Settings]]:
    """Run the service in process with one empty account; yield it and the settings."""
    folder.mkdir()
    database = Database(url)
    upgrade(database)
    settings = Settings(data_dir=folder, base_url=base, database_url=url)
    with (
        closing(ConnectionCache()) as connections,
        running_ingester(settings, connections),
        AsgiClient(build(settings, database)) as client,
    ):
        yield create_person(client, database, username), settings
    database.close()
