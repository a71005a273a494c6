"""The SQLite files of Kutt, with clicks by hour, and of Chhoto URL."""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from waypost.clicks.classify import classifier
from waypost.clicks.geo import countries
from waypost.clicks.ingest.aggregate import VisitAttributes
from waypost.core.errors import Problem, invalid
from waypost.transfer.imports.source_row import DISABLED, Clicks, Record
from waypost.transfer.imports.sources.fields import Fields, parse_json

MAGIC = b"SQLite format 3\x00"
_BROWSERS = {
    "br_chrome": "Chrome", "br_edge": "Edge", "br_firefox": "Firefox", "br_ie": "Internet Explorer",
    "br_opera": "Opera", "br_safari": "Safari", "br_other": classifier.UNKNOWN,
}  # fmt: skip
_SYSTEMS = {
    "os_android": "Android", "os_ios": "iOS", "os_linux": "Linux", "os_macos": "macOS", "os_windows": "Windows",
    "os_other": classifier.UNKNOWN,
}  # fmt: skip
_MAX_CLICKS_PER_ROW = 1_000_000
_MAX_NAME = 255
_READ = frozenset({"domains", "links", "urls", "visits"})
_VIRTUAL = re.compile(r"\s*CREATE\b(?:\s|--[^\n]*|/\*.*?\*/)*VIRTUAL\b", re.IGNORECASE | re.DOTALL)
_MAX_CELL_VALUES = 20_000
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1 << 20,  # bytes of a value and of a row
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
}


class SqliteSource:
    """The links of a SQLite file, whose tables tell the service that wrote it."""

    def __init__(self, path: Path) -> None:
        """Raises INVALID on `file`."""
        self.ignored: list[str] = []
        self._tables = _open(path)
        names = _tables(self._tables)
        if {"links", "visits"} <= names:
            self.name, self._records = "kutt", _kutt_records
        elif "urls" in names:
            self.name, self._records = "chhoto", _chhoto_records
        else:
            raise invalid("file", "The file is a SQLite database, but not of Kutt or Chhoto URL.")

    def __iter__(self) -> Iterator[Record]:
        """Yield the links, oldest first. Raises INVALID on `file`."""
        try:
            yield from self._records(self._tables)
        except sqlite3.DatabaseError as error:
            raise _unreadable(error) from None


def _open(path: Path) -> sqlite3.Connection:
    """Open a file of a stranger read-only: it cannot call functions of the database, and its values are bounded."""
    tables = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    tables.row_factory = sqlite3.Row
    for limit, value in _LIMITS.items():
        tables.setlimit(limit, value)
    tables.execute("PRAGMA trusted_schema = OFF")
    return tables


def _tables(tables: sqlite3.Connection) -> set[str]:
    """Return the names of the tables with stored values only.

    A view, a virtual table or a generated column could compute without end.
    """
    try:
        rows = tables.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        names = {row["name"] for row in rows if not _VIRTUAL.match(row["sql"] or "")}
        for name in sorted(names & _READ):
            columns = tables.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden > 1", (name,)).fetchall()
            if columns:
                raise invalid("file", f"The column {columns[0]['name'][:_MAX_NAME]} of {name} is generated.")
    except sqlite3.DatabaseError as error:
        raise _unreadable(error) from None
    return names


def _unreadable(error: sqlite3.DatabaseError) -> Problem:
    return invalid("file", f"The database cannot be read: {str(error)[:_MAX_NAME]}.")


def _kutt_records(tables: sqlite3.Connection) -> Iterator[Record]:
    hosts = {}
    if "domains" in _tables(tables):
        hosts = {
            row["id"]: str(row["address"] or "")[:_MAX_NAME]
            for row in tables.execute("SELECT id, address FROM domains")
        }
    for line, row in enumerate(tables.execute("SELECT * FROM links ORDER BY id"), 1):
        link = Fields(dict(row))
        record = Record(line, url=link.text("target"), alias=link.text("address"))
        record.host = hosts.get(dict(row).get("domain_id"), "")
        record.source_id = link.text("uuid") or link.text("id")
        record.description, record.clicks = link.text("description"), link.number("visit_count")
        record.created, record.expiry = link.second("created_at"), link.second("expire_in")
        if link.text("password"):
            record.is_disabled = True
            record.losses.append(DISABLED)
        if link.is_true("banned"):
            record.is_disabled = True
            record.losses.append("it was banned, so it is disabled")
        record.history = _kutt_clicks(tables, link.number("id"))
        yield record


def _kutt_clicks(tables: sqlite3.Connection, link: int) -> Iterator[Clicks]:
    """Yield the clicks by hour. Their labels are counted apart, so they are joined in any order."""
    for row in tables.execute("SELECT * FROM visits WHERE link_id = ? ORDER BY created_at", (link,)):
        hour = Fields(dict(row))
        second, total = hour.second("created_at"), min(hour.number("total"), _MAX_CLICKS_PER_ROW)
        if second is None:
            continue
        browsers = _units({name: hour.number(column) for column, name in _BROWSERS.items()}, total)
        systems = _units({name: hour.number(column) for column, name in _SYSTEMS.items()}, total)
        places = _units({countries.name_of(code): n for code, n in _counts(hour.text("countries")).items()}, total)
        origins = {_host(name): n for name, n in _counts(hour.text("referrers")).items()}
        for labels in zip(_units(origins, total), places, browsers, systems, strict=True):
            origin = classifier.referrer(labels[0])
            attributes = VisitAttributes(
                labels[1], origin.label, origin.network, labels[2], labels[3], "", classifier.UNKNOWN, "link"
            )
            yield Clicks(second, 1, 1, attributes)


def _counts(text: str) -> Mapping[str, int]:
    try:
        value: Any = parse_json(text or "{}", field="file", max_values=_MAX_CELL_VALUES)
    except Exception:  # noqa: BLE001  # a damaged cell loses its labels, never the link
        return {}
    return {name: Fields(value).number(name) for name in value} if isinstance(value, dict) else {}


def _host(name: str) -> str:
    host = name.replace("[dot]", ".")
    return f"https://{host}/" if "." in host else ""


def _units(counts: Mapping[str, int], total: int) -> list[str]:
    """Return a label for each click; "" for those that have none."""
    labels: list[str] = []
    for label, count in counts.items():
        labels += [label] * min(count, total - len(labels))
    return labels + [""] * (total - len(labels))


def _chhoto_records(tables: sqlite3.Connection) -> Iterator[Record]:
    for line, row in enumerate(tables.execute("SELECT * FROM urls ORDER BY rowid"), 1):
        link = Fields(dict(row))
        record = Record(line, url=link.text("long_url"), alias=link.text("short_url"))
        record.description, record.clicks = link.text("notes"), link.number("hits")
        record.expiry = link.second("expiry_time")
        yield record
