"""Imports of files: a dump of YOURLS, the SQLite files of Kutt and Chhoto URL, and the export of LinkStack."""

import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from waypost.clicks.stats import verify
from waypost.errors import Problem
from waypost.imports import apply, planner, plans
from waypost.imports.planner import Options
from waypost.imports.plans import Row
from waypost.imports.sources import registry, sql_dump
from waypost.settings import Settings

SHOP = "https://example.com/shop"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
DUMP = rf"""-- MySQL dump 10.13
DROP TABLE IF EXISTS `my_log`;
INSERT INTO `my_log` VALUES (1,'2012-03-05 00:00:00','a','direct','{FIREFOX}','192.0.2.1','DE'),
(2,'2012-03-05 00:10:00','a','https://news.example.com/','Googlebot/2.1','192.0.2.1','US');
INSERT INTO `my_options` VALUES (1,'text','INSERT INTO `my_url` VALUES (\'no\',\'{SHOP}\',\'\',\'\',\'\',1);');
INSERT INTO `my_url` (`keyword`, `url`, `title`, `timestamp`, `ip`, `clicks`) VALUES
('a','{SHOP}','It\'s; (a) ''test''\nline','2012-03-04 05:06:07','192.0.2.1',42),('b'
,'{SHOP}/b',NULL,'2011-03-04 05:06:07','',0);
"""


def _write(folder: Path, content: bytes | str) -> Path:
    path = folder / "import.dat"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _plan(person: Person, settings: Settings, path: Path, zone: str = "UTC") -> list[Row]:
    with registry.of_file(path, {}, ZoneInfo(zone)) as source:
        plan = planner.make(person.database, settings, person.account, source, Options())
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
    whole = list(sql_dump.rows(io.BytesIO(DUMP.encode())))
    assert [(table, values[0]) for table, _, values in whole] == [
        *(("my_log", number) for number in ("1", "2")),
        ("my_options", "1"),
        *(("my_url", alias) for alias in ("a", "b")),
    ]
    for size in (1, 7, 100):
        monkeypatch.setattr(sql_dump, "_CHUNK", size)
        assert list(sql_dump.rows(io.BytesIO(DUMP.encode()))) == whole


@pytest.mark.parametrize(
    "content", [DUMP[: DUMP.rindex("(")], "-- MySQL dump\nCREATE TABLE x;\n", "-- x\n" + "\x00" * 99]
)
def test_dump_without_links_or_end_is_refused(ana: Person, settings: Settings, tmp_path: Path, content: str) -> None:
    with pytest.raises(Problem, match=r"incomplete|no links"):
        _plan(ana, settings, _write(tmp_path, content))


