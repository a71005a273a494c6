"""Texts are compared in one form: any Unicode form and case, without spaces at the ends and invisible characters."""

import unicodedata
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Literal

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, text

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.files import new_file
from waypost.core.text_folding import folded
from waypost.db.migrations import versions

pytestmark = ON_BOTH_DATABASES  # searches of folded texts
PAIRS = (
    ("Prüfbericht", unicodedata.normalize("NFD", "PRÜFBERICHT")),
    (unicodedata.normalize("NFD", "보고서"), "보고서"),
    ("Scherm\u00adafbeelding", "schermafbeelding"),
    ("İstanbul", "istanbul"),
    ("istanbul", "İSTANBUL"),
    ("Straße", "STRASSE"),
    ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
    ("ПРИВЕТ", "привет"),
    ("Tiếng Việt", unicodedata.normalize("NFD", "tiếng việt")),
    ("\u200eleft\u200f", " left "),
)


@pytest.mark.parametrize(("stored", "typed"), PAIRS)
def test_search_ignores_unicode_form_of_stored_and_typed_text(
    ana: Person, dashboard: Browser, stored: str, typed: str
) -> None:
    link = ana.post("/url/add", {"url": "https://example.com/", "title": stored})["id"]
    code = ana.post("/qr/add", {"type": "text", "data": "x", "name": stored})["id"]
    file = new_file(ana, "x.bin", name=stored)
    for q in (typed, stored, f"  {typed.strip()} "):
        assert _ids(ana, "/urls", "urls", q=q) == [link], q
        assert [item["id"] for item in ana.get("/files", name=q)["list"]] == [file], q
        assert f"/dashboard/links/{link}" in dashboard.client.get("/dashboard/links", params={"q": q}).text
        assert f"/dashboard/files/{file}" in dashboard.client.get("/dashboard/files", params={"q": q}).text
        assert f"/dashboard/qr/{code}" in dashboard.client.get("/dashboard/qr", params={"q": q}).text


def test_search_of_api_finds_short_urls_as_the_dashboard_does(ana: Person, ben: Person) -> None:
    link = ana.post("/url/add", {"url": "https://example.com/", "custom": "Spring-sale"})["id"]
    ana.post("/url/add", {"url": "https://example.com/other", "custom": "other"})
    foreign = ana.post("/url/add", {"url": "https://example.org/go.example.com/spring-sale"})["id"]
    file = new_file(ana, "x.bin", custom="spring-file")
    host = BASE.partition("://")[2]
    for q in (
        f"{BASE}/Spring-sale",
        f" {BASE}/spring-sale/ ",
        f"{host}/spring-s",
        "/spring-sale",
        "\u200b/spring-sale",
    ):
        assert link in _ids(ana, "/urls", "urls", q=q), q
        assert _ids(ben, "/urls", "urls", q=q) == []
    assert _ids(ana, "/urls", "urls", q="/spring-sale") == [foreign, link]
    assert _ids(ana, "/urls", "urls", q="/spring-sale", order="click") == [foreign, link]
    assert [item["id"] for item in ana.get("/files", name="/spring-file")["list"]] == [file]
    assert _ids(ana, "/urls", "urls", q="https://example.com/") != []
    assert len(_ids(ana, "/urls", "urls", q="  ")) == 3
    change = {"action": "update", "expect": 2, "q": " /Spring-sale ", "fields": {"title": "x"}}
    ana.post("/bulk", {"selection": change})
    assert ana.details("url", link)["title"] == "x"


def test_search_finds_short_urls_of_domains_in_every_form(ana: Person, dashboard: Browser) -> None:
    ana.add("domain", domain="https://bücher.example")
    link = ana.post(
        "/url/add", {"url": "https://example.com/", "custom": "❤️-Straße", "domain": "https://bücher.example"}
    )["id"]
    ana.post("/url/add", {"url": "https://example.com/", "custom": "other", "domain": "https://bücher.example"})
    for q in (
        "https://bücher.example/❤-Straße",
        "https://BÜCHER.example/❤️-Straße",
        "<https://xn--bcher-kva.example/%E2%9D%A4%EF%B8%8F-Stra%C3%9Fe>.",
        "https://bücher.example/❤-stra",
    ):
        assert _ids(ana, "/urls", "urls", q=q) == [link], q
        assert f"/dashboard/links/{link}" in dashboard.client.get("/dashboard/links", params={"q": q}).text, q
    assert f"/dashboard/links/{link}" in dashboard.client.get("/dashboard/links", params={"q": "bücher.example"}).text


