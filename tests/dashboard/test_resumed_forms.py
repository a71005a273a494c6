"""Forms that are sent after the session ended: they are shown again after signing in, and change nothing before."""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyotp
import pytest
import time_machine
from sqlalchemy import Connection, select

from tests.conftest import BASE, PASSWORD, Person
from tests.contract.resources import RESOURCES
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.html import Page
from tests.support.logins import add_factor
from waypost.auth.attempt_limits import RateLimiter
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.dashboard.app import Dashboard
from waypost.dashboard.resubmitted_forms import SIGNED_IN_AGAIN
from waypost.dashboard.routing import PageRoute
from waypost.db.schema import audit, metadata, sessions
from waypost.http import safe_client
from waypost.server.routers import DASHBOARD_PAGES

pytestmark = ON_SQLITE
_VALUES = {"type": "contact", "domain": "https://fresh.example"}
_QR = {"type": "text", "text.text": "words", "logo": "https://target.example/logo.png"}
_FIELD = re.compile(r'name="([^"]+)"')
_OWN = {"Origin": BASE}
_NEW = "/dashboard/links/new"
_LOST = f"/dashboard/signin?next={_NEW}&unsaved=yes"
_TYPED = {
    "url": "https://typed.example/?q=a%20b&c",
    "custom": "typed",
    "description": "two\nlines",
    "geotarget.location": ["Germany", "France"],
}
_TYPED |= {"geotarget.link": ["https://de.example/", "https://fr.example/"]}


def _rows(person: Person) -> Mapping[str, Sequence[str]]:
    """Return the rows of each table, without the last uses of sessions and the times at which a write was tried."""

    def work(tx: Connection) -> Mapping[str, Sequence[str]]:
        return {
            table.name: sorted(repr(row) for row in tx.execute(select(table)) if row[0] != "write probe")
            for table in metadata.tables.values()
            if table not in (audit, sessions)
        }

    return person.database.read(work)


def _refuse(*arguments: object, **options: object) -> Any:
    raise AssertionError


