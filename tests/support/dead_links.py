"""Fixtures of the dead-link checks: a fake web, a frozen clock, and an account whose links are checked."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import time_machine

from tests.support.fake_internet import PUBLIC, FakeInternet, empty, server
from waypost.core.settings import Settings
from waypost.db.crud import PageRequest
from waypost.db.database import Database
from waypost.items.accounts import ops as accounts
from waypost.items.links import dead_links, list_search, ops
from waypost.items.links.dead_link_checker import DeadLinkChecker, Pauses
from waypost.items.links.dead_links import CheckResult
from waypost.items.links.filters import LinkFilter

NOW = 1_800_000_000
SITE = "shop.example"
SILENT = "93.184.216.35"
CLOSED_PORT = ("127.0.0.1", 9)
_NO_PAUSES = Pauses(request=0, host=0, batch=0, idle=0)


@dataclass
class FakeWeb:
    """One server behind every host name; it responds by path and records the method and path of each request."""

    internet: FakeInternet
    pages: dict[str, Callable[[], Any]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)

    def respond(self, head: bytes) -> Any:
        lines = head.decode("latin-1").split("\r\n")
        if not lines[0].endswith(" HTTP/1.1"):  # a client speaks TLS
            return [empty(400)]
        method, path, _ = lines[0].split(" ")
        self.requests.append((method, path))
        self.agents |= {line for line in lines if line.lower().startswith("user-agent:")}
        return self.pages.get(f"{method} {path}", self.pages.get(path, lambda: [empty(404)]))()

    def serve(self, path: str, *pieces: bytes) -> None:
        """Respond to requests of the path with these bytes from now on."""
        self.pages[path] = lambda: pieces


@pytest.fixture
def web(internet: FakeInternet) -> Iterator[FakeWeb]:
    """Resolves SITE; connections to SILENT are refused."""
    internet.add_host(SITE, PUBLIC)
    internet.routes[SILENT] = CLOSED_PORT
    fake_web = FakeWeb(internet)
    with server(fake_web.respond) as internet.routes[PUBLIC]:
        yield fake_web


@pytest.fixture
def time() -> Iterator[Any]:
    """A frozen clock that tests can shift."""
    with time_machine.travel(NOW, tick=False) as travelled:
        yield travelled


@dataclass(frozen=True)
class LinkOwner:
    """An account with links, and the checker of their destinations."""

    database: Database
    settings: Settings
    account: int

    def add(self, url: str, **fields: Any) -> int:
        return self.database.write(
            lambda tx: ops.add(tx, self.account, settings=self.settings, **{"url": url, **fields}).id
        )

    def checker(self) -> DeadLinkChecker:
        return DeadLinkChecker(self.settings, self.database, threading.Event(), _NO_PAUSES)

    def check_links(self) -> None:
        """Check until no check is due."""
        checker = self.checker()
        while checker.step():
            pass

    def result(self, link: int) -> CheckResult | None:
        return self.database.read(lambda tx: dead_links.get_result(tx, self.account, link))

    def dead_links(self) -> list[int]:
        request, only_dead = PageRequest(limit=100, page=1), LinkFilter(dead=True)
        page = self.database.read(lambda tx: list_search.page(tx, self.account, request, link_filter=only_dead))
        return [link.id for link in page.items]


@pytest.fixture
def owner(database: Database, settings: Settings) -> LinkOwner:
    """Ana, whose links are checked once a week."""
    weekly = settings.model_copy(update={"dead_links_days": 7, "link_schemes": "mailto"})
    ana = database.write(lambda tx: accounts.add(tx, email="ana@example.com", username="ana", password="*"))
    return LinkOwner(database, weekly, ana.id)
