"""Tracking pixels on the page before a destination."""

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.html import SANDBOX, Page, open_page
from tests.support.pixels import PROVIDER_SCRIPTS
from tests.support.visits import ACCEPT_HTML, CURL, DESTINATION, GOOGLEBOT, SLACK, clicks, new_link, visit
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.interstitials.pixel_providers import PROVIDERS
from waypost.items.pixels.ops import TYPES
from waypost.server.app import build


def _pixel(person: Person, kind: str = "socialapixel", tag: str = "TAG-1") -> int:
    return person.add("pixel", type=kind, name="A pixel", tag=tag)


def _redirects_directly(page: Page) -> bool:
    return (page.status, page.response.headers.get("location")) == (302, DESTINATION)


@ON_SQLITE
def test_each_provider_is_started_from_its_host_with_tag(ana: Person) -> None:
    assert list(PROVIDER_SCRIPTS) == list(TYPES) == list(PROVIDERS)
    for kind, (address, call) in PROVIDER_SCRIPTS.items():
        new_link(ana, f"to-{kind}", pixels=[_pixel(ana, kind)])
        page = open_page(ana, f"to-{kind}")
        assert page.script_data["pixels"] == [{"type": kind, "tag": "TAG-1", "src": address}]
        assert call in page.response.text
        origin = "/".join(address.split("/")[:3])
        assert page.policy["script-src"][:2] == ["HASH", origin]
        assert {"'unsafe-inline'", "'unsafe-eval'", "*", "https:"} & set(page.policy["script-src"]) == set()
        others = [provider.start_script for name, provider in PROVIDERS.items() if name != kind]
        assert not any(start in page.response.text for start in others)


def test_link_with_pixels_counts_once_and_redirects(ana: Person) -> None:
    link = new_link(ana, "spring", pixels=[_pixel(ana), _pixel(ana, "forumpixel", "t2_x")])
    page = open_page(ana, "spring")
    assert (page.status, page.script_data["leave"], page.script_data["url"], page.script_data["asks"]) == (
        200,
        "pixels",
        DESTINATION,
        False,
    )
    assert [pixel["type"] for pixel in page.script_data["pixels"]] == ["socialapixel", "forumpixel"]
    assert f'<noscript><meta http-equiv="refresh" content="0; url={DESTINATION}"></noscript>' in page.response.text
    assert clicks(ana, link) == (1, 1)