def _refuse_side_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make requests to other servers and counts of rate limits errors, and domains be checked before they are added."""
    monkeypatch.setattr(safe_client, "_open_pool", _refuse)
    monkeypatch.setattr(RateLimiter, "_attempt", _refuse)
    monkeypatch.setattr(Settings, "checks_domains", True)


def _token(page: str) -> str:
    match = re.search(r'name="token" value="([^"]+)"', page)
    assert match is not None, page
    return match[1]


def _sign_in(browser: Browser, path: str, page: Page, **fields: str) -> Page:
    """Submit a form of the sign-in pages with its hidden fields."""
    hidden = {field.attributes["name"]: field.attributes["value"] for field in page.all("input", type="hidden")}
    return Page(browser.client.post(path, data={**hidden, **fields}))


def _resume(browser: Browser, page: Page) -> Page:
    """Submit the form that was kept."""
    form = page.one("form", data_resume="")
    fields: dict[str, list[str]] = {}
    for field in page.all("textarea"):
        fields.setdefault(field.attributes["name"], []).append(field.text.removeprefix("\n"))
    return Page(browser.client.post(form.attributes["action"], data=fields, headers=_OWN))


def _check_typed_form(person: Person, browser: Browser, page: Page) -> None:
    """Check that the page shows the form with the typed fields, and that saving it works."""
    text = html.unescape(page.response.text)
    assert (page.status, SIGNED_IN_AGAIN in text, person.get("/urls")["data"]["result"]) == (400, True, 0)
    assert page.one("input", id="url").attributes["value"] == _TYPED["url"]
    assert page.one("textarea", name="description").text.strip() == _TYPED["description"]
    assert [
        field.attributes["value"] for field in page.all("input", name="geotarget.link") if field.attributes["value"]
    ] == _TYPED["geotarget.link"]
    saved = browser.client.post(_NEW, data={**_TYPED, "token": _token(page.response.text)}, headers=_OWN)
    assert saved.status_code == 303
    (link,) = person.get("/urls")["data"]["urls"]
    assert (link["alias"], link["longurl"]) == ("typed", _TYPED["url"])


def test_form_of_ended_session_is_shown_again_after_sign_in(ana: Person, dashboard: Browser) -> None:
    dashboard.client.cookies.clear()
    page = Page(dashboard.client.post(_NEW, data=_TYPED, headers=_OWN))
    assert (page.status, "the fields that you filled in are kept" in page.response.text) == (403, True)
    page = _sign_in(dashboard, "/dashboard/signin", page, name="ana", password="wrong")
    assert page.status == 400
    page = _sign_in(dashboard, "/dashboard/signin", page, name="ana", password=PASSWORD)
    _check_typed_form(ana, dashboard, _resume(dashboard, page))


@pytest.mark.parametrize(
    ("path", "origin"), [("/dashboard/account/keys", BASE), (_NEW, "https://evil.example")], ids=["password", "foreign"]
)
def test_form_is_lost_if_session_ends_while_it_is_sent(
    dashboard: Browser, monkeypatch: pytest.MonkeyPatch, path: str, origin: str
) -> None:
    monkeypatch.setattr(Dashboard, "_has_session", lambda *_: True)  # when the body was read
    dashboard.client.cookies.clear()
    response = dashboard.client.post(path, data={"name": "new", "password": PASSWORD}, headers={"Origin": origin})
    assert (response.status_code, PASSWORD in response.text) == (303, False)
    assert response.headers["location"] == f"/dashboard/signin?next={path}&unsaved=yes"


def test_form_is_kept_while_code_is_asked(ana: Person, dashboard: Browser) -> None:
    secret = add_factor(ana)
    dashboard.client.cookies.clear()
    page = Page(dashboard.client.post(_NEW, data=_TYPED, headers=_OWN))
    page = _sign_in(dashboard, "/dashboard/signin", page, name="ana", password=PASSWORD)
    page = _sign_in(dashboard, "/dashboard/signin/code", page, code="000000")
    assert page.status == 400
    page = _sign_in(dashboard, "/dashboard/signin/code", page, code=pyotp.TOTP(secret).at(clock.now()))
    _check_typed_form(ana, dashboard, _resume(dashboard, page))


def test_form_is_kept_if_code_comes_late(ana: Person, dashboard: Browser) -> None:
    secret = add_factor(ana)
    dashboard.client.cookies.clear()
    page = Page(dashboard.client.post(_NEW, data=_TYPED, headers=_OWN))
    page = _sign_in(dashboard, "/dashboard/signin", page, name="ana", password=PASSWORD)
    with time_machine.travel(clock.now() + 301):
        page = _sign_in(dashboard, "/dashboard/signin/code", page, code=pyotp.TOTP(secret).at(clock.now()))
        assert (page.status, "Sign-in timed out" in page.response.text) == (400, True)
        page = _sign_in(dashboard, "/dashboard/signin", page, name="ana", password=PASSWORD)
        page = _sign_in(dashboard, "/dashboard/signin/code", page, code=pyotp.TOTP(secret).at(clock.now()))
        _check_typed_form(ana, dashboard, _resume(dashboard, page))


def test_form_opened_before_sign_in_is_shown_again(ana: Person, dashboard: Browser) -> None:
    form = {**_TYPED, "token": _token(dashboard.get("/links/new").text)}
    dashboard.client.cookies.clear()
    dashboard.sign_in("ana")
    _check_typed_form(ana, dashboard, Page(dashboard.client.post(_NEW, data=form, headers=_OWN)))


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
def test_form_of_other_site_is_not_kept(ana: Person, dashboard: Browser, origin: str) -> None:
    headers = {"Origin": origin} if origin else {}
    stale = dashboard.client.post(_NEW, data=_TYPED, headers=headers)
    assert (stale.status_code, "This form is out of date" in stale.text, "typed.example" in stale.text) == (
        403,
        True,
        False,
    )
    dashboard.client.cookies.clear()
    response = dashboard.client.post(_NEW, data=_TYPED, headers=headers)
    assert (response.status_code, response.headers["location"]) == (303, _LOST)


@pytest.mark.parametrize("text", ["x" * 14_000, "ж" * 2_300])
def test_long_form_is_kept(dashboard: Browser, text: str) -> None:
    dashboard.client.cookies.clear()
    page = Page(dashboard.client.post(_NEW, data={"description": text}, headers=_OWN))
    page = _sign_in(dashboard, "/dashboard/signin", page, name="ana", password=PASSWORD)
    assert page.one("textarea", name="description").text.removeprefix("\n") == text


@pytest.mark.parametrize("length", [14_400, 100_000])
def test_longer_form_is_not_kept_and_sign_in_page_says_so(dashboard: Browser, length: int) -> None:
    dashboard.client.cookies.clear()
    response = dashboard.client.post(_NEW, data={"description": "x" * length}, headers=_OWN)
    assert (response.status_code, response.headers["location"]) == (303, _LOST)
    assert "nothing was saved. Sign in and try again" in dashboard.client.get(_LOST).text


@pytest.mark.parametrize("kept", ["url=x", "[" * 5000, '[["url", 1]]', '[["url", "\\ud800"]]', "{}"])
def test_forged_fields_are_dropped(dashboard: Browser, kept: str) -> None:
    dashboard.client.cookies.clear()
    page = Page(dashboard.client.post(_NEW, data=_TYPED, headers=_OWN))
    page = _sign_in(dashboard, "/dashboard/signin", page, name="ana", password=PASSWORD, kept=kept)
    assert (page.status, page.response.headers["location"]) == (303, _NEW)


def _resumable() -> list[PageRoute]:
    return [route for route in DASHBOARD_PAGES if route.resumable]


def test_resumed_form_changes_nothing(ana: Person, dashboard: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    for resource in RESOURCES:
        ana.post(f"{resource.path}/add", resource.body())
    ana.call("POST", "/files/upload/a.bin", content=b"content")
    ana.post("/share/add", {"type": "link", "itemid": 1})
    _refuse_side_effects(monkeypatch)
    before = _rows(ana)
    for route in _resumable():
        path = re.sub(r"{[^}]+}", "1", route.path).replace("/shares/1/1", "/shares/link/1")
        page = dashboard.client.get(path, params={"type": "contact"}).text
        fields = _QR if "/qr/" in path else dict.fromkeys(set(_FIELD.findall(page)) - {"token", "do"}, "") | _VALUES
        version = re.search('name="version" value="([^"]+)"', page)
        fields = {**fields, "version": version[1] if version else ""}
        files = {"none": ("", b"")} if route.files else None
        response = dashboard.client.post(path, data=fields, headers=_OWN, files=files)
        assert (response.status_code, SIGNED_IN_AGAIN in html.unescape(response.text)) == (400, True), path
    assert _rows(ana) == before
    assert len(_resumable()) == 28
