"""Names of countries and languages in the viewer's language: selects, rules of links, statistics and visits."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.databases import ON_SQLITE
from tests.support.visits import FIREFOX, new_link, visit
from waypost.clicks.classify.language_names import LANGUAGE_NAMES
from waypost.clicks.geo.countries import NAMES
from waypost.core.languages import LANGUAGES, PSEUDO_LANGUAGE
from waypost.core.settings import Settings
from waypost.dashboard import localized_names
from waypost.dashboard.i18n import current_language
from waypost.db.database import Database
from waypost.server.app import build

URL = "https://example.com/"


@pytest.fixture
def german(dashboard: Browser) -> Browser:
    """A browser in which Ana sees the dashboard in German."""
    dashboard.submit("/language", at="/links", language="de")
    return dashboard


@pytest.fixture(params=[*LANGUAGES, PSEUDO_LANGUAGE])
def language(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each language of the dashboard in turn, as the current one."""
    token = current_language.set(request.param)
    yield request.param
    current_language.reset(token)


def test_every_name_is_found_by_its_localized_name(language: str) -> None:
    for name in NAMES.values():
        shown = localized_names.country_name(name)
        assert localized_names.find_country(shown) == name
        assert localized_names.find_country(shown.upper()) == name
    for code in LANGUAGE_NAMES:
        assert localized_names.find_language(localized_names.language_name(code)) == code
        assert localized_names.find_language(code) == code
    assert (localized_names.country_name("Germany") == "Germany") == (language == "en")


def test_localized_name_is_no_english_name_of_another(language: str) -> None:
    assert [localized_names.find_country(name) for name in NAMES.values()] == [*NAMES.values()]
    for code, name in LANGUAGE_NAMES.items():
        assert localized_names.find_language(name) in (name, code), language


def test_text_that_is_no_name_is_unchanged(language: str) -> None:
    for text in ("Nirgendwo", "", "DE", "pt-BR"):
        assert localized_names.find_country(text) == text
        assert localized_names.find_language(text) == text, language


@ON_SQLITE
def test_selects_are_sorted_by_name_in_german(ana: Person, german: Browser) -> None:
    page = german.get(f"/links/{new_link(ana, 'spring')}/trial").text
    names = re.findall(r'<option value="([A-Z]{2})">([^<]+)</option>', page)
    assert dict(names) | {"DE": "Deutschland", "EG": "Ägypten", "AT": "Österreich"} == dict(names)
    order = [code for code, _ in names if code in ("AF", "EG", "AL", "NZ", "AT", "PK")]
    assert order == ["AF", "EG", "AL", "NZ", "AT", "PK"]
    assert '<option value="cs">Tschechisch</option>' in page


@ON_SQLITE
def test_rules_are_shown_and_read_in_german(ana: Person, german: Browser) -> None:
    rules = {
        "geotarget": [{"location": name, "link": URL} for name in ("Germany", "DE")],
        "languagetarget": [{"language": code, "link": URL} for code in ("cs", "pt-BR")],
    }
    link = new_link(ana, "spring", **rules)
    page = german.get(f"/links/{link}").text
    locations = re.findall(r'name="geotarget.location"[^>]*\svalue="([^"]*)"', page)
    languages = re.findall(r'name="languagetarget.language"[^>]*\svalue="([^"]*)"', page)
    assert locations == ["Deutschland", "DE", ""]
    assert languages == ["Tschechisch", "pt-BR", ""]
    # Browsers search the value and the text of suggestions.
    assert '<option value="Österreich">Austria</option>' in page
    assert '<option value="Schwedisch">sv, Swedish</option>' in page

    fields: dict[str, Any] = {
        "url": URL,
        "version": hidden_field(german.get(f"/links/{link}"), "version"),
        "geotarget.location": [*locations[:2], "osterreich", "France", "Nirgendwo"],
        "geotarget.link": [URL] * 5,
        "languagetarget.language": [*languages[:2], "schwedisch", "German"],
        "languagetarget.link": [URL] * 4,
    }
    failed = german.submit(f"/links/{link}", **fields)
    assert failed.status_code == 400
    assert re.findall(r'name="geotarget.location"[^>]*\svalue="([^"]*)"', failed.text) == [
        *("Deutschland", "DE", "Österreich", "Frankreich", "Nirgendwo", "")
    ]
    fields["geotarget.location"] = fields["geotarget.location"][:4]
    fields["geotarget.link"] = fields["geotarget.link"][:4]
    assert german.submit(f"/links/{link}", **fields).status_code == 303
    details = ana.details("url", link)
    assert [row["location"] for row in details["geotarget"]] == ["Germany", "DE", "Austria", "France"]
    assert [row["language"] for row in details["languagetarget"]] == ["cs", "pt-BR", "sv", "de"]


@ON_SQLITE
def test_save_of_another_field_keeps_rules_as_stored(ana: Person, german: Browser) -> None:
    rules = [{"location": name, "link": URL} for name in ("germany", "at")]
    link = new_link(ana, "spring", geotarget=rules)
    page = german.get(f"/links/{link}")
    version = hidden_field(page, "version")
    shown = re.findall(r'name="geotarget.location"[^>]*\svalue="([^"]*)"', page.text)
    fields: dict[str, Any] = {"geotarget.location": shown, "geotarget.link": [URL, URL, ""]}
    assert german.submit(f"/links/{link}", url=URL, title="Spring", version=version, **fields).status_code == 303
    assert ana.details("url", link)["geotarget"] == rules


@ON_SQLITE
def test_statistics_and_visits_name_countries_and_languages_in_german(
    ana: Person, german: Browser, settings: Settings, database: Database
) -> None:
    link = new_link(ana, "spring")
    changes = {"country_header": "X-Country", "trusted_proxies": "127.0.0.1"}
    app = build(Settings.model_validate({**settings.model_dump(), **changes}), database)
    with AsgiClient(app, address="127.0.0.1") as behind_proxy:
        headers = {"Accept-Language": "cs", "X-Country": "CZ", "X-Forwarded-For": "203.0.113.7"}
        assert visit(behind_proxy, "spring", agent=FIREFOX, headers=headers).status_code == 302
    for path in (f"/links/{link}/stats?period=7", f"/links/{link}/stats?period=7&country=Czechia", "/visits"):
        page = german.get(path).text
        assert "<bdi>Tschechien</bdi>" in page, path
        assert "<bdi>Tschechisch</bdi>" in page, path
        assert "country=Czechia" in page
    assert re.search(r'aria-label="Tschechien: 1 ', german.get(f"/links/{link}/stats?period=7").text)
    rows = german.get(f"/links/{link}/stats?period=7&format=csv").text
    assert '"L\xe4nder","Tschechien","1"' in rows
