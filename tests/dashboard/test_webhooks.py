"""Pages of webhooks: the secret is shown once, and the log has each attempt."""

import re
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from tests.conftest import Person
from tests.support.dashboard_client import Browser, form_version
from tests.support.html import Page
from waypost.core import clock
from waypost.db import audit_sequence
from waypost.db.database import Database
from waypost.db.schema import webhook_endpoints, webhook_messages
from waypost.webhooks import catalog, deliveries, overlay_hooks, queue

URL = "https://hooks.example/waypost"


def _create(dashboard: Browser, **fields: Any) -> Any:
    values = {"url": URL, "title": "Shop", "scope": "", "events": ["*"], **fields}
    return dashboard.submit("/webhooks/new", at="/webhooks/new", **values)


def _attempt(database: Database, result: queue.Result) -> None:
    """End the attempts that are due with a result."""

    def work(tx: Connection) -> None:
        due = queue.find_due(tx, clock.now(), busy=[], per_endpoint=9).messages
        for claimed in queue.claim(tx, clock.now(), [each.id for each in due]):
            queue.record(tx, claimed, result, clock.now())

    database.write(work)


def test_secret_of_a_new_webhook_is_shown_once(dashboard: Browser, ana: Person, database: Database) -> None:
    page = _create(dashboard, events=["link.*", "file.*"], single=["link.created", "channel.created"])
    assert page.status_code == 200
    (secret,) = set(re.findall(r"whsec_[A-Za-z0-9+/=]+", page.text))
    stored = select(webhook_endpoints.c.secret, webhook_endpoints.c.events)
    assert tuple(database.read(lambda tx: tx.execute(stored).one())) == (
        secret,
        ["channel.created", "file.*", "link.*"],
    )
    assert "whsec_" not in dashboard.get("/webhooks/1").text
    assert URL.removeprefix("https://") in dashboard.get("/webhooks").text
    rotated = dashboard.submit("/webhooks/1/rotate", at="/webhooks/1/rotate")
    assert secret not in rotated.text
    assert "whsec_" in rotated.text


def test_form_shows_errors_and_keeps_the_input(dashboard: Browser) -> None:
    page = _create(dashboard, url="http://go.localhost:8000/x", title="Kept")
    assert page.status_code == 400
    assert 'value="Kept"' in page.text
    assert "itself" in page.text
    nothing = _create(dashboard, events=[])
    assert (nothing.status_code, "at least one event" in nothing.text) == (400, True)


def test_webhook_of_a_campaign_is_edited(dashboard: Browser, ana: Person) -> None:
    campaign = ana.add("campaign", name="Spring")
    _create(dashboard, scope=f"campaign-{campaign}")
    assert ana.details("webhook", 1)["campaign"] == campaign
    assert "Spring" in dashboard.get("/webhooks/1").text
    version = form_version(dashboard.get("/webhooks/1/edit"), "/webhooks/1/edit")
    changed = {"url": URL, "title": "News", "scope": "", "events": [""], "single": ["link.created"]}
    dashboard.submit("/webhooks/1/edit", at="/webhooks/1/edit", version=version, **changed)
    details = ana.details("webhook", 1)
    assert (details["campaign"], details["title"], details["events"]) == (None, "News", ["link.created"])
    foreign = _create(dashboard, scope="campaign-99")
    assert foreign.status_code == 400


def test_log_has_attempts_and_sends_messages_again(dashboard: Browser, ana: Person, database: Database) -> None:
    _create(dashboard)
    dashboard.submit("/webhooks/1/test", at="/webhooks/1")
    assert "Not sent yet" in dashboard.get("/webhooks/1").text
    _attempt(database, queue.Result(500, 1234, answer="<b>Out of order</b>"))
    page = dashboard.get("/webhooks/1?state=failed").text
    assert "Answer 500" in page
    assert "&lt;b&gt;Out of order" in page
    dashboard.submit("/webhooks/1/replay", at="/webhooks/1", delivery=1)
    _attempt(database, queue.Result(0, 15_000, error="it takes too long"))
    assert "it takes too long" in dashboard.get("/webhooks/1").text
    dashboard.submit("/language", at="/account", language="de")
    assert "die Antwort dauert zu lange" in dashboard.get("/webhooks/1").text
    assert [each["status"] for each in ana.get("/webhook/1/deliveries")["data"]["deliveries"][0]["attempts"]] == [
        500,
        0,
    ]


