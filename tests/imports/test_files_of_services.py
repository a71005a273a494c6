"""Imports of files: of YOURLS, Kutt, Chhoto URL and LinkStack, and a saved page of Linktree."""

import bz2
import gzip
import io
import json
import lzma
import re
import sqlite3
import zipfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.conftest import BASE, Person
from tests.support import import_files
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.import_files import DUMP
from waypost.clicks.stats import verify
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.transfer.imports import apply, planner, plans
from waypost.transfer.imports.file_source import open_file
from waypost.transfer.imports.planner import Options
from waypost.transfer.imports.plans import Row
from waypost.transfer.imports.sources import yourls_dump


def _write(folder: Path, content: bytes | str) -> Path:
    path = folder / "import.dat"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _plan(person: Person, settings: Settings, path: Path, zone: str = "UTC", **hosts: str) -> list[Row]:
    with open_file(path, {}, ZoneInfo(zone)) as source:
        plan = planner.make(person.database, settings, person.account, source, Options(hosts=hosts))
    return list(plans.rows(person.database, person.account, plan))


def _links(person: Person, settings: Settings) -> dict[str, dict[str, Any]]:
    apply.apply(person.database, person.account, settings)
    return {item["alias"]: person.details("url", item["id"]) for item in person.get("/urls")["data"]["urls"]}


def test_dump_brings_links_with_visits(ana: Person, settings: Settings, tmp_path: Path) -> None:
    rows = _plan(ana, settings, _write(tmp_path, DUMP), "Europe/Berlin")
    assert [(row.alias, row.fate) for row in rows] == [("b", "create"), ("a", "create")]
    link = _links(ana, settings)["a"]
    assert (link["title"], link["date"]) == ("It's; (a) 'test' line", "2012-03-04 04:06:07")
    assert (link["clicks"], link["importedclicks"]) == (41, 40)  # of 42 clicks one was a bot, and one has a time
    report = ana.get("/stats", **{"from": "2012-03-04", "to": "2012-03-06"})["data"]
    assert report["total"] == {"clicks": 1, "uniqueClicks": 0, "bots": 0, "previews": 0, "others": 0, "late": 0}
    assert report["dimensions"]["countries"] == {"Germany": 1}
    assert "imported" not in report["dimensions"]
    assert ana.database.write(verify.differences) == []


def test_values_of_a_dump_are_read_in_any_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(yourls_dump.rows(io.BytesIO(DUMP.encode()), Counter()))
    assert [(table, values[0]) for table, _, values in whole] == [
        *(("my_log", number) for number in ("1", "2")),
        ("my_options", "1"),
        *(("my_url", alias) for alias in ("a", "b")),
    ]
    for size in (1, 7, 100):
        monkeypatch.setattr(yourls_dump, "_CHUNK", size)
        assert list(yourls_dump.rows(io.BytesIO(DUMP.encode()), Counter())) == whole


STATEMENTS = r"""REPLACE INTO `yourls_url` VALUES
('a',0x68747470733A2F2F6578616D706C652E636F6D2F,_binary 'T','2012-03-04','',42),
('b',x'68747470733A2F2F6578616D706C652E636F6D2F62',_utf8mb4'It\'s',NULL,'',0);
  insert low_priority ignore into yourls.`yourls_url` (keyword, url) values ('c','https://example.com/c');
INSERT INTO yourls_url SET keyword='d', url='https://example.com/d';
"""


