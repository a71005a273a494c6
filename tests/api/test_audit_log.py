"""Events of the audit log and their content, the API of the log, and its page."""

import json
import secrets
import threading
from collections.abc import Sequence
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, func, select

from tests.conftest import PASSWORD, Person
from tests.support.audit_log import Recorded
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.threads import join
from tests.support.visits import new_link
from waypost.admin.account_deletion import delete_account
from waypost.audit import log
from waypost.audit.log import AuditFilter
from waypost.clicks.ingest.ingester import Ingester
from waypost.core import clock
from waypost.core.actor import Actor, acting
from waypost.core.settings import Settings
from waypost.db import audit_log
from waypost.db.database import Database
from waypost.db.schema import audit, links
from waypost.items.accounts import ops as accounts
from waypost.items.channels import ops as channels

pytestmark = ON_BOTH_DATABASES
URL = "https://example.com/"
DAY = 86_400


def _events(person: Person, **query: Any) -> Sequence[dict[str, Any]]:
    return list(person.get("/audit", **query)["data"]["events"])


def test_change_has_the_values_before_and_after(ana: Person, recorded: Recorded) -> None:
    link = new_link(ana, "spring", url=URL, title="Spring")
    recorded()
    ana.update("url", link, title="Spring sale", password="tulip", expiry="2030-01-31")
    (event,) = recorded()
    assert (event.name, event.kind, event.item, event.label) == ("link.updated", "link", link, "Spring sale")
    assert event.before == {"title": "Spring", "haspassword": False, "expiry": None}
    assert event.after is not None
    assert event.after == {"title": "Spring sale", "haspassword": True, "expiry": event.after["expiry"]}


def test_deleted_item_is_described_by_its_values(ana: Person, recorded: Recorded) -> None:
    pixel = ana.add("pixel", type="analyticspixel", name="Site", tag="G-1")
    recorded()
    ana.remove("pixel", pixel)
    (event,) = recorded()
    assert event.name == "pixel.deleted"
    assert event.before is not None
    assert event.before["tag"] == "G-1"
    assert event.after is None


def test_transaction_stores_one_event_for_each_thing(database: Database, ana: Person, recorded: Recorded) -> None:
    def fail(tx: Connection) -> None:
        with tx.begin_nested():
            channels.add(tx, ana.account, name="Never")
            raise ValueError("undone")

    def work(tx: Connection) -> None:
        made = channels.add(tx, ana.account, name="One")
        channels.change(tx, ana.account, made.id, name="Two")
        channels.change(tx, ana.account, made.id, color="#112233")
        with pytest.raises(ValueError, match="undone"):
            fail(tx)

    recorded()
    with acting(lambda: Actor("agent", ana.account)):
        database.write(work)
    (event,) = recorded()
    assert (event.name, event.label, event.origin) == ("channel.created", "Two", "agent")
    assert event.after is not None
    assert (event.after["name"], event.after["color"]) == ("Two", "#112233")


def test_transaction_that_is_rolled_back_stores_nothing(database: Database, ana: Person, recorded: Recorded) -> None:
    def work(tx: Connection) -> None:
        channels.add(tx, ana.account, name="One")
        raise ValueError("undone")

    recorded()
    with pytest.raises(ValueError, match="undone"):
        database.write(work)
    channels_before = database.read(lambda tx: channels.totals(tx, ana.account, [1]))
    database.write(lambda _tx: None)
    assert recorded() == []
    assert channels_before == {}


def test_concurrent_changes_are_each_recorded_once(database: Database, ana: Person, recorded: Recorded) -> None:
    channel = ana.add("channel", name="One")
    recorded()

    def change() -> None:
        for _ in range(10):
            database.write(lambda tx: channels.change(tx, ana.account, channel, description=secrets.token_hex()))

    threads = [threading.Thread(target=change) for _ in range(4)]
    for thread in threads:
        thread.start()
    join(*threads)
    assert [event.name for event in recorded()] == ["channel.updated"] * 40


def test_bulk_request_records_each_link(ana: Person, recorded: Recorded) -> None:
    ids = [new_link(ana, f"l{number}") for number in range(3)]
    pixel = ana.add("pixel", type="analyticspixel", name="Site", tag="G-1")
    recorded()
    selection = {"action": "update", "expect": 3, "fields": {"status": "disabled", "pixels": [pixel]}}
    ana.post("/bulk", {"selection": selection})
    events = recorded()
    assert sorted((event.name, event.item) for event in events) == [("link.updated", link) for link in ids]
    assert all(event.after == {"status": "disabled", "pixels": [pixel]} for event in events)
    ana.post("/bulk", {"selection": {"action": "delete", "expect": 3}})
    assert sorted((event.name, event.item) for event in recorded()) == [("link.deleted", link) for link in ids]


