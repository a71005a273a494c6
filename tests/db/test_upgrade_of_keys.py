"""An installation from before the account was in the keys: after the upgrade everything is there, and can be used."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import time_machine
from sqlalchemy import JSON, Boolean, Column, Connection, LargeBinary, MetaData, String, insert, select, text

from tests.conftest import BASE, Person
from tests.support.asgi_client import Inside
from tests.support.visits import CHROME, FIREFOX
from waypost import credentials
from waypost.app import build
from waypost.backup import archive
from waypost.clicks.ingest.aggregate import DAY, Reader, begun
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal.writer import Journal, line, target_of
from waypost.db.database import Database
from waypost.db.schema import links, metadata, visitors
from waypost.db.upgrade import migrate, upgrade
from waypost.settings import Settings

NOON = 1_800_014_400  # 2027-01-15 12:00:00 UTC
TODAY = NOON // DAY
_SALT = b"of before"
_KEY = "key of before "
_THERE = ("plans", "facts")  # the migrations fill these
_LATER = ("looks",)  # tables that were not there yet
# What cannot be any value: the database checks it, or the service reads it.
_SET: dict[tuple[str, str], Any] = {
    ("accounts", "plan"): 1,
    ("aliases", "host"): "",
    ("aliases", "kind"): "link",
    ("api_keys", "scope"): "write",
    ("campaigns", "rotation"): "random",
    ("claims", "until"): 1 << 40,  # or whoever tidies up throws it away
    ("links", "host"): "",
    ("links", "url"): "https://example.com/",
    ("links", "type"): "direct",
    ("links", "status"): "public",
    ("links", "deeplink"): {},
    **dict.fromkeys(("accounts", name) for name in ("expires", "rate_limit")),
    **dict.fromkeys(("channel_items", name) for name in ("bio", "qr")),
    **dict.fromkeys(("links", name) for name in ("password", "expiry", "clicklimit")),
    **dict.fromkeys((("api_keys", "expires"), ("campaigns", "slug"))),
}


@pytest.fixture
def old(plain_url: str) -> Iterator[Database]:
    """A database of before, where two accounts have one of everything, by the number of the account."""
    with closing(Database(plain_url)) as database:
        database.write(_fill)
        yield database


@pytest.fixture
def settings(plain_url: str, tmp_path: Path) -> Settings:
    """Settings of the service that goes on with it."""
    return Settings(data_dir=tmp_path, base_url=BASE, database_url=plain_url)


def _fill(tx: Connection) -> None:
    migrate(tx, "0009")
    tables = [table for table in archive._tables(tx) if table.name not in _THERE]
    for number in (1, 2):
        for table in tables:
            tx.execute(insert(table).values({column.name: _value(column, number) for column in table.c}))
    archive.go_on_from(tx, tables, {})


def _value(column: Column[Any], number: int) -> Any:
    where = (column.table.name, column.name)
    if where in _SET:
        return _SET[where]
    if where == ("api_keys", "digest"):
        return credentials.digest(f"{_KEY}{number}")
    kinds: list[tuple[type, Any]] = [
        (LargeBinary, f"{column.name}{number}".encode()),
        (JSON, []),
        (Boolean, False),
        (String, f"{column.name[:4]}{number}"),
    ]
    return next((value for kind, value in kinds if isinstance(column.type, kind)), number)


def _rows(tx: Connection) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table but what a part says of its account, which it did not say before."""
    found = MetaData()
    found.reflect(tx, only=[name for name in metadata.tables if name not in _LATER])
    return {
        table.name: sorted((dict(row) for row in tx.execute(select(table)).mappings()), key=repr)
        for table in found.sorted_tables
        if table.name in metadata.tables
    }


def test_every_row_is_there_and_says_whose_it_is(old: Database) -> None:
    before = old.read(_rows)
    upgrade(old)
    after = old.read(_rows)
    assert after.keys() == before.keys()
    for name, rows in before.items():
        if name in _THERE:
            assert after[name] == rows
            continue
        known = [{key: value for key, value in row.items() if key in rows[0]} for row in after[name]]
        assert sorted(known, key=repr) == rows, name
        whose = [row["account"] for row in after[name] if "account" in row]
        assert whose in ([], [-1, -1]) if name == "visitors" else whose in ([], [1, 2]), name


