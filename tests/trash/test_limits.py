"""Click limits and statistics of restored items are exact, also with clicks that arrive around the deletion."""

import threading
from collections import Counter

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.server import at_once
from tests.support.trash import delete_in_dashboard, entries, move, restore, restore_in_dashboard
from tests.support.visits import click_totals, clicks, new_link, visit
from waypost.db.database import Database

LIMIT = 25


def test_click_limit_is_exact_if_link_is_deleted_and_restored_under_load(
    ana: Person, service: AsgiClient, database: Database
) -> None:
    link = new_link(ana, "few", clicklimit=LIMIT)
    answers = Counter[int]()
    stopping, counting = threading.Event(), threading.Lock()

    def visit_until_stopped() -> None:
        while not stopping.is_set():
            status = visit(service, "few").status_code
            with counting:
                answers[status] += 1

    def delete_and_restore() -> None:
        try:
            while answers[302] < LIMIT:
                move(database, ana, "url", link)
                restore(database, ana, entries(database, ana))
        finally:
            stopping.set()

    at_once([visit_until_stopped] * 4 + [delete_and_restore])
    for _ in range(5):
        answers[visit(service, "few").status_code] += 1
    assert answers[302] == LIMIT
    assert set(answers) <= {302, 404, 410}
    assert clicks(ana, link) == (LIMIT, 1)
    assert click_totals(ana, f"/url/{link}")["clicks"] == LIMIT


def test_restored_link_remembers_clicks_that_were_taken(
    ana: Person, service: AsgiClient, dashboard: Browser, database: Database
) -> None:
    link = new_link(ana, "few", clicklimit=3)
    assert [visit(service, "few").status_code for _ in range(2)] == [302, 302]
    delete_in_dashboard(dashboard, "url", link)
    assert [visit(service, "few").status_code for _ in range(5)] == [404] * 5
    restore_in_dashboard(dashboard, *entries(database, ana))
    assert [visit(service, "few").status_code for _ in range(3)] == [302, 410, 410]
    assert clicks(ana, link) == (3, 1)


def test_download_limit_is_exact_after_restoration(
    ana: Person, service: AsgiClient, dashboard: Browser, database: Database
) -> None:
    ana.call("POST", "/files/upload/a.bin?custom=few&maxdownloads=2", content=b"content")
    (file,) = (item["id"] for item in ana.get("/files")["list"])
    assert visit(service, "few", agent="curl/8").content == b"content"
    delete_in_dashboard(dashboard, "file", file)
    assert visit(service, "few", agent="curl/8").status_code == 404
    restore_in_dashboard(dashboard, *entries(database, ana))
    answers = at_once([lambda: visit(service, "few", agent="curl/8").status_code for _ in range(6)])
    assert Counter(answers) == {200: 1, 410: 5}
