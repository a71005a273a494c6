"""Visits of short links."""

from typing import Any

import pytest
import time_machine

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.visits import (
    ACCEPT_HTML,
    ACCEPT_JSON,
    ANDROID,
    CHROME,
    CURL,
    DESTINATION,
    GOOGLEBOT,
    IPHONE,
    click_totals,
    clicks,
    new_link,
    visit,
)

NO_STORE = "private, no-store"
OVER = "https://example.com/over"
PAST = {"expiry": "2027-01-14"}
NOW = 1_800_000_000  # 2027-01-15 08:00:00


def _assert_error(response: Any, status: int, text: str) -> None:
    """Check the status, and the message as JSON and as a page."""
    assert response.status_code == status
    assert response.headers["cache-control"] == NO_STORE
    assert text in response.text
    if response.headers["content-type"] == "application/json":
        assert response.json()["error"] == 1
        return
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_short_link_redirects_without_caching(ana: Person, service: AsgiClient, method: str) -> None:
    new_link(ana, "spring", url="https://example.com/page?a=b#c")
    for _ in range(2):  # first found in the database, then remembered
        response = visit(service, "spring", method)
        assert (response.status_code, response.content) == (302, b"")
        assert dict(response.headers) == {
            "location": "https://example.com/page?a=b#c",
            "cache-control": NO_STORE,
            "content-length": "0",
        }


@ON_SQLITE
@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("https://example.com/a%20b?c=%C3%A9", "https://example.com/a%20b?c=%C3%A9"),
        ("https://example.com/é?ü=ß#ö", "https://example.com/%C3%A9?%C3%BC=%C3%9F#%C3%B6"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://example.com/<script>\"'`{}|^", "https://example.com/%3Cscript%3E%22'%60%7B%7D%7C%5E"),
        ("https://example.com/%0d%0aSet-Cookie:%20a=b", "https://example.com/%0d%0aSet-Cookie:%20a=b"),
        ("https://example.com/\u2603?x=\U0001f600", "https://example.com/%E2%98%83?x=%F0%9F%98%80"),
        ("https://example.com/a;b,c:d@e!f$g&h'(i)*+=~", "https://example.com/a;b,c:d@e!f$g&h'(i)*+=~"),
    ],
)
def test_location_header_is_escaped(ana: Person, service: AsgiClient, url: str, location: str) -> None:
    new_link(ana, "odd", url=url)
    for query in ("", "?x=%0d%0aSet-Cookie:a=b&\u2603"):
        response = visit(service, f"odd{query}")
        assert (response.status_code, sorted(response.headers)) == (
            302,
            ["cache-control", "content-length", "location"],
        )
        assert response.headers["location"].isascii()
        assert response.headers["location"].isprintable()
    assert visit(service, "odd").headers["location"] == location


@ON_SQLITE
def test_targeting_selects_destination(ana: Person, service: AsgiClient) -> None:
    new_link(
        ana,
        "many",
        devicetarget=[{"device": "iPhone", "link": "https://iphone.example/"}],
        languagetarget=[{"language": "fr", "link": "https://fr.example/"}],
        deeplink={"google": "https://play.example/"},
        parameters=[{"name": "utm_source", "value": "news"}],
    )
    for agent, language, expected in (
        (IPHONE, "fr", "https://iphone.example/?utm_source=news"),
        (ANDROID, "fr", "https://play.example/?utm_source=news"),
        (CHROME, "fr-CH, de;q=0.5", "https://fr.example/?utm_source=news"),
        (CHROME, "de, fr;q=0.5", "https://fr.example/?utm_source=news"),
        (CHROME, "de, it;q=0.5", f"{DESTINATION}?utm_source=news"),
        (CURL, "", f"{DESTINATION}?utm_source=news"),
    ):
        response = visit(service, "many", agent=agent, headers={"Accept-Language": language})
        assert response.headers["location"] == expected


@pytest.mark.parametrize("headers", [ACCEPT_HTML, {}])
def test_unknown_alias_returns_404_as_page_or_json(service: AsgiClient, headers: dict[str, str]) -> None:
    for path in ("missing", "missing+", "a/b/c", "x" * 5000, "missing%00", "%ff%fe", "ünïcode", "..%2f..%2fetc"):
        _assert_error(visit(service, path, headers=headers), 404, "does not exist")


