"""Form submissions of overlays: stored, private, rate limited, sent to webhooks."""

import csv
import io
import json
import threading
from collections.abc import Iterable
from typing import Any

import pytest
import time_machine

from tests.conftest import Person
from tests.support import fake_internet
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet
from tests.support.html import Page
from tests.support.overlays import form_fields, open_overlay, send_answers, send_form
from tests.support.visits import ACCEPT_HTML, CHROME, DESTINATION, clicks, visit
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.items.overlays import submissions
from waypost.webhooks.sender import Sender

pytestmark = ON_BOTH_DATABASES  # limits and pages of submissions
BAD_EMAIL = "Your e-mail must be a valid address."
BAD_MESSAGE = "Your message must have 1 to 5000 characters."
BAD_NAME = "Your name must be one line of at most 255 characters, without control characters."
MESSAGE = {"name": "Zoë", "email": "zoe@example.com", "message": "Two\r\nlines"}


@pytest.fixture(autouse=True)
def _no_internet(internet: FakeInternet) -> None:
    """Reject every connection that a test does not allow."""


def _submissions(person: Person, item: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = person.get(f"/overlay/{item}/submissions")["data"]["submissions"]
    return items


def test_contact_submission_is_stored_and_thanked_with_continue_link(ana: Person) -> None:
    item, link, page = open_overlay(ana, "contact")
    thanks = Page(send_answers(ana, page, **MESSAGE))
    assert (thanks.status, thanks.one("p", dir="auto").text) == (200, "We answer soon")
    assert thanks.one("a", class_="button").attributes["href"] == f"{DESTINATION}?from=here"
    assert "script-src" not in thanks.policy
    (submission,) = _submissions(ana, item)
    assert {name: submission[name] for name in ("link", *MESSAGE, "choice")} == {
        **MESSAGE,
        "link": link,
        "message": "Two\nlines",
        "choice": "",
    }
    assert clicks(ana, link) == (1, 1)  # sending is no visit


def test_submission_is_stored_after_its_link_was_deleted(ana: Person) -> None:
    item, link, page = open_overlay(ana, "contact")
    ana.remove("url", link)
    assert send_answers(ana, page, **MESSAGE).status_code == 200
    assert [submission["link"] for submission in _submissions(ana, item)] == [None]


def test_submission_to_deleted_overlay_is_not_found(ana: Person) -> None:
    with pytest.raises(Problem, match="No such overlay"):
        ana.write(lambda tx: submissions.add(tx, ana.account, 999_999, submissions.Answers(), link=1))


def test_poll_and_newsletter_submissions_are_stored(ana: Person) -> None:
    poll, _, page = open_overlay(ana, "poll")
    assert send_answers(ana, page, choice="Blue").status_code == 200
    assert [submission["choice"] for submission in _submissions(ana, poll)] == ["Blue"]
    letter, _, page = open_overlay(ana, "newsletter")
    assert send_answers(ana, page, email=" zoe@example.com ").status_code == 200
    assert [submission["email"] for submission in _submissions(ana, letter)] == ["zoe@example.com"]


@ON_SQLITE
def test_submission_by_script_gets_json(ana: Person) -> None:
    item, _, page = open_overlay(ana, "contact")
    response = visit(
        ana.client, f"overlay/{item}", "POST", data=form_fields(page, **MESSAGE), headers={"Accept": "application/json"}
    )
    assert (response.status_code, response.json()) == (200, {"error": 0, "message": "We answer soon"})


@pytest.mark.parametrize(
    ("kind", "filled", "field", "message"),
    [
        ("poll", {"choice": "Green"}, "choice", "Please select an option."),
        ("poll", {"choice": "Red\x00"}, "choice", "Please select an option."),
        ("poll", {}, "choice", "Please select an option."),
        ("newsletter", {"email": "invalid"}, "email", BAD_EMAIL),
        ("newsletter", {"email": "a@example.com\nBcc: b@example.com"}, "email", BAD_EMAIL),
        ("newsletter", {"email": "a\x00@example.com"}, "email", BAD_EMAIL),
        ("newsletter", {}, "email", BAD_EMAIL),
        ("contact", {**MESSAGE, "email": ""}, "email", BAD_EMAIL),
        ("contact", {**MESSAGE, "email": "a@example.com\x00"}, "email", BAD_EMAIL),
        ("contact", {**MESSAGE, "message": "  "}, "message", BAD_MESSAGE),
        ("contact", {**MESSAGE, "message": "x" * 5001}, "message", BAD_MESSAGE),
        ("contact", {**MESSAGE, "message": "a\x00b"}, "message", "Your message must not contain NUL characters."),
        ("contact", {**MESSAGE, "name": "x" * 256}, "name", BAD_NAME),
        ("contact", {**MESSAGE, "name": "a\nb"}, "name", BAD_NAME),
        ("contact", {**MESSAGE, "name": "a\x00b"}, "name", BAD_NAME),
    ],
)
def test_invalid_submission_is_rejected_with_field_at_fault(
    ana: Person, kind: str, filled: dict[str, str], field: str, message: str
) -> None:
    item, _, page = open_overlay(ana, kind)
    rejected = Page(send_answers(ana, page, **filled))
    assert (rejected.status, rejected.one("h1").text) == (400, "Incomplete form")
    assert message in [paragraph.text for paragraph in rejected.all("p")]
    form, json_only = form_fields(page, **filled), {"Accept": "application/json"}
    response = visit(ana.client, f"overlay/{item}", "POST", data=form, headers=json_only)
    body = {"error": 1, "message": message, "code": "unclear", "field": field}
    assert (response.status_code, response.json()) == (400, body)
    assert _submissions(ana, item) == []


@ON_SQLITE
def test_error_of_a_field_is_in_the_visitors_language(ana: Person) -> None:
    item, _, page = open_overlay(ana, "contact")
    form, german = form_fields(page, **{**MESSAGE, "message": "a\x00b"}), {"Accept-Language": "de"}
    response = visit(ana.client, f"overlay/{item}", "POST", data=form, headers={**german, "Accept": "application/json"})
    assert response.json()["message"] == "Ihre Nachricht darf keine NUL-Zeichen enthalten."


@ON_SQLITE
def test_submission_without_valid_form_token_is_rejected(ana: Person) -> None:
    item, link, page = open_overlay(ana, "contact")
    other, _, elsewhere = open_overlay(ana, "contact")
    valid_form = form_fields(page, **MESSAGE)
    for wrong in (
        {**valid_form, "url": "https://evil.example/"},  # must not become an open redirect
        {**valid_form, "link": str(link + 1)},
        {**valid_form, "link": "9" * 400},
        {**valid_form, "ticket": ""},
        {**valid_form, "ticket": "\u00e9"},
        {**valid_form, "ticket": form_fields(elsewhere)["ticket"]},
        {name: value for name, value in valid_form.items() if name != "url"},
        {"x": "y" * 200_000, **valid_form},
        {},
    ):
        assert send_form(ana, page, wrong).status_code == 404
    for path in ("overlay/0", "overlay/x", f"overlay/{'9' * 5000}", f"overlay/{other}"):
        assert visit(ana.client, path, "POST", data=valid_form, headers=ACCEPT_HTML).status_code == 404
    assert _submissions(ana, item) == _submissions(ana, other) == []
    ana.update("overlay", item, type="message")
    assert send_form(ana, page, valid_form).status_code == 404


@ON_SQLITE
def test_honeypot_submission_is_thanked_but_not_stored(ana: Person) -> None:
    item, _, page = open_overlay(ana, "contact")
    assert send_answers(ana, page, **MESSAGE, website="https://spam.example/").status_code == 200
    assert _submissions(ana, item) == []


def test_submissions_are_visible_to_owner_only(ana: Person, ben: Person) -> None:
    item, _, page = open_overlay(ana, "contact")
    send_answers(ana, page, **MESSAGE)
    for path in (f"/overlay/{item}/submissions", f"/overlay/{item}/submissions/export"):
        assert ben.call("GET", path).status_code == 404
    ana.remove("overlay", item)
    assert ana.call("GET", f"/overlay/{item}/submissions").status_code == 404


@ON_SQLITE
def test_submissions_are_limited_to_five_per_minute_and_network(ana: Person) -> None:
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        item, _, page = open_overlay(ana, "poll")
        answers = [send_answers(ana, page, choice="Red") for _ in range(7)]
        assert [response.status_code for response in answers] == [200] * 5 + [429] * 2
        assert answers[-1].headers["retry-after"] == "60"
        _, _, other = open_overlay(ana, "poll")
        assert send_answers(ana, other, choice="Red").status_code == 200
        clock.shift(61)
        assert send_answers(ana, page, choice="Red").status_code == 200
    assert len(_submissions(ana, item)) == 6


@ON_SQLITE
def test_full_overlay_rejects_submissions(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "MAX_SUBMISSIONS", 2)
    item, _, page = open_overlay(ana, "poll")
    assert [send_answers(ana, page, choice="Red").status_code for _ in range(3)] == [200, 200, 429]
    assert len(_submissions(ana, item)) == 2


def test_submissions_are_listed_newest_first_in_pages(ana: Person) -> None:
    item, _, page = open_overlay(ana, "poll")
    for choice in ("Red", "Blue", "Red"):
        send_answers(ana, page, choice=choice)
    submissions_page = ana.get(f"/overlay/{item}/submissions", limit=2, page=1)["data"]
    assert (
        [submission["choice"] for submission in submissions_page["submissions"]],
        submissions_page["result"],
        submissions_page["nextpage"],
    ) == (
        ["Red", "Blue"],
        3,
        2,
    )
    submissions_page = ana.get(f"/overlay/{item}/submissions", limit=2, page=2)["data"]
    assert ([submission["choice"] for submission in submissions_page["submissions"]], submissions_page["nextpage"]) == (
        ["Red"],
        None,
    )
    assert ana.get(f"/overlay/{item}/submissions", page=9)["data"]["submissions"] == []


@ON_SQLITE
def test_csv_export_is_safe_against_formula_injection(ana: Person) -> None:
    item, link, page = open_overlay(ana, "contact")
    formulas = ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", 'He said "no", twice\nand left']
    for text in formulas:
        send_answers(ana, page, **{**MESSAGE, "message": text})
    response = ana.call("GET", f"/overlay/{item}/submissions/export")
    assert response.headers["content-disposition"] == 'attachment; filename="An overlay.csv"'
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["message"] for row in rows] == [f"'{text}" for text in formulas[:4]] + formulas[4:]
    assert {(row["link"], row["name"], row["email"]) for row in rows} == {(str(link), "Zoë", "zoe@example.com")}


