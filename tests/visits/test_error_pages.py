"""Error pages for visitors in two languages, and JSON for programs."""

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment
from sqlalchemy import text as sql

import waypost
from tests.conftest import Person
from tests.support.catalogs import complete_catalog
from tests.support.databases import ON_SQLITE
from tests.support.visits import ACCEPT_HTML, ACCEPT_JSON, CURL, new_link, visit
from waypost.http import media_types
from waypost.visits import i18n

GERMAN = {**ACCEPT_HTML, "Accept-Language": "de-CH,fr;q=0.9,en;q=0.8"}
SOURCE = Path(waypost.__file__).parent
TEMPLATES = sorted((SOURCE / "visits" / "templates").glob("*.html"))
REFUSALS = (
    ("unknown", "GET", 404, "missing", "Not found", "Nicht gefunden"),
    ("off", "GET", 403, "disabled", "Disabled", "Deaktiviert"),
    ("used-up", "GET", 410, "gone", "Limit reached", "Limit erreicht"),
    ("late", "GET", 410, "gone", "Expired", "Abgelaufen"),
    ("locked", "GET", 401, "locked", "Password required", "Passwort erforderlich"),
    ("a/b/c", "GET", 404, "missing", "Not found", "Nicht gefunden"),
    ("off", "DELETE", 405, "method_not_allowed", "Method not allowed", "Methode nicht erlaubt"),
)


@pytest.fixture
def links(ana: Person) -> None:
    """Links that each fail for a different reason."""
    new_link(ana, "off", status="disabled")
    new_link(ana, "used-up", clicklimit=1)
    new_link(ana, "locked", password="a password")
    new_link(ana, "late")
    ana.write(lambda tx: tx.execute(sql("UPDATE links SET expiry = 1 WHERE alias = 'late'")))
    visit(ana.client, "used-up")


@ON_SQLITE
@pytest.mark.parametrize(("path", "method", "status", "code", "english", "german"), REFUSALS)
def test_error_is_page_for_browsers_and_json_for_programs(
    ana: Person, links: None, path: str, method: str, status: int, code: str, english: str, german: str
) -> None:
    for headers, title, language in ((ACCEPT_HTML, english, "en"), (GERMAN, german, "de")):
        page = visit(ana.client, path, method, headers=headers)
        assert (page.status_code, page.headers["content-language"]) == (status, language)
        assert f"<title>{title} · go.localhost</title>" in page.text
        assert f'<html lang="{language}" dir="ltr">' in page.text
        assert "script" not in page.headers["content-security-policy"]
        assert page.headers["cache-control"] == "private, no-store"
    response = visit(ana.client, path, method, agent=CURL, headers={**ACCEPT_JSON, "Accept-Language": "de"})
    assert (response.status_code, response.headers["cache-control"]) == (status, "private, no-store")
    assert (response.json()["error"], response.json()["code"]) == (1, code)
    assert "Allow" in response.headers if status == 405 else "Allow" not in response.headers


def test_reasons_have_pictures_of_their_own(ana: Person, links: None) -> None:
    paths = ("unknown", "off", "used-up", "late", "locked")
    pages = [visit(ana.client, path, headers=ACCEPT_HTML).text for path in paths]
    pictures = [re.search(r'<svg class="state-icon".*?</svg>', page, re.DOTALL) for page in pages]
    assert len({picture[0] for picture in pictures if picture}) == len(paths)


@ON_SQLITE
def test_error_page_links_to_front_page_of_hosts_that_have_one(ana: Person) -> None:
    ana.post("/domain/add", {"domain": "https://bare.example"})
    ana.post("/domain/add", {"domain": "https://home.example", "redirectroot": "https://example.com/"})
    for host, has_link in (("go.localhost", False), ("home.example", True), ("bare.example", False)):
        page = ana.client.get("/unknown", headers={"Host": host, **ACCEPT_HTML})
        assert (page.status_code, 'href="/">Go to the front page' in page.text) == (404, has_link), host
        assert 'class="brand"' in page.text
        assert f"<bdi>{host}</bdi>" in page.text


@ON_SQLITE
def test_address_of_account_explains_that_only_lists_have_pages(ana: Person) -> None:
    page = visit(ana.client, "u/ana", headers=ACCEPT_HTML)
    assert page.status_code == 404
    assert "Accounts have no public page" in page.text
    assert visit(ana.client, "u/nobody", headers=ACCEPT_HTML).text == page.text


