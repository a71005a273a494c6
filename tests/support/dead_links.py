"""Targets of links, the world in which they stand, and somebody whose links have them looked at."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import time_machine

from tests.support.fake_internet import PUBLIC, Outside, empty, server, world
from waypost.accounts import ops as accounts
from waypost.db.crud import PageRequest
from waypost.db.database import Database
from waypost.links import dead_links, ops
from waypost.links.dead_link_checker import Pauses, Watcher
from waypost.links.dead_links import Seen
from waypost.links.filters import Only
from waypost.settings import Settings

NOW = 1_800_000_000
SITE = "shop.example"
SILENT = "93.184.216.35"
NOBODY = ("127.0.0.1", 9)
_NONE = Pauses(each=0, host=0, more=0, none=0)


@dataclass
class Web:
    """What stands outside: one server behind every name, which answers by path; `asked` is what it was asked."""

    outside: Outside
    pages: dict[str, Callable[[], Any]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)

    def answer(self, head: bytes) -> Any:
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        self.asked.append((method, path))
        self.agents |= {line for line in lines if line.lower().startswith("user-agent:")}
        return self.pages.get(f"{method} {path}", self.pages.get(path, lambda: [empty(404)]))()

    def has(self, path: str, *pieces: bytes) -> None:
        """From now on this is answered there."""
        self.pages[path] = lambda: pieces


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """Knows SITE; nobody hears who comes to SILENT."""
    with world(monkeypatch) as outside:
        outside.has(SITE, PUBLIC)
        known = Web(outside)
        outside.doors[SILENT] = NOBODY
        with server(known.answer) as outside.doors[PUBLIC]:
            yield known


@pytest.fixture
def time() -> Iterator[Any]:
    """Stands still, and can be shifted."""
    with time_machine.travel(NOW, tick=False) as travelled:
        yield travelled


@dataclass(frozen=True)
class Desk:
    """Somebody with links, and one who looks at their targets."""

    database: Database
    settings: Settings
    account: int

    def add(self, url: str, **fields: Any) -> int:
        return self.database.write(
            lambda tx: ops.add(tx, self.account, settings=self.settings, **{"url": url, **fields}).id
        )

    def watcher(self) -> Watcher:
        return Watcher(self.settings, self.database, threading.Event(), _NONE)

    def look(self) -> None:
        """Until nothing is due any more."""
        watcher = self.watcher()
        while watcher.step():
            pass

    def seen(self, link: int) -> Seen | None:
        return self.database.read(lambda tx: dead_links.of(tx, self.account, link))

    def dead(self) -> list[int]:
        found = self.database.read(
            lambda tx: ops.page(tx, self.account, PageRequest(limit=100, page=1), only=Only(dead=True))
        )
        return [link.id for link in found.items]


@pytest.fixture
def context(database: Database, settings: Settings) -> Desk:
    """Ana's, where every target is looked at once a week."""
    watched = settings.model_copy(update={"dead_links_days": 7, "link_schemes": "mailto"})
    ana = database.write(lambda tx: accounts.add(tx, email="ana@example.com", username="ana", password="*"))
    return Desk(database, watched, ana.id)
