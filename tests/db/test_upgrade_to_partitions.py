"""A PostgreSQL that was in use before its clicks were kept in pieces: after the upgrade every number is the same."""

from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
from sqlalchemy import Connection, text

from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal.writer import Journal, line, target_of
from waypost.clicks.stats import queries as stats
from waypost.clicks.stats import raw_events
from waypost.clicks.stats.queries import Interval, Span
from waypost.db.database import Database
from waypost.db.upgrade import migrate, upgrade
from waypost.settings import Settings

_IN_PIECES = ("events", "visitors", "click_times", "click_labels")
_VISITS = 12_000
_THINGS = [("account", 1), ("account", 2), *(("link", n) for n in range(1, 9)), ("link", 99)]  # 99 is deleted
_SPANS: list[tuple[date, date, Interval, str]] = [
    (date(2026, 6, 1), date(2026, 10, 31), "month", "UTC"),
    (date(2026, 6, 20), date(2026, 9, 12), "day", "Asia/Kathmandu"),
    (date(2026, 8, 30), date(2026, 9, 2), "hour", "America/New_York"),
]
# Visits of four months on eight links of two accounts and one that is gone, and what they add up to.
_FILL = f"""
INSERT INTO accounts (id, email, email_key, username, username_key, password, password_changed, plan, owner, suspended,
    registered) SELECT n, 'u' || n, 'u' || n, 'u' || n, 'u' || n, '*', 0, (SELECT min(id) FROM plans), false, false, 0
    FROM generate_series(1, 2) n;
INSERT INTO links (id, account, host, alias, url, title, description, search, expiryurl, type, status, metatitle,
    metadescription, metaimage, geotarget, devicetarget, languagetarget, deeplink, parameters, clicks, uniqueclicks,
    created) SELECT n, 1 + n % 2, '', 'link-' || n, 'https://example.com/', '', '', '', '', 'direct', 'public', '', '',
    '', '[]', '[]', '[]', '{{}}', '[]', 0, 0, 0 FROM generate_series(1, 8) n;
INSERT INTO events (account, kind, item, at_ms, sort, first, country, referrer, browser, os, device, language, source)
    SELECT CASE n % 9 WHEN 0 THEN 2 ELSE 1 + n % 9 % 2 END, 'link', CASE n % 9 WHEN 0 THEN 99 ELSE n % 9 END,
        1781913600000 + n::bigint * 720000, CASE WHEN n % 5 = 0 THEN 'bot' ELSE 'click' END, n % 3 = 0,
        'Land ' || n % 70, 'https://site' || n % 40 || '.example/', 'B' || n % 4, 'O' || n % 3, 'D' || n % 2,
        'L' || n % 6, ''
    FROM generate_series(1, {_VISITS}) n;
CREATE TEMPORARY TABLE visits ON COMMIT DROP AS SELECT * FROM events UNION ALL
    SELECT id, account, 'account', account, at_ms, sort, first, country, referrer, browser, os, device, language, source
    FROM events;
INSERT INTO click_times (kind, item, at, clicks, uniques, bots, previews, others, late)
    SELECT kind, item, at_ms / 900000 * 900, count(*) FILTER (WHERE sort = 'click'),
        count(*) FILTER (WHERE sort = 'click' AND first), count(*) FILTER (WHERE sort = 'bot'), 0, 0, 0
    FROM visits GROUP BY 1, 2, 3;
INSERT INTO click_labels (kind, item, day, dimension, label, n)
    SELECT kind, item, d, told[1], told[2], count(*) FROM visits,
        LATERAL (VALUES (-1), (at_ms / 86400000)) days(d),
        LATERAL (VALUES (ARRAY['country', country]), (ARRAY['referrer', referrer]), (ARRAY['browser', browser]),
            (ARRAY['os', os]), (ARRAY['device', device]), (ARRAY['language', language])) labels(told)
    WHERE sort = 'click' GROUP BY 1, 2, 3, 4, 5;
INSERT INTO visitors (day, digest) SELECT at_ms / 86400000, sha256(id::text::bytea) FROM events;
UPDATE links SET clicks = t.clicks, uniqueclicks = t.uniques FROM
    (SELECT item, sum(clicks) clicks, sum(uniques) uniques FROM click_times WHERE kind = 'link' GROUP BY item) t
    WHERE id = item;
DELETE FROM events WHERE id > {_VISITS} - 10;
"""