@pytest.mark.parametrize("headers", [ACCEPT_HTML, {}])
def test_disabled_link_returns_403(ana: Person, service: AsgiClient, headers: dict[str, str]) -> None:
    link = new_link(ana, "off", status="disabled")
    _assert_error(visit(service, "off", headers=headers), 403, "has disabled it")
    _assert_error(visit(service, "off+", headers=headers), 403, "has disabled it")
    assert clicks(ana, link) == (0, 0)


@ON_BOTH_DATABASES
@pytest.mark.parametrize("headers", [ACCEPT_HTML, {}])
def test_expired_link_returns_410_and_records_visit(ana: Person, service: AsgiClient, headers: dict[str, str]) -> None:
    with time_machine.travel(NOW, tick=True) as clock:
        link = new_link(ana, "spring", expiry="2027-01-15 08:01:00")
        assert visit(service, "spring", headers=headers).status_code == 302
        clock.move_to(NOW + 61)
        _assert_error(visit(service, "spring", headers=headers), 410, "has expired")
        _assert_error(visit(service, "spring+", headers=headers), 410, "has expired")
        assert clicks(ana, link) == (1, 1)
        assert click_totals(ana, f"/url/{link}") == {"clicks": 1, "uniqueClicks": 1, "late": 1}


def test_expired_link_redirects_to_expiry_url(ana: Person, service: AsgiClient) -> None:
    with time_machine.travel(NOW, tick=True) as clock:
        link = new_link(ana, "spring", expiry="2027-01-15 08:01:00", expiryurl=OVER)
        clock.move_to(NOW + 61)
        for _ in range(2):
            response = visit(service, "spring?a=b")
            assert (response.status_code, response.headers["location"]) == (302, OVER)
        assert visit(service, "spring+", headers=ACCEPT_JSON).json()["url"] == OVER
        assert click_totals(ana, f"/url/{link}") == {"late": 2}


@ON_SQLITE
def test_private_link_redirects_everyone(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring", status="private")
    assert visit(service, "spring").status_code == 302
    assert clicks(ana, link) == (1, 1)


@ON_SQLITE
def test_plus_suffix_shows_destination(ana: Person, service: AsgiClient) -> None:
    hostile = "https://example.com/?q=<script>alert(1)</script>"
    link = new_link(ana, "spring", url=hostile, title="<b>Spring</b>", parameters=[{"name": "utm", "value": "x"}])
    page = visit(service, "spring+", headers=ACCEPT_HTML)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;utm=x" in page.text
    assert "&lt;b&gt;Spring&lt;/b&gt;" in page.text
    assert 'href="/spring"' in page.text
    assert "<script" not in page.text
    response = visit(service, "spring+", headers=ACCEPT_JSON)
    uri = hostile.replace("<", "%3C").replace(">", "%3E")
    assert response.json() == {"error": 0, "url": f"{uri}&utm=x", "title": "<b>Spring</b>"}
    assert response.headers["cache-control"] == NO_STORE
    assert click_totals(ana, f"/url/{link}") == {}


@ON_SQLITE
def test_short_link_returns_405_to_other_methods(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        response = visit(service, "spring", method)
        assert response.status_code == 405
        assert {"GET", "HEAD"} <= {name.strip() for name in response.headers["allow"].split(",")}
    assert click_totals(ana, f"/url/{link}") == {}


@ON_SQLITE
def test_root_redirects_to_dashboard(service: AsgiClient) -> None:
    page = visit(service, "", headers=ACCEPT_HTML)
    assert (page.status_code, page.headers["location"]) == (302, "/dashboard")


@ON_SQLITE
def test_bot_is_redirected_but_not_counted(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    assert visit(service, "spring", agent=GOOGLEBOT).headers["location"] == DESTINATION
    assert clicks(ana, link) == (0, 0)


@ON_BOTH_DATABASES
def test_link_can_keep_parameters_of_visitors_from_destination(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring", dropquery=True, parameters=[{"name": "utm", "value": "x"}])
    for _ in range(2):
        for query in ("?a=b&utm=y", ""):
            assert visit(service, f"spring{query}").headers["location"] == f"{DESTINATION}?utm=x"
    ana.update("url", link, dropquery=None)
    assert ana.details("url", link)["dropquery"] is False
    assert visit(service, "spring?a=b").headers["location"] == f"{DESTINATION}?utm=x&a=b"
    ana.update("url", link, dropquery=True)
    assert visit(service, "spring?a=b").headers["location"] == f"{DESTINATION}?utm=x"
