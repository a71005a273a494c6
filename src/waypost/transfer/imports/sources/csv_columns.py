"""Columns of CSV files: their usual names in the exports of link shorteners, and the records in their rows."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, tzinfo
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from waypost.core.errors import invalid
from waypost.core.formats import DateOrder
from waypost.core.text_folding import folded
from waypost.transfer.imports.source_row import DISABLED, Record
from waypost.transfer.imports.sources.csv_dates import CsvDates
from waypost.transfer.imports.sources.csv_lines import Cells, CsvFile
from waypost.urls.validation import complete_url

FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("linkid", "sourceid", "id"),
    "short": ("short", "shorturl", "shortlink", "tinyurl", "link", "bitlink", "source"),
    "alias": (
        *("alias", "custom", "customlink", "custombitlink", "slug", "slashtag", "keyword", "key", "path", "shortcode"),
        *("shortid", "code", "backhalf", "address"),
    ),
    "host": ("domain", "domainname", "hostname", "host"),
    "url": ("url", "longurl", "longlink", "destination", "destinationurl", "originalurl", "target", "redirecturl"),
    "title": ("title", "name", "label"),
    "description": ("description", "note", "notes", "comment", "comments"),
    "tags": ("tags", "labels", "tag", "channel"),
    "clicks": ("clicks", "totalclicks", "hits", "visits", "visitcount", "engagements"),
    "created": ("created", "createdat", "datecreated", "creationdate", "date", "timestamp"),
    "expiry": (
        "expiry",
        "expires",
        "expiresat",
        "expiredat",
        "expirein",
        "expirytime",
        "expireatdatetime",
        "validuntil",
    ),
    "clicklimit": ("clicklimit", "clickslimit", "maxvisits", "maxclicks", "expireatviews"),
    "password": ("password",),
}
"""The names of each field's column, without case, blanks, `_` and `-`. The first one that a file has is used."""

NO_DESTINATION = "No column is the destination."
_SHORT_OR_LONG = ("link", "source")
_FORMULA = re.compile(r"'(?=[=+@\t\r\n-])")
# Spreadsheets write 1,234 and pandas 12.0. A group has three digits.
_COUNT = re.compile(r"([0-9]{1,3}(?:[\s.,'\u2019][0-9]{3})+|[0-9]{1,15})(?:[.,]0{1,2})?")
_NULL = frozenset(("NULL", r"\N"))  # a missing value in exports of databases: it is no title and no password
_MAX_INTEGER = 2**53 - 1


class CsvSource:
    """The records of a CSV file. `ignored` are the columns that no field uses."""

    name = "csv"

    def __init__(
        self,
        file: BinaryIO,
        columns: Mapping[str, str | None],
        zone: tzinfo | None = None,
        dates: DateOrder = "unambiguous",
    ) -> None:
        """`columns` maps fields to column names, or to None to leave the field out.

        Times without an offset are in `zone`, by default UTC. `dates` is the order in all dates such as `03/04/2026`.
        Raises INVALID on `file` or `column`.
        """
        self._file, self._dates = CsvFile(file), CsvDates(zone or UTC, dates)
        self._indexes = _indexes(self._file, columns)
        used = set(self._indexes.values())
        self.ignored = [name for index, name in enumerate(self._file.header) if name and index not in used]

    def __iter__(self) -> Iterator[Record]:
        """Yield the records. Raises INVALID on `file` for the first line that cannot be read."""
        width = len(self._file.header)
        for line, cells in self._file:
            if len(cells) > width and any(cells[width:]):
                yield Record(line, problem=_too_wide(len(cells), width))
            elif [cell.strip() for cell in cells] == self._file.header:
                yield Record(line, problem="The row repeats the header.")
            else:
                yield self._record(line, cells)

    def _record(self, line: int, cells: Cells) -> Record:
        values = {
            name: _FORMULA.sub("", cells[index], count=1) if cells[index].startswith("'") else cells[index]
            for name, index in self._indexes.items()
            if index < len(cells)
        }
        get = {name: "" if value.strip() in _NULL else value.strip() for name, value in values.items()}.get
        record = Record(line, url=complete_url(get("url", "")), title=get("title", ""), source_id=get("id", ""))
        record.host, record.alias = _address(get("short", ""), get("alias", ""), get("host", ""))
        record.description = get("description", "")
        record.tags = re.split(r",", get("tags", "")) if "," in get("tags", "") else get("tags", "").split("|")
        record.clicks = _clicks(record, get("clicks", ""))
        record.created = self._dates.created(record, get("created", ""))
        record.expiry = self._dates.expiry(record, get("expiry", ""))
        record.clicklimit = _limit(record, get("clicklimit", ""))
        _set_password(record, get("password", ""))
        return record


