"""Shared statistics as CSV: the same days and filters as the page, and only with its password."""

import csv
import re
from typing import Any

import pytest
from sqlalchemy import insert

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import new_browser
from tests.support.databases import ON_SQLITE
from tests.support.visits import FIREFOX, IPHONE, clicks, new_link, visit
from waypost.clicks.ingest.aggregate import DAY
from waypost.core import clock
from waypost.core.csv_export import BOM
from waypost.db.schema import click_times

pytestmark = ON_SQLITE


@pytest.fixture
def spring(ana: Person, service: AsgiClient) -> int:
    """Ana's link `spring` with three clicks today, two of them by Firefox."""
    link = new_link(ana, "spring", title="Client X, overpriced")
    for agent in (FIREFOX, FIREFOX, IPHONE):
        visit(service, "spring", agent=agent)
    assert clicks(ana, link)[0] == 3
    return link


@pytest.fixture
def visitor(service: AsgiClient) -> AsgiClient:
    """A browser without a session."""
    return new_browser(service).client


def _share(person: Person, link: int, **fields: Any) -> tuple[int, str]:
    """Share a link; return the id of the share link and the path of its page."""
    added = person.post("/share/add", {"type": "link", "itemid": link, **fields})
    return int(added["id"]), added["url"].removeprefix(BASE)


def _clicks(text: str) -> int:
    """Return the clicks of all points of a CSV file."""
    return sum(
        int(row["Clicks"])
        for row in csv.DictReader(text.removeprefix(BOM).splitlines())
        if row["Table"] in ("Hour", "Day")
    )


def test_csv_has_the_span_and_the_filter_of_the_page(ana: Person, visitor: AsgiClient, spring: int) -> None:
    today, zeros = clock.now() // DAY * DAY, {"bots": 0, "previews": 0, "others": 0, "late": 0}
    key = {"account": ana.account, "kind": "link", "item": spring, "clicks": 10, "uniques": 10, **zeros}
    rows = [{**key, "at": today - days_ago * DAY} for days_ago in range(1, 21)]
    ana.write(lambda tx: tx.execute(insert(click_times), rows))
    _, path = _share(ana, spring, title="=Spring", days=5)
    assert f'href="{path}?format=csv"' in visitor.get(path).text
    whole = visitor.get(f"{path}?format=csv&visited=link-99&item=7&kind=account")
    assert whole.headers["content-type"] == "text/csv; charset=utf-8"
    assert whole.headers["content-disposition"].startswith("attachment")
    assert whole.text.startswith(BOM), "Excel reads UTF-8 only with it"
    assert whole.headers["x-robots-tag"].startswith("noindex")
    assert "Client X" not in whole.text + str(whole.headers)
    assert _clicks(whole.text) == 43
    for query in ("period=90", "period=all", "from=2000-01-01&to=2199-12-31", "from=2001-01-01&to=2001-01-31"):
        assert 0 < _clicks(visitor.get(f"{path}?format=csv&{query}").text) <= 43, query
    assert _clicks(visitor.get(f"{path}?format=csv&browser=Firefox").text) == 2


def test_csv_needs_the_password_of_the_page(ana: Person, visitor: AsgiClient, spring: int) -> None:
    share, path = _share(ana, spring, password="tulip")
    locked = visitor.get(f"{path}?format=csv")
    assert (locked.status_code, locked.headers["x-robots-tag"][:7]) == (401, "noindex")
    assert "Firefox" not in locked.text
    match = re.search(r'name="token" value="([^"]+)"', locked.text)
    assert match
    assert visitor.post(path, data={"token": match[1], "password": "tulip"}).status_code == 303
    assert _clicks(visitor.get(f"{path}?format=csv").text) == 3
    ana.put(f"/share/{share}/update", {"password": "rose"})
    assert visitor.get(f"{path}?format=csv").status_code == 401
