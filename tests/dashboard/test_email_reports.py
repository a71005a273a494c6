"""Reports by e-mail: double opt-in, one-click unsubscription, time zones, and sent once by all nodes."""

import re
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, date, datetime
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
import time_machine
from sqlalchemy import Connection, insert, select
from structlog.testing import capture_logs

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.logins import service_with_mail
from tests.support.threads import join
from waypost.admin import account_deletion
from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import audit, click_labels, click_times, email_reports, emails
from waypost.email_reports import content, ops, scheduler
from waypost.email_reports.ops import EmailReport, Every
from waypost.http.smtp import Email
from waypost.items.accounts import ops as accounts

_WEEK = 7 * 86_400
_MONDAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
_SETTINGS = {"smtp_url": "smtp://127.0.0.1:1"}


@pytest.fixture
def client(ana: Person, settings: Settings, database: Database) -> Iterator[AsgiClient]:
    with service_with_mail(settings, database) as (client, _):
        yield client


@pytest.fixture
def browser(client: AsgiClient) -> Browser:
    browser = Browser(client)
    assert browser.sign_in("ana").status_code == 303
    return browser


def _mail_settings(settings: Settings) -> Settings:
    return Settings.model_validate({**settings.model_dump(), **_SETTINGS})


def _step(settings: Settings, database: Database) -> int:
    return scheduler.step(_mail_settings(settings), database, threading.Event())


def _create(browser: Browser, **fields: str) -> str:
    values = {"email": "zoe@example.com", "every": "week", "language": "en", "timezone": "Europe/Berlin"}
    response = browser.submit("/reports/new", at="/reports/new", **values | fields)
    return str(response.status_code)


def _reports(person: Person) -> list[EmailReport]:
    return list(person.database.read(lambda tx: ops.all_of(tx, person.account)))


def _stored(database: Database) -> list[dict[str, str]]:
    rows = database.read(lambda tx: tx.execute(select(emails).order_by(emails.c.id)).mappings().all())
    return [dict(row) for row in rows]


def _link(text: str, action: str) -> str:
    match = re.search(rf"https?://\S+/dashboard/reports/{action}\?pass=\S+", text)
    assert match is not None
    parts = urlsplit(match[0])
    return f"{parts.path}?{parts.query}"


def _add(person: Person, *, every: Every = "week", language: str = "en") -> EmailReport:
    def work(tx: Connection) -> EmailReport:
        email, zone = "ana@example.com", "Europe/Berlin"
        return ops.add(tx, person.account, email=email, every=every, language=language, timezone=zone)

    return person.database.write(work)


@pytest.mark.parametrize(
    ("every", "zone", "now", "due"),
    [
        ("week", "Europe/Berlin", "2026-03-28T12:00", "2026-03-30T05:00"),  # the clock changes on Sunday
        ("week", "Europe/Berlin", "2026-10-24T12:00", "2026-10-26T06:00"),
        ("week", "Europe/Berlin", "2026-11-23T05:59", "2026-11-23T06:00"),
        ("week", "Europe/Berlin", "2026-11-23T06:00", "2026-11-30T06:00"),
        ("week", "Pacific/Kiritimati", "2026-11-22T16:00", "2026-11-22T17:00"),  # Monday morning there
        ("week", "America/New_York", "2026-11-23T11:30", "2026-11-23T12:00"),
        ("month", "America/New_York", "2026-10-15T00:00", "2026-11-01T12:00"),  # on the day of the change
        ("month", "Asia/Kathmandu", "2026-12-15T00:00", "2027-01-01T01:15"),
        ("month", "UTC", "2028-01-31T07:00", "2028-02-01T07:00"),
    ],
)
def test_next_report_is_due_in_the_morning_of_the_time_zone(every: Every, zone: str, now: str, due: str) -> None:
    second = int(datetime.fromisoformat(f"{now}+00:00").timestamp())
    result = ops.next_due(every, ZoneInfo(zone), second)
    assert datetime.fromtimestamp(result, UTC).isoformat()[:16] == due


@pytest.mark.parametrize(
    ("every", "day", "first", "last"),
    [
        ("week", "2026-11-30", "2026-11-23", "2026-11-29"),
        ("week", "2026-12-02", "2026-11-23", "2026-11-29"),
        ("week", "2027-01-03", "2026-12-21", "2026-12-27"),
        ("month", "2026-12-01", "2026-11-01", "2026-11-30"),
        ("month", "2028-03-31", "2028-02-01", "2028-02-29"),
    ],
)
def test_report_covers_the_last_whole_week_or_month(every: Every, day: str, first: str, last: str) -> None:
    days = ops.days_before(every, date.fromisoformat(day))
    assert [each.isoformat() for each in days] == [first, last]


