"""The page of the audit log: labels and values as in the forms, names of things, search and period."""

import html
import re
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import Person
from tests.support import trash
from tests.support.dashboard_client import Browser
from tests.support.html import Page
from tests.support.visits import new_link
from waypost.audit import columns, names
from waypost.core import clock
from waypost.core.actor import Actor, acting
from waypost.db import audit_log
from waypost.db.database import Database
from waypost.db.schema import accounts, audit, shares
from waypost.db.schema.nouns import NOUNS

_DAY = 86_400
_TABLES = {**{kind: noun.table for kind, noun in NOUNS.items()}, "share": shares}


def _changes(page: str) -> dict[str, str]:
    """Return the values of the first event by the label of their field."""
    fields = re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)</dd>", page.partition("</dl>")[0], re.DOTALL)
    return {_text(label): _text(value) for label, value in fields}


def _text(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


@pytest.mark.parametrize("kind", _TABLES)
def test_every_column_of_the_log_has_a_label(kind: str) -> None:
    shown = {column.name for column in audit_log.columns_of(_TABLES[kind])} - {"password"} - columns.HIDDEN
    assert [name for name in sorted(shown) if columns.label(kind, name) == name] == []


def test_values_are_shown_as_in_the_form_of_the_item(dashboard: Browser, ana: Person) -> None:
    campaign = ana.add("campaign", name="Spring campaign")
    link = new_link(ana, "spring", url="https://example.com/")
    targets = [{"location": "Germany", "link": "https://example.com/de"}]
    values: dict[str, Any] = {"status": "private", "expiry": "2030-01-31 12:00", "campaign": campaign}
    ana.update("url", link, password="tulip", dropquery=True, geotarget=targets, metatitle="x" * 200, **values)
    dashboard.client.cookies.set("waypost_language", "de")
    dashboard.client.cookies.set("waypost_zone", "Europe/Berlin")
    changes = _changes(dashboard.get("/audit?kind=link").text)
    assert changes["Passwort für Besucher"] == "Nein Ja"
    assert changes["Status"] == "Öffentlich Privat"
    assert changes["Läuft ab"] == "leer 31. Jan. 2030, 13:00"
    assert changes["Kampagne"] == "leer Spring campaign"
    assert changes["Nach Land"] == "leer Deutschland , https://example.com/de"
    assert changes["Vorschautitel"] == f"leer {'x' * 80}… {'x' * 200}"


def test_deleted_item_in_a_value_is_shown_by_its_id(dashboard: Browser, ana: Person) -> None:
    campaign = ana.add("campaign", name="Gone")
    new_link(ana, "spring", campaign=campaign)
    ana.remove("campaign", campaign)
    assert _changes(dashboard.get("/audit?q=spring").text)["Campaign"] == f"deleted, id {campaign}"


def test_share_link_is_called_as_its_item(dashboard: Browser, ana: Person, database: Database) -> None:
    link = new_link(ana, "spring", title="Spring sale")
    share = ana.add("share", type="link", itemid=link)
    assert f'<a href="/dashboard/shares/{share}"><bdi>Spring sale</bdi></a>' in dashboard.get("/audit?kind=share").text
    assert "Spring sale" in dashboard.get("/audit?kind=share&q=SALE").text
    # Events of earlier versions have no name.
    database.write(lambda tx: tx.execute(update(audit).where(audit.c.kind == "share").values(label="")))
    assert "<bdi>Spring sale</bdi>" in dashboard.get("/audit?kind=share").text


def test_every_editor_leads_to_the_history_of_its_item_and_back(dashboard: Browser, ana: Person) -> None:
    for noun, item in trash.new_items(ana).items():
        kind, path = trash.NOUNS[noun], f"/dashboard/{trash.LIST_PAGES[noun]}/{item}"
        history = Page(dashboard.client.get(path)).one("a", class_="back-link history-link").attributes["href"]
        assert history == f"/dashboard/audit?kind={kind}&item={item}"
        page = dashboard.client.get(history).text
        assert f'<a class="back-link" href="{path}">' in page, noun
        assert "History of" in page, noun
        assert ("All changes with their authors, for" in page, "also by API" in page) == (True, False), noun


def test_event_without_a_name_has_that_of_its_kind(dashboard: Browser, ana: Person, database: Database) -> None:
    audit_only = {"kind": "import", "name": "import.started", "label": ""}
    ana.add("pixel", type="analyticspixel", name="Site", tag="G-1")
    database.write(lambda tx: tx.execute(update(audit).where(audit.c.kind == "pixel").values(audit_only)))
    assert "<bdi>Import</bdi>" in dashboard.get("/audit?kind=import").text
    database.write(lambda tx: tx.execute(update(audit).where(audit.c.kind == "import").values(label="shlink")))
    assert "<bdi>Shlink</bdi>" in dashboard.get("/audit?kind=import").text


def test_events_name_their_author(dashboard: Browser, ana: Person, ben: Person, database: Database) -> None:
    for name in ("spring", "autumn", "winter", "summer"):
        new_link(ana, name)
    authors = {"autumn": ben.account, "winter": 10**9, "summer": None}
    for name, account in authors.items():
        database.write(lambda tx: tx.execute(update(audit).where(audit.c.label == name).values(actor=account)))  # noqa: B023
    expected = {"spring": ["ana"], "autumn": ["Administrator"], "winter": ["Administrator"], "summer": []}
    for name, author in expected.items():
        page = dashboard.get(f"/audit?kind=link&q={name}").text
        assert re.findall(r'<bdi class="author">(.*?)</bdi>', page) == author, name
        assert "ben" not in page
    assert re.findall(r'<bdi class="author">(.*?)</bdi>', dashboard.get("/audit?kind=session").text) == ["ana"]


def test_log_is_filtered_by_its_author(dashboard: Browser, ana: Person, ben: Person, database: Database) -> None:
    for name in ("spring", "autumn"):
        new_link(ana, name)
    by_ben = update(audit).where(audit.c.label == "autumn").values(actor=ben.account)
    database.write(lambda tx: tx.execute(by_ben))
    assert f'<option value="{ben.account}"' in dashboard.get("/audit?kind=link").text
    for path in (f"/audit?author={ben.account}", f"/audit?kind=link&author={ben.account}"):
        page = dashboard.get(path).text
        assert ("autumn" in page, "spring" in page) == (True, False), path
        assert re.search(rf'<option value="{ben.account}"\s+selected', page)
    page = dashboard.get(f"/audit?kind=link&author={ana.account}").text
    assert ("autumn" in page, "spring" in page) == (False, True)
    assert 'class="author">ana<' in dashboard.get(f"/audit?kind=session&author={ana.account}").text
    assert "No events" in dashboard.get("/audit?author=999999").text
    events = ana.get("/audit", account=ben.account)["data"]["events"]
    assert [event["label"] for event in events] == ["autumn"]


@pytest.mark.parametrize(("actor", "name"), [("ben", "ben"), ("", "Deleted account")])
def test_log_of_the_installation_names_the_accounts(
    dashboard: Browser, ana: Person, ben: Person, database: Database, actor: str, name: str
) -> None:
    by = Actor("dashboard", ben.account if actor else 10**9)
    with acting(lambda: by):
        database.write(lambda tx: audit_log.record(tx, None, "maintenance.started"))
        database.write(lambda tx: tx.execute(update(accounts).where(accounts.c.id == ana.account).values(owner=1)))
    page = dashboard.get("/audit?scope=installation&kind=maintenance").text
    assert re.findall(r'<bdi class="author">(.*?)</bdi>', page) == [name]


def test_log_is_filtered_by_name_and_period(dashboard: Browser, ana: Person, database: Database) -> None:
    new_link(ana, "old", title="Old spring")
    database.write(lambda tx: tx.execute(update(audit).values(at=clock.now() - 40 * _DAY)))
    new_link(ana, "newer", title="New spring")
    rows = {
        query: dashboard.get(f"/audit?{query}").text for query in ("q=SPRING+new", "q=%25", "period=30", "period=90")
    }
    shown = {query: [name for name in ("Old spring", "New spring") if name in page] for query, page in rows.items()}
    expected = {
        "q=SPRING+new": ["New spring"],
        "q=%25": [],
        "period=30": ["New spring"],
        "period=90": ["Old spring", "New spring"],
    }
    assert shown == expected
    days = clock.text(clock.now() - 41 * _DAY)[:10], clock.text(clock.now() - 39 * _DAY)[:10]
    between = dashboard.get(f"/audit?period=days&from={days[0]}&to={days[1]}").text
    assert ("Old spring" in between, "New spring" in between) == (True, False)


def test_filters_offer_every_kind_and_way(dashboard: Browser) -> None:
    page = dashboard.get("/audit?kind=share&origin=api").text
    selects = {name: re.findall(r'<option value="(\w+)"', part) for name, part in _selects(page).items()}
    assert selects["kind"] == list(names.KINDS)
    assert selects["origin"] == list(names.ORIGINS)
    assert '<option value="share" selected' in page


def _selects(page: str) -> dict[str, str]:
    return dict(re.findall(r'<select name="(\w+)"[^>]*>(.*?)</select>', page, re.DOTALL))
