"""The dashboard in the viewer's language: the choice of the language, translated errors, formats and catalogs."""

import re
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

import pytest
import time_machine
from babel.messages.pofile import read_po

from tests.conftest import Person
from tests.support.catalogs import complete_catalog
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.visits import ACCEPT_HTML, new_link, visit
from waypost.core.languages import LANGUAGES, PSEUDO_LANGUAGE, direction
from waypost.dashboard.forms import Form
from waypost.dashboard.i18n import (
    current_language,
    format_limit,
    format_number,
    format_percent,
    format_size,
    format_time,
    gettext,
    ngettext,
)

_BRAZILIAN = re.compile(
    r"\b(?:arquivo|banco de dados|bancos de dados|celular|intermediária|lixeira|logotipo|ônibus|operaciona|planilha"
    r"|porcentagem|rastreamento|seção|seções|senha|tela|usuário|você|conect[ae]|desconect)|\b(?:aplicativo|baix(?:ar|e|ad[oa])|cadastr\w+"
    r"|compartilh\w+|contato|equipe|exclu(?:a|i|ir|iu|íd[oa])|gerenci\w+|registr\w+|salv(?:ar|e|o|a|ou))s?\b"
    r"|\b(?:em uma?|está \w+ndo|estão \w+ndo|continuam? \w+ndo|não funciona mais|\w+ demais)\b",
    re.IGNORECASE,
)
CATALOGS = sorted(Path("src/waypost/dashboard/locales").glob("*/LC_MESSAGES/messages.po"))


@pytest.mark.parametrize("path", CATALOGS, ids=lambda path: path.parts[-3])
def test_catalog_has_every_text(path: Path) -> None:
    with path.open("rb") as file:
        untranslated = [
            message.id for message in read_po(file) if message.id and not _is_translated(message.string or "")
        ]
    assert untranslated == []


@pytest.mark.parametrize("path", CATALOGS, ids=lambda path: path.parts[-3])
def test_translations_have_the_placeholders_of_their_message(path: Path) -> None:
    with path.open("rb") as file:
        for message in read_po(file):
            if message.id and isinstance(message.id, str) and message.string:
                assert _placeholders(str(message.string)) == _placeholders(message.id), message.id


def test_french_has_one_apostrophe_and_no_break_spaces_at_double_punctuation() -> None:
    paths = Path("src/waypost").glob("*/locales/fr/LC_MESSAGES/messages.po")
    texts = [text for path in paths for text in _translations(path)]
    assert [text for text in texts if re.search(r"[^\W\d]'[^\W\d]", text)] == []
    # Schemes and fields of formats keep their colon.
    prose = [re.sub(r"\b(?:data|mailto|[A-Z]+):(?:nom;)?", "", text) for text in texts]
    assert [
        text for text in prose if re.search(r"[^\u00a0]:(?=\s|$)|[^\u202f][;!?](?=\s|$)|«[^\u00a0]|[^\u00a0]»", text)
    ] == []


@pytest.mark.parametrize("package", ["dashboard", "visits"])
def test_european_portuguese_has_no_brazilian_words(package: str) -> None:
    texts = [form for message in complete_catalog("pt-PT", package) for form in _forms(message.string)]
    assert [text for text in texts if _BRAZILIAN.search(text)] == []


@pytest.mark.parametrize("package", ["dashboard", "visits"])
def test_european_portuguese_has_only_texts_that_differ(package: str) -> None:
    brazilian = complete_catalog("pt", package)
    with Path(f"src/waypost/{package}/locales/pt_PT/LC_MESSAGES/messages.po").open("rb") as file:
        messages = [message for message in read_po(file) if message.id]
    assert len(messages) > 50
    same = [message.id for message in messages if brazilian.get(message.id).string == message.string]  # type: ignore[union-attr]
    assert same == []


def test_text_without_a_european_translation_is_brazilian() -> None:
    for language, texts in (("pt", ("Arquivo", "Conta")), ("pt-PT", ("Ficheiro", "Conta"))):
        token = current_language.set(language)
        try:
            assert (gettext("File"), gettext("Account")) == texts
        finally:
            current_language.reset(token)


def _forms(text: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text or ())


def _translations(path: Path) -> list[str]:
    with path.open("rb") as file:
        return [form for message in read_po(file) if message.id for form in _forms(message.string)]


def test_errors_have_the_colon_of_the_language() -> None:
    form = Form({})
    form.errors["url"] = "Already there."
    token = current_language.set("fr")
    try:
        form.describe("url", "Destination", place="Par pays")
        assert form.summary == [("url", "Par pays\u00a0: Destination", "\u00a0: Already there.")]
    finally:
        current_language.reset(token)