@ON_BOTH_DATABASES
def test_report_is_stored_once_by_two_nodes(
    ana: Person, settings: Settings, database: Database, database_url: str
) -> None:
    with time_machine.travel(_MONDAY, tick=False) as now, closing(Database(database_url)) as other:
        report = _add(ana)
        assert _step(settings, database) == 0
        now.shift(report.due - clock.now())
        nodes = (database, other)
        threads = [threading.Thread(target=_step, args=(settings, node)) for node in nodes]
        for thread in threads:
            thread.start()
        for thread in threads:
            join(thread)
        (email,) = _stored(database)
        assert email["subject"] == "Weekly report: ana, 23 Nov 2026 to 29 Nov 2026"
        assert _reports(ana)[0].due == report.due + _WEEK
        now.shift(3 * _WEEK)  # the service was down
        assert _step(settings, database) == 1
    assert "14 Dec 2026 to 20 Dec 2026" in _stored(database)[1]["subject"]


@ON_BOTH_DATABASES
def test_report_has_totals_the_change_and_the_most_frequent_countries(
    ana: Person, settings: Settings, database: Database
) -> None:
    def visits(day: int, clicks: int) -> None:
        at = int(datetime(2026, 11, day, 12, tzinfo=UTC).timestamp())
        own = {"account": ana.account, "kind": "account", "item": ana.account}
        counts = {"clicks": clicks, "uniques": 1, "bots": 0, "previews": 0, "others": 0, "late": 0}
        labels = {**own, "day": at // 86_400, "dimension": "country", "label": "Germany", "n": clicks}
        database.write(lambda tx: tx.execute(insert(click_times).values({**own, "at": at, **counts})))
        database.write(lambda tx: tx.execute(insert(click_labels).values(labels)))

    visits(10, 4)
    visits(18, 5)
    with time_machine.travel(_MONDAY, tick=False):
        report = _add(ana, language="de")
        email = database.read(lambda tx: content.report_email(tx, _mail_settings(settings), report))
    assert email is not None
    assert "Klicks: 5 (+25\u00a0%)" in email.text
    assert "Deutschland" in email.text
    for text in ("Deutschland", "+25\u00a0%, zuvor: 4", "16. Nov. 2026 bis 22. Nov. 2026", "height: 96px"):
        assert text in email.html


@ON_BOTH_DATABASES
@pytest.mark.parametrize("error", [Problem(Kind.UNAVAILABLE, "away"), KeyError("countries")])
def test_report_that_fails_does_not_stop_the_others_and_is_tried_again(
    ana: Person, settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    report_email = content.report_email

    def fail_for_first(tx: Connection, settings: Settings, report: EmailReport) -> Email | None:
        if report.id == first.id:
            raise error
        return report_email(tx, settings, report)

    with time_machine.travel(_MONDAY, tick=False) as now, capture_logs() as logs:
        first, second = _add(ana), _add(ana, every="month")
        database.write(lambda tx: tx.execute(email_reports.update().values(due=clock.now())))
        monkeypatch.setattr(content, "report_email", fail_for_first)
        assert _step(settings, database) == 2
        assert [email["subject"][:7] for email in _stored(database)] == ["Monthly"]
        assert [(entry["event"], entry["report"]) for entry in logs] == [
            ("report or notice could not be sent", first.id)
        ]
        assert {report.id: report.due for report in _reports(ana)} == {
            first.id: clock.now() + ops.LEASE_SECONDS,
            second.id: second.due,
        }
        assert _step(settings, database) == 0
        monkeypatch.undo()
        now.shift(ops.LEASE_SECONDS)
        assert _step(settings, database) == 1
    assert [email["subject"][:7] for email in _stored(database)] == ["Monthly", "Weekly "]


def test_report_that_another_node_has_claimed_is_not_sent(ana: Person, settings: Settings, database: Database) -> None:
    with time_machine.travel(_MONDAY, tick=False) as now:
        report = _add(ana)
        now.shift(report.due - clock.now())
        assert database.write(lambda tx: ops.claim(tx, report)) is not None
        assert database.write(lambda tx: ops.claim(tx, report)) is None
        assert (_step(settings, database), _stored(database)) == (0, [])
        now.shift(ops.LEASE_SECONDS)  # that node was killed
        assert (_step(settings, database), len(_stored(database))) == (1, 1)


def test_step_ends_when_the_service_stops(ana: Person, settings: Settings, database: Database) -> None:
    stop = threading.Event()
    stop.set()
    with time_machine.travel(_MONDAY, tick=False) as now:
        report = _add(ana)
        now.shift(report.due - clock.now())
        scheduler.step(_mail_settings(settings), database, stop)
    assert (_reports(ana), _stored(database)) == ([report], [])


@ON_BOTH_DATABASES
def test_unsubscribed_reports_do_not_count_to_the_limit(browser: Browser, ana: Person, database: Database) -> None:
    report = _add(ana)
    values = {name: value for name, value in asdict(report).items() if name != "id"}
    rows = [{**values, "email_key": f"{number}@example.com"} for number in range(ops.MAX_REPORTS - 1)]
    database.write(lambda tx: tx.execute(insert(email_reports), rows))
    assert _create(browser) == "400"
    ended = email_reports.update().where(email_reports.c.id == report.id).values(unsubscribed=1)
    database.write(lambda tx: tx.execute(ended))
    assert _create(browser) == "303"
    assert _create(browser, email="yan@example.com") == "400"


def test_stranger_gets_reports_after_the_confirmation_only(
    ana: Person, browser: Browser, client: AsgiClient, settings: Settings, database: Database
) -> None:
    assert _create(browser) == "303"
    (email,) = _stored(database)
    assert email["recipient"] == "zoe@example.com"
    with time_machine.travel(clock.now() + 2 * 86_400, tick=False):
        database.write(lambda tx: tx.execute(email_reports.update().values(due=0)))
        assert _step(settings, database) == 0
        zoe = Browser(client.another())
        path = _link(email["text"], "confirm")
        page = zoe.client.get(path)
        assert (page.status_code, _reports(ana)[0].confirmed) == (200, None)
        token = path.partition("pass=")[2]
        answer = zoe.submit("/reports/confirm", at=path.removeprefix("/dashboard"), **{"pass": token})
        assert answer.status_code == 200
        (report,) = _reports(ana)
        assert report.confirmed == clock.now()
        assert report.due > clock.now()


@ON_BOTH_DATABASES
def test_mail_program_unsubscribes_with_one_request_and_the_address_gets_no_other_report(
    ana: Person, browser: Browser, client: AsgiClient, database: Database
) -> None:
    _create(browser)
    (email,) = _stored(database)
    path = _link(email["unsubscribe"], "unsubscribe")
    program = client.another()
    assert program.get(path).status_code == 200
    assert _reports(ana)[0].unsubscribed is None
    for _ in range(2):
        assert program.post(path, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    (report,) = _reports(ana)
    assert report.unsubscribed is not None
    assert _create(browser, every="month") == "400"
    assert _create(browser, email="ZOE@example.com") == "400"
    assert browser.submit(f"/reports/{report.id}/delete", at="/account").status_code == 400
    assert program.get(_link(email["text"], "confirm")).status_code == 200
    assert len(_reports(ana)) == 1
    query = select(audit).where(audit.c.name.startswith("email_report."))
    events = database.read(lambda tx: tx.execute(query).mappings().all())
    assert [event["label"] for event in events] == ["z…@example.com"] * 2
    assert "zoe@example.com" not in str(events)


@pytest.mark.parametrize("token", ["", "x", "a.b", "WzEsICIxIl0.x", "\u202e"])
def test_wrong_token_changes_nothing(client: AsgiClient, browser: Browser, ana: Person, token: str) -> None:
    _create(browser)
    for action in ("confirm", "unsubscribe"):
        assert client.another().get(f"/dashboard/reports/{action}", params={"pass": token}).status_code == 400
    assert client.another().post("/dashboard/reports/unsubscribe", params={"pass": token}).status_code == 400
    assert (_reports(ana)[0].confirmed, _reports(ana)[0].unsubscribed) == (None, None)


@pytest.mark.parametrize(
    "address",
    ["", "zoe", "zoe@", "zoe@example.com\r\nBcc: eve@example.com", "a" * 300 + "@example.com", "zoe@ex ample.com"],
)
def test_hostile_address_is_refused(browser: Browser, ana: Person, database: Database, address: str) -> None:
    assert _create(browser, email=address) == "400"
    assert (_reports(ana), _stored(database)) == ([], [])


def test_address_with_an_international_domain_is_accepted(browser: Browser, database: Database) -> None:
    assert _create(browser, email="zoe@bücher.example") == "303"
    assert _stored(database)[0]["recipient"] == "zoe@bücher.example"


def test_confirmations_are_limited_by_address(browser: Browser, ana: Person, database: Database) -> None:
    statuses = []
    for _ in range(4):
        statuses.append(_create(browser))
        for report in _reports(ana):
            browser.submit(f"/reports/{report.id}/delete", at="/reports")
    assert statuses == ["303", "303", "303", "429"]
    assert len(_stored(database)) == 3


def test_own_address_needs_no_confirmation_and_the_test_goes_to_the_user(
    browser: Browser, ana: Person, database: Database
) -> None:
    assert _create(browser, email="ana@example.com") == "303"
    (report,) = _reports(ana)
    assert report.confirmed is not None
    assert browser.submit(f"/reports/{report.id}/test", at="/reports").status_code == 303
    (email,) = _stored(database)
    assert (email["recipient"], email["unsubscribe"]) == ("ana@example.com", "")
    assert "unsubscribe?pass=" not in email["text"] + email["html"]
    assert "Weekly report" in email["subject"]


def test_deletion_of_a_report_is_confirmed(browser: Browser, ana: Person) -> None:
    _create(browser)
    (report,) = _reports(ana)
    path = f"/reports/{report.id}/delete"
    assert re.search(rf'href="/dashboard{path}"\s+data-dialog', browser.get("/reports").text)
    page = browser.get(path).text
    assert "Delete this report?" in page
    assert report.email in page
    assert browser.submit(path, at=path).status_code == 303
    assert _reports(ana) == []


def test_other_account_cannot_use_a_report(browser: Browser, ana: Person, ben: Person, client: AsgiClient) -> None:
    _create(browser)
    (report,) = _reports(ana)
    other = Browser(client.another())
    other.sign_in("ben")
    for action in ("test", "delete"):
        assert other.submit(f"/reports/{report.id}/{action}", at="/account").status_code == 404
    assert other.get(f"/reports/{report.id}/delete").status_code == 404
    assert len(_reports(ana)) == 1


def test_report_about_an_item_of_another_account_is_not_found(browser: Browser, ben: Person, ana: Person) -> None:
    link = ben.add("url", url="https://example.com/")
    assert _create(browser, about=f"link-{link}") == "404"
    assert _create(browser, about="link-999") == "404"
    assert _create(browser, about="file-1") == "404"
    assert _reports(ana) == []


@ON_BOTH_DATABASES
def test_deletion_of_an_account_removes_its_reports_and_waiting_e_mails(
    browser: Browser, ana: Person, ben: Person, database: Database
) -> None:
    _create(browser)
    _add(ben)
    values = {column.name: "" for column in emails.c if column.name != "id"}
    numbers = {"attempts": 0, "due": 0, "expires": 2**40, "created": 0}
    rows = [{**values, **numbers, "account": account} for account in (ben.account, None)]
    database.write(lambda tx: tx.execute(insert(emails), rows))
    database.write(lambda tx: accounts.set_admin(tx, ben.account, admin=True))
    account_deletion.delete_account(database, ana.account)

    def accounts_of(tx: Connection) -> list[list[int | None]]:
        queries = [select(table.c.account).order_by(table.c.id) for table in (emails, email_reports)]
        return [list(tx.execute(query).scalars()) for query in queries]

    assert database.read(accounts_of) == [[ben.account, None], [ben.account]]


def test_unconfirmed_report_is_deleted_after_a_week_also_without_smtp(
    browser: Browser, ana: Person, settings: Settings, database: Database
) -> None:
    class Once(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            self.set()
            return True

    _create(browser)
    assert not settings.smtp_url.get_secret_value()
    with time_machine.travel(clock.now() + ops.CONFIRM_SECONDS, tick=False):
        scheduler.run(settings, database, Once())
    assert _reports(ana) == []


def test_without_smtp_the_page_says_how_to_set_it_up(service: AsgiClient, ana: Person) -> None:
    browser = Browser(service)
    browser.sign_in("ana")
    page, form = browser.get("/reports").text, browser.get("/reports/new").text
    for text in (page, form):
        assert '<code dir="ltr">WAYPOST_SMTP_URL</code>' in text
        assert 'class="alert warn"' in text
        assert "New report" not in text
    assert "No reports yet" not in page, "no invitation to what cannot be done"
    assert "/dashboard/reports/new" not in browser.get("/statistics").text


def test_statistics_offer_the_report(browser: Browser) -> None:
    assert "/dashboard/reports/new" in browser.get("/statistics").text


@ON_BOTH_DATABASES
def test_report_with_a_time_of_a_clock_that_was_ahead_is_sent(
    ana: Person, settings: Settings, database: Database
) -> None:
    with time_machine.travel(clock.now() + 365 * 86_400):
        _add(ana)
    assert _step(settings, database) == 1
    assert _step(settings, database) == 0
