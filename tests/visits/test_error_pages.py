"""What visitors are told when there is nothing to see: one look, two languages, and JSON for programs."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment
from sqlalchemy import text as sql

import waypost
from tests.conftest import Person
from tests.support.visits import PAGE, new_link, visit
from waypost.http import media_types
from waypost.visits import i18n

ONCE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
GERMAN = {**PAGE, "Accept-Language": "de-CH,fr;q=0.9,en;q=0.8"}
SOURCE = Path(waypost.__file__).parent
TEMPLATES = sorted((SOURCE / "visits" / "templates").glob("*.html"))
REFUSALS = (
    ("nobody", "GET", 404, "missing", "Nothing here", "Hier ist nichts"),
    ("off", "GET", 403, "disabled", "Switched off", "Abgeschaltet"),
    ("used-up", "GET", 410, "gone", "No longer available", "Nicht mehr verfügbar"),
    ("locked", "GET", 401, "locked", "Password needed", "Passwort nötig"),
    ("a/b/c", "GET", 404, "missing", "Nothing here", "Hier ist nichts"),
    ("off", "DELETE", 405, "method_not_allowed", "That does not work here", "Das geht hier nicht"),
)


@pytest.fixture
def links(ana: Person) -> None:
    """Links that lead nowhere, each for a reason of its own."""
    new_link(ana, "off", status="disabled")
    new_link(ana, "used-up", clicklimit=1)
    new_link(ana, "locked", password="a password")
    visit(ana.client, "used-up")


@ONCE
@pytest.mark.parametrize(("path", "method", "status", "code", "english", "german"), REFUSALS)
def test_a_browser_gets_a_page_and_a_program_json(
    ana: Person, links: None, path: str, method: str, status: int, code: str, english: str, german: str
) -> None:
    for headers, title, language in ((PAGE, english, "en"), (GERMAN, german, "de")):
        page = visit(ana.client, path, method, headers=headers)
        assert (page.status_code, page.headers["content-language"]) == (status, language)
        assert f"<title>{title}</title>" in page.text
        assert f'<html lang="{language}">' in page.text
        assert "script" not in page.headers["content-security-policy"]
        assert page.headers["cache-control"] == "private, no-store"
    told = visit(ana.client, path, method, headers={"Accept-Language": "de"})
    assert (told.status_code, told.headers["cache-control"]) == (status, "private, no-store")
    assert (told.json()["error"], told.json()["code"]) == (1, code)
    assert "Allow" in told.headers if status == 405 else "Allow" not in told.headers


@ONCE
def test_who_guesses_too_often_is_told_when_to_come_back(ana: Person, links: None) -> None:
    for _ in range(10):
        visit(ana.client, "locked", "POST", data={"password": "wrong"}, headers=PAGE)
    for headers in (PAGE, {}):
        answer = visit(ana.client, "locked", "POST", data={"password": "wrong"}, headers=headers)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")


@ONCE
@pytest.mark.parametrize(
    ("damage", "status", "code", "title"),
    [
        ("UPDATE bios SET blocks = 'secret'", 500, "internal", "Something went wrong"),
        ("ALTER TABLE bios RENAME COLUMN blocks TO secret", 503, "unavailable", "Back in a moment"),
    ],
)
def test_what_goes_wrong_inside_stays_inside(ana: Person, damage: str, status: int, code: str, title: str) -> None:
    ana.post("/bio/add", {"name": "secret", "alias": "ana-costa"})
    ana.write(lambda tx: tx.execute(sql(damage)))
    quiet = ana.client.another(raises=False)
    for headers in (PAGE, {}):
        answer = quiet.get("/ana-costa", headers={"Host": "go.localhost", **headers})
        assert (answer.status_code, "retry-after" in answer.headers) == (status, status == 503)
        assert not any(word in answer.text for word in ("secret", "bios", "SELECT", "Traceback", "sqlite"))
        if headers:
            assert f"<h1>{title}</h1>" in answer.text
        else:
            assert answer.json()["code"] == code


@ONCE
def test_a_foreign_text_shows_no_more_than_it_must(ana: Person, links: None) -> None:
    for path in ("off", "used-up", "locked"):
        assert "example.com" not in visit(ana.client, path, headers=PAGE).text


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("DE-at", "de"),
        ("fr", "en"),
        ("fr, de;q=0.5", "de"),
        ("en, de;q=0.9", "en"),
        ("en;q=0.5, de;q=0.9", "de"),
        ("de;q=0", "en"),
        ("de;q=x", "en"),
        ("*", "en"),
        (";;,,;q=1", "en"),
        ("x" * 10_000, "en"),
    ],
)
def test_the_language_is_the_first_of_the_visitors_that_we_have(asked: str, language: str) -> None:
    assert i18n.chosen(asked) == language


def test_every_text_of_the_pages_is_in_every_catalogue() -> None:
    used = {*_in_templates(), *_in_code(), *media_types.WORDS.values(), *media_types.NOUNS.values()}
    assert len(used) > 40
    for language in i18n.LANGUAGES[1:]:
        known = i18n.catalogue(language).texts
        assert (used - known.keys(), known.keys() - used) == (set(), set()), language
        for message, forms in known.items():
            for form in forms:
                assert set(re.findall(r"%\(\w+\)s", form)) == set(re.findall(r"%\(\w+\)s", message)), message


def test_no_template_has_a_text_that_cannot_be_translated() -> None:
    for path in TEMPLATES:
        bare = re.sub(r"<style>.*?</style>|{%.*?%}|{{.*?}}|<code>.*?</code>", " ", path.read_text(), flags=re.DOTALL)
        said = re.findall(r'(?:alt|aria-label|title|placeholder)="([^"]*)"', bare)
        words = re.findall(r"[A-Za-z]{2,}", re.sub(r"<[^>]*>", " ", bare) + " ".join(said))
        assert set(words) <= {"waypost"}, path.name


def _in_templates() -> set[str]:
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    found: set[str] = set()
    for path in TEMPLATES:
        for _, _, messages in environment.extract_translations(path.read_text()):  # type: ignore[attr-defined]
            found.add(messages if isinstance(messages, str) else next(filter(None, messages or ()), ""))
    return found - {""}


def _in_code() -> set[str]:
    """The arguments of `text("…")`."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        source = path.read_text()
        if "from waypost.visits.i18n import text" not in source and path.name != "i18n.py":
            continue
        for node in ast.walk(ast.parse(source)):
            call: Any = node
            if isinstance(node, ast.Call) and getattr(call.func, "id", "") == "text":
                found.add(str(ast.literal_eval(call.args[0])))
    return found
