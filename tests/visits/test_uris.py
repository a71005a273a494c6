"""Every exit of a stored URL sends it as a URI; the API answers it as it was typed (decision 44)."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support.assertions import refused
from tests.support.bios import open_bio
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.html import Page, open_page
from tests.support.qr_decoders import zxing
from tests.support.visits import ACCEPT_HTML, ACCEPT_JSON, ANDROID, CHROME, SLACK, click_totals, clicks, new_link, visit
from waypost.core.settings import Settings
from waypost.core.uris import MAX_DESTINATION, MAX_LOCATION, MAX_QUERY

IRI = "https://bücher.example/straße?q=ü#ß"
URI = "https://xn--bcher-kva.example/stra%C3%9Fe?q=%C3%BC#%C3%9F"
BRAND = "https://brand.example"
pytestmark = ON_SQLITE


def _location(person: Person, path: str, **options: Any) -> str:
    response = visit(person.client, path, **options)
    assert response.status_code == 302, response.text
    return str(response.headers["location"])


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"url": IRI}, {}),
        ({"url": IRI, "clicklimit": 5}, {}),
        ({"url": IRI, "password": "open"}, {"auth": ("", "open")}),
        ({"devicetarget": [{"device": "Android", "link": IRI}]}, {"agent": ANDROID}),
        ({"languagetarget": [{"language": "fr", "link": IRI}]}, {"headers": {"Accept-Language": "fr"}}),
        ({"deeplink": {"google": IRI}}, {"agent": ANDROID}),
        ({"expiry": "2020-01-01", "expiryurl": IRI}, {}),
    ],
    ids=["plain", "limit", "password", "device", "language", "app", "expired"],
)
def test_redirect_of_link_is_uri(ana: Person, fields: dict[str, Any], options: dict[str, Any]) -> None:
    expiry = fields.pop("expiry", None)
    link = new_link(ana, "spring", **fields)
    if expiry:
        ana.write(lambda tx: tx.exec_driver_sql("UPDATE links SET expiry = 1"))
    assert _location(ana, "spring", **options) == URI
    details = ana.details("url", link)
    assert IRI in (details["longurl"], details["expiryurl"], *str(details).split("'"))


def test_redirect_of_link_with_visitors_query_is_uri(ana: Person) -> None:
    new_link(ana, "spring", url="https://bücher.example/ü#ß", parameters=[{"name": "a", "value": "ü"}])
    location = "https://xn--bcher-kva.example/%C3%BC?a=%C3%BC&b=%C3%BC#%C3%9F"
    assert _location(ana, "spring?b=%C3%BC") == location


def test_stray_percent_of_visitor_leaves_encoded(ana: Person) -> None:
    new_link(ana, "spring", url="https://example.com/50%")
    assert _location(ana, "spring?q=100%") == "https://example.com/50%25?q=100%25"


def test_redirects_of_domain_are_uris(ana: Person) -> None:
    ana.add("domain", domain=BRAND, redirectroot=IRI, redirect404=IRI)
    assert [_location(ana, f"{BRAND}/{path}") for path in ("", "unknown")] == [URI, URI]


def test_redirect_of_domain_root_passes_on_visitors_query(ana: Person) -> None:
    ana.add("domain", domain=BRAND, redirectroot="https://bücher.example/?a=1&b=2#ß", redirect404=IRI)
    assert _location(ana, f"{BRAND}/?b=3&c=%C3%BC") == "https://xn--bcher-kva.example/?a=1&b=3&c=%C3%BC#%C3%9F"
    assert visit(ana.client, f"{BRAND}/?{'q' * (MAX_QUERY + 1)}").status_code == 414


@pytest.mark.parametrize("settings", [{"root_redirect": IRI, "not_found_redirect": IRI}], indirect=True, ids=["own"])
def test_redirects_of_settings_are_uris(ana: Person) -> None:
    assert [_location(ana, path) for path in ("", "unknown")] == [URI, URI]


def test_rotator_and_preview_send_uris(ana: Person) -> None:
    campaign = ana.add("campaign", name="A", slug="all")
    new_link(ana, "spring", url=IRI, campaign=campaign)
    assert _location(ana, "r/all") == URI
    assert visit(ana.client, "spring+", headers=ACCEPT_JSON).json()["url"] == URI


def test_pages_before_destination_link_to_uris(ana: Person, framed_site: FakeInternet) -> None:
    splash = ana.add("splash", name="A", link=IRI, banner=IRI, logo=IRI, counter=3)
    overlay = ana.add("overlay", name="A", type="image", image=IRI, link=IRI)
    pixel = ana.add("pixel", type="socialapixel", name="A", tag="TAG-1")
    for fields in ({"type": str(splash)}, {"type": f"overlay-{overlay}"}, {"pixels": [pixel]}, {"metaimage": IRI}):
        alias = f"link-{new_link(ana, 'x', url=IRI)}"
        ana.update("url", ana.get("/urls")["data"]["urls"][0]["id"], custom=alias, **fields)
        page = open_page(ana, alias, agent=SLACK if "metaimage" in fields else CHROME, headers=ACCEPT_HTML)
        assert page.status == 200, fields
        assert URI.replace("#", "#") in page.response.text
        assert "straße" not in page.response.text, fields
        assert IRI not in page.response.text
        ana.remove("url", ana.get("/urls")["data"]["urls"][0]["id"])


def test_bio_page_sends_uris(ana: Person) -> None:
    blocks = [
        {"type": "link", "title": "A", "url": IRI},
        {"type": "social", "network": "x", "url": IRI},
        {"type": "image", "image": IRI, "link": IRI},
    ]
    ana.post("/bio/add", {"name": "me", "alias": "me-page", "blocks": blocks})
    page = Page(open_bio(ana, "me-page"))
    assert page.one("img", alt="bücher.example").attributes["src"] == URI
    links = [element.attributes["href"] for element in page.all("a") if "/me-page/" in element.attributes["href"]]
    assert [_location(ana, link.strip("/")) for link in links] == [URI] * 3


def test_qr_codes_contain_and_open_uris(ana: Person) -> None:
    link = ana.add("qr", type="link", data=IRI, custom="code")
    ana.add("qr", type="link", data=IRI, custom="fixed", dynamic=False)
    ana.add("qr", type="app", data={"url": IRI}, custom="store")
    assert [_location(ana, alias) for alias in ("code", "fixed", "store")] == [URI] * 3
    assert zxing(visit(ana.client, "qr/fixed.png").content) == URI
    assert ana.get(f"/qr/{link}")["details"]["data"] == IRI


def test_cards_and_mails_in_qr_codes_contain_uris(ana: Person) -> None:
    ana.add("qr", type="vcard", data={"fname": "Ana", "site": IRI}, custom="card")
    ana.add("qr", type="email", data={"email": "ana@bücher.example", "subject": "ü"}, custom="mail", dynamic=False)
    assert URI.encode() in visit(ana.client, "card").content.replace(b"\r\n ", b"")
    mail = zxing(visit(ana.client, "qr/mail.png").content)
    assert mail == "mailto:ana@xn--bcher-kva.example?subject=%C3%BC"


def test_destination_is_limited_as_uri(ana: Person) -> None:
    start = "https://bücher.example/"
    fits = start + "a" * (MAX_DESTINATION - len("https://xn--bcher-kva.example/"))
    link = new_link(ana, "longest", url=fits)
    assert len(_location(ana, "longest")) == MAX_DESTINATION
    assert ana.details("url", link)["longurl"] == fits
    too_long = f"{start}{'ü' * 1400}"
    for fields in ({"url": too_long}, {"url": IRI, "expiryurl": too_long}):
        field = list(fields)[-1]
        message = refused(ana.call("POST", "/url/add", fields), 400, field)
        assert message == (
            f"{field} must have at most 8192 bytes when it is percent-encoded, as it is sent to visitors; it has 8430."
        )
    parameters = [{"name": "a", "value": "ü" * 250}] * 6
    message = refused(ana.call("POST", "/url/add", {"url": IRI, "parameters": parameters}), 400, "parameters")
    assert "at most 8192 bytes" in message


def test_query_too_long_for_redirect_is_refused_and_not_counted(ana: Person, settings: Settings) -> None:
    longest = "https://example.com/".ljust(MAX_DESTINATION, "x")
    link = new_link(ana, "spring", url=longest, clicklimit=3)
    assert len(_location(ana, f"spring?{'q' * MAX_QUERY}")) == MAX_DESTINATION + 1 + MAX_QUERY
    for query in ("q" * (MAX_QUERY + 1), "é" * (MAX_QUERY // 6 + 1)):
        page = visit(ana.client, f"spring?{query}", headers=ACCEPT_HTML)
        assert (page.status_code, "Address too long" in page.text) == (414, True)
        assert visit(ana.client, f"spring?{query}", headers=ACCEPT_JSON).json()["code"] == "too_long"
    assert clicks(ana, link) == (1, 1)
    assert click_totals(ana, f"/url/{link}") == {"clicks": 1, "uniqueClicks": 1}


def test_stored_destination_too_long_for_redirect_is_refused_and_not_counted(ana: Person) -> None:
    link = new_link(ana, "spring")
    stored = {"url": f"https://example.com/{'ü' * (MAX_LOCATION // 6)}"}
    ana.write(lambda tx: tx.exec_driver_sql("UPDATE links SET url = :url", stored))
    assert visit(ana.client, "spring").status_code == 414
    assert clicks(ana, link) == (0, 0)


def test_consent_to_pixels_works_for_longest_destination_and_query(ana: Person) -> None:
    longest = "https://example.com/".ljust(MAX_DESTINATION, "x")
    pixel = ana.add("pixel", type="socialapixel", name="A", tag="TAG-1")
    new_link(ana, "spring", url=longest, pixels=[pixel], parameters=[{"name": "a", "value": "x" * 255}] * 30)
    page = open_page(ana, f"spring?{'q' * MAX_QUERY}")
    assert page.script_data["asks"]
    answered = Page(visit(ana.client, f"{page.script_data['consent'][1:]}yes", headers=ACCEPT_HTML))
    assert answered.script_data["url"] == page.script_data["url"]


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings of every test, overridden by the parameter of a test."""
    options = {"pixel_consent": "on", **getattr(request, "param", {})}
    return Settings(**{**settings.model_dump(exclude_unset=True), **options})
