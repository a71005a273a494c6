"""Tracking pixels: what runs between a short link and its target, and for whom it does not."""

import pytest

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.assertions import refused
from tests.support.html import Page, walk
from tests.support.visits import CURL, GOOGLEBOT, PAGE, SLACK, TARGET, clicks, new_link, visit
from waypost.app import build
from waypost.db.database import Database
from waypost.interstitials.pixel_providers import PROVIDERS
from waypost.pixels.ops import TYPES
from waypost.settings import Settings

ONCE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
# The documented address of each provider's script, and the calls that start it.
DOCUMENTED = {
    "tagmanagerpixel": ("https://www.googletagmanager.com/gtm.js?id=TAG-1", '"gtm.start"'),
    "analyticspixel": ("https://www.googletagmanager.com/gtag/js?id=TAG-1", 'gtag("config", tag)'),
    "socialapixel": ("https://connect.facebook.net/en_US/fbevents.js", 'fbq("init", tag)'),
    "searchadspixel": ("https://www.googletagmanager.com/gtag/js?id=TAG-1", 'gtag("config", parts[0])'),
    "professionalpixel": ("https://snap.licdn.com/li.lms-analytics/insight.min.js", "_linkedin_partner_id = tag"),
    "microblogpixel": ("https://static.ads-twitter.com/uwt.js", 'twq("config", tag)'),
    "retargetpixel": ("https://s.adroll.com/j/TAG-1/roundtrip.js", "adroll_adv_id = ids[0]"),
    "qapixel": ("https://a.quora.com/qevents.js", 'qp("init", tag)'),
    "boardpixel": ("https://s.pinimg.com/ct/core.js", 'pintrk("load", tag)'),
    "searchenginepixel": ("https://bat.bing.com/bat.js", "new window.UET({ti: tag"),
    "ephemeralpixel": ("https://sc-static.net/scevent.min.js", 'snaptr("init", tag)'),
    "forumpixel": ("https://www.redditstatic.com/ads/pixel.js", 'rdt("init", tag)'),
    "shortvideopixel": (
        "https://analytics.tiktok.com/i18n/pixel/events.js?sdkid=TAG-1&lib=ttq",
        "ttq._i[tag]",
    ),
}


def _pixel(person: Person, kind: str = "socialapixel", tag: str = "TAG-1") -> int:
    return int(person.post("/pixel/add", {"type": kind, "name": "A pixel", "tag": tag})["id"])


def _straight(page: Page) -> bool:
    return (page.status, page.response.headers.get("location")) == (302, TARGET)


@ONCE
def test_every_provider_is_started_from_its_own_address_with_the_tag(ana: Person) -> None:
    assert list(DOCUMENTED) == list(TYPES) == list(PROVIDERS)
    for kind, (address, call) in DOCUMENTED.items():
        new_link(ana, f"to-{kind}", pixels=[_pixel(ana, kind)])
        page = walk(ana, f"to-{kind}")
        assert page.way["pixels"] == [{"type": kind, "tag": "TAG-1", "src": address}]
        assert call in page.response.text
        origin = "/".join(address.split("/")[:3])
        assert page.policy["script-src"][:2] == ["NONCE", origin]
        assert {"'unsafe-inline'", "'unsafe-eval'", "*", "https:"} & set(page.policy["script-src"]) == set()
        others = [each.start for name, each in PROVIDERS.items() if name != kind]
        assert not any(start in page.response.text for start in others)


def test_a_link_with_pixels_counts_once_and_goes_on_at_once(ana: Person) -> None:
    link = new_link(ana, "spring", pixels=[_pixel(ana), _pixel(ana, "forumpixel", "t2_x")])
    page = walk(ana, "spring")
    assert (page.status, page.way["leave"], page.way["url"], page.way["asks"]) == (200, "pixels", TARGET, False)
    assert [pixel["type"] for pixel in page.way["pixels"]] == ["socialapixel", "forumpixel"]
    assert f'<noscript><meta http-equiv="refresh" content="0;url={TARGET}"></noscript>' in page.response.text
    assert clicks(ana, link) == (1, 1)