def test_trash_records_deletion_restoration_and_the_end(dashboard: Browser, ana: Person, recorded: Recorded) -> None:
    link = new_link(ana, "gone", title="Gone")
    recorded()
    dashboard.submit("/links/delete", at=f"/links/{link}/delete", id=link)
    dashboard.submit("/trash/1/restore", at="/trash")
    dashboard.submit("/links/delete", at=f"/links/{link}/delete", id=link)
    dashboard.submit("/trash/delete", at="/trash/2/delete", id=2)
    events = recorded()
    assert [event.name for event in events] == ["link.deleted", "link.restored", "link.deleted", "link.purged"]
    assert {(event.origin, event.actor, event.key, event.item) for event in events} == {
        ("dashboard", ana.account, "", link)
    }


def test_sign_in_and_refusal_are_recorded_without_the_name(browser: Browser, ana: Person, recorded: Recorded) -> None:
    recorded()
    browser.sign_in("ana", "wrong password")
    browser.sign_in("nobody-knows", "wrong password")
    browser.sign_in("ana")
    browser.submit("/signout", at="/links")
    events = recorded()
    assert [(event.name, event.account) for event in events] == [
        ("session.refused", ana.account),
        ("session.refused", None),
        ("session.started", ana.account),
        ("session.ended", ana.account),
    ]
    assert "nobody-knows" not in repr(events)


def test_keys_are_recorded_by_their_beginning(ana: Person, dashboard: Browser, recorded: Recorded) -> None:
    recorded()
    dashboard.submit("/account/keys", at="/account/keys", name="Printer", scope="read", expires="", password=PASSWORD)
    created = recorded()[-1]
    assert (created.name, created.label) == ("key.created", "Printer")
    assert created.after is not None
    assert created.after["scope"] == "read"
    assert len(created.after["hint"]) <= 8


def test_api_lists_filters_and_pages(ana: Person, ben: Person) -> None:
    link = new_link(ana, "one", title="One")
    ana.update("url", link, title="Two")
    ana.add("channel", name="News")
    new_link(ben, "other")
    assert [event["event"] for event in _events(ana)][:3] == ["channel.created", "link.updated", "link.created"]
    assert {event["account"] for event in _events(ana)} <= {ana.account, None}
    assert [event["event"] for event in _events(ana, kind="link", item=link)] == ["link.updated", "link.created"]
    assert [event["event"] for event in _events(ana, event="channel.created")] == ["channel.created"]
    assert _events(ana, origin="agent") == []
    assert _events(ana, to=clock.now() - DAY) == []
    first = ana.get("/audit", limit=2)["data"]
    second = ana.get("/audit", limit=2, before=first["before"])["data"]
    ids = [event["id"] for event in (*first["events"], *second["events"])]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 4
    assert ana.call("GET", "/audit?origin=elsewhere").status_code == 400


