"""Referrers of visits: those of the installation itself, and those that a form for a password carries."""

from typing import Any

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.html import Page
from tests.support.visits import ACCEPT_HTML, DESTINATION, new_link, visit

NEWS = {"Referer": "https://news.example/a?b=c"}


def _referrers(person: Person, link: int) -> dict[str, Any]:
    referrers: dict[str, Any] = person.get(f"/url/{link}")["data"]["topReferrers"]
    return {name: int(count) for name, count in referrers.items()}


def test_own_hosts_are_no_foreign_referrers(ana: Person, ben: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    ben.add("domain", domain="https://links.brand.example")
    for page in (f"{BASE}/pot", "https://links.brand.example/x", "https://LINKS.brand.example:443/", f"{BASE}"):
        visit(service, "spring", headers={"Referer": page})
    visit(service, "spring", headers={"Referer": "https://www.brand.example/"})
    assert _referrers(ana, link) == {"Direct": 4, "brand.example": 1}


@ON_SQLITE
def test_password_form_carries_first_referrer(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "locked", password="a password")
    own = {**ACCEPT_HTML, "Referer": f"{BASE}/locked"}
    fields = {"password": "wrong"}
    page = Page(visit(service, "locked", headers={**ACCEPT_HTML, **NEWS}))
    for password in ("wrong", "a password"):
        carried = page.one("input", name="referrer").attributes["value"]
        assert carried == NEWS["Referer"]
        fields = {"password": password, "referrer": carried or ""}
        response = visit(service, "locked", "POST", data=fields, headers=own)
        page = Page(response)
    assert response.headers["location"] == DESTINATION
    assert _referrers(ana, link) == {"news.example": 1}


@ON_SQLITE
def test_forged_referrer_of_form_is_harmless(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "locked", password="a password")
    for referrer in ("x\ty\nz", "\u202ehttps://a.example/", "h" * 5000, '"><script>', ""):
        fields = {"password": "wrong", "referrer": referrer}
        page = visit(service, "locked", "POST", data=fields, headers=ACCEPT_HTML)
        assert (page.status_code, "<script" in page.text, len(page.content) < 20_000) == (401, False, True)
        response = visit(service, "locked", "POST", data={**fields, "password": "a password"}, headers=ACCEPT_HTML)
        assert response.status_code == 303
    assert _referrers(ana, link) == {"Direct": 5}
