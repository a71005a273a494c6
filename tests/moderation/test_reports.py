"""Abuse reports by visitors."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.files import upload
from tests.support.server import at_once
from tests.support.visits import ACCEPT_HTML, ACCEPT_JSON, new_link, visit
from waypost.auth.attempt_limits import POLICIES, REPORTS_PER_HOUR, Limit
from waypost.db.database import Database
from waypost.items.moderation import reports

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(autouse=True)
def _raised_minute_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the limit per minute, which would hide the exact limit per hour."""
    monkeypatch.setitem(POLICIES, "report", (Limit("reports from {network}", 1000),))


def _report(service: AsgiClient, url: str = f"{BASE}/one", reason: str = "spam", **fields: str) -> Any:
    return visit(service, "report", "POST", data={"url": url, "reason": reason, **fields}, headers=ACCEPT_JSON)


def _stored_reports(database: Database) -> list[tuple[str, str, str]]:
    return [(report.host, report.alias, report.reason) for report in database.read(reports.list_all)]


def test_preview_links_to_report_form_and_report_is_stored(
    service: AsgiClient, ana: Person, database: Database
) -> None:
    new_link(ana, "one")
    address = f"{BASE}/report?url=http%3A%2F%2Fgo.localhost%3A8000%2Fone"
    assert f'href="{address}"' in visit(service, "one+", headers=ACCEPT_HTML).text
    form = visit(service, address, headers=ACCEPT_HTML)
    assert (form.status_code, f'value="{BASE}/one"' in form.text) == (200, True)
    assert "default-src 'none'" in form.headers["content-security-policy"]
    fields = {"url": f"{BASE}/one", "reason": "phishing", "comment": "It asks for\nmy <b>card</b>"}
    thanks = visit(service, "report", "POST", data=fields, headers=ACCEPT_HTML)
    assert (thanks.status_code, "Thank you" in thanks.text) == (200, True)
    (report,) = database.read(reports.list_all)
    assert (report.host, report.alias, report.reason) == ("", "one", "phishing")
    assert report.comment == fields["comment"]


def test_every_kind_of_alias_can_be_reported(service: AsgiClient, ana: Person, database: Database) -> None:
    ana.post("/domain/add", {"domain": "https://go.brand.example"})
    new_link(ana, "one")
    new_link(ana, "two", domain="go.brand.example")
    ana.post("/campaign/add", {"slug": "spring"})
    urls = (f"{BASE}/one+", f"{BASE}/one?x=1#y", "https://go.brand.example/two/", f"{BASE}/r/spring", f"{BASE}/one/qr")
    for url in urls:
        assert _report(service, url).json()["error"] == 0, url
    assert [(host, alias) for host, alias, _ in _stored_reports(database)] == [
        ("", "one"),
        ("", "one"),
        ("go.brand.example", "two"),
        ("/r", "spring"),
        ("", "one"),
    ]


@pytest.mark.parametrize(
    ("fields", "at_fault"),
    [
        ({"url": f"{BASE}/nothing"}, "url"),
        ({"url": "https://example.com/one"}, "url"),
        ({"url": ""}, "url"),
        ({"url": "https://[/one"}, "url"),
        ({"url": f"{BASE}/r/nothing"}, "url"),
        ({"url": "x" * 9000}, "url"),
        ({"url": f"{BASE}/\u202e\x01"}, "url"),
        ({"reason": "because"}, "reason"),
        ({"reason": ""}, "reason"),
        ({"url": f"{BASE}/one\0"}, "url"),
        ({"comment": "a\0b"}, "comment"),
        ({"comment": "x" * 1001}, "comment"),
        ({"comment": "x" * 21_000}, "comment"),
        ({f"field{number}": "x" for number in range(20)}, "reason"),
    ],
)
def test_invalid_report_is_rejected(
    fields: dict[str, str], at_fault: str, service: AsgiClient, ana: Person, database: Database
) -> None:
    new_link(ana, "one")
    response = _report(service, **fields)
    assert (response.status_code, response.json()["field"]) == (400, at_fault)
    page = visit(service, "report", "POST", data={"reason": "spam", **fields}, headers=ACCEPT_HTML)
    assert page.status_code == 400
    assert f'aria-describedby="{at_fault}-wrong"' in page.text
    assert f'id="{at_fault}-wrong" role="alert">' in page.text
    assert _stored_reports(database) == []


def test_comment_of_1000_characters_is_stored_whole(service: AsgiClient, ana: Person, database: Database) -> None:
    new_link(ana, "one")
    comment = "\U0001f517\n" * 499 + "ab"
    assert _report(service, comment=comment.replace("\n", "\r\n")).json()["error"] == 0
    assert [report.comment for report in database.read(reports.list_all)] == [comment]


@pytest.mark.parametrize(
    ("fields", "english", "german"),
    [
        ({"reason": "because"}, "Please select a reason.", "Bitte wählen Sie einen Grund aus."),
        (
            {"comment": "x" * 1001},
            "The comment must not be longer than 1000 characters. Please shorten it.",
            "Der Kommentar darf höchstens 1000 Zeichen lang sein. Bitte kürzen Sie ihn.",
        ),
        (
            {"comment": "a\0b"},
            "The comment must not contain NUL characters.",
            "Der Kommentar darf keine NUL-Zeichen enthalten.",
        ),
    ],
)
def test_page_of_rejected_report_names_field_and_keeps_input(
    fields: dict[str, str], english: str, german: str, service: AsgiClient, ana: Person
) -> None:
    new_link(ana, "one")
    data = {"url": f"{BASE}/one", "reason": "spam", "comment": "a comment", **fields}
    for language, text in (("en", english), ("de", german)):
        headers = {**ACCEPT_HTML, "Accept-Language": language}
        page = visit(service, "report", "POST", data=data, headers=headers).text
        assert text in page
        assert f">{data['comment']}</textarea>" in page


