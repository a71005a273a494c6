"""A running service on each database: two nodes on PostgreSQL, two workers on SQLite."""

import random
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.contract.resources import RESOURCES
from tests.support.load import add_ana
from tests.support.nodes import two_nodes
from tests.support.server import Server, serving
from waypost.auth import sessions
from waypost.db.database import Database
from waypost.db.signing import installation_signer
from waypost.http.csrf import csrf_token

_OF_LINKS = {"url", "campaign", "channel", "pixel", "overlay", "domain", "share"}


@dataclass(frozen=True)
class Service:
    """The nodes of an installation, its database, Ana's API key, her session cookie and its CSRF token."""

    nodes: Sequence[Server]
    database: Database
    key: str
    cookie: str
    csrf: str

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Send an API request to one of the nodes."""
        options = options if body is None else {"json": body, **options}
        return random.choice(self.nodes).call(method, path, key=self.key, **options)

    def open(self, method: str, path: str, fields: Mapping[str, Any] | None = None, **headers: str) -> int:
        """Open a page or submit a form at one of the nodes; return the status."""
        headers = {"Cookie": f"waypost={self.cookie}", "Host": "go.localhost:8000", **headers}
        data = None if method == "GET" else {"token": self.csrf, **(fields or {})}
        node = random.choice(self.nodes)
        return node.call(method, path, headers=headers, data=data, follow_redirects=False).status_code

    def signed_in(self, account: int = 1) -> "Service":
        """Return the service with a new session of an account."""
        cookie = self.database.write(lambda tx: sessions.begin(tx, account, agent="test"))
        return replace(self, cookie=cookie, csrf=csrf_token(self.database.read(installation_signer), cookie))

    def add(self, nouns: Iterable[str]) -> dict[str, int]:
        """Create one item of each of these nouns; return their ids.

        With one of them that a link can use, a link is created that uses one of each of these, and is shared.
        """
        created = {*nouns} | (_OF_LINKS if _OF_LINKS.intersection(nouns) else set())
        ids = {}
        number = random.getrandbits(40)
        for resource in RESOURCES:
            if (noun := resource.path[1:]) in created - {"url"}:
                ids[noun] = self._create(f"{resource.path}/add", resource.body(number))
        if "file" in created:
            ids["file"] = self._create("/files/upload/a.bin", content=b"content")
        if "webhook" in created:
            ids["webhook"] = self._create("/webhook/add", {"url": "https://hooks.example.com/waypost"})
        if "url" in created:
            used = {"campaign": ids["campaign"], "channel": [ids["channel"]], "pixels": [ids["pixel"]]}
            uses = {"type": f"overlay-{ids['overlay']}", "domain": f"https://go{number}.brand.example", **used}
            link = next(resource for resource in RESOURCES if resource.path == "/url")
            ids["url"] = self._create("/url/add", {**link.body(number), **uses})
            ids["share"] = self._create("/share/add", {"type": "link", "itemid": ids["url"]})
        assert ids.keys() == created
        return ids

    def _create(self, path: str, body: Any = None, **options: Any) -> int:
        response = self.call("POST", f"/api{path}", body, **options)
        assert response.status_code in (200, 201), response.text
        return int(response.json()["id"])


@contextmanager
def running(request: pytest.FixtureRequest, folder: Path, **settings: Any) -> Iterator[Service]:
    """Run the service on the database that the fixture's parameter names. No request may fail."""
    started = _on_sqlite if request.param == "sqlite" else _on_postgresql
    with started(folder, request, **settings) as (nodes, key, url), closing(Database(url)) as database:
        yield Service(nodes, database, key, "", "").signed_in()
        assert "Traceback" not in "".join(node.output() for node in nodes)


@contextmanager
def _on_sqlite(
    folder: Path, request: pytest.FixtureRequest, **settings: Any
) -> Iterator[tuple[Sequence[Server], str, str]]:
    shutil.copy(request.getfixturevalue("sqlite_template"), folder / "waypost.db")
    url = f"sqlite:///{folder / 'waypost.db'}"
    with closing(Database(url)) as database:
        key = database.write(add_ana)
    with serving(folder, workers=2, base_url="http://go.localhost:8000", **settings) as server:
        yield [server], key, url


@contextmanager
def _on_postgresql(
    folder: Path, request: pytest.FixtureRequest, **settings: Any
) -> Iterator[tuple[Sequence[Server], str, str]]:
    with two_nodes(folder, request.getfixturevalue("postgres"), **settings) as pair:
        yield [pair.first, pair.second], pair.key, pair.database_url
