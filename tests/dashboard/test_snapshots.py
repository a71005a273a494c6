"""A page of the dashboard is one snapshot: it reads the session and everything else in one transaction."""

import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.dashboard_paths import dashboard_paths
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.fake_internet import FakeInternet
from tests.support.visits import new_link, visit
from waypost.dashboard import app
from waypost.db.database import Database
from waypost.server.routers import DASHBOARD_PAGES

pytestmark = ON_BOTH_DATABASES

_WITHOUT_SNAPSHOT = {
    "/dashboard/favicon",
    "/dashboard/account/links/{service}",
    "/dashboard/admin/health",
    "/dashboard/domains/check",
    "/dashboard/domains/{id:int}",
    "/dashboard/import/rows.csv",
    "/dashboard/import/undo",
    "/dashboard/links/export",
    "/dashboard/overlays/{id:int}/answers/export",
    "/dashboard/qr/export",
    "/dashboard/visits/live",
}
"""Downloads and live visits, which read while they are sent, pages that wait for other servers,
one that reads in batches, and icons."""
_MIN_PAGES = 70


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts transactions of requests for pages; those of the background are others."""
    counts: Counter[str] = Counter()

    def counting(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if any(frame.f_code.co_filename == app.__file__ for frame, _ in traceback.walk_stack(None)):
                counts[name] += 1
            return run(*arguments, **options)

        return call

    for name in ("read", "write"):
        monkeypatch.setattr(Database, name, counting(name, getattr(Database, name)))
    return counts


def test_pages_have_a_snapshot_with_known_exceptions() -> None:
    pages = [page for page in DASHBOARD_PAGES if page.method == "GET" and not page.public]
    assert {page.path for page in pages if not page.has_snapshot} == _WITHOUT_SNAPSHOT


def test_each_page_is_read_in_one_transaction(
    ana: Person, dashboard: Browser, sample: None, framed_site: FakeInternet, transactions: Counter[str]
) -> None:
    assert ana.get("/stats")["data"]["total"]["clicks"]  # waits until the visits are counted
    exceptions = {path.replace("{id:int}", "1") for path in _WITHOUT_SNAPSHOT}
    transactions_by_path = {}
    for path in dashboard_paths():
        transactions.clear()
        response = dashboard.client.get(path)
        if path.partition("?")[0] not in exceptions and response.status_code == 200:
            transactions_by_path[path] = dict(transactions)
    assert len(transactions_by_path) > _MIN_PAGES
    assert {path: counts for path, counts in transactions_by_path.items() if counts != {"read": 1}} == {}


def test_form_is_saved_with_few_transactions(ana: Person, dashboard: Browser, transactions: Counter[str]) -> None:
    path = f"/channels/{ana.add('channel', name='Before')}"
    editor = dashboard.get(f"{path}/edit")
    fields = {name: hidden_field(editor, name) for name in ("token", "version")}
    transactions.clear()
    assert dashboard.client.post(f"/dashboard{path}", data={**fields, "name": "After"}).status_code == 303
    assert transactions["write"] == 1
    assert transactions["read"] <= len(("session", "stored values", "maintenance mode, twice a second"))


def test_page_shows_clicks_of_earlier_visits(ana: Person, dashboard: Browser) -> None:
    new_link(ana, "x")
    for expected in (1, 2, 3):
        visit(ana.client, "x")
        assert f">{expected}<" in dashboard.get("/links").text
