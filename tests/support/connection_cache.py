"""Open PostgreSQL databases that are reused by later tests."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from waypost.db.database import Database


class ConnectionCache:
    """Open PostgreSQL databases by role and URL, reused by later tests: a connection costs the server at least 5 ms."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _CachedDatabase] = {}

    @contextmanager
    def open(self, role: str, url: str) -> Iterator[Database]:
        """Open a database for the block. SQLite files are never cached."""
        if not url.startswith("postgresql"):
            with closing(Database(url)) as database:
                yield database
            return
        cached = self._open.pop((role, url), None) or _CachedDatabase(url)
        yield cached
        if cached.breaker.has_failures:
            cached.close_connections()
        else:
            self._open[role, url] = cached

    def close(self) -> None:
        """Close all connections."""
        for database in self._open.values():
            database.close_connections()


class _CachedDatabase(Database):
    def __init__(self, url: str) -> None:
        super().__init__(f"{url}?application_name=connection_cache")

    def close(self) -> None:
        """Keep the connections open although the service closes its database."""

    def close_connections(self) -> None:
        super().close()
