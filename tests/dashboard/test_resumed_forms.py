"""Forms that are sent after the session ended: they are shown again after signing in, and change nothing before."""

import html
import re
from collections.abc import Mapping

import pyotp
import pytest
from sqlalchemy import Connection, func, select

from tests.conftest import BASE, PASSWORD, Person
from tests.contract.resources import RESOURCES
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.html import Page
from tests.support.logins import add_factor
from waypost import clock
from waypost.dashboard.resume import SIGNED_IN_AGAIN
from waypost.dashboard.routing import PageRoute
from waypost.db.schema import metadata
from waypost.routers import DASHBOARD_PAGES

pytestmark = ON_SQLITE
_VALUES = {"type": "contact", "domain": "https://fresh.example"}
_QR = {"type": "text", "text.text": "words"}
_FIELD = re.compile(r'name="([^"]+)"')
_OWN = {"Origin": BASE}
_NEW = "/dashboard/links/new"
_TYPED = {
    "url": "https://typed.example/?q=a%20b&c",
    "custom": "typed",
    "description": "two\nlines",
    "geotarget.location": ["Germany", "France"],
}
_TYPED |= {"geotarget.link": ["https://de.example/", "https://fr.example/"]}


def _row_counts(person: Person) -> Mapping[str, int]:
    def work(tx: Connection) -> Mapping[str, int]:
        return {
            table.name: tx.execute(select(func.count()).select_from(table)).scalar_one()
            for table in metadata.tables.values()
        }

    return person.database.read(work)


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


def test_form_is_kept_while_code_is_asked(ana: Person, dashboard: Browser) -> None:
    secret = add_factor(ana)
    dashboard.client.cookies.clear()
    page = Page(dashboard.client.post(_NEW, data=_TYPED, headers=_OWN))
    page = _sign_in(dashboard, "/dashboard/signin", page, name="ana", password=PASSWORD)
    page = _sign_in(dashboard, "/dashboard/signin/code", page, code="000000")
    assert page.status == 400
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
    assert (response.status_code, response.headers["location"]) == (303, f"/dashboard/signin?next={_NEW}")


def test_long_form_is_not_kept(dashboard: Browser) -> None:
    dashboard.client.cookies.clear()
    for length in (13_000, 100_000):
        response = dashboard.client.post(_NEW, data={"description": "x" * length}, headers=_OWN)
        assert response.status_code == 303


def _resumable() -> list[PageRoute]:
    return [route for route in DASHBOARD_PAGES if route.resumable]


def test_resumed_form_changes_nothing(ana: Person, dashboard: Browser) -> None:
    for resource in RESOURCES:
        ana.post(f"{resource.path}/add", resource.body())
    ana.call("POST", "/files/upload/a.bin", content=b"content")
    ana.post("/share/add", {"type": "link", "itemid": 1})
    before = _row_counts(ana)
    for route in _resumable():
        path = re.sub(r"{[^}]+}", "1", route.path).replace("/shares/1/1", "/shares/link/1")
        page = dashboard.client.get(path, params={"type": "contact"}).text
        fields = _QR if "/qr/" in path else dict.fromkeys(set(_FIELD.findall(page)) - {"token", "do"}, "") | _VALUES
        version = re.search('name="version" value="([^"]+)"', page)
        fields = {**fields, "version": version[1] if version else ""}
        response = dashboard.client.post(path, data=fields, headers=_OWN)
        assert (response.status_code, SIGNED_IN_AGAIN in html.unescape(response.text)) == (400, True), path
    assert _row_counts(ana) == before
    assert len(_resumable()) == 26