def _kutt(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as tables:
        tables.executescript("""
            CREATE TABLE domains (id INTEGER PRIMARY KEY, address TEXT);
            CREATE TABLE links (id INTEGER PRIMARY KEY, uuid TEXT, address TEXT, description TEXT, banned BOOLEAN,
              domain_id INTEGER, password TEXT, expire_in TEXT, target TEXT, visit_count INTEGER, created_at TEXT);
            CREATE TABLE visits (link_id INTEGER, created_at TEXT, total INTEGER, br_chrome INTEGER, br_firefox INTEGER,
              os_windows INTEGER, countries TEXT, referrers TEXT);
            INSERT INTO links VALUES (1, 'u1', 'x', 'note', 0, NULL, NULL, NULL, 'https://example.com/shop', 7,
              '2024-01-02 03:04:05');
            INSERT INTO links VALUES (2, 'u2', 'locked', '', 0, NULL, '$2a$12$abc', NULL, 'https://example.com/', 0,
              1700000000000);
            INSERT INTO visits VALUES (1, '2024-01-03 10:00:00', 3, 2, 1, 3, '{"DE": 2, "FR": 1}',
              '{"news[dot]example[dot]com": 1}');
            INSERT INTO visits VALUES (1, '2024-01-04 10:00:00', 2, 0, 0, 0, 'damaged', NULL);
        """)
    return path


def test_kutt_database_brings_clicks_by_hour(ana: Person, settings: Settings, tmp_path: Path) -> None:
    _plan(ana, settings, _kutt(tmp_path / "kutt.sqlite"))
    links = _links(ana, settings)
    assert (links["x"]["clicks"], links["x"]["importedclicks"], links["locked"]["status"]) == (7, 2, "disabled")
    assert links["locked"]["date"] == "2023-11-14 22:13:20"
    report = ana.get(f"/url/{links['x']['id']}/stats", **{"from": "2024-01-01", "to": "2024-01-31"})["data"]
    assert report["total"]["clicks"] == 5
    assert report["dimensions"]["countries"] == {"Germany": 2, "France": 1}
    assert report["dimensions"]["browsers"] == {"Chrome": 2, "Firefox": 1}
    assert report["dimensions"]["referrers"]["example.com"] == 1


def test_chhoto_database_is_read(ana: Person, settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "urls.sqlite"
    with closing(sqlite3.connect(path)) as tables:
        tables.execute(
            "CREATE TABLE urls (id INTEGER PRIMARY KEY, long_url, short_url, hits INTEGER, expiry_time INTEGER)"
        )
        tables.execute("INSERT INTO urls VALUES (1, ?, 'x', 5, 1893456000)", (SHOP,))
        tables.commit()
    _plan(ana, settings, path)
    assert (_links(ana, settings)["x"]["clicks"], _links(ana, settings)["x"]["expiry"]) == (5, "2030-01-01 00:00:00")


def test_views_and_damaged_databases_are_refused(ana: Person, settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "view.sqlite"
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x AS id FROM n"
    with closing(sqlite3.connect(path)) as tables:
        tables.execute(f"CREATE VIEW urls AS {endless}")
    with pytest.raises(Problem, match="not of Kutt"):
        _plan(ana, settings, path)
    whole = _kutt(tmp_path / "kutt.sqlite").read_bytes()
    with pytest.raises(Problem, match="cannot be read"):
        _plan(ana, settings, _write(tmp_path, whole[:100] + b"\xff" * 5000))


def _linkstack(**account: Any) -> str:
    links = [
        {"link": None, "title": "About", "button_id": 42, "order": 1, "click_number": 0},
        {"link": SHOP, "title": "Shop", "button_id": 2, "order": 0, "click_number": 9, "custom_css": "color:red"},
        {"link": None, "title": "<b>Text</b><script>x</script>", "button_id": 93, "order": 2, "click_number": 0},
        {
            "link": "https://social.example.com/@ana",
            "title": "Mastodon",
            "button_id": 30,
            "order": 3,
            "click_number": 4,
        },
        {"link": "javascript:alert(1)", "title": "Bad", "button_id": 2, "order": 4, "click_number": 1},
        {"link": "mailto:ana@example.com", "title": "Mail", "button_id": 6, "order": 5, "click_number": 0},
        {"link": None, "button_id": 43, "order": 6},
    ]
    values = {"id": 1, "name": "Ana", "littlelink_name": "ana", "littlelink_description": "<p>Hello</p><p>you</p>"}
    return json.dumps({**values, "links": links, "image_data": "iVBO", **account})


def test_linkstack_page_becomes_a_bio_page(
    ana: Person, settings: Settings, service: AsgiClient, tmp_path: Path
) -> None:
    (row,) = _plan(ana, settings, _write(tmp_path, _linkstack()))
    assert (row.fate, row.kind) == ("create", "bio")
    for words in ("custom CSS of Shop", "the block Bad", "the picture"):
        assert words in row.losses
    apply.apply(ana.database, ana.account, settings)
    (listed,) = ana.get("/bios")["data"]["bios"]
    page = ana.get(f"/bio/{listed['id']}")
    assert page["details"]["description"] == "Hello\nyou"
    assert [block["type"] for block in page["details"]["blocks"]] == ["link", "heading", "text", "social", "vcard"]
    assert page["details"]["blocks"][2]["text"] == "Text"
    assert [block["clicks"] for block in page["blocks"]] == [9, 4, 0]
    assert service.get("/ana").status_code == 200
    (again,) = _plan(ana, settings, _write(tmp_path, _linkstack()))
    assert again.fate == "there"


@pytest.mark.parametrize("content", ['{"littlelink_name": "ana", "links": [', "[]", '{"other": 1}', "[" * 99_999])
def test_broken_export_of_linkstack_is_refused(ana: Person, settings: Settings, tmp_path: Path, content: str) -> None:
    with pytest.raises(Problem) as raised:
        _plan(ana, settings, _write(tmp_path, content))
    assert raised.value.field == "file"


@pytest.mark.parametrize("links", [None, 7, ["x"], [{"button_id": [], "order": "z", "link": 5, "title": {}}]])
def test_values_of_unexpected_types_lose_nothing_else(
    ana: Person, settings: Settings, tmp_path: Path, links: Any
) -> None:
    (row,) = _plan(ana, settings, _write(tmp_path, _linkstack(links=links)))
    assert row.fate == "create"
