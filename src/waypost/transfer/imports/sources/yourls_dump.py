"""A dump of the database of YOURLS: every link and every single visit."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO
from zoneinfo import ZoneInfo

from waypost.core.errors import invalid
from waypost.transfer.imports.source_row import MAX_URL, Clicks, Record
from waypost.transfer.imports.sources import sql_dump
from waypost.transfer.imports.sources.fields import number, second, visit

_URL_COLUMNS = ("keyword", "url", "title", "timestamp", "ip", "clicks")
_LOG_COLUMNS = ("click_id", "click_time", "shorturl", "referrer", "user_agent", "ip_address", "country_code")
_MAX_URL, _MAX_TEXT = MAX_URL + 1, 1000
"""Characters that are kept: longer values are refused, cut or not read later."""


class YourlsDumpSource:
    """The links of a dump. It is read into a temporary SQLite file, because visits come before their links in it."""

    name = "yourls"

    def __init__(self, file: BinaryIO, *, zone: ZoneInfo | None = None) -> None:
        """Dates are in `zone`, by default UTC. Raises INVALID on `file` for a dump without links."""
        self._zone = zone
        self._tables = sqlite3.connect("", check_same_thread=False)  # a file that SQLite deletes at the end
        self._tables.execute("PRAGMA synchronous = OFF")
        self._tables.execute("PRAGMA journal_mode = OFF")
        self._tables.execute("CREATE TABLE url (keyword, url, title, timestamp, clicks)")
        self._tables.execute("CREATE TABLE log (keyword, at, referrer, user_agent, country)")
        self.ignored: list[str] = []
        self._load(file)

    def __iter__(self) -> Iterator[Record]:
        """Yield the links, oldest first."""
        rows = self._tables.execute(
            "SELECT keyword, url, title, timestamp, clicks FROM url ORDER BY timestamp, keyword"
        )
        for line, (keyword, url, title, timestamp, clicks) in enumerate(rows, 1):
            record = Record(line, url=url, alias=keyword, title=title)
            record.created = second(timestamp, self._zone)
            record.clicks = number(clicks)
            record.history = self._visits(keyword)
            yield record

    def _visits(self, keyword: str) -> Iterator[Clicks]:
        query = "SELECT at, referrer, user_agent, country FROM log WHERE keyword = ? ORDER BY at"
        for at, referrer, user_agent, country in self._tables.execute(query, (keyword,)):
            if (moment := second(at, self._zone)) is not None:
                yield visit(moment, user_agent=user_agent, referrer=referrer, country=country)

    def _load(self, file: BinaryIO) -> None:
        unread: Counter[str] = Counter()
        for row in sql_dump.rows(file, unread):
            if _is(row, "url"):
                keyword, url, *others = _named(row, _URL_COLUMNS, "keyword", "url", "title", "timestamp", "clicks")
                values = (keyword[:_MAX_TEXT], url[:_MAX_URL], *(text[:_MAX_TEXT] for text in others))
                self._tables.execute("INSERT INTO url VALUES (?, ?, ?, ?, ?)", values)
            elif _is(row, "log"):
                texts = _named(row, _LOG_COLUMNS, "shorturl", "click_time", "referrer", "user_agent", "country_code")
                values = tuple(text[:_MAX_TEXT] for text in texts)
                self._tables.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?)", values)
        self.ignored += [f"{statement} ({count})" for statement, count in unread.items()]
        self._tables.execute("CREATE INDEX log_keyword ON log (keyword, at)")
        if self._tables.execute("SELECT 1 FROM url").fetchone() is None:
            raise invalid("file", "The file contains no links: a table that ends with _url is missing or empty.")


def _is(row: sql_dump.Row, table: str) -> bool:
    """Return whether a row is of a table. Each installation can have its own prefix."""
    return row[0] == table or row[0].endswith(f"_{table}")


def _named(row: sql_dump.Row, default_columns: tuple[str, ...], *names: str) -> list[str]:
    _, columns, values = row
    by_name = dict(zip(columns or default_columns, values, strict=False))
    return [by_name.get(name, "") for name in names]