def test_it_can_be_used_and_nothing_of_others_is_touched(old: Database, settings: Settings) -> None:
    upgrade(old)
    others = {name: [row for row in rows if row.get("account") == 2] for name, rows in old.read(_rows).items()}
    with Inside(build(settings, old)) as client:
        ana = Person(1, "ana", f"{_KEY}1", client, old)
        assert client.get("/alia1").headers["location"] == "https://example.com/"
        made = ana.post("/url/add", {"url": "https://example.org/", "pixels": [1], "channel": [1], "campaign": 1})["id"]
        for noun in ("splash", "overlay", "campaign"):
            ana.delete(f"/{noun}/1/delete")
        assert old.read(lambda tx: _loose(tx, 1)) == (None, None, None)
        assert old.read(lambda tx: _loose(tx, made)) == (None, None, None)
        assert old.read(lambda tx: _loose(tx, 2)) == (2, 2, 2)
        for noun in ("url", "channel", "pixel", "file", "bio"):
            ana.delete(f"/{noun}/1/delete")
    now = old.read(_rows)
    assert {name: [row for row in rows if row.get("account") == 2] for name, rows in now.items()} == others
    assert [row["id"] for row in now["links"] if row["account"] == 1] == [made]
    for name in ("bio_blocks", "channel_items", "claims", "link_pixels", "rotations", "submissions", "turns"):
        assert [row["account"] for row in now[name]] == [2], name


def _loose(tx: Connection, link: int) -> tuple[int | None, ...]:
    c = links.c
    return tuple(tx.execute(select(c.splash, c.overlay, c.campaign).where(c.id == link)).one())


def test_an_account_takes_along_all_that_it_has(old: Database) -> None:
    upgrade(old)
    before = old.read(_rows)
    old.write(lambda tx: tx.execute(text("DELETE FROM accounts WHERE id = 1")))
    after = old.read(_rows)
    # Sums, single visits and visitors are not read without their thing; a name stays, as nobody's.
    left = {name for name, rows in after.items() if [row.get("account") for row in rows][:1] == [1]}
    assert left == {"click_times", "click_labels", "events"}
    assert [row["account"] for row in sorted(after["aliases"], key=lambda row: row["alias"])] == [None, 2]
    for name, rows in before.items():
        assert [row for row in rows if row.get("account") == 2] == [r for r in after[name] if r.get("account") == 2]


def _line(second: int, agent: str) -> bytes:
    words = (agent.encode(), b"", b"")
    return line(target_of(1, "link", 1), second * 1000, b"", b"203.0.113.77", b"", words)


def _count(database: Database, settings: Settings, *lines: bytes) -> tuple[int, int]:
    """(clicks, distinct visitors) of the link, after these and with an ingester that has just begun."""
    kept = Journal(settings.journal_dir)
    kept.write(b"".join(lines))
    kept.close()
    ingester = Ingester(settings, database)
    while ingester.step():
        pass
    chosen = select(links.c.clicks, links.c.uniqueclicks).where(links.c.id == 1)
    row = database.read(lambda tx: tx.execute(chosen).one())
    return row.clicks, row.uniqueclicks


def test_a_visitor_of_before_the_upgrade_is_not_new_after_it(old: Database, settings: Settings) -> None:
    reader = Reader(country=lambda _address: "", country_of_code=lambda _code: "")
    (came,) = reader.visits(_line(NOON, CHROME), lambda _day: begun(_SALT))

    def before(tx: Connection) -> None:
        tx.execute(text("INSERT INTO salts (day, salt) VALUES (:day, :salt)"), {"day": TODAY, "salt": _SALT})
        tx.execute(text("INSERT INTO visitors (day, digest) VALUES (:day, :d)"), {"day": TODAY, "d": came.digest})

    old.write(before)
    upgrade(old)
    with time_machine.travel(NOON, tick=False):
        assert _count(old, settings, _line(NOON + 1, CHROME)) == (2, 1)
        assert _count(old, settings, _line(NOON + 2, FIREFOX), _line(NOON + 3, FIREFOX)) == (4, 2)
        assert _count(old, settings, _line(NOON + 4, FIREFOX), _line(NOON + 5, CHROME)) == (6, 2)
        # The days that begin after the upgrade know whose their visitors are.
        assert _count(old, settings, _line(NOON + DAY, CHROME), _line(NOON + DAY, CHROME)) == (8, 3)
        assert _count(old, settings, _line(NOON + DAY, CHROME)) == (9, 3)
    chosen = select(visitors.c.day, visitors.c.account).where(visitors.c.day >= TODAY)
    found = old.read(lambda tx: tx.execute(chosen).all())
    assert sorted(map(tuple, found)) == [(TODAY, -1), (TODAY, -1), (TODAY + 1, 1)]