def test_migration_folds_stored_search_texts_again(ana: Person) -> None:
    stored = unicodedata.normalize("NFD", "Prüfbericht")
    link = ana.post("/url/add", {"url": "https://example.com/", "title": stored})["id"]
    other = ana.post("/url/add", {"url": "https://example.com/", "title": "Plain"})["id"]
    file = new_file(ana, "x.bin", name=stored)
    for statement in ("UPDATE links SET search = :search", "UPDATE files SET search = :search"):
        ana.write(partial(Connection.execute, statement=text(statement), parameters={"search": stored}))
    assert _ids(ana, "/urls", "urls", q="Prüfbericht") == []
    ana.write(partial(_migrate, name="compared_texts"))
    assert _ids(ana, "/urls", "urls", q="Prüfbericht") == [other, link]
    assert [item["id"] for item in ana.get("/files", name="Prüfbericht")["list"]] == [file]


@pytest.mark.parametrize("host", ["BÜCHER.example", "xn--bcher-kva.example", "b%C3%BCcher.example"])
def test_link_is_found_by_each_spelling_of_its_destinations_host(ana: Person, dashboard: Browser, host: str) -> None:
    link = ana.add("url", url=f"https://{host}:8080/stra%C3%9Fe")
    other = ana.add("url", url="https://bucher.example/")
    for q in (
        host,
        "bücher",
        "https://bücher.example:8080/stra",
        "xn--bcher-kva",
        "HTTPS://XN--BCHER-KVA.example:8080/",
    ):
        assert _ids(ana, "/urls", "urls", q=q) == [link], q
        page = dashboard.client.get("/dashboard/links", params={"q": q}).text
        assert [f"/dashboard/links/{item}" in page for item in (link, other)] == [True, False], q


def test_migration_lets_searches_find_both_spellings_of_hosts(ana: Person) -> None:
    typed = [ana.add("url", url=url) for url in ("https://bücher.example/", "https://XN--bcher-kva.example/")]
    ana.add("url", url="https://example.com/")
    ana.write(partial(Connection.execute, statement=text("UPDATE links SET search = lower(url)")))
    assert [_ids(ana, "/urls", "urls", q=q) for q in ("bücher", "xn--bcher-kva")] == [typed[:1], typed[1:]]
    ana.write(partial(_migrate, name="spellings_of_hosts"))
    assert [_ids(ana, "/urls", "urls", q=q) for q in ("bücher", "xn--bcher-kva")] == [typed[::-1]] * 2
    assert _ids(ana, "/urls", "urls", q="example/https") == []  # the end of one text and the beginning of the next


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_password_opens_link_in_any_unicode_form(ana: Person, form: Literal["NFC", "NFD"]) -> None:
    password = " pässword "
    alias = ana.post("/url/add", {"url": "https://example.com/", "password": unicodedata.normalize(form, password)})
    path = f"/{alias['shorturl'].rpartition('/')[2]}"
    for typed in (unicodedata.normalize("NFC", password), unicodedata.normalize("NFD", password)):
        assert ana.client.post(path, data={"password": typed}).headers.get("location") == "https://example.com/"
    assert "location" not in ana.client.post(path, data={"password": password.strip()}).headers


def test_folded_text_is_folded() -> None:
    for stored, typed in PAIRS:
        assert folded(stored) == folded(typed)
        assert folded(folded(stored)) == folded(stored)


def _ids(person: Person, path: str, collection: str, **query: str) -> list[int]:
    return [item["id"] for item in person.get(path, **query)["data"][collection]]


def _migrate(tx: Connection, name: str) -> None:
    """Run a migration of the search columns once more."""
    assert versions.__file__ is not None
    (path,) = Path(versions.__file__).parent.glob(f"*_{name}.py")
    with Operations.context(MigrationContext.configure(tx)):
        import_module(f"{versions.__name__}.{path.stem}").upgrade()