@ONCE
def test_the_policy_names_the_hosts_of_the_providers_in_use(ana: Person) -> None:
    new_link(ana, "spring", pixels=[_pixel(ana)])
    assert walk(ana, "spring").policy == {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "script-src": ["NONCE", "https://connect.facebook.net"],
        "img-src": ["data:", "https://www.facebook.com", "https://connect.facebook.net"],
        "connect-src": ["https://www.facebook.com", "https://connect.facebook.net"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }


@pytest.mark.parametrize("header", ["DNT", "Sec-GPC"])
def test_who_asks_not_to_be_tracked_is_not(ana: Person, header: str) -> None:
    link = new_link(ana, "spring", pixels=[_pixel(ana)])
    assert _straight(walk(ana, "spring", headers={header: "1"}))
    assert walk(ana, "spring", headers={header: "0"}).status == 200
    assert clicks(ana, link) == (2, 1)
    splash = ana.post("/splash/add", {"name": "x", "title": "Hello", "counter": 3})["id"]
    new_link(ana, "both", pixels=[_pixel(ana)], type=splash)
    page = walk(ana, "both", headers={header: "1"})
    assert (page.way["pixels"], page.policy["script-src"]) == ([], ["NONCE"])


def test_programs_and_crawlers_run_no_pixels(ana: Person, service: Inside) -> None:
    link = new_link(ana, "spring", pixels=[_pixel(ana)])
    for agent in (GOOGLEBOT, SLACK):
        assert _straight(walk(ana, "spring", agent=agent))
    assert visit(service, "spring", agent=CURL).headers["location"] == TARGET
    assert clicks(ana, link) == (1, 1)


def test_a_splash_page_runs_the_links_pixels_too(ana: Person) -> None:
    splash = ana.post("/splash/add", {"name": "x", "title": "Hello", "counter": 3})["id"]
    link = new_link(ana, "spring", pixels=[_pixel(ana)], type=splash)
    page = walk(ana, "spring")
    assert (page.way["leave"], page.way["count"]) == ("count", 3)
    assert page.policy["script-src"] == ["NONCE", "https://connect.facebook.net"]
    assert clicks(ana, link) == (1, 1)


def test_a_change_to_a_pixel_is_in_force_at_once(ana: Person) -> None:
    pixel = _pixel(ana)
    link = new_link(ana, "spring", pixels=[pixel])
    assert walk(ana, "spring").way["pixels"][0]["tag"] == "TAG-1"
    ana.put(f"/pixel/{pixel}/update", {"tag": "NEW-2"})
    assert walk(ana, "spring").way["pixels"][0]["tag"] == "NEW-2"
    ana.delete(f"/pixel/{pixel}/delete")
    assert _straight(walk(ana, "spring"))
    ana.put(f"/url/{link}/update", {"pixels": [_pixel(ana)]})  # a link that was answered from memory takes one up
    assert walk(ana, "spring").status == 200
    ana.put(f"/url/{link}/update", {"pixels": []})
    assert _straight(walk(ana, "spring"))


@ONCE
def test_pixels_of_somebody_else_cannot_be_used_or_changed(ana: Person, ben: Person) -> None:
    pixel = _pixel(ana)
    new_link(ana, "spring", pixels=[pixel])
    refused(ben.call("POST", "/url/add", {"url": TARGET, "pixels": [pixel]}), 400, "pixels")
    assert ben.call("PUT", f"/pixel/{pixel}/update", {"tag": "BEN"}).status_code == 404
    assert ben.call("DELETE", f"/pixel/{pixel}/delete").status_code == 404
    assert walk(ana, "spring").way["pixels"][0]["tag"] == "TAG-1"


@ONCE
def test_a_tag_that_came_past_the_api_cannot_break_out(ana: Person) -> None:
    nasty = "</script><script>alert(1)</script>\"'\\\u2028"
    pixel = _pixel(ana, "retargetpixel")
    ana.write(lambda tx: tx.exec_driver_sql("UPDATE pixels SET tag = ?", (nasty,)))
    new_link(ana, "spring", pixels=[pixel])
    page = walk(ana, "spring")
    assert page.way["pixels"][0]["tag"] == nasty
    assert page.way["pixels"][0]["src"].startswith("https://s.adroll.com/j/%3C/roundtrip.js")
    assert len(page.all("script")) == 2
    assert "\u2028" not in page.response.text


def test_limit_password_and_expiry_come_before_any_pixel(ana: Person) -> None:
    pixels = [_pixel(ana)]
    new_link(ana, "once", pixels=pixels, clicklimit=1, expiryurl="https://example.com/over")
    assert walk(ana, "once").status == 200
    assert walk(ana, "once").response.headers["location"] == "https://example.com/over"
    new_link(ana, "locked", pixels=pixels, password="open sesame")
    page = walk(ana, "locked")
    assert (page.status, page.all("script")) == (401, [])


@ONCE
def test_with_consent_nothing_runs_before_the_visitor_says_yes(ana: Person, settings: Settings) -> None:
    link = new_link(ana, "spring", pixels=[_pixel(ana)])
    asking = Settings(**{**settings.model_dump(), "pixel_consent": "on"})
    with Inside(build(asking, Database(asking.database))) as client:
        page = Page(visit(client, "spring", headers=PAGE))
        assert (page.way["asks"], page.way["leave"]) == (True, "pixels")
        assert "hidden" in page.one("section", id="consent").attributes
        assert "Facebook" in page.one("section", id="consent").text
        assert page.way["cookie"].endswith("; Path=/spring; SameSite=Lax")
        asked_for = page.way["cookie"].partition(";")[0]
        yes = Page(visit(client, "spring", headers={**PAGE, "Cookie": f"wp_consent=yes{asked_for}"}))
        assert (yes.way["asks"], yes.way["leave"]) == (False, "pixels")
        assert _straight(Page(visit(client, "spring", headers={**PAGE, "Cookie": f"wp_consent=no{asked_for}"})))
        assert _straight(Page(visit(client, "spring", headers={**PAGE, "DNT": "1"})))
        ana.put(f"/url/{link}/update", {"pixels": [_pixel(ana), _pixel(ana, "qapixel")]})
    with Inside(build(asking, Database(asking.database))) as client:
        # Somebody else is to learn of it now: the old yes does not cover that.
        more = Page(visit(client, "spring", headers={**PAGE, "Cookie": f"wp_consent=yes{asked_for}"}))
        assert more.way["asks"]
    assert clicks(ana, link)[0] == 5