@ON_SQLITE
@pytest.mark.parametrize("coding", ["br", "gzip"])
def test_page_is_compressed_except_in_response_to_form(ana: Person, links: None, coding: str) -> None:
    plain = visit(ana.client, "locked", headers={**ACCEPT_HTML, "Accept-Encoding": "identity"})
    page = visit(ana.client, "locked", headers={**ACCEPT_HTML, "Accept-Encoding": coding})
    assert "content-encoding" not in plain.headers
    assert page.headers["content-encoding"] == coding
    assert int(page.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert page.text == plain.text
    headers = {**ACCEPT_HTML, "Accept-Encoding": coding}
    form = visit(ana.client, "locked", "POST", data={"password": "wrong"}, headers=headers)
    assert "content-encoding" not in form.headers


@ON_SQLITE
def test_too_many_wrong_passwords_return_429_with_retry_after(ana: Person, links: None) -> None:
    for _ in range(10):
        visit(ana.client, "locked", "POST", data={"password": "wrong"}, headers=ACCEPT_HTML)
    for headers in (ACCEPT_HTML, {}):
        response = visit(ana.client, "locked", "POST", data={"password": "wrong"}, headers=headers)
        assert (response.status_code, response.headers["retry-after"]) == (429, "60")


@ON_SQLITE
@pytest.mark.parametrize(
    ("damage", "status", "code", "title"),
    [
        ("UPDATE bios SET blocks = 'secret'", 500, "internal", "Something went wrong"),
        ("ALTER TABLE bios RENAME COLUMN blocks TO secret", 500, "internal", "Something went wrong"),
    ],
)
def test_internal_error_reveals_no_details(ana: Person, damage: str, status: int, code: str, title: str) -> None:
    ana.post("/bio/add", {"name": "secret", "alias": "ana-costa"})
    ana.write(lambda tx: tx.execute(sql(damage)))
    quiet = ana.client.another(raises=False)
    for headers in (ACCEPT_HTML, ACCEPT_JSON):
        response = quiet.get("/ana-costa", headers={"Host": "go.localhost", **headers})
        assert (response.status_code, "retry-after" in response.headers) == (status, False)
        assert response.headers["x-request-id"]
        assert not any(word in response.text for word in ("secret", "bios", "SELECT", "Traceback", "sqlite"))
        if headers is ACCEPT_HTML:
            assert f"<h1>{title}</h1>" in response.text
        else:
            assert response.json()["code"] == code


@ON_SQLITE
@pytest.mark.parametrize("path", ["off", "used-up", "locked"])
def test_error_page_does_not_reveal_destination(ana: Person, links: None, path: str) -> None:
    assert "example.com" not in visit(ana.client, path, headers=ACCEPT_HTML).text


@pytest.mark.parametrize(
    ("accept_language", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("DE-at", "de"),
        ("pt", "pt"),
        ("pt-BR", "pt"),
        ("pt-PT, pt;q=0.9", "pt-PT"),
        ("pt-AO", "pt-PT"),
        ("PT-MZ;q=0.9, en;q=0.5", "pt-PT"),
        ("pt-Latn-BR", "pt"),
        ("pt-Latn-PT", "pt-PT"),
        ("it", "en"),
        ("it, de;q=0.5", "de"),
        ("en, de;q=0.9", "en"),
        ("en;q=0.5, de;q=0.9", "de"),
        ("de;q=0", "en"),
        ("de;q=x", "en"),
        ("*", "en"),
        (";;,,;q=1", "en"),
        ("x" * 10_000, "en"),
    ],
)
def test_negotiated_language_is_first_supported_one(accept_language: str, language: str) -> None:
    assert i18n.negotiate_language(accept_language) == language


def test_every_page_text_is_in_every_catalog() -> None:
    texts = {
        *_in_templates(),
        *_in_code(),
        *media_types.ALL_DESCRIPTIONS,
    }
    assert len(texts) > 40
    for language in list(i18n.LANGUAGES)[1:]:
        messages = [message for message in complete_catalog(language) if message.id]
        assert {_forms(message.id)[0] for message in messages} == texts, language
        for message in messages:
            assert not message.fuzzy, message.id
            placeholders = _placeholders(_forms(message.id)[0])
            for form in _forms(message.string):
                assert form, message.id
                assert _placeholders(form) <= placeholders, (
                    message.id
                )  # Arabic has forms for one and two without the number
            assert _placeholders(_forms(message.string)[-1]) == placeholders, message.id


def test_installed_catalogs_are_current() -> None:
    for language in list(i18n.LANGUAGES)[1:]:
        translations = i18n.translations(language)
        for message in complete_catalog(language):
            if isinstance(message.id, str) and message.id:
                assert translations.gettext(message.id) == message.string, "run `make install`"


def test_templates_contain_no_untranslatable_text() -> None:
    for path in TEMPLATES:
        bare = re.sub(
            r"<style>.*?</style>|{% trans .*?endtrans %}|{#.*?#}|{%.*?%}|{{.*?}}|<code>.*?</code>",
            " ",
            path.read_text(),
            flags=re.DOTALL,
        )
        attributes = re.findall(r'(?:alt|aria-label|title|placeholder)="([^"]*)"', bare)
        untranslated = re.findall(r"[A-Za-z]{2,}", re.sub(r"<[^>]*>", " ", bare) + " ".join(attributes))
        assert set(untranslated) <= {"waypost"}, path.name


def _forms(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Singular and plural of a message; one form for a message without plural."""
    return (text,) if isinstance(text, str) else tuple(text or ())


def _placeholders(text: str) -> set[str]:
    return set(re.findall(r"%\(\w+\)s", text))


def _in_templates() -> set[str]:
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    names: set[str] = set()
    for path in TEMPLATES:
        for _, _, messages in environment.extract_translations(path.read_text()):  # type: ignore[attr-defined]
            names.add(messages if isinstance(messages, str) else next(filter(None, messages or ()), ""))
    return names - {""}


def _in_code() -> set[str]:
    """The arguments of `translatable("…")` calls."""
    texts = set()
    for path in SOURCE.rglob("*.py"):
        source = path.read_text()
        if "translatable" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            call: Any = node
            if isinstance(node, ast.Call) and getattr(call.func, "id", "") == "translatable":
                texts.add(str(ast.literal_eval(call.args[0])))
    return texts