@ON_SQLITE
def test_switch_changes_language_and_account_keeps_it(dashboard: Browser) -> None:
    assert '<html lang="en" dir="ltr"' in dashboard.get("/links").text
    dashboard.submit("/language", at="/links", language="de")
    page = dashboard.get("/links").text
    assert '<html lang="de" dir="ltr" data-thousands="."' in page
    assert "Neuer Link" in page
    dashboard.client.cookies.delete("waypost_language")
    assert '<html lang="de"' in dashboard.get("/links").text


@ON_SQLITE
@pytest.mark.parametrize(
    ("accepted", "language", "password"),
    [
        ("fr-CA, en;q=0.5", "fr", "Mot de passe"),
        ("pt-BR,pt;q=0.9", "pt", "Senha"),
        ("pt-PT,pt;q=0.9", "pt-PT", "Palavra-passe"),
    ],
)
def test_signed_out_page_has_the_language_of_the_browser(
    browser: Browser, accepted: str, language: str, password: str
) -> None:
    page = browser.client.get("/dashboard/signin", headers={"Accept-Language": accepted}).text
    assert f'<html lang="{language}"' in page
    assert password in page


@ON_SQLITE
@pytest.mark.parametrize(
    ("language", "text"), [("en", "22 Nov 2026, 20:37"), ("de", "22. Nov. 2026, 20:37"), ("fr", "22 nov. 2026, 20:37")]
)
def test_time_is_written_as_dates_are(ana: Person, browser: Browser, language: str, text: str) -> None:
    with time_machine.travel("2026-11-22 20:37:11Z", tick=False):
        browser.sign_in("ana")
        browser.submit("/language", at="/account", language=language)
        page = browser.get("/account/sessions").text
    assert re.search(r'<time datetime="2026-11-22T20:37:11Z" title="UTC" data-local>([^<]+)</time>', page)[1] == text  # type: ignore[index]


def test_formatted_error_is_translated_with_its_values() -> None:
    token = current_language.set("de")
    try:
        assert gettext("expiry must not be in the past.") == "expiry darf nicht in der Vergangenheit liegen."
        assert gettext(
            "geotarget.2.location must be the English name or two-letter code of a country, such as Germany or DE."
        ).startswith("geotarget.2.location muss der Name oder der Code")
        assert gettext("name must be at most 5 characters.") == "name darf höchstens 5 Zeichen haben."
        assert gettext("Not a text of the catalog at all.") == "Not a text of the catalog at all."
        assert ngettext("%(count)s click", "%(count)s clicks", 1234) == "1.234 Klicks"
        assert format_number(1000) == "1.000"
    finally:
        current_language.reset(token)
    assert gettext("name must be at most 5 characters.") == "name must be at most 5 characters."


@pytest.mark.parametrize(
    ("message", "german"),
    [
        ("old.example cannot be read: it answered with status 500.", "antwortete mit Status 500."),
        (
            "old.example cannot be read: it limits its requests. Try again after 2026-01-02 03:04:05 UTC.",
            "begrenzt die Anfragen. Versuchen Sie es nach 2026-01-02 03:04:05 UTC noch einmal.",
        ),
        (
            "logo cannot be fetched: it takes too long.",
            "logo kann nicht abgerufen werden: die Antwort dauert zu lange.",
        ),
        ("objects cannot be written: disk full", "Objekte können nicht geschrieben werden: disk full"),
        ("You have a bio page with this alias.", "ein Element (Bio-Seite) mit diesem Alias."),
        (
            "The date 03/04/2026 was read as 2026-04-03, because the day is first.",
            "als 3. Apr. 2026 gelesen, weil der Tag zuerst steht.",
        ),
        (
            "The date 03/04/2026 was read as soon, because the day is first.",
            "als soon gelesen, weil der Tag zuerst steht.",
        ),
    ],
)
def test_stored_reason_is_translated_when_it_is_shown(message: str, german: str) -> None:
    token = current_language.set("de")
    try:
        assert gettext(message).endswith(german)
    finally:
        current_language.reset(token)


@pytest.mark.parametrize(
    ("language", "time", "percent", "size"),
    [
        ("en", "24 Nov 2026, 13:05", "12%", "1.4 MB"),
        ("de", "24. Nov. 2026, 13:05", "12\u00a0%", "1,4 MB"),
        ("fr", "24 nov. 2026, 13:05", "12\u202f%", "1,4 Mo"),
        ("es", "24 nov 2026, 13:05", "12\u00a0%", "1,4 MB"),
        ("pt", "24 de nov. de 2026, 13:05", "12%", "1,4 MB"),
        ("pt-PT", "24/11/2026, 13:05", "12%", "1,4 MB"),
        ("ar", "24 نوفمبر 2026، 13:05", "12%", "1.4 ميغابايت"),
    ],
)
def test_times_and_numbers_have_the_format_of_the_language(language: str, time: str, percent: str, size: str) -> None:
    token = current_language.set(language)
    try:
        moment = datetime(2026, 11, 24, 13, 5, tzinfo=UTC)
        assert (format_time(moment), format_percent(12), format_size(1_400_000)) == (time, percent, size)
    finally:
        current_language.reset(token)


