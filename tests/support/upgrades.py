"""Upgrades of a running service: a newer version of the package, and traffic that reports every failed request."""

import compileall
import itertools
import json
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from tests.support.load import until
from tests.support.server import Server
from tests.support.source import SOURCE
from tests.support.threads import join
from waypost import __version__
from waypost.db.upgrade import latest_revision

NEW_VERSION = "1.9.0"
CURRENT_REVISION = latest_revision()
NEXT_REVISION = f"{int(CURRENT_REVISION) + 1:04d}"
_MIGRATION = f'''"""Add a column.

Revision: {NEXT_REVISION}
"""

import sqlalchemy as sa
from alembic import op

revision = "{NEXT_REVISION}"
down_revision = "{CURRENT_REVISION}"


def upgrade() -> None:
    """Add it."""
    op.add_column("links", sa.Column("note", sa.Text()))
'''
_FAULT = """

def create() -> None:
    raise ImportError("a broken release")

if __name__ != "waypost.server.app":
    create()
"""
"""Added to `server/app.py`, workers cannot start; added to another module, it cannot be imported."""
_SECONDS = 60
_PROGRESS = 60  # requests between two steps
_ATTEMPTS = 50
_TEMPORARY = {502, 503, 409}  # of a balancer, a node that stops, and a first attempt that is not completed


@dataclass(frozen=True)
class Releases:
    """A link `current` to the folder of the installed version, as deployments have it."""

    folder: Path

    @property
    def command_prefix(self) -> tuple[str, ...]:
        """Runs a command with the version that is installed now."""
        return ("env", f"PYTHONPATH={self.folder / 'current'}", "PYTHONDONTWRITEBYTECODE=1")

    @property
    def is_old(self) -> bool:
        """True if this version is installed now."""
        return (self.folder / "current").resolve() == SOURCE.parent.resolve()

    def install_old(self) -> None:
        """Install this version."""
        self._link(SOURCE.parent)

    def install_new(self, *, migration: str = _MIGRATION, broken: str = "", name: str = "new") -> None:
        """Install a newer version, which changes a table. The end of the module `broken` raises an error.

        `name` is its folder.
        """
        package = self.folder / name / "waypost"
        shutil.copytree(SOURCE, package)  # with compiled modules: the times of their sources are kept
        init = package / "__init__.py"
        init.write_text(init.read_text().replace(__version__, NEW_VERSION))
        (package / "db" / "migrations" / "versions" / f"{NEXT_REVISION}_note.py").write_text(migration)
        if broken:
            with (package / broken).open("a") as module:
                module.write(_FAULT)
        compileall.compile_dir(package, quiet=1)  # as installers do; else each process would
        self._link(package.parent)

    def _link(self, target: Path) -> None:
        (self.folder / "next").symlink_to(target)
        (self.folder / "next").replace(self.folder / "current")


@dataclass
class Traffic:
    """Visitors with new and with kept connections, and a client that creates links.

    The client repeats a failed request with its Idempotency-Key.
    """

    port: int
    key: str
    alias: str
    host: str
    failures: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    created: list[str] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator["Traffic"]:
        """Send requests until the block ends."""
        stopping = threading.Event()
        works = (self._visit_anew, self._visit_anew, self._visit_again, self._visit_again, self._add)
        threads = [threading.Thread(target=self._repeat, args=(work, stopping)) for work in works]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            stopping.set()
            join(*threads)

    def wait_for_progress(self) -> None:
        """Wait until some more requests were answered."""
        expected = {name: self.counts[name] + _PROGRESS for name in ("new", "kept")}
        added = self.counts["added"] + 5
        until(
            lambda: (
                self.failures
                or (all(self.counts[name] >= n for name, n in expected.items()) and self.counts["added"] >= added)
            )
        )

    def _repeat(self, work: Callable[[HTTPConnection], None], stopping: threading.Event) -> None:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        while not stopping.is_set():
            try:
                work(connection)
            except (OSError, HTTPException, AssertionError) as error:
                self.failures.append(f"{time.time():.2f} {work.__name__}: {error!r}")
                connection.close()
            stopping.wait(0.02)
        connection.close()

    def _visit_anew(self, connection: HTTPConnection) -> None:
        connection.close()
        self._visit(connection)
        self.counts["new"] += 1

    def _visit_again(self, connection: HTTPConnection) -> None:
        """Visit on a kept connection. A server may close it when it is idle: browsers and proxies send GET again."""
        try:
            self._visit(connection)
        except (ConnectionError, HTTPException):
            connection.close()
            self.counts["sent again"] += 1
            self._visit(connection)
        self.counts["kept"] += 1

    def _visit(self, connection: HTTPConnection) -> None:
        connection.request("GET", f"/{self.alias}", headers={"Host": self.host, "User-Agent": "curl/8"})
        response = connection.getresponse()
        content = response.read()
        assert response.status == 302, (response.status, content[:300])
        self.counts["visits"] += 1

    def _add(self, connection: HTTPConnection) -> None:
        connection.close()
        alias = f"made-{next(_numbers)}"
        body = json.dumps({"url": "https://example.com/", "custom": alias})
        headers = {"Host": self.host, "Authorization": f"Bearer {self.key}", "Idempotency-Key": alias}
        for attempt in range(_ATTEMPTS):
            status = self._post(connection, body, headers)
            if status == 200:
                self.created.append(alias)
                self.counts["added"] += 1
                self.counts["added again"] += attempt > 0
                return
            assert status in _TEMPORARY, status
            time.sleep(0.2)
        raise AssertionError(f"{alias}: {status} after {_ATTEMPTS} attempts")

    @staticmethod
    def _post(connection: HTTPConnection, body: str, headers: dict[str, str]) -> int:
        connection.request("POST", "/api/url/add", body, headers)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status


_numbers = itertools.count(1)


def version_of(server: Server, **headers: str) -> str:
    """Return the version of a worker of a node; "" while it does not answer."""
    match = re.search('waypost_info{version="([^"]+)"}', server.call("GET", "/metrics", headers=headers).text)
    return match[1] if match else ""