def test_rows_of_every_statement_of_a_dump_are_planned_or_named(
    ana: Person, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _plan(ana, settings, _write(tmp_path, STATEMENTS))
    assert {row.alias: row.url for row in rows} == {
        "a": "https://example.com/",
        "b": "https://example.com/b",
        "c": "https://example.com/c",
    }
    current = ana.database.read(lambda tx: plans.current(tx, ana.account))
    assert current.ignored == ["INSERT INTO yourls_url (1)"]
    whole = list(yourls_dump.rows(io.BytesIO(STATEMENTS.encode()), Counter()))
    for size in (1, 7, 100):
        monkeypatch.setattr(yourls_dump, "_CHUNK", size)
        assert list(yourls_dump.rows(io.BytesIO(STATEMENTS.encode()), Counter())) == whole


def _zipped(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, "url\nhttps://example.com/\n")
    return buffer.getvalue()


@ON_SQLITE
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_zipped("[Content_Types].xml"), "The file is a spreadsheet. Save it as CSV UTF-8"),
        (_zipped("content.xml"), "The file is a spreadsheet. Save it as CSV UTF-8"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "The file is a spreadsheet. Save it as CSV UTF-8"),
        (_zipped("folder/links.CSV"), "compressed with ZIP. Unpack it first"),
        (_zipped("notes.txt"), "not a complete export of waypost"),
        (b'[{"url": "https://example.com/"}]', "Links are imported as CSV"),
    ],
)
def test_file_of_another_kind_is_named(
    ana: Person, settings: Settings, tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(Problem, match=re.escape(message)):
        _plan(ana, settings, _write(tmp_path, content))


@ON_SQLITE
@pytest.mark.parametrize(("module", "kind"), [(gzip, "gzip"), (bz2, "bzip2"), (lzma, "xz")])
def test_compressed_file_is_refused_with_the_repair(
    ana: Person, settings: Settings, tmp_path: Path, module: Any, kind: str
) -> None:
    with pytest.raises(Problem, match=f"compressed with {kind}. Unpack it first"):
        _plan(ana, settings, _write(tmp_path, module.compress(DUMP.encode())))


def test_every_account_of_a_linkstack_file_is_planned(ana: Person, settings: Settings, tmp_path: Path) -> None:
    accounts = [{"littlelink_name": "one", "id": 1, "links": [None]}, None, {"littlelink_name": "two", "id": 2}]
    rows = _plan(ana, settings, _write(tmp_path, json.dumps(accounts)))
    assert [(row.line, row.alias, row.fate) for row in rows if row.alias] == [
        (1, "one", "create"),
        (3, "two", "create"),
    ]
    assert [row.reason for row in rows if row.fate == "impossible"] == ["littlelink_name is missing."]


@ON_SQLITE
@pytest.mark.parametrize(
    "content", [DUMP[: DUMP.rindex("(")], "-- MySQL dump\nCREATE TABLE x;\n", "-- x\n" + "\x00" * 99]
)
def test_dump_without_links_or_end_is_refused(ana: Person, settings: Settings, tmp_path: Path, content: str) -> None:
    with pytest.raises(Problem, match=r"incomplete|no links"):
        _plan(ana, settings, _write(tmp_path, content))


TO_DOMAIN = {"": "links.example.com"}


def test_files_without_hosts_are_imported_to_a_domain(ana: Person, settings: Settings, tmp_path: Path) -> None:
    ana.add("domain", domain="https://links.example.com")
    rows = _plan(ana, settings, _write(tmp_path, DUMP), **TO_DOMAIN)
    assert [(row.host, row.alias, row.fate) for row in rows] == [
        ("links.example.com", alias, "create") for alias in ("b", "a")
    ]
    rows = _plan(ana, settings, import_files.kutt(tmp_path / "kutt.sqlite"), **TO_DOMAIN)
    assert {(row.host, row.fate) for row in rows} == {("links.example.com", "create")}
    (page,) = _plan(ana, settings, _write(tmp_path, import_files.linkstack()), **TO_DOMAIN)
    assert (page.host, page.fate) == ("", "create")


@pytest.mark.parametrize("clicks", ["9223372036854775808", "9" * 5000, "-1", "1.5", "\u0663", "NULL"])
def test_number_of_clicks_that_cannot_be_stored_counts_as_none(
    ana: Person, settings: Settings, tmp_path: Path, clicks: str
) -> None:
    (row, _) = _plan(ana, settings, _write(tmp_path, DUMP.replace("'',0);", f"'',{clicks});")))
    assert (row.alias, row.fate) == ("b", "create")
    assert _links(ana, settings)["b"]["clicks"] == 0


def test_kutt_database_brings_clicks_by_hour(ana: Person, settings: Settings, tmp_path: Path) -> None:
    _plan(ana, settings, import_files.kutt(tmp_path / "kutt.sqlite"))
    links = _links(ana, settings)
    assert (links["x"]["clicks"], links["x"]["importedclicks"], links["locked"]["status"]) == (7, 2, "disabled")
    assert links["locked"]["date"] == "2023-11-14 22:13:20"
    report = ana.get(f"/url/{links['x']['id']}/stats", **{"from": "2024-01-01", "to": "2024-01-31"})["data"]
    assert report["total"]["clicks"] == 5
    assert report["dimensions"]["countries"] == {"Germany": 2, "France": 1}
    assert report["dimensions"]["browsers"] == {"Chrome": 2, "Firefox": 1}
    assert report["dimensions"]["referrers"]["example.com"] == 1


def test_chhoto_database_is_read(ana: Person, settings: Settings, tmp_path: Path) -> None:
    _plan(ana, settings, import_files.chhoto(tmp_path / "urls.sqlite"))
    assert (_links(ana, settings)["x"]["clicks"], _links(ana, settings)["x"]["expiry"]) == (5, "2030-01-01 00:00:00")


@ON_SQLITE
def test_views_and_damaged_databases_are_refused(ana: Person, settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "view.sqlite"
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x AS id FROM n"
    with closing(sqlite3.connect(path)) as tables:
        tables.execute(f"CREATE VIEW urls AS {endless}")
    with pytest.raises(Problem, match="not of Kutt"):
        _plan(ana, settings, path)
    whole = import_files.kutt(tmp_path / "kutt.sqlite").read_bytes()
    with pytest.raises(Problem, match="cannot be read"):
        _plan(ana, settings, _write(tmp_path, whole[:100] + b"\xff" * 5000))


def test_linkstack_page_becomes_a_bio_page(
    ana: Person, settings: Settings, service: AsgiClient, tmp_path: Path
) -> None:
    (row,) = _plan(ana, settings, _write(tmp_path, import_files.linkstack()))
    assert (row.fate, row.kind) == ("create", "bio")
    for words in ("custom CSS of Shop", "the block Bad", "the picture", "the theme galaxy", "icon of Shop", "a space"):
        assert words in row.losses
    apply.apply(ana.database, ana.account, settings)
    (listed,) = ana.get("/bios")["data"]["bios"]
    page = ana.get(f"/bio/{listed['id']}")
    assert page["details"]["description"] == "Hello\nyou"
    assert [block["type"] for block in page["details"]["blocks"]] == ["link", "heading", "text", "social", "vcard"]
    assert page["details"]["blocks"][2]["text"] == "Text"
    assert [block["clicks"] for block in page["blocks"]] == [9, 4, 0]
    assert service.get("/ana").status_code == 200
    (again,) = _plan(ana, settings, _write(tmp_path, import_files.linkstack()))
    assert again.fate == "there"


@ON_SQLITE
@pytest.mark.parametrize("content", ['{"littlelink_name": "ana", "links": [', "[]", '{"other": 1}', "[" * 99_999])
def test_broken_export_of_linkstack_is_refused(ana: Person, settings: Settings, tmp_path: Path, content: str) -> None:
    with pytest.raises(Problem) as raised:
        _plan(ana, settings, _write(tmp_path, content))
    assert raised.value.field == "file"


@ON_SQLITE
@pytest.mark.parametrize("links", [None, 7, ["x"], [{"button_id": [], "order": "z", "link": 5, "title": {}}]])
def test_values_of_unexpected_types_lose_nothing_else(
    ana: Person, settings: Settings, tmp_path: Path, links: Any
) -> None:
    (row,) = _plan(ana, settings, _write(tmp_path, import_files.linkstack(links=links)))
    assert row.fate == "create"


@pytest.mark.parametrize("is_html", [True, False])
def test_saved_page_of_linktree_becomes_a_bio_page(
    ana: Person, settings: Settings, service: AsgiClient, tmp_path: Path, *, is_html: bool
) -> None:
    path = _write(tmp_path, import_files.linktree(is_html=is_html))
    (row,) = _plan(ana, settings, path)
    assert (row.fate, row.kind, row.alias) == ("create", "bio", "ana-costa")
    assert row.reason == "Dots in the name of the page became -."
    for words in ("the block Bad", "the picture of Far", "Adults was locked", "Nothing has no address"):
        assert words in row.losses
    apply.apply(ana.database, ana.account, settings)
    (listed,) = ana.get("/bios")["data"]["bios"]
    page = ana.details("bio", listed["id"])
    assert (page["name"], page["title"], page["description"]) == ("Ana Costa", "Ana Costa", "Bowls & cups")
    assert (page["date"], page["sensitive"]) == ("2021-07-11 11:31:31", False)
    texts = [
        (block["type"], *(block[name] for name in ("title", "text", "network", "email") if block.get(name)))
        for block in page["blocks"]
    ]
    assert texts == [
        *(("heading", "My work"), ("link", "Shop"), ("heading", "Prints"), ("link", "Blue")),
        *(("link", "Far"), ("link", "Adults"), ("social", "Instagram"), ("vcard", "ana@example.com")),
    ]
    assert [block.get("hidden", False) for block in page["blocks"]] == [False] * 5 + [True, False, False]
    for picture in (page["avatar"], page["blocks"][1]["thumbnail"]):
        assert service.get(picture.removeprefix(BASE)).status_code == 200
    (again,) = _plan(ana, settings, path)
    assert again.fate == "there"


@ON_SQLITE
def test_profiles_at_the_top_and_a_warning_of_linktree_are_kept(
    ana: Person, settings: Settings, tmp_path: Path
) -> None:
    content = import_files.linktree(socialLinksPosition="TOP", contentWarning="SENSITIVE", username="ana")
    (row,) = _plan(ana, settings, _write(tmp_path, content))
    assert (row.alias, row.reason) == ("ana", "")
    apply.apply(ana.database, ana.account, settings)
    page = ana.details("bio", ana.get("/bios")["data"]["bios"][0]["id"])
    assert (page["blocks"][0]["type"], page["sensitive"]) == ("social", True)


@ON_SQLITE
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<html><body><a href='https://a.example/'>A</a></body></html>", "not a saved page of Linktree"),
        ("<script id='__NEXT_DATA__'>{}", "not a saved page of Linktree"),
        ("<script id='__NEXT_DATA__'>{</script>", "not valid JSON"),
        ('{"props": {"pageProps": {"account": {"links": []}}}}', "not a saved page of Linktree"),
        ('{"props": [1]}', "not a saved page of Linktree"),
    ],
)
def test_other_pages_than_of_linktree_are_refused(
    ana: Person, settings: Settings, tmp_path: Path, content: str, reason: str
) -> None:
    with pytest.raises(Problem, match=reason) as raised:
        _plan(ana, settings, _write(tmp_path, content))
    assert raised.value.field == "file"


@ON_SQLITE
@pytest.mark.parametrize("value", [None, 7, ["x"], [{"type": [], "position": "z", "url": 5, "parent": 1}]])
def test_values_of_unexpected_types_in_a_page_of_linktree_lose_nothing_else(
    ana: Person, settings: Settings, tmp_path: Path, value: Any
) -> None:
    content = import_files.linktree(links=value, socialLinks=value)
    (row,) = _plan(ana, settings, _write(tmp_path, content))
    assert row.fate == "create"


def test_dates_of_csv_file_are_in_the_zone_of_the_import(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text(
        "url,alias,created,expiry\n"
        "https://a.example/,a,2030-07-01,2030-07-31\n"
        "https://b.example/,b,2030-07-01 12:00:00,2030-07-31T12:00:00+02:00\n"
    )
    with open_file(path, {}, ZoneInfo("Asia/Kolkata")) as source:
        days, times = source
    texts = [clock.text(second or 0) for second in (days.created, days.expiry, times.created, times.expiry)]
    assert texts == ["2030-06-30 18:30:00", "2030-07-31 18:29:59", "2030-07-01 06:30:00", "2030-07-31 10:00:00"]