def test_messages_of_a_period_in_the_time_zone_of_the_form_are_sent_again(
    dashboard: Browser, ana: Person, database: Database
) -> None:
    _create(dashboard)
    times = [1_795_999_979, 1_795_999_980, 1_796_003_639, 1_796_003_640]  # from 2026-11-30 09:52:59 to 10:54 in Tokyo
    for _ in times:
        dashboard.submit("/webhooks/1/test", at="/webhooks/1")
    _attempt(database, queue.Result(200, 3))
    for number, created in enumerate(times, 1):
        is_message = webhook_messages.c.id == number
        statement = update(webhook_messages).where(is_message).values(created=created)
        database.write(partial(_execute, statement=statement))

    def send(since: str, until: str) -> tuple[int, str]:
        values = {"since": since, "until": until, "time_zone": "Asia/Tokyo"}
        page = dashboard.submit("/webhooks/1/period", at="/webhooks/1", **values)
        return page.status_code, page.text

    status, page = send("2026-11-30T09:54", "2026-11-30T10:52")
    assert (status, "There are no messages in this period." in page) == (400, True)
    assert 'value="2026-11-30T10:52"' in page
    for since in ("", "x"):
        assert send(since, "2026-11-30T10:53")[0] == 400
    assert _waiting(ana) == []
    assert send("2026-11-30T09:53", "2026-11-30T10:53")[0] == 303
    assert _waiting(ana) == [2, 3]


def _execute(tx: Connection, statement: Any) -> None:
    tx.execute(statement)


def _waiting(person: Person) -> list[int]:
    sent = person.get("/webhook/1/deliveries")["data"]["deliveries"]
    return sorted(each["id"] for each in sent if each["state"] == "waiting")


def test_too_many_messages_of_a_period_are_refused_next_to_its_form(
    dashboard: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "MAX_REPLAYED", 1)
    _create(dashboard)
    for _ in range(2):
        dashboard.submit("/webhooks/1/test", at="/webhooks/1")
    always = {"since": "2020-01-01T00:00", "until": "2100-01-01T00:00"}
    page = dashboard.submit("/webhooks/1/period", at="/webhooks/1", **always)
    assert (page.status_code, "Replay a shorter period." in page.text) == (400, True)
    dashboard.submit("/webhooks/1/enabled", at="/webhooks/1")
    assert "/webhooks/1/period" not in dashboard.get("/webhooks/1").text


def test_disabled_webhook_is_enabled_with_missed_messages(dashboard: Browser, ana: Person, database: Database) -> None:
    _create(dashboard)
    dashboard.submit("/webhooks/1/test", at="/webhooks/1")
    _attempt(database, queue.Result(500, 3))
    dashboard.submit("/webhooks/1/enabled", at="/webhooks/1")
    page = dashboard.get("/webhooks/1").text
    assert "Enable and send 1 message" in page
    dashboard.submit("/webhooks/1/enabled", at="/webhooks/1", enabled="on", missed="on")
    assert ana.details("webhook", 1)["state"] == "active"
    assert [each["state"] for each in ana.get("/webhook/1/deliveries")["data"]["deliveries"]] == ["waiting"]


def test_button_says_that_it_sends_only_the_oldest_of_many_messages(
    dashboard: Browser, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "MAX_REPLAYED", 1)
    _create(dashboard)
    for _ in range(2):
        dashboard.submit("/webhooks/1/test", at="/webhooks/1")
    assert 'data-hx-trigger="every 2s"' in dashboard.get("/webhooks/1").text
    _attempt(database, queue.Result(500, 3))
    assert 'data-hx-trigger="every 2s"' not in dashboard.get("/webhooks/1").text
    dashboard.submit("/webhooks/1/enabled", at="/webhooks/1")
    assert "Enable and send the oldest 1 of 2 messages" in dashboard.get("/webhooks/1").text


