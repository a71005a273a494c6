"""Clicks that were imported without a time: statistics show them apart from the clicks of days."""

import re
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, new_browser
from tests.support.imports import SHOP, run
from tests.support.visits import visit
from waypost.clicks.stats import reports
from waypost.clicks.stats.subjects import Subject
from waypost.core.settings import Settings

_NOTE = re.compile(r"(\d+) more clicks? (?:was|were) imported without a time")


@pytest.fixture
def ids(ana: Person, ben: Person, settings: Settings) -> dict[str, int]:
    """Ids by alias: two of three imported links have clicks, one of them is in a campaign. Ben has one as well."""
    run(ana, settings, f"alias,url,clicks\nspring,{SHOP},41\nsummer,{SHOP}/2,7\nautumn,{SHOP}/3,0")
    run(ben, settings, f"alias,url,clicks\nben-1,{SHOP},500")
    by_alias = {item["alias"]: int(item["id"]) for item in ana.get("/urls")["data"]["urls"]}
    by_alias["campaign"] = ana.add("campaign", name="Sale", slug="sale")
    for alias in ("summer", "autumn"):
        ana.update("url", by_alias[alias], campaign=by_alias["campaign"])
    return by_alias


def _imported(page: str) -> str:
    """Return the number of clicks without a time that the page names; "" without one."""
    shown = _NOTE.search(page)
    return "" if shown is None else shown[1]


def test_every_statistics_page_names_its_imported_clicks(dashboard: Browser, ids: dict[str, int]) -> None:
    assert _imported(dashboard.get("/statistics").text) == "48"
    assert _imported(dashboard.get(f"/links/{ids['spring']}/stats").text) == "41"
    assert _imported(dashboard.get(f"/links/{ids['autumn']}/stats").text) == ""
    assert _imported(dashboard.get(f"/campaigns/{ids['campaign']}/stats").text) == "7"
    assert _imported(dashboard.get("/statistics?browser=Firefox").text) == "", "a filter matches none of them"


def test_counts_and_imported_clicks_add_up_to_those_of_the_list(
    ana: Person, dashboard: Browser, service: AsgiClient, ids: dict[str, int]
) -> None:
    assert [visit(service, alias).status_code for alias in ("spring", "summer", "autumn")] == [302] * 3
    listed = sum(item["clicks"] for item in ana.get("/urls")["data"]["urls"])
    page = dashboard.get("/statistics").text
    counted = re.search(r"<dd>\s*(\d+)\s*</dd>", page)
    assert counted is not None
    assert (int(counted[1]), int(_imported(page)), listed) == (3, 48, 51)


def test_clicks_of_a_deleted_link_are_not_shown(ana: Person, dashboard: Browser, ids: dict[str, int]) -> None:
    ana.delete(f"/url/{ids['spring']}/delete")
    assert _imported(dashboard.get("/statistics").text) == "7"


@pytest.mark.parametrize(("fields", "expected"), [({}, "41"), ({"days": 30}, ""), ({"firstday": "2020-01-01"}, "")])
def test_shared_link_names_imported_clicks_unless_its_days_are_limited(
    ana: Person, service: AsgiClient, ids: dict[str, int], fields: dict[str, object], expected: str
) -> None:
    visitor = new_browser(service).client
    for shown, number in (({}, "41"), (fields, expected)):  # results of a share link of the same item are in the cache
        url = ana.post("/share/add", {"type": "link", "itemid": ids["spring"], **shown})["url"]
        page = visitor.get(url.removeprefix(BASE))
        assert (page.status_code, _imported(page.text)) == (200, number)


def test_shared_campaign_does_not_tell_the_clicks_of_its_links(
    ana: Person, service: AsgiClient, ids: dict[str, int]
) -> None:
    url = ana.post("/share/add", {"type": "campaign", "itemid": ids["campaign"]})["url"]
    assert _imported(new_browser(service).client.get(url.removeprefix(BASE)).text) == ""


@pytest.mark.parametrize("kind", ["account", "campaign"])
def test_sum_is_one_statement_that_reads_only_the_index(ana: Person, ids: dict[str, int], kind: str) -> None:
    of_campaign = {"link": {ids["summer"], ids["autumn"]}}
    is_account = kind == "account"
    subject = Subject(ana.account, kind, ana.account if is_account else 7, None if is_account else of_campaign)

    def plan(tx: Connection) -> str:
        statements: list[tuple[str, Any]] = []

        def record(_tx: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
            statements.append((statement, parameters))

        event.listen(tx, "before_cursor_execute", record)
        assert reports.untimed_clicks(tx, subject) == (48 if is_account else 7)
        event.remove(tx, "before_cursor_execute", record)
        ((statement, parameters),) = statements
        if tx.dialect.name == "postgresql":  # prefers other ways for three rows
            tx.execute(text("SET LOCAL enable_seqscan = off"))
            tx.execute(text("SET LOCAL enable_bitmapscan = off"))
        explain = "EXPLAIN QUERY PLAN" if tx.dialect.name == "sqlite" else "EXPLAIN"
        return "\n".join(str(tuple(row)) for row in tx.exec_driver_sql(f"{explain} {statement}", parameters))

    assert re.search("(COVERING INDEX|Index Only Scan using) links_account_imported", ana.database.write(plan))
