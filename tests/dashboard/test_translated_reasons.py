"""Reasons why a request to another server failed, and the warnings of the health page, in the viewer's language."""

import re

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet, moved, ok, server
from waypost.admin import system_checks
from waypost.clicks.geo.databases import DatabaseError, Mmdb
from waypost.core.languages import LANGUAGES
from waypost.core.settings import Settings
from waypost.dashboard.i18n import current_language, gettext

pytestmark = ON_SQLITE
_FAULTY = {
    "country_header": "X-Country",
    "storage_key": "key",
    "traces_url": "http://127.0.0.1:4318/v1/traces",
}
"""Settings with warnings."""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Settings that check domains, and with warnings."""
    return Settings.model_validate({**settings.model_dump(), "domain_check": "on", **_FAULTY})


@pytest.fixture
def german(dashboard: Browser) -> Browser:
    """Ana, an administrator, in German."""
    dashboard.submit("/language", at="/account", language="de")
    return dashboard


def test_health_warnings_are_in_the_language_of_the_page(
    german: Browser, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_BASEURL", "https://x.example")
    page = re.sub("</?code[^>]*>", "", german.get("/admin/health").text)
    assert '<p lang="en"' not in page
    assert "Es gibt keine Einstellung WAYPOST_BASEURL, daher wird sie ignoriert." in page
    assert "Meinten Sie WAYPOST_BASE_URL?" in page
    assert "WAYPOST_COUNTRY_HEADER ist gesetzt, aber der Dienst vertraut keinem Proxy" in page
    assert "Setzen Sie auch WAYPOST_TRUSTED_PROXIES." in page
    findings = system_checks.run(settings)
    assert {finding.id for finding in findings} >= {"W004", "W022", "W031", "W032"}
    assert [finding.text for finding in findings if finding.text in page or finding.hint in page] == []


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_finding_is_translated(language: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_BASEURL", "https://x.example")
    changes = {"geo_file": str(settings.data_dir / "none.mmdb"), "host": "0.0.0.0", "base_url": ""}
    findings = system_checks.run(settings.model_copy(update=changes))
    assert {finding.id for finding in findings} >= {"W004", "W020", "W022", "W023", "W031", "W032"}
    token = current_language.set(language)
    try:
        texts = [text for finding in findings for text in (finding.text, finding.hint)]
        assert [text for text in texts if gettext(text) == text] == []
    finally:
        current_language.reset(token)


def test_failed_check_of_a_domain_has_a_german_reason(german: Browser, internet: FakeInternet) -> None:
    path = "/domains/check?domain=http://go.brand.example"
    assert "ist fehlgeschlagen: go.brand.example hat keine Adresse im DNS." in german.get(path).text
    internet.add_host("go.brand.example", "10.0.0.1")
    assert "ist fehlgeschlagen: go.brand.example hat eine interne Adresse." in german.get(path).text
    internet.add_host("go.brand.example", PUBLIC)
    with server(lambda _: [moved(b"http://go.brand.example/")]) as internet.routes[PUBLIC]:
        assert "ist fehlgeschlagen: zu viele Weiterleitungen." in german.get(path).text
    with server(lambda _: [b"no HTTP at all"]) as internet.routes[PUBLIC]:
        assert "ist fehlgeschlagen: keine Antwort (RemoteProtocolError)." in german.get(path).text
    with server(lambda _: [ok(b"hello")]) as internet.routes[PUBLIC]:
        assert "Ein anderer Dienst hat die Anfrage an http://go.brand.example beantwortet." in german.get(path).text


def test_domain_that_points_elsewhere_has_a_german_error(german: Browser, internet: FakeInternet) -> None:
    at = "/domains/new?domain=http://go.brand.example"
    page = german.submit("/domains/new", at=at, domain="http://go.brand.example").text
    assert "tut es nicht: Die Anfrage an http://go.brand.example ist fehlgeschlagen: go.brand.example hat keine" in page
    internet.add_host("go.brand.example", PUBLIC)
    with server(lambda _: [ok(b"hello")]) as internet.routes[PUBLIC]:
        page = german.submit("/domains/new", at=at, domain="http://go.brand.example").text
    assert "tut es nicht: Ein anderer Dienst hat die Anfrage an http://go.brand.example beantwortet." in page
    assert "another service" not in page


def test_preview_of_a_link_has_a_german_reason(german: Browser, internet: FakeInternet) -> None:
    page = german.submit("/links/preview", at="/links/new", url="http://none.example/").text
    assert "Das Ziel antwortet nicht." in page
    internet.add_host("shop.example", PUBLIC)
    with server(lambda _: [ok(b"x" * (1024 * 1024 + 1))]) as internet.routes[PUBLIC]:
        page = german.submit("/links/preview", at="/links/new", url="http://shop.example/").text
    assert "Das Ziel konnte nicht gelesen werden: die Antwort ist größer als 1.048.576 Byte." in page


def test_api_keeps_english_reasons(ana: Person, german: Browser, internet: FakeInternet) -> None:
    message = ana.call("POST", "/domain/add", {"domain": "http://go.brand.example"}).json()["message"]
    assert message.endswith(
        "the request to http://go.brand.example failed: go.brand.example has no address in the DNS."
    )


def test_fault_of_the_file_of_countries_is_translated(settings: Settings) -> None:
    path = settings.data_dir / "damaged.mmdb"
    path.write_bytes(b"nothing")
    with pytest.raises(DatabaseError) as caught:
        Mmdb(path)
    token = current_language.set("de")
    try:
        text = gettext(f"The file of WAYPOST_GEO_FILE does not work: {caught.value}.")
    finally:
        current_language.reset(token)
    assert text == f"Die Datei von WAYPOST_GEO_FILE funktioniert nicht: {path} ist keine .mmdb-Datei."
