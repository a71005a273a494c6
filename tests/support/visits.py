"""Visits to short links, user agents, and click statistics."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.demo import content as demo_content
from waypost.demo import visits as demo_visits
from waypost.server.app import build

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:121.0) Gecko/20100101 Firefox/121.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2"
    " Mobile/15E148 Safari/604.1"
)
ANDROID = (
    "Mozilla/5.0 (Linux; Android 13; Pixel 7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/116.0.0.0 Mobile"
    " Safari/537.36"
)
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
SLACK = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"
CURL = "curl/8.5.0"
ACCEPT_HTML = {"Accept": "text/html,application/xhtml+xml"}
ACCEPT_JSON = {"Accept": "application/json"}
DESTINATION = "https://example.com/page"


def visit(client: Any, path: str, method: str = "GET", *, agent: str = CHROME, **options: Any) -> Any:
    """Visit a short URL without following redirects. `path` is an alias or a whole URL."""
    headers = {"User-Agent": agent, **options.pop("headers", {})}
    return client.request(method, path if "://" in path else f"/{path}", headers=headers, **options)


def new_link(person: Person, alias: str, **fields: Any) -> int:
    """Create a link; return its id."""
    return person.add("url", **{"url": DESTINATION, "custom": alias, **fields})


def clicks(person: Person, link: int) -> tuple[int, int]:
    """Return (clicks, unique clicks) of a link."""
    data = person.get(f"/url/{link}")["data"]
    return data["clicks"], data["uniqueClicks"]


def click_totals(person: Person, path: str, **span: str) -> dict[str, int]:
    """Return the totals of a statistics report that are not 0, by kind of visit."""
    total: dict[str, int] = person.get(f"{path}/stats", **span)["data"]["total"]
    return {name: n for name, n in total.items() if n}


@pytest.fixture
def proxied(tmp_path: Path, database_url: str, ingester: None) -> Iterator[AsgiClient]:
    """One more process of the service, which trusts a proxy on 127.0.0.1."""
    settings = Settings(data_dir=tmp_path, base_url=BASE, database_url=database_url, trusted_proxies="127.0.0.1")
    app = build(settings, Database(database_url))
    with AsgiClient(app, address="127.0.0.1") as client:
        yield client


@pytest.fixture
def sample(ana: Person, settings: Settings, ingester: None) -> None:
    """The sample content and visits of the demo."""
    targets = ana.write(lambda tx: demo_content.add(tx, ana.account, settings))
    demo_visits.write(settings.journal_dir, ana.account, targets)