@ON_SQLITE
def test_csp_lists_hosts_of_used_providers(ana: Person) -> None:
    new_link(ana, "spring", pixels=[_pixel(ana)])
    assert open_page(ana, "spring").policy == {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "script-src": ["HASH", "https://connect.facebook.net"],
        "img-src": ["data:", "https://www.facebook.com", "https://connect.facebook.net"],
        "connect-src": ["https://www.facebook.com", "https://connect.facebook.net"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "sandbox": SANDBOX,
    }


@pytest.mark.parametrize("header", ["DNT", "Sec-GPC"])
def test_privacy_signal_disables_pixels(ana: Person, header: str) -> None:
    link = new_link(ana, "spring", pixels=[_pixel(ana)])
    assert _redirects_directly(open_page(ana, "spring", headers={header: "1"}))
    assert open_page(ana, "spring", headers={header: "0"}).status == 200
    assert clicks(ana, link) == (2, 1)
    splash = ana.add("splash", name="x", title="Hello", counter=3)
    new_link(ana, "both", pixels=[_pixel(ana)], type=splash)
    page = open_page(ana, "both", headers={header: "1"})
    assert (page.script_data["pixels"], page.policy["script-src"]) == ([], ["HASH"])


def test_programs_and_crawlers_get_no_pixels(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring", pixels=[_pixel(ana)])
    for agent in (GOOGLEBOT, SLACK):
        assert _redirects_directly(open_page(ana, "spring", agent=agent))
    assert visit(service, "spring", agent=CURL).headers["location"] == DESTINATION
    assert clicks(ana, link) == (1, 1)


def test_splash_page_runs_pixels_of_link(ana: Person) -> None:
    splash = ana.add("splash", name="x", title="Hello", counter=3)
    link = new_link(ana, "spring", pixels=[_pixel(ana)], type=splash)
    page = open_page(ana, "spring")
    assert (page.script_data["leave"], page.script_data["count"]) == ("count", 3)
    assert page.policy["script-src"] == ["HASH", "https://connect.facebook.net"]
    assert clicks(ana, link) == (1, 1)


@ON_BOTH_DATABASES
def test_pixel_change_applies_at_once(ana: Person) -> None:
    pixel = _pixel(ana)
    link = new_link(ana, "spring", pixels=[pixel])
    assert open_page(ana, "spring").script_data["pixels"][0]["tag"] == "TAG-1"
    ana.update("pixel", pixel, tag="NEW-2")
    assert open_page(ana, "spring").script_data["pixels"][0]["tag"] == "NEW-2"
    ana.remove("pixel", pixel)
    assert _redirects_directly(open_page(ana, "spring"))
    ana.update("url", link, pixels=[_pixel(ana)])  # a link that was answered from memory takes one up
    assert open_page(ana, "spring").status == 200
    ana.update("url", link, pixels=[])
    assert _redirects_directly(open_page(ana, "spring"))


@ON_SQLITE
def test_pixels_of_other_account_are_rejected(ana: Person, ben: Person) -> None:
    pixel = _pixel(ana)
    new_link(ana, "spring", pixels=[pixel])
    refused(ben.call("POST", "/url/add", {"url": DESTINATION, "pixels": [pixel]}), 400, "pixels")
    assert ben.call("PUT", f"/pixel/{pixel}/update", {"tag": "BEN"}).status_code == 404
    assert ben.call("DELETE", f"/pixel/{pixel}/delete").status_code == 404
    assert open_page(ana, "spring").script_data["pixels"][0]["tag"] == "TAG-1"


@ON_SQLITE
def test_invalid_stored_tag_is_escaped(ana: Person) -> None:
    nasty = "</script><script>alert(1)</script>\"'\\\u2028"
    pixel = _pixel(ana, "retargetpixel")
    ana.write(lambda tx: tx.exec_driver_sql("UPDATE pixels SET tag = ?", (nasty,)))
    new_link(ana, "spring", pixels=[pixel])
    page = open_page(ana, "spring")
    assert page.script_data["pixels"][0]["tag"] == nasty
    assert page.script_data["pixels"][0]["src"].startswith("https://s.adroll.com/j/%3C/roundtrip.js")
    assert len(page.all("script")) == 2
    assert "\u2028" not in page.response.text


def test_limit_password_and_expiry_precede_pixels(ana: Person) -> None:
    pixels = [_pixel(ana)]
    new_link(ana, "once", pixels=pixels, clicklimit=1, expiryurl="https://example.com/over")
    assert open_page(ana, "once").status == 200
    assert open_page(ana, "once").response.headers["location"] == "https://example.com/over"
    new_link(ana, "locked", pixels=pixels, password="open sesame")
    page = open_page(ana, "locked")
    assert (page.status, page.all("script")) == (401, [])


@ON_SQLITE
def test_pixels_wait_for_consent(ana: Person, settings: Settings) -> None:
    link = new_link(ana, "spring", pixels=[_pixel(ana)])
    asking = Settings(**{**settings.model_dump(), "pixel_consent": "on"})
    with AsgiClient(build(asking, Database(asking.database))) as client:
        page = Page(visit(client, "spring", headers=ACCEPT_HTML))
        assert (page.script_data["asks"], page.script_data["leave"]) == (True, "pixels")
        assert "hidden" in page.one("section", id="consent").attributes
        assert "Facebook" in page.one("section", id="consent").text
        assert page.script_data["consent"].startswith("/pixel/consent?ticket=")
        answered = visit(client, page.script_data["consent"][1:] + "no", headers=ACCEPT_HTML)
        assert (answered.status_code, answered.headers["location"]) == (302, DESTINATION)
        cookie = answered.headers["set-cookie"]
        assert cookie.endswith("; HttpOnly; Max-Age=15552000; Path=/spring; SameSite=lax")
        client.cookies.clear()
        asked_for = cookie.partition(";")[0].removeprefix("wp_consent=no")
        yes = Page(visit(client, "spring", headers={**ACCEPT_HTML, "Cookie": f"wp_consent=yes{asked_for}"}))
        assert (yes.script_data["asks"], yes.script_data["leave"]) == (False, "pixels")
        assert _redirects_directly(
            Page(visit(client, "spring", headers={**ACCEPT_HTML, "Cookie": f"wp_consent=no{asked_for}"}))
        )
        assert _redirects_directly(Page(visit(client, "spring", headers={**ACCEPT_HTML, "DNT": "1"})))
        ana.update("url", link, pixels=[_pixel(ana), _pixel(ana, "qapixel")])
    with AsgiClient(build(asking, Database(asking.database))) as client:
        # Consent for other providers does not cover a new one.
        more = Page(visit(client, "spring", headers={**ACCEPT_HTML, "Cookie": f"wp_consent=yes{asked_for}"}))
        assert more.script_data["asks"]
    assert clicks(ana, link)[0] == 5
