"""An installation from before the account was in the keys: after the upgrade everything is there, and counted on."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import time_machine
from sqlalchemy import Connection, MetaData, insert, select, text

from tests.test_upgrade import plain_url  # noqa: F401  # a fixture
from tests.visiting import CHROME, FIREFOX
from waypost.clicks.batch import DAY, Reader
from waypost.clicks.ingest import Ingester
from waypost.clicks.journal import Journal, line, target_of
from waypost.db import Database
from waypost.schema import links, visitors
from waypost.settings import Settings
from waypost.upgrade import migrate, upgrade

NOON = 1_800_014_400  # 2027-01-15 12:00:00 UTC
TODAY = NOON // DAY
_SALT = b"of before"
_LINK = {
    "id": 7,
    "account": 3,
    "alias": "old",
    "url": "https://example.com/",
    "type": "direct",
    "status": "public",
    "clicks": 1,
    "uniqueclicks": 1,
    **dict.fromkeys(("host", "title", "description", "search", "expiryurl"), ""),
    **dict.fromkeys(("metatitle", "metadescription", "metaimage"), ""),
    **{name: [] for name in ("geotarget", "devicetarget", "languagetarget", "parameters")},
    "deeplink": {},
    **dict.fromkeys(("taken", "created"), 0),
}


@pytest.fixture
def old(plain_url: str) -> Iterator[Database]:  # noqa: F811  # that fixture
    """A database of before, with an account and a link."""

    def work(tx: Connection) -> None:
        migrate(tx, "0009")
        known = MetaData()
        known.reflect(tx, only=["accounts", "plans", "links"])
        plan = tx.execute(select(known.tables["plans"].c.id)).scalars().first()
        words = dict.fromkeys(("email", "email_key", "username", "username_key", "password"), "ana")
        numbers = dict.fromkeys(("password_changed", "registered", "stored"), 0)
        row = {"id": 3, "plan": plan, "owner": True, "suspended": False, **words, **numbers}
        tx.execute(insert(known.tables["accounts"]).values(row))
        tx.execute(insert(known.tables["links"]).values(_LINK))

    with closing(Database(plain_url)) as database:
        database.write(work)
        yield database


def _line(second: int, agent: str) -> bytes:
    words = (agent.encode(), b"", b"")
    return line(target_of(3, "link", 7), second * 1000, b"", b"203.0.113.77", b"", words)


def _count(database: Database, settings: Settings, *lines: bytes) -> tuple[int, int]:
    """(clicks, distinct visitors) of the link, after these and with an ingester that has just begun."""
    kept = Journal(settings.journal_dir)
    kept.write(b"".join(lines))
    kept.close()
    ingester = Ingester(settings, database)
    while ingester.step():
        pass
    chosen = select(links.c.clicks, links.c.uniqueclicks)
    row = database.read(lambda tx: tx.execute(chosen).one())
    return row.clicks, row.uniqueclicks


def test_a_visitor_of_before_the_upgrade_is_not_new_after_it(
    old: Database,
    plain_url: str,  # noqa: F811  # that fixture
    tmp_path: Path,
) -> None:
    reader = Reader(country=lambda _address: "", country_of_code=lambda _code: "")
    (came,) = reader.visits(_line(NOON, CHROME), lambda _day: _SALT)

    def before(tx: Connection) -> None:
        tx.execute(text("INSERT INTO salts (day, salt) VALUES (:day, :salt)"), {"day": TODAY, "salt": _SALT})
        tx.execute(text("INSERT INTO visitors (day, digest) VALUES (:day, :d)"), {"day": TODAY, "d": came.digest})

    old.write(before)
    upgrade(old)
    settings = Settings(data_dir=tmp_path, base_url="http://x", database_url=plain_url)
    with time_machine.travel(NOON, tick=False):
        assert _count(old, settings, _line(NOON + 1, CHROME)) == (2, 1)
        assert _count(old, settings, _line(NOON + 2, FIREFOX), _line(NOON + 3, FIREFOX)) == (4, 2)
        assert _count(old, settings, _line(NOON + 4, FIREFOX), _line(NOON + 5, CHROME)) == (6, 2)
        # The days that begin after the upgrade know whose their visitors are.
        assert _count(old, settings, _line(NOON + DAY, CHROME), _line(NOON + DAY, CHROME)) == (8, 3)
        assert _count(old, settings, _line(NOON + DAY, CHROME)) == (9, 3)
    found = old.read(lambda tx: tx.execute(select(visitors.c.day, visitors.c.account)).all())
    assert sorted(map(tuple, found)) == [(TODAY, -1), (TODAY, -1), (TODAY + 1, 3)]