def _send(person: Person, settings: Settings) -> None:
    """Make the attempts of webhooks that are due."""
    sender = Sender(settings, person.database, threading.Event())
    assert sender.step() == 1
    assert sender.wait(30)


@ON_SQLITE
def test_submission_is_sent_to_webhook(ana: Person, internet: FakeInternet, settings: Settings) -> None:
    heard: list[bytes] = []

    def answer(request: bytes) -> Iterable[bytes]:
        heard.append(request)
        return [fake_internet.ok(b"")]

    with fake_internet.server(answer) as context:
        internet.add_host("hook.example", PUBLIC)
        internet.routes[PUBLIC] = context
        item, link, page = open_overlay(ana, "newsletter", webhook="http://hook.example/in?key=1")
        assert send_answers(ana, page, email="zoe@example.com").status_code == 200
        _send(ana, settings)
    head, _, body = heard[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /in?key=1 HTTP/1.1\r\n")
    payload = json.loads(body)
    assert payload.pop("date")
    assert payload == {
        "overlay": item,
        "type": "newsletter",
        "link": link,
        "name": "",
        "email": "zoe@example.com",
        "message": "",
        "choice": "",
    }


@ON_SQLITE
def test_failing_or_internal_webhook_does_not_delay_submission(
    ana: Person, internet: FakeInternet, settings: Settings
) -> None:
    internet.add_host("inside.example", "127.0.0.1")
    for url in ("http://nowhere.example/", "http://inside.example/", "http://169.254.169.254/"):
        item, _, page = open_overlay(ana, "newsletter", webhook=url)
        assert send_answers(ana, page, email="zoe@example.com").status_code == 200
        assert len(_submissions(ana, item)) == 1
        _send(ana, settings)
    assert not {"127.0.0.1", "169.254.169.254"} & set(internet.connections)


@ON_SQLITE
def test_submission_ignores_cookies(ana: Person) -> None:
    item, _, page = open_overlay(ana, "poll")
    ticketless = {name: value for name, value in form_fields(page, choice="Red").items() if name != "ticket"}
    headers = {**ACCEPT_HTML, "Cookie": "wp_consent=yes.12345678; wp_opened=1", "User-Agent": CHROME}
    assert visit(ana.client, f"overlay/{item}", "POST", data=ticketless, headers=headers).status_code == 404