@pytest.fixture
def old(plain_url: str) -> Iterator[Database]:
    """The database as it was before, with what has come together in it."""
    with closing(Database(plain_url)) as database:
        database.write(lambda tx: migrate(tx, "0007"))
        with psycopg.connect(plain_url) as tx:
            tx.execute(_FILL.encode())
        yield database


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_every_number_is_the_same_after_the_upgrade(old: Database, plain_url: str, tmp_path: Path) -> None:
    before = _told(old)
    assert before["rows"]["events"] == [(_VISITS - 10,)]
    assert len(before["months"]) > 3
    upgrade(old)
    assert old.read(_in_rest) == dict.fromkeys(_IN_PIECES, 0)
    assert _told(old) == before
    _count(old, plain_url, tmp_path)
    after = _told(old)
    grown = {thing for thing in after["things"] if after["things"][thing] != before["things"][thing]}
    assert grown == {("link", 2), ("account", 1)}
    # What is added falls on the rows that were there, and no number is given twice.
    assert after["rows"]["click_times"] == before["rows"]["click_times"]
    assert old.read(lambda tx: tx.execute(text("SELECT max(id) FROM events")).scalar()) == _VISITS + 1


def _count(database: Database, url: str, folder: Path) -> None:
    """Count one more visit in a quarter of an hour in which its link had one already."""
    settings = Settings(data_dir=folder, base_url="http://x", database_url=url)
    at = database.read(lambda tx: tx.execute(text("SELECT max(at_ms) FROM events WHERE item = 2")).scalar_one())
    kept = Journal(settings.journal_dir)
    assert kept.write(line(target_of(1, "link", 2), at, b"", b"203.0.113.9", b"", (b"Mozilla/5.0 Firefox/1", b"", b"")))
    kept.close()
    counting = Ingester(settings, database)
    while counting.step():
        pass


def _told(database: Database) -> dict[str, Any]:
    """Everything that is told of the clicks, and the rows that it comes from."""
    exported = "".join(
        "".join(raw_events.export(database, account, form="csv", first=0, after=1 << 40)) for account in (1, 2)
    )
    return {"exported": exported, **database.read(_read)}


def _read(tx: Connection) -> dict[str, Any]:
    rows = {
        "events": "SELECT count(*) FROM events",
        "visitors": "SELECT count(*), md5(string_agg(day || encode(digest, 'hex'), ' ' ORDER BY digest)) FROM visitors",
        "click_times": "SELECT count(*) FROM click_times",
        "click_labels": "SELECT count(*), sum(n) FROM click_labels",
        "links": "SELECT id, clicks, uniqueclicks FROM links ORDER BY id",
    }
    months = "SELECT DISTINCT to_char(to_timestamp(at_ms / 1000), 'YYYYMM') FROM events ORDER BY 1"
    return {
        "rows": {name: [tuple(row) for row in tx.execute(text(sql))] for name, sql in rows.items()},
        "months": list(tx.execute(text(months)).scalars()),
        "things": {(kind, item): _statistics(tx, kind, item) for kind, item in _THINGS},
    }


def _statistics(tx: Connection, kind: str, item: int) -> list[Any]:
    spans = [Span(first, last, interval, ZoneInfo(zone)) for first, last, interval, zone in _SPANS]
    return [
        stats.block(tx, kind, item, clicks=0, uniques=0),
        *(stats.report(tx, kind, item, span) for span in spans),
        *(stats.labelled(tx, kind, item, "country", span) for span in spans),
    ]


def _in_rest(tx: Connection) -> dict[str, int]:
    return {name: tx.execute(text(f"SELECT count(*) FROM {name}_rest")).scalar_one() for name in _IN_PIECES}