@ON_SQLITE
def test_page_of_statistics_has_one_format_of_dates(ana: Person, dashboard: Browser) -> None:
    link = new_link(ana, "spring")
    visit(dashboard.client, "spring")
    for path in ("", f"/links/{link}/stats", "/visits", "/statistics"):
        text = re.sub(r"<[^>]+>", " ", dashboard.get(path).text)
        assert not re.search(r"\b\d{4}-\d\d-\d\d\b", text), path


def test_api_name_before_an_error_is_left_out() -> None:
    form = Form({})
    form.errors["key"] = "token: enter a token of Bitly."
    assert form.describe("key", "Token of the service") == "Enter a token of Bitly."
    form.errors["key"] = "The service refused it: wrong token."
    assert form.describe("key", "Token of the service") == "The service refused it: wrong token."


def test_arabic_and_the_pseudo_language_are_written_from_right_to_left() -> None:
    assert [language for language in (*LANGUAGES, PSEUDO_LANGUAGE) if direction(language) == "rtl"] == ["ar", "ar-XB"]


_STARTS, _END = "\u2066\u2068", "\u2069"
"""Signs around a text of another direction: its direction is from left to right, or that of its first character."""


def test_arabic_isolates_texts_of_another_direction() -> None:
    for path in Path("src/waypost").glob("*/locales/ar/LC_MESSAGES/messages.po"):
        for text in _translations(path):
            depths = [0, *accumulate((sign in _STARTS) - (sign == _END) for sign in text)]
            assert (min(depths), depths[-1]) == (0, 0), text
            assert max(depths) <= 1, text
            outside = re.sub(f"[{_STARTS}][^{_END}]*{_END}", "", text)
            assert not re.search(r"(?<!data\.)%\((?:url|host|email|link|name|alias)\)s(?! \u2013)", outside), text


@pytest.mark.parametrize(
    ("count", "clicks"),
    [
        (0, "0 نقرة"),
        (1, "نقرة واحدة"),
        (2, "نقرتان"),
        (3, "3 نقرات"),
        (11, "11 نقرة"),
        (100, "100 نقرة"),
        (103, "103 نقرات"),
        (1002, "1,002 نقرة"),
    ],
)
def test_arabic_has_six_plural_forms(count: int, clicks: str) -> None:
    token = current_language.set("ar")
    try:
        assert ngettext("%(count)s click", "%(count)s clicks", count) == clicks
    finally:
        current_language.reset(token)


@ON_SQLITE
def test_arabic_pages_are_written_from_right_to_left(ana: Person, browser: Browser) -> None:
    browser.client.headers["Accept-Language"] = "ar-SA, en;q=0.5"
    missing = visit(browser.client, "no-such-link", headers=ACCEPT_HTML)
    pages = [browser.client.get("/dashboard/signin").text, missing.text]
    browser.sign_in("ana")
    for page in (*pages, browser.get("/links").text):
        assert '<html lang="ar" dir="rtl"' in page


@ON_SQLITE
def test_previews_have_the_language_of_the_dashboard(dashboard: Browser) -> None:
    dashboard.client.cookies.set("waypost_language", "ar")
    for kind, fields in (("overlays", {"type": "message", "message": "Hello"}), ("splash", {"title": "Hello"})):
        preview = dashboard.submit(f"/{kind}/preview", at=f"/{kind}/new?type=message", **fields)
        assert '<html lang="ar" dir="rtl"' in preview.text, kind


def _is_translated(text: str | tuple[str, ...] | list[str]) -> bool:
    return bool(text) if isinstance(text, str) else all(text)


def _placeholders(text: str) -> set[str]:
    return set(re.findall(r"%\(\w+\)s", text))


@pytest.mark.parametrize(
    ("limit", "english", "french"),
    [
        (6, "6 bytes", "6 octets"),
        (50_000, "50 kB", "50 ko"),
        (500_000_000, "500 MB", "500 Mo"),
        (512 << 20, "512 MiB", "512 Mio"),
        (50 << 30, "50 GiB", "50 Gio"),
        ((512 << 20) + 1, "537 MB", "537 Mo"),
        (1_250_000_000, "1.25 GB", "1,25 Go"),
    ],
)
def test_limit_is_as_typed_in_decimal_or_binary_units(limit: int, english: str, french: str) -> None:
    for language, text in (("en", english), ("fr", french)):
        token = current_language.set(language)
        try:
            assert format_limit(limit) == text
        finally:
            current_language.reset(token)