def test_list_shows_the_address_of_a_webhook_once(dashboard: Browser, ana: Person) -> None:
    ana.add("webhook", url="https://hooks.example/unnamed")
    ana.add("webhook", url="https://hooks.example/named", title="Stock")
    rows = Page(dashboard.get("/webhooks")).all("td", class_="title-cell first")
    assert [" ".join(row.text.split()) for row in rows] == [
        "Stock hooks.example/named Active",
        "hooks.example/unnamed Active",
    ]
    assert "Actions for Stock" in dashboard.get("/webhooks").text


def test_webhook_is_deleted_and_other_accounts_see_none(dashboard: Browser, ana: Person, ben: Person) -> None:
    other = ben.add("webhook", url=URL)
    assert dashboard.get(f"/webhooks/{other}").status_code == 404
    made = ana.add("webhook", url=URL)
    dashboard.submit(f"/webhooks/{made}/delete", at=f"/webhooks/{made}/delete")
    assert dashboard.get(f"/webhooks/{made}").status_code == 404
    assert [each["id"] for each in ben.get("/webhooks")["data"]["webhooks"]] == [other]


def test_webhook_of_an_overlay_is_edited_and_deleted_with_it(
    dashboard: Browser, ana: Person, database: Database
) -> None:
    overlay = ana.add("overlay", type="newsletter", name="News", message="Hello", webhook=URL)
    database.write(lambda tx: audit_sequence.assign(tx, [overlay_hooks.follow]))
    page = dashboard.get("/webhooks/1").text
    assert "Overlay: News" in page
    assert "/webhooks/1/delete" not in page
    assert "/webhooks/1/delete" not in dashboard.get("/webhooks").text
    assert dashboard.get("/webhooks/1/edit").headers["location"].endswith(f"/dashboard/overlays/{overlay}")
    assert dashboard.submit("/webhooks/1/delete", at="/webhooks/1/delete").status_code == 400
    ana.delete(f"/overlay/{overlay}/delete")
    database.write(lambda tx: audit_sequence.assign(tx, [overlay_hooks.follow]))
    assert dashboard.get("/webhooks/1").status_code == 404


def test_key_pair_shows_its_public_key_only(dashboard: Browser, ana: Person) -> None:
    made = _create(dashboard, signature="ed25519")
    key = ana.details("webhook", 1)["publickey"]
    assert key.startswith("whpk_")
    rotated = dashboard.submit("/webhooks/1/rotate", at="/webhooks/1/rotate")
    new = ana.details("webhook", 1)["publickey"]
    assert (key in made.text, new in rotated.text, new in dashboard.get("/webhooks/1").text) == (True, True, True)
    assert key not in rotated.text
    assert re.search("whs(k|ec)_", made.text + rotated.text) is None


def test_form_ignores_fields_that_its_format_does_not_show(dashboard: Browser, ana: Person) -> None:
    hidden = {"format": "slack", "signature": "ed25519", "site": "7", "credential": "sesame"}
    assert _create(dashboard, **hidden).status_code == 200
    details = ana.details("webhook", 1)
    assert (details["format"], details["signature"], details["site"]) == ("slack", "hmac", "")


def test_single_events_are_listed_by_thing_and_scans_with_other_events_of_qr_codes(dashboard: Browser) -> None:
    groups = re.findall(r"<legend>([^<]*)</legend>(.*?)</fieldset>", dashboard.get("/webhooks/new").text, re.DOTALL)
    listed = {thing.strip(): re.findall(r'name="single"\s+value="([^"]+)"', boxes) for thing, boxes in groups}
    assert {name.partition(".")[0] for name in listed["QR code"]} == {"qr", "code"}
    assert sorted(name for names in listed.values() for name in names) == sorted(catalog.NAMES)