def _too_wide(cells: int, width: int) -> str:
    return f"The row has {cells} columns, the header {width}. Put cells that contain the separator in quotes."


def _indexes(file: CsvFile, columns: Mapping[str, str | None]) -> dict[str, int]:
    """Return the column of each field. Raises INVALID if that is not clear."""
    header, line = file.header, file.header_line
    names = [_plain(name) for name in header]
    for name in names:
        if name and names.count(name) > 1:
            raise invalid(
                "file", f"Line {line} names the column {header[names.index(name)]} twice. Rename one of them."
            )
    indexes = {field: _named(field, column, names, line) for field, column in columns.items() if column is not None}
    for field, synonyms in FIELDS.items():
        present = [names.index(name) for name in synonyms if name in names]
        free = [index for index in present if index not in indexes.values()]
        if field not in columns and free:
            indexes[field] = free[0]
    if "url" not in indexes:
        unclear = next((name for name in _SHORT_OR_LONG if name in names), None)
        if unclear:
            hint = f"Is {unclear} the destination? Then import it with column url={unclear}."
        else:
            hint = f"Name it, such as column url=Target. Line {line} must contain the names of the columns."
        raise invalid("column", f"{NO_DESTINATION} {hint}")
    return indexes


def _named(field: str, column: str, names: list[str], line: int) -> int:
    if field not in FIELDS:
        raise invalid("column", f"column: there is no field {field}. The fields are {', '.join(FIELDS)}.")
    if _plain(column) not in names:
        raise invalid("column", f"column: line {line} of the file does not contain {column}.")
    return names.index(_plain(column))


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", folded(name))


def _address(short: str, alias: str, host: str) -> tuple[str, str]:
    """Return the host and the alias of a row. A short URL can have a scheme, or be a path such as `/a/`."""
    if not alias or "://" in alias:
        short, alias = alias or short, ""
    if not alias and short:
        has_host = "://" in short or "." in short.partition("/")[0]
        try:
            parts = urlsplit(short if "://" in short else f"//{short}" if has_host else f"///{short.lstrip('/')}")
            return parts.hostname or host, unquote(parts.path).strip("/")
        except ValueError:
            return host, short
    return host, unquote(alias).strip("/")


def _count(text: str) -> int | None:
    """Return a whole number, with or without signs between its groups; None if it is none."""
    match = _COUNT.fullmatch(text)
    return int(re.sub("[^0-9]", "", match[1])) if match else None


def _clicks(record: Record, text: str) -> int:
    clicks = _count(text) if text else 0
    if clicks is None or clicks > _MAX_INTEGER:
        record.losses.append("the clicks are not a number")
        return 0
    return clicks


def _limit(record: Record, text: str) -> int | None:
    if not text:
        return None
    limit = _count(text)
    if limit is None or not 0 < limit <= _MAX_INTEGER:
        if record.problem:  # of the expiry, which can be corrected in the plan
            record.losses.append("the click limit is not a whole number from 1, and the link gets none")
        record.problem = record.problem or "clicklimit must be a whole number from 1."
        return None
    return limit


def _set_password(record: Record, text: str) -> None:
    """Set the password. A hash, or only the fact that there is one, disables the link: it must never be open."""
    if text.casefold() in ("", "false", "no"):
        return
    is_known = text.casefold() not in ("true", "yes", "1", "0") and not re.match(r"\$[a-z0-9-]+\$", text)
    if is_known and len(text) <= 128 and text.isprintable():
        record.password = text
        return
    record.is_disabled = True
    record.losses.append(DISABLED)
