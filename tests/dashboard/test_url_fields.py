"""URL fields of the dashboard: a missing `https://` is added; the API accepts complete URLs only."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet, ok, server
from tests.support.files import new_file
from tests.support.qr_decoders import png
from waypost.items.qr.form import PARTS
from waypost.urls.validation import complete_url

_LINK = {"url": "https://example.com/"}
_FIELDS: list[tuple[str, dict[str, Any], str]] = [
    ("links", {}, "url"),
    ("links", _LINK, "expiryurl"),
    ("links", _LINK, "metaimage"),
    ("links", {**_LINK, "geotarget.location": "France"}, "geotarget.link"),
    ("links", {**_LINK, "devicetarget.device": "iPhone"}, "devicetarget.link"),
    ("links", {**_LINK, "languagetarget.language": "fr"}, "languagetarget.link"),
    ("links", {**_LINK, "deeplink.google": ""}, "deeplink.apple"),
    ("links", {**_LINK, "deeplink.apple": ""}, "deeplink.google"),
    ("splash", {"name": "A"}, "link"),
    ("splash", {"name": "A"}, "banner"),
    ("splash", {"name": "A"}, "logo"),
    ("overlays", {"name": "A", "type": "message", "message": "x"}, "link"),
    ("overlays", {"name": "A", "type": "image"}, "image"),
    ("overlays", {"name": "A", "type": "contact", "message": "x"}, "webhook"),
    ("domains", {"domain": "https://go.brand.example"}, "redirectroot"),
    ("domains", {"domain": "https://go.brand.example"}, "redirect404"),
    ("bios", {"name": "A", "order": "b", "b.type": "link", "b.title": "x"}, "b.url"),
    ("bios", {"name": "A", "order": "b", "b.type": "image"}, "b.image"),
    ("bios", {"name": "A", "order": "b", "b.type": "image", "b.image": "https://example.com/"}, "b.link"),
    ("bios", {"name": "A", "order": "b", "b.type": "social", "b.network": "X"}, "b.url"),
    ("bios", {"name": "A", "order": "b", "b.type": "vcard", "b.fname": "Ana"}, "b.site"),
    ("qr", {"type": "link"}, "link.link"),
    ("qr", {"type": "vcard", "vcard.fname": "Ana"}, "vcard.site"),
    ("qr", {"type": "event", "event.title": "A", "event.start": "2999-01-01T10:00"}, "event.url"),
    ("qr", {"type": "app"}, "app.url"),
    ("qr", {"type": "app"}, "app.apple"),
    ("qr", {"type": "app"}, "app.google"),
]
_NOUNS = {"links": "url", "domains": "domain", "bios": "bio", "overlays": "overlay", "splash": "splash", "qr": "qr"}


def _submit(dashboard: Browser, page: str, fields: dict[str, Any], name: str, typed: str) -> Any:
    """Send the form of a new item with this text in one field."""
    at = "/domains/new?domain=https://go.brand.example" if page == "domains" else f"/{page}/new"
    if page == "overlays":
        at = f"/overlays/new?type={fields['type']}"
    if page == "qr":  # browsers send all parts of a type
        fields = {**{f"{fields['type']}.{part}": "" for part in PARTS[fields["type"]]}, **fields}
    return dashboard.submit(f"/{page}/new", at, **{**fields, name: typed})


@ON_SQLITE
@pytest.mark.parametrize(("page", "fields", "name"), _FIELDS)
def test_url_field_adds_missing_scheme(
    ana: Person, dashboard: Browser, page: str, fields: dict[str, Any], name: str
) -> None:
    response = _submit(dashboard, page, fields, name, "  www.example.com/go?x=1 ")
    assert response.status_code == 303, response.text
    item = ana.get(f"/{_NOUNS[page]}/1")
    assert "https://www.example.com/go?x=1" in str(item)


@ON_SQLITE
@pytest.mark.parametrize(("page", "fields", "name"), _FIELDS)
def test_text_that_is_no_address_is_refused_with_an_example(
    dashboard: Browser, page: str, fields: dict[str, Any], name: str
) -> None:
    for language, message in (("en", "This is not an address. Example: "), ("de", "Das ist keine Adresse. Beispiel: ")):
        dashboard.submit("/language", at="/account", language=language)
        response = _submit(dashboard, page, fields, name, "hello world")
        assert (response.status_code, f"{message}example.com/page" in response.text) == (400, True), language


@ON_SQLITE
def test_url_of_an_embedded_player_gets_a_missing_scheme(ana: Person, dashboard: Browser) -> None:
    fields = {"name": "A", "order": "b", "b.type": "embed", "b.title": "A film", "b.url": "  vimeo.com/22439234 "}
    response = dashboard.submit("/bios/new", **fields)
    assert response.status_code == 303, response.text
    assert ana.get("/bio/1")["details"]["blocks"][0]["url"] == "https://vimeo.com/22439234"


@ON_SQLITE
def test_url_of_a_logo_gets_a_missing_scheme(ana: Person, dashboard: Browser, internet: FakeInternet) -> None:
    new_file(ana, "own.png", png(), custom="own-logo")
    fields = {"type": "text", "text.text": "Hello", "foreground": "#000000", "background": "#ffffff", "level": "auto"}
    fields |= {"modules": "square", "eyes": "square", "margin": "4"}
    with server(lambda _head: [ok(png(), b"Content-Type: image/png")]) as internet.routes[PUBLIC]:
        internet.add_host("pictures.example", PUBLIC)
        for logo in (" http://pictures.example/logo.png ", " own-logo "):
            assert dashboard.submit("/qr/new", **fields, logo=logo).status_code == 303, logo
        response = dashboard.submit("/qr/new", **fields, logo="  pictures.example/logo.png ")
    assert [ana.get(f"/qr/{code}")["details"]["logo"] for code in (1, 2)] == [True, True]
    assert 'value="https://pictures.example/logo.png"' in response.text
    assert "it did not answer" in response.text  # no TLS here


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("example.com", "https://example.com"),
        (" www.example.com/a?b=c.d#e ", "https://www.example.com/a?b=c.d#e"),
        ("example.com:8443/a", "https://example.com:8443/a"),
        ("//example.com/a", "https://example.com/a"),
        ("bücher.example?q", "https://bücher.example?q"),
        ("http://example.com", "http://example.com"),
        ("https://https://example.com", "https://example.com"),
        ("HTTPS://http://https://example.com/?u=https://x", "https://example.com/?u=https://x"),
        ("https://example.com:/a:/b", "https://example.com/a:/b"),
        ("https://example.com:", "https://example.com"),
        ("https://[2001:db8::]/", "https://[2001:db8::]/"),
        ("https://example.com/a:", "https://example.com/a:"),
        ("mailto:ana@example.com", "mailto:ana@example.com"),
        ("com.example.app:open", "com.example.app:open"),
        ("ana@example.com", "ana@example.com"),
        ("javascript:alert(document.cookie)", "javascript:alert(document.cookie)"),
        ("localhost/a.html", "localhost/a.html"),
        ("see example.com", "see example.com"),
        ("/a.html", "/a.html"),
        ("\\\\example.com\\a", "\\\\example.com\\a"),
        ("", ""),
    ],
)
def test_scheme_is_added_only_to_a_host_with_a_dot(typed: str, url: str) -> None:
    assert complete_url(typed) == url


@ON_SQLITE
def test_api_still_rejects_url_without_scheme(ana: Person) -> None:
    assert ana.call("POST", "/url/add", {"url": "example.com/x"}).json()["field"] == "url"
