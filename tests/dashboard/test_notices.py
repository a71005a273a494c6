"""Notices by e-mail: what causes them, one e-mail of a kind a day, and one-click unsubscription for each kind."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
import time_machine
from sqlalchemy import Connection, event, func, insert, select, update
from structlog.testing import capture_logs

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.logins import service_with_mail
from tests.support.threads import join
from waypost.core.settings import Settings
from waypost.db import audit_log, audit_sequence, last_backup
from waypost.db.database import Database
from waypost.db.schema import accounts, click_times, emails, installation, links, notice_items
from waypost.email_reports import notices, scheduler, surges
from waypost.email_reports.notices import KINDS, Item, Kind
from waypost.http import mail
from waypost.items.links import limit_events

pytestmark = ON_BOTH_DATABASES
_DAY, _HOUR = 86_400, 3600
_NOW = 1_796_025_600 + 12 * _HOUR


@pytest.fixture
def client(ana: Person, settings: Settings, database: Database) -> Iterator[AsgiClient]:
    with service_with_mail(settings, database) as (client, _):
        yield client


@pytest.fixture
def time() -> Iterator[Any]:
    with time_machine.travel(_NOW, tick=False) as time:
        yield time


def _mail_settings(settings: Settings) -> Settings:
    return Settings.model_validate({**settings.model_dump(), "smtp_url": "smtp://127.0.0.1:1"})


def _send(person: Person, settings: Settings) -> None:
    """Send the notices that are due, after the events of the audit log have become some."""
    audit_sequence.Sequencer(person.database, [notices.follow]).step()
    scheduler.send_notices(_mail_settings(settings), person.database, threading.Event())


def _stored(person: Person) -> list[dict[str, Any]]:
    rows = person.database.read(lambda tx: tx.execute(select(emails).order_by(emails.c.id)).mappings().all())
    return [dict(row) for row in rows]


def _record(person: Person, event: str, item: int, label: str = "", **after: Any) -> None:
    person.database.write(lambda tx: audit_log.record(tx, person.account, event, item, label=label, after=after))


def _set(person: Person, table: Any, **values: Any) -> None:
    person.database.write(lambda tx: tx.execute(update(table).values(**values)))


def _link(person: Person, **fields: Any) -> int:
    return person.add("url", url="https://shop.example/sale", **fields)


def test_dead_links_are_collected_in_one_email_a_day(ana: Person, settings: Settings, time: Any) -> None:
    first, second, alive, deleted = (
        _link(ana, custom=name) for name in ("number-one", "number-two", "number-three", "number-four")
    )
    for link in (first, second, alive, deleted):
        _record(ana, "link.dead", link, url="https://shop.example/sale")
    _record(ana, "link.alive", alive, url="https://shop.example/sale")
    ana.remove("url", deleted)
    _send(ana, settings)
    assert _stored(ana) == []
    time.shift(_HOUR)
    for _ in range(2):
        _send(ana, settings)
    (email,) = _stored(ana)
    assert re.findall(r"^- (\S+): (\S+)$", email["text"], re.MULTILINE) == [
        ("go.localhost:8000/number-one", "https://shop.example/sale"),
        ("go.localhost:8000/number-two", "https://shop.example/sale"),
    ]
    assert (email["recipient"], email["account"]) == ("ana@example.com", ana.account)
    _record(ana, "link.dead", alive, url="https://shop.example/sale")
    time.shift(2 * _HOUR)
    _send(ana, settings)
    assert len(_stored(ana)) == 1
    time.shift(_DAY)
    _send(ana, settings)
    assert "go.localhost:8000/number-three" in _stored(ana)[1]["text"]


def test_80_percent_of_a_click_limit_is_one_event_and_one_notice(ana: Person, settings: Settings) -> None:
    link = _link(ana, custom="sale", clicklimit=5)
    _set(ana, links, taken=3)
    # The service of `ana` has an ingester, with which another one would compete for the lines of a journal.
    visit: Any = SimpleNamespace(account=ana.account, item=link, kind="link", taken=True, second=_NOW)
    for taken in (4, 5, 5):
        _set(ana, links, taken=taken, clicks=taken)
        ana.database.write(lambda tx: limit_events.record_reached(tx, [visit], [False]))
        _send(ana, settings)
    (email,) = _stored(ana)
    assert "- go.localhost:8000/sale: 4 of 5 clicks" in email["text"]
    names = [event["event"] for event in ana.get("/audit")["data"]["events"] if event["event"].startswith("link.limit")]
    assert sorted(names) == ["link.limit_near", "link.limit_reached"]


def _count(person: Person, kind: str, item: int, at: int, clicks: int) -> None:
    row = {"kind": kind, "item": item, "at": at, "account": person.account, "clicks": clicks}
    person.database.write(lambda tx: tx.execute(insert(click_times).values(row)))


def test_hour_with_five_times_the_usual_clicks_is_one_notice_a_day(ana: Person, settings: Settings, time: Any) -> None:
    link, new, small = (_link(ana, custom=name) for name in ("an-old", "a-new", "a-small"))
    hour = _NOW - _HOUR
    _set(ana, accounts, registered=hour - 60 * _DAY)
    _set(ana, links, created=hour - 14 * _DAY, clicks=500)
    ana.database.write(lambda tx: tx.execute(update(links).where(links.c.id == new).values(created=hour - 2 * _DAY)))
    for day in range(1, 15):
        _count(ana, "link", link, hour - day * _DAY, 40)
        _count(ana, "account", ana.account, hour - day * _DAY, 80)  # 40 a day over four weeks
    for item, clicks in ((link, 201), (new, 900), (small, 99)):
        _count(ana, "link", item, hour + 900, clicks)
    _count(ana, "account", ana.account, hour + 900, 200)
    assert ana.database.read(lambda tx: surges.find(tx, hour)) == {
        ana.account: [Item(link, {"clicks": 201, "usual": 40, "hour": hour})]
    }
    _send(ana, settings)
    assert _stored(ana) == []  # the hour is examined when its clicks are counted
    time.shift(600)
    for _ in range(2):
        _send(ana, settings)
    (email,) = _stored(ana)
    assert "go.localhost:8000/an-old: 201 clicks in the hour from" in email["text"]
    _count(ana, "link", link, hour + _HOUR, 400)
    _count(ana, "account", ana.account, hour + _HOUR, 400)
    time.shift(_HOUR)
    _send(ana, settings)
    assert len(_stored(ana)) == 1


def test_only_the_clicks_of_the_hour_are_read(ana: Person, time: Any) -> None:
    link, hour = _link(ana), _NOW - _HOUR
    _set(ana, accounts, registered=hour - 60 * _DAY)
    _set(ana, links, created=hour - 60 * _DAY, clicks=500)
    for kind, item in (("link", link), ("account", ana.account)):
        _count(ana, kind, item, hour, 500)

    def work(tx: Connection) -> list[str]:
        statements: list[Any] = []
        is_sqlite = tx.dialect.name == "sqlite"
        if not is_sqlite:
            tx.exec_driver_sql("SET LOCAL enable_seqscan = off")
        event.listen(tx, "before_cursor_execute", lambda *arguments: statements.append(arguments[2:4]))
        assert len(surges.find(tx, hour)[ana.account]) == 2
        explain = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
        return [str(tx.exec_driver_sql(f"{explain} {sql}", values).all()) for sql, values in tuple(statements)]

    plans = [plan for plan in ana.database.read(work) if "click_times" in plan]
    assert len(plans) == 4
    for plan in plans:
        assert re.search(r"PRIMARY KEY \(kind=\? AND item=\? AND at|Index Cond: .*kind.*\(item = .*\(at ", plan), plan


def test_busy_accounts_share_statements(ana: Person, ben: Person, time: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hour, expected = _NOW - _HOUR, {}
    _set(ana, accounts, registered=hour - 60 * _DAY)
    for person in (ana, ben):
        own = [_link(person, custom=f"{person.account}-{name}") for name in ("a", "b")]
        expected[person.account] = [
            Item(item, {"clicks": 500, "usual": 25, "hour": hour}) for item in (None, *sorted(own))
        ]
        for kind, item in (("account", person.account), *(("link", link) for link in own)):
            _count(person, kind, item, hour + 900, 500)
            for part in (0, 900, 2700):
                _count(person, kind, item, hour - 28 * _DAY + part, 100)
            for at in (hour - 29 * _DAY, hour - 28 * _DAY - 900, hour - 28 * _DAY + _HOUR):
                _count(person, kind, item, at, 900)
            _count(person, kind, item, hour - _DAY, 400)
        for link in own:  # clicks under an earlier account, which is busy too
            _count(ana if person is ben else ben, "link", link, hour, 5000)
    _set(ana, links, created=hour - 60 * _DAY, clicks=500)

    def work(tx: Connection) -> tuple[Any, int]:
        statements: list[Any] = []
        event.listen(tx, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
        return surges.find(tx, hour), len(statements)

    shared, count = ana.database.read(work)
    assert shared == expected
    monkeypatch.setattr(surges, "_BATCH", 1)
    assert ana.database.read(work) == (expected, 2 * count - 2)  # but two that look for busy accounts


def test_domain_and_failed_backup_are_notices_the_backup_for_administrators(
    ana: Person, settings: Settings, ben: Person, time: Any
) -> None:
    _record(ana, "domain.failed", 4, "go.brand.example", problem="expiring")
    ana.database.write(lambda tx: last_backup.record_failure(tx, "/mnt/a.tar.gz cannot be written."))
    for _ in range(2):
        _send(ana, settings)
    texts = [(email["recipient"], email["text"]) for email in _stored(ana)]
    assert [to for to, _ in texts] == ["ana@example.com"] * 2
    assert any("The certificate of go.brand.example expires within 7 days." in text for _, text in texts)
    assert any("/mnt/a.tar.gz cannot be written." in text for _, text in texts)
    time.shift(2 * _DAY)
    _send(ana, settings)
    assert len(_stored(ana)) == 2


def test_two_nodes_send_a_notice_once(ana: Person, settings: Settings) -> None:
    _record(ana, "domain.failed", 4, "go.brand.example", problem="elsewhere")
    audit_sequence.Sequencer(ana.database, [notices.follow]).step()
    send = (_mail_settings(settings), ana.database, threading.Event())
    threads = [threading.Thread(target=scheduler.send_notices, args=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    join(*threads)
    assert len(_stored(ana)) == 1


def test_notice_that_was_not_stored_is_sent_again(
    ana: Person, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    _record(ana, "domain.failed", 4, "go.brand.example", problem="elsewhere")
    with monkeypatch.context() as patch, capture_logs() as logs:
        patch.setattr(mail, "enqueue", _fail)
        _send(ana, settings)
    assert [(entry["event"], entry["notice"]) for entry in logs] == [("report or notice could not be sent", "domain")]
    assert _stored(ana) == []
    _send(ana, settings)
    assert len(_stored(ana)) == 1


def _fail(*_args: Any, **_options: Any) -> None:
    raise RuntimeError


def test_notice_that_fails_does_not_stop_others(ana: Person, settings: Settings) -> None:
    _record(ana, "domain.failed", 4, "go.brand.example", problem="of a later version")
    ana.database.write(lambda tx: last_backup.record_failure(tx, "/mnt/a.tar.gz cannot be written."))
    _send(ana, settings)
    (email,) = _stored(ana)
    assert "/mnt/a.tar.gz cannot be written." in email["text"]


def test_notices_continue_after_the_clock_was_ahead(ana: Person, settings: Settings, time: Any) -> None:
    def fail() -> None:
        _record(ana, "domain.failed", 4, "go.brand.example", problem="elsewhere")
        ana.database.write(lambda tx: last_backup.record_failure(tx, "/mnt/a.tar.gz cannot be written."))
        for _ in range(2):
            _send(ana, settings)

    time.shift(365 * _DAY)
    fail()
    assert len(_stored(ana)) == 2
    time.shift(-365 * _DAY)
    fail()
    assert len(_stored(ana)) == 4
    stored = select(installation.c.value).where(installation.c.name == "surges")
    assert int(ana.database.read(lambda tx: tx.execute(stored).scalar_one())) < _NOW


def test_suspended_account_gets_nothing_and_old_items_are_deleted(ana: Person, settings: Settings, time: Any) -> None:
    _record(ana, "domain.failed", 4, "go.brand.example", problem="elsewhere")
    _set(ana, accounts, suspended=True)
    _send(ana, settings)
    assert _stored(ana) == []
    time.shift(7 * _DAY)
    scheduler.delete_old(ana.database)
    count = select(func.count()).select_from(notice_items)
    assert ana.database.read(lambda tx: tx.execute(count).scalar_one()) == 0


def test_chosen_notices_are_sent_and_one_click_ends_a_kind(
    ana: Person, settings: Settings, client: AsgiClient, time: Any
) -> None:
    browser = Browser(client)
    browser.sign_in("ana")
    page = browser.client.get("/dashboard/reports").text
    assert [f'value="{kind}"' in page for kind in KINDS] == [True] * len(KINDS)
    assert browser.submit("/reports/notices", at="/reports", notices=["domain", "limit"]).status_code == 303
    assert ana.database.read(lambda tx: notices.enabled(tx, ana.account, owner=True)) == ["limit", "domain"]
    _record(ana, "link.dead", _link(ana), url="https://shop.example/sale")
    _record(ana, "domain.failed", 4, "go.brand.example", problem="elsewhere")
    time.shift(_HOUR)
    _send(ana, settings)
    (email,) = _stored(ana)
    url = urlsplit(email["unsubscribe"])
    assert url.path == "/dashboard/reports/notices/unsubscribe"
    target = f"{url.path}?{url.query}"
    stranger = Browser(client).client
    assert "Problems of domains and certificates" in stranger.get(target).text
    assert ana.database.read(lambda tx: notices.enabled(tx, ana.account, owner=True)) == ["limit", "domain"]
    assert stranger.post(target, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    assert ana.database.read(lambda tx: notices.enabled(tx, ana.account, owner=True)) == ["limit"]
    assert stranger.post(target[:-3] + "xxx").status_code == 400
    _set(ana, accounts, email="new@example.com", email_key="new@example.com")
    assert stranger.post(target).status_code == 400


def test_other_accounts_are_not_offered_backups(ana: Person, ben: Person, client: AsgiClient) -> None:
    browser = Browser(client)
    browser.sign_in("ben")
    assert 'value="backup"' not in browser.client.get("/dashboard/reports").text


@pytest.mark.parametrize(
    ("selected", "language", "text"),
    [
        ([], "de", "go.localhost:8000/sale: https://shop.example.com/sale"),
        (["surge", "limit"], "de", "go.localhost:8000/sale: 4.000 von 5.000 Klicks"),
        (["surge"], "ar", "1,200"),
        (["domain"], "ar", "شهادة"),
        (["backup"], "en", "No space left on device"),
    ],
)
def test_test_notice_is_an_example_of_the_first_selected_one_in_the_language_of_the_account(
    ana: Person, client: AsgiClient, selected: list[str], language: str, text: str
) -> None:
    _set(ana, accounts, language=language)
    browser = Browser(client)
    browser.sign_in("ana")
    assert browser.submit("/reports/notices/test", at="/reports", notices=selected).status_code == 303
    (email,) = _stored(ana)
    assert text in email["text"]
    assert f'<html lang="{language}"' in email["html"]
    assert email["unsubscribe"] == ""


def test_kind_that_is_turned_on_again_is_sent_at_once(ana: Person, settings: Settings, time: Any) -> None:
    def choose(*kinds: str) -> None:
        ana.database.write(lambda tx: notices.choose(tx, ana.account, kinds, owner=True))

    choose("dead", "surge")
    _record(ana, "domain.failed", 1, "old.example", problem="certificate")
    _send(ana, settings)
    assert (_stored(ana), ana.database.read(notices.find_due)) == ([], [])
    choose("domain")
    _record(ana, "domain.failed", 2, "new.example", problem="certificate")
    _send(ana, settings)
    (email,) = _stored(ana)
    assert "new.example" in email["text"]
    assert "old.example" not in email["text"]


def test_notice_reads_a_bounded_number_of_items(
    ana: Person, settings: Settings, time: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "MAX_ITEMS", 2)
    items = [Item(number, {"problem": "certificate", "label": f"{number}.example"}) for number in range(3)]
    ana.database.write(lambda tx: notices.add(tx, ana.account, "domain", items))
    _send(ana, settings)
    (email,) = _stored(ana)
    assert [name in email["text"] for name in ("0.example", "1.example", "2.example")] == [True, True, False]
    time.shift(_DAY)
    _send(ana, settings)
    assert "2.example" in _stored(ana)[1]["text"]
    assert ana.database.read(notices.find_due) == []


def test_failed_backup_is_written_once(ana: Person, settings: Settings) -> None:
    ana.database.write(lambda tx: last_backup.record_failure(tx, "No space left on device"))
    _send(ana, settings)
    writes: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduler, "_add_failed_backup", lambda *_args, **_options: writes.append(1))
        _send(ana, settings)
    assert writes == []


def test_old_items_are_searched_by_their_index(ana: Person) -> None:
    statements: list[Any] = []

    def work(tx: Connection) -> str:
        is_sqlite = tx.dialect.name == "sqlite"
        if not is_sqlite:
            tx.exec_driver_sql("SET LOCAL enable_seqscan = off")
        event.listen(tx, "before_cursor_execute", lambda *arguments: statements.append(arguments[2:4]))
        notices.has_old(tx)
        ((sql, values),) = tuple(statements)
        return str(tx.exec_driver_sql(f"{'EXPLAIN QUERY PLAN' if is_sqlite else 'EXPLAIN'} {sql}", values).all())

    assert "notice_items_created" in ana.database.write(work)


def _effort(tx: Connection, query: Callable[[Connection], object]) -> int:
    """Return the rows of notices that PostgreSQL reads for a query, or the instructions of SQLite."""
    if tx.dialect.name == "sqlite":
        driver: Any = tx.connection.driver_connection
        instructions: list[None] = []
        driver.set_progress_handler(lambda: instructions.append(None), 1)
        query(tx)
        driver.set_progress_handler(None, 0)
        return len(instructions)
    rows = "seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'notice_items'::regclass"
    tx.exec_driver_sql("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
    before = tx.exec_driver_sql(f"SELECT {rows}").scalar_one()
    query(tx)
    return int(tx.exec_driver_sql(f"SELECT {rows}").scalar_one() - before)


@pytest.mark.parametrize("query", [notices.find_due, notices.has_old])
def test_effort_does_not_depend_on_the_number_of_waiting_items(ana: Person, time: Any, query: Any) -> None:
    def add(count: int) -> int:
        for kind in ("limit", "dead"):
            items = [Item(number, {}) for number in range(count)]
            ana.database.write(partial(notices.add, account=ana.account, kind=kind, items=items))
        return ana.database.read(partial(_effort, query=query))

    ana.database.write(lambda tx: notices.add(tx, ana.account, "surge", [Item(1, {})]))
    ana.database.write(lambda tx: notices.take(tx, ana.account, "limit"))
    add(1)
    time.shift(_HOUR)
    few = add(1)
    assert 0 < add(1000) < 2 * few


def test_many_waiting_items_are_found_by_account_and_kind(ana: Person, ben: Person, time: Any) -> None:
    added: dict[Person, Sequence[Kind]] = {ana: ("surge", "limit", "dead"), ben: ("dead", "domain")}
    for person, kinds in added.items():
        for kind in kinds:
            items = [Item(number, {}) for number in range(3)]
            person.database.write(partial(notices.add, account=person.account, kind=kind, items=items))

    def due() -> set[tuple[int, str]]:
        return set(ana.database.read(notices.find_due))

    assert due() == {(ana.account, "surge"), (ana.account, "limit"), (ben.account, "domain")}
    ana.database.write(lambda tx: notices.take(tx, ana.account, "limit"))
    ana.database.write(partial(notices.add, account=ana.account, kind="limit", items=[Item(7, {})]))
    assert due() == {(ana.account, "surge"), (ben.account, "domain")}
    time.shift(_HOUR)
    assert due() == {(ana.account, "surge"), (ben.account, "domain"), (ana.account, "dead"), (ben.account, "dead")}
    time.shift(2 * _HOUR)
    assert ana.database.read(notices.has_old)
    ana.database.write(notices.delete_old)
    assert due() == {(ben.account, "domain"), (ana.account, "dead"), (ben.account, "dead")}