def test_page_with_filter_reads_a_limited_number_of_rows(
    database: Database, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_link(ana, "first")
    for number in range(12):
        ana.add("channel", name=f"Channel {number}")
    monkeypatch.setattr(log, "_MAX_SCANNED", 5)
    names, before, parts = list[str](), None, 0
    while True:
        page = database.read(
            lambda tx: log.page(tx, ana.account, AuditFilter(kind="link"), limit=10, before=before)  # noqa: B023
        )
        names += [entry.name for entry in page.entries]
        before, parts = page.before, parts + 1
        if before is None:
            break
    assert (names, parts > 2) == (["link.created"], True)
    history = database.read(lambda tx: log.page(tx, ana.account, AuditFilter(kind="link", item=1), limit=10))
    assert ([entry.name for entry in history.entries], history.before) == (["link.created"], None)


def test_page_of_past_days_begins_at_the_last_of_them(
    database: Database, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = clock.now() - 100 * DAY
    with time_machine.travel(past, tick=False):
        new_link(ana, "spring")
    with time_machine.travel(past + DAY, tick=False):
        new_link(ana, "summer")
    for number in range(12):
        ana.add("channel", name=f"Channel {number}")
    monkeypatch.setattr(log, "_MAX_SCANNED", 5)
    for days, label in (((past, past), "spring"), ((past + DAY, past + DAY), "summer")):
        day = AuditFilter(name="link.created", first=days[0], last=days[1])
        page = database.read(lambda tx: log.page(tx, ana.account, day, limit=10))  # noqa: B023
        assert ([entry.label for entry in page.entries], page.before) == ([label], None)
    nothing = AuditFilter(last=past - 300 * DAY)
    assert database.read(lambda tx: log.page(tx, ana.account, nothing, limit=10)).entries == []


def test_exports_have_every_event_oldest_first(ana: Person, dashboard: Browser) -> None:
    new_link(ana, "one", title="=1+1")
    lines = ana.call("GET", "/audit/export?format=jsonl").text.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [event["id"] for event in reversed(_events(ana, limit=100))]
    table = ana.call("GET", "/audit/export?kind=link").text
    assert table.splitlines()[0] == "id,date,event,kind,item,label,origin,account,key,network,before,after"
    assert "'=1+1" in table
    assert "link.created" in dashboard.get("/audit?format=csv").text


def test_log_of_another_account_is_not_shown(ana: Person, ben: Person, dashboard: Browser) -> None:
    new_link(ben, "secret-of-ben")
    assert "secret-of-ben" not in dashboard.get("/audit").text
    assert all(event["label"] != "secret-of-ben" for event in _events(ana, limit=100))


def test_installation_is_shown_to_administrators_only(database: Database, ana: Person, dashboard: Browser) -> None:
    database.write(lambda tx: accounts.add_plan(tx, name="Club", status="pro", rate_limit=9, upload_limit=9))
    database.write(lambda tx: accounts.set_admin(tx, ana.account, admin=False))
    assert "Club" not in dashboard.get("/audit?scope=installation").text
    database.write(lambda tx: accounts.set_admin(tx, ana.account, admin=True))
    assert "Club" in dashboard.get("/audit?scope=installation").text


def test_account_learns_no_key_and_network_of_administrators(database: Database, ana: Person, ben: Person) -> None:
    with acting(lambda: Actor("api", ana.account, ana.key[:8], "0123456789abcdef")):
        database.write(lambda tx: accounts.rename(tx, ben.account, "benjamin"))
        database.write(lambda tx: accounts.rename(tx, ana.account, "anabel"))
    newest = [_events(person, event="account.updated")[0] for person in (ben, ana)]
    assert [(event["account"], event["key"], event["network"]) for event in newest] == [
        (ana.account, "", ""),
        (ana.account, ana.key[:8], "0123456789abcdef"),
    ]


def test_version_with_a_value_too_long_for_the_log_is_not_restored(
    ana: Person, dashboard: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = new_link(ana, "long", description="x" * 200)
    monkeypatch.setattr(audit_log, "_MAX_VALUE", 100)
    ana.update("url", link, description="short")
    event = _events(ana, kind="link", item=link)[0]
    assert event["before"]["description"]["characters"] == 200
    response = dashboard.submit(f"/audit/links/{link}/restore", at=f"/audit?kind=link&item={link}", event=event["id"])
    assert (response.status_code, ana.details("url", link)["description"]) == (404, "short")


def test_version_before_an_edit_without_values_is_not_restored(ana: Person, dashboard: Browser) -> None:
    """The migration has moved times of edits from before the log."""
    link = new_link(ana, "spring", title="First")
    ana.write(lambda tx: audit_log.record(tx, ana.account, "link.updated", link))
    ana.update("url", link, title="Second")
    edit = _events(ana, kind="link", item=link)[1]
    assert (edit["event"], edit["before"]) == ("link.updated", None)
    response = dashboard.submit(f"/audit/links/{link}/restore", at=f"/audit?kind=link&item={link}", event=edit["id"])
    assert (response.status_code, ana.details("url", link)["title"]) == (404, "Second")


def test_earlier_version_of_a_link_is_restored(ana: Person, dashboard: Browser) -> None:
    link = new_link(ana, "spring", url=URL, title="First")
    splash = ana.add("splash", name="Wait")
    ana.update("url", link, title="Second", custom="summer", type=str(splash), expiry="2030-01-31")
    ana.update("url", link, title="Third", url="https://example.com/third", type="direct")
    before_both = _events(ana, kind="link", item=link)[1]["id"]
    dashboard.submit(f"/audit/links/{link}/restore", at=f"/audit?kind=link&item={link}", event=before_both)
    details = ana.details("url", link)
    assert (details["title"], details["longurl"], details["alias"]) == ("First", URL, "spring")
    row = ana.database.read(lambda tx: tx.execute(select(links.c.type, links.c.expiry).where(links.c.id == link)).one())
    assert tuple(row) == ("direct", None)
    newest = _events(ana, kind="link", item=link)[0]
    assert (newest["event"], newest["origin"]) == ("link.updated", "dashboard")
    response = dashboard.submit(f"/audit/links/{link}/restore", at=f"/audit?kind=link&item={link}", event=999_999)
    assert response.status_code == 404


def test_old_events_are_deleted(database: Database, settings: Settings, ana: Person) -> None:
    with time_machine.travel(clock.now() - 400 * DAY):
        ana.add("channel", name="Old")
    ana.add("channel", name="New")
    ingester = Ingester(settings, database)
    ingester.delete_expired()
    labels = database.read(lambda tx: set(tx.execute(select(audit.c.label)).scalars()))
    assert "New" in labels
    assert "Old" not in labels


def test_events_of_a_deleted_account_are_deleted(database: Database, ana: Person, ben: Person) -> None:
    new_link(ben, "of-ben")
    delete_account(database, ben.account)
    count = select(func.count()).select_from(audit).where(audit.c.account == ben.account)
    assert database.read(lambda tx: tx.execute(count).scalar_one()) == 0
    last = select(audit.c.name, audit.c.label).where(audit.c.account.is_(None)).order_by(audit.c.id.desc()).limit(1)
    assert tuple(database.read(lambda tx: tx.execute(last).one())) == ("account.deleted", "ben")