def test_rejected_report_keeps_escaped_input(service: AsgiClient, ana: Person) -> None:
    script = '"><script>alert(1)</script>'
    page = visit(
        service, "report", "POST", data={"url": script, "reason": "spam", "comment": script}, headers=ACCEPT_HTML
    ).text
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;</textarea>" in page
    assert 'value="spam" required checked' in page
    assert "<script" not in visit(service, f"report?url={script}", headers=ACCEPT_HTML).text


@ON_BOTH_DATABASES
def test_reports_are_limited_per_network_and_hour(service: AsgiClient, ana: Person, database: Database) -> None:
    for number in range(REPORTS_PER_HOUR + 3):
        new_link(ana, f"link-{number}")
    calls = [lambda number=number: _report(service, f"{BASE}/link-{number}") for number in range(REPORTS_PER_HOUR + 3)]
    statuses = [response.status_code for response in at_once(calls)]
    assert sorted(statuses) == [200] * REPORTS_PER_HOUR + [429] * 3
    assert len(_stored_reports(database)) == REPORTS_PER_HOUR
    last = visit(service, "report", "POST", data={"url": f"{BASE}/link-1", "reason": "spam"}, headers=ACCEPT_HTML)
    assert (last.status_code, last.headers["retry-after"]) == (429, "3600")
    assert "try again in an hour" in last.text


@ON_BOTH_DATABASES
def test_reports_per_link_are_bounded(database: Database) -> None:
    fields = {"host": "", "alias": "one", "reason": "spam", "comment": ""}
    for number in range(40):
        assert database.write(lambda tx, n=number: reports.add(tx, **fields, reporter=bytes([n])))  # type: ignore[arg-type, misc]
    stored = database.read(reports.list_all)
    assert len(stored) == 20
    database.write(lambda tx: reports.close(tx, stored[0].id))
    assert len(database.read(reports.list_all)) == 19
    assert len(database.read(lambda tx: reports.list_all(tx, closed=True))) == 20


def test_report_stores_no_address(service: AsgiClient, ana: Person, database: Database) -> None:
    new_link(ana, "one")
    _report(service)
    rows = database.read(lambda tx: [tuple(row) for row in tx.exec_driver_sql("SELECT * FROM reports")])
    assert "testclient" not in str(rows)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_reported_url_has_scheme_of_branded_domain(
    scheme: str, service: AsgiClient, ana: Person, database: Database
) -> None:
    ana.post("/domain/add", {"domain": f"{scheme}://go.brand.example"})
    new_link(ana, "one", domain="go.brand.example")
    splash = ana.add("splash", name="A page", counter=7)
    new_link(ana, "two", domain="go.brand.example", type=str(splash))
    overlay = ana.add("overlay", type="message", name="A message", message="Hello")
    new_link(ana, "three", domain="go.brand.example", type=f"overlay-{overlay}")
    upload(ana, "a.txt", custom="mine", domain="go.brand.example")
    for path in ("one+", "two", "three", "mine"):
        page = visit(service, path, headers={**ACCEPT_HTML, "Host": "go.brand.example"})
        short = f"{scheme}://go.brand.example/{path.rstrip('+')}"
        assert f'href="{BASE}/report?url={quote(short, safe="")}"' in page.text, path
        assert _report(service, short).json()["error"] == 0
    listed = [report.url(BASE) for report in database.read(reports.list_all)]
    assert listed == [f"{scheme}://go.brand.example/{alias}" for alias in ("one", "two", "three", "mine")]


def test_report_of_deleted_domain_is_listed(service: AsgiClient, ana: Person, database: Database) -> None:
    domain = ana.add("domain", domain="http://go.brand.example")
    new_link(ana, "one", domain="go.brand.example")
    assert _report(service, "http://go.brand.example/one").json()["error"] == 0
    assert ana.call("DELETE", f"/domain/{domain}/delete").status_code == 200
    assert [report.url(BASE) for report in database.read(reports.list_all)] == ["https://go.brand.example/one"]


def test_comment_that_is_far_too_long_is_kept_in_the_form(service: AsgiClient, ana: Person) -> None:
    new_link(ana, "one")
    data = {"url": f"{BASE}/one", "reason": "spam", "comment": "word " * 20_000}
    page = visit(service, "report", "POST", data=data, headers=ACCEPT_HTML)
    assert (page.status_code, "word " * 19_999 in page.text) == (400, True)
    assert 'id="comment-wrong" role="alert">' in page.text


def test_links_on_domains_with_long_aliases_can_be_reported(
    service: AsgiClient, ana: Person, database: Database
) -> None:
    ana.add("domain", domain="https://brand.example", ignorecase=True)
    new_link(ana, "sale/2030", domain="https://brand.example")
    new_link(ana, "sale/qr", domain="https://brand.example")
    for path in ("sale/2030", "SALE/2030+", "sale/2030/qr?size=300", "Sale/QR"):
        assert _report(service, url=f"https://brand.example/{path}").json()["error"] == 0
    stored = sorted(alias for _, alias, _ in _stored_reports(database))
    assert stored == ["sale/2030", "sale/2030", "sale/2030", "sale/qr"]
