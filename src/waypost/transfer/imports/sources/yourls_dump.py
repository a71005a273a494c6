"""A dump of the database of YOURLS: every link and every single visit.

The rows of the MySQL dump are read as a stream: INSERT and REPLACE of `mysqldump` and phpMyAdmin.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO
from zoneinfo import ZoneInfo

from waypost.core.errors import invalid
from waypost.transfer.imports.source_row import MAX_URL, Clicks, Record
from waypost.transfer.imports.sources.fields import number, second, visit

_URL_COLUMNS = ("keyword", "url", "title", "timestamp", "ip", "clicks")
_LOG_COLUMNS = ("click_id", "click_time", "shorturl", "referrer", "user_agent", "ip_address", "country_code")
_MAX_URL, _MAX_TEXT = MAX_URL + 1, 1000
"""Characters that are kept: longer values are refused, cut or not read later."""
_CHUNK = 1 << 20
_MAX_ROW = 1 << 24
_MAX_VALUES = 100  # of a row; those behind are not read
_START = re.compile(rb"^[ \t]*(?:INSERT|REPLACE)\s", re.MULTILINE | re.IGNORECASE)
_NAME = rb"[`\"]?([A-Za-z0-9_$]{1,64})[`\"]?"
_INSERT = re.compile(
    rb"[ \t]*(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE)\s+)*(?:INTO\s+)?"
    + (rb"(?:" + _NAME.replace(b"(", b"(?:", 1) + rb"\.)?" + _NAME + rb"\s*+")
    + rb"(?:\(([^()]{1,4096})\)\s*+)?VALUES?\s*+(?=\()",
    re.IGNORECASE,
)
_ROW = re.compile(rb"\s*+\(((?:'(?:[^'\\]|\\.|'')*+'|[^'()])*+)\)\s*+([,;])", re.DOTALL)
# A text can have a character set before it (`_binary 'x'`, `N'x'`); bytes can be in hexadecimal (`0x78`, `x'78'`).
_VALUE = re.compile(
    rb"\s*+(?:(_[a-z0-9]+\s*+|[NXnx])?'((?:[^'\\]|\\.|'')*+)'|([^,']*+))\s*+(?:,|\Z)", re.DOTALL | re.IGNORECASE
)
_HEX = re.compile(rb"(?:0x)?((?:[0-9A-Fa-f]{2})*)")
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_ESCAPED = {b"0": b"\0", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"Z": b"\x1a"}
_MAX_UNREAD = 20  # kinds of statements that are named
_UNFINISHED = 4600  # bytes of an INSERT that can be at the end of a chunk
Row = tuple[str, list[str], list[str]]
"""The table, the names of the columns if the statement has them, and the values; NULL is ""."""


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
        for row in rows(file, unread):
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


def _is(row: Row, table: str) -> bool:
    """Return whether a row is of a table. Each installation can have its own prefix."""
    return row[0] == table or row[0].endswith(f"_{table}")


def _named(row: Row, default_columns: tuple[str, ...], *names: str) -> list[str]:
    _, columns, values = row
    by_name = dict(zip(columns or default_columns, values, strict=False))
    return [by_name.get(name, "") for name in names]


def rows(file: BinaryIO, unread: Counter[str]) -> Iterator[Row]:
    """Yield the rows of all tables. Raises INVALID on `file` for a statement that has no end.

    Statements that insert rows without `VALUES` are not read: they are counted in `unread`.
    """
    buffer, is_end = b"", False
    table: str | None = None
    columns: list[str] = []
    while True:
        position = 0
        while True:
            if table is None:
                start = _START.search(buffer, position)
                if start is None or (len(buffer) - start.start() < _UNFINISHED and not is_end):
                    position = max(position, len(buffer) - _UNFINISHED) if start is None else start.start()
                    break
                insert = _INSERT.match(buffer, start.start())
                if insert is None:
                    words = _first_words(buffer[start.start() :])
                    unread[words if words in unread or len(unread) < _MAX_UNREAD else "INSERT"] += 1
                    position = start.end()
                    continue
                table, position = insert[1].decode(), insert.end()
                columns = [name.strip(b' `"').decode("utf-8", "replace") for name in (insert[2] or b"").split(b",")]
            row = _ROW.match(buffer, position)
            if row is None:
                break
            yield table, columns if columns != [""] else [], _values(row[1])
            position = row.end()
            table = None if row[2] == b";" else table
        if is_end:
            break
        chunk = file.read(_CHUNK)
        is_end = not chunk
        buffer = _line_start(buffer, position, in_statement=table is not None) + chunk
        if len(buffer) > _MAX_ROW + _CHUNK:
            raise invalid("file", f"A row of {table} is longer than 16 MB, or is not from mysqldump.")
    if table is not None:
        raise invalid("file", f"The file ends in a statement of the table {table}. It is incomplete.")


def _first_words(statement: bytes) -> str:
    """Return the beginning of a statement, up to the name of the table."""
    words = statement[:_UNFINISHED].split(maxsplit=3)[:3]
    return b" ".join(words).decode("utf-8", "replace")[:80]


def _line_start(buffer: bytes, position: int, *, in_statement: bool) -> bytes:
    """Return the rest of the buffer. Outside of statements it keeps the line break before it, which `^` needs."""
    return buffer[position:] if in_statement else buffer[max(0, position - 1) :]


def _values(text: bytes) -> list[str]:
    values: list[str] = []
    position = 0
    while position <= len(text) and len(values) < _MAX_VALUES:
        match = _VALUE.match(text, position)
        if match is None or (match.end() == position and values):
            break
        value = _value(match)
        values.append(value.decode("utf-8", "replace"))
        position = match.end()
    return values


def _value(match: re.Match[bytes]) -> bytes:
    introducer, text, word = (match[1] or b"").strip().upper(), match[2], (match[3] or b"").strip()
    if text is not None and introducer != b"X":
        return _ESCAPE.sub(_unescaped, text)
    if introducer == b"X" or word[:2] == b"0x":
        digits = _HEX.fullmatch(word if text is None else text)
        return word if digits is None else bytes.fromhex(digits[1].decode())
    return b"" if word.upper() == b"NULL" else word


def _unescaped(match: re.Match[bytes]) -> bytes:
    return b"'" if match[1] is None else _ESCAPED.get(match[1], match[1])
