"""CSV files: their lines, the usual names of columns in the exports of link shorteners, and the records in their rows.

Dates are as services, databases and spreadsheets write them.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import chain
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from waypost.core import clock
from waypost.core.errors import Problem, invalid
from waypost.core.formats import DateOrder
from waypost.core.text_folding import folded
from waypost.transfer.imports.source_row import DISABLED, Record
from waypost.urls.validation import complete_url

_MAX_LINE = 1 << 20
_MAX_COLUMNS = 100
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTED = re.compile(r'"[^"]*"')
Cells = list[str]


class CsvFile:
    """A CSV file with a header, separated by commas, semicolons or tabs; UTF-8, or UTF-16 with a byte order mark.

    Lines end with LF, CR LF or CR. Blank lines before the header are skipped.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Read the header. Raises INVALID on `file`."""
        self._lines = _Lines(file)
        first = next((line for line in self._lines if not _is_before_header(line)), "")
        self.header_line = self._lines.number
        self._separator = max(",;\t", key=_QUOTED.sub("", first).count)
        self._reader = csv.reader(chain([first], self._lines), delimiter=self._separator, strict=True)
        self.header = [cell.strip() for cell in self._next(self.header_line) or ()]
        if not any(self.header):
            raise _bad("The file is empty. Its first line must name the columns.")
        if len(self.header) > _MAX_COLUMNS:
            message = f"Line {self.header_line} has {len(self.header)} columns; {_MAX_COLUMNS} are allowed."
            raise _bad(message)

    def __iter__(self) -> Iterator[tuple[int, Cells]]:
        """Yield each record with the number of its first line. Raises INVALID on `file`."""
        while True:
            self._lines.record_size = 0
            line = self._lines.number + 1
            cells = self._next(line)
            if cells is None:
                return
            if any(cells):
                yield line, cells

    def _next(self, line: int) -> Cells | None:
        """Return the next record, which begins at `line`. The only place where the csv module reads the file."""
        try:
            return next(self._reader, None)
        except csv.Error as error:
            raise _bad(f"Line {line}: {_reason(error)}.") from error


class _Lines:
    """The lines of a file, as text with their line ends."""

    def __init__(self, file: BinaryIO) -> None:
        self.number = 0
        self.record_size = 0
        buffered = io.BufferedReader(file, 1 << 16) if isinstance(file, io.RawIOBase) else file
        start = buffered.read(4)
        buffered.seek(0)
        self._encoding = "UTF-16" if start.startswith(_UTF16) else "UTF-8"
        # Invalid bytes of UTF-8 become surrogates, so that the line at fault is known. UTF-16 has no such decoding.
        encoding, errors = ("utf-16", "strict") if self._encoding == "UTF-16" else ("utf-8-sig", "surrogateescape")
        self._text = io.TextIOWrapper(buffered, encoding=encoding, errors=errors, newline="")

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        self.number += 1
        try:
            line = self._text.readline(_MAX_LINE + 1)
        except UnicodeError as error:
            raise self._not_valid() from error
        self.record_size += len(line)
        if self.record_size > _MAX_LINE:
            raise self._too_long()
        if _SURROGATE.search(line):
            raise self._not_valid()
        if "\0" in line:
            problem = f"Line {self.number} contains a NUL character."
            raise _bad(f"{problem} In Excel, save the file with File, Save as, CSV UTF-8.")
        if not line:
            self.number -= 1
            raise StopIteration
        return line

    def _not_valid(self) -> Problem:
        problem = f"Line {self.number} is not valid {self._encoding}."
        return _bad(f"{problem} In Excel, save the file with File, Save as, CSV UTF-8.")

    def _too_long(self) -> Problem:
        hint = "Check its line ends, and that all quotes are closed."
        return _bad(f"Line {self.number} belongs to a row of more than {_MAX_LINE // 10**6} MB. {hint}")


def _is_before_header(line: str) -> bool:
    """Return whether a line is blank, or tells the separator to Excel."""
    text = line.strip().lower()
    return not text or text.startswith("sep=")


def _reason(error: csv.Error) -> str:
    if "expected after" in str(error):
        return "a quote inside a quoted cell must be written twice"
    if "new-line character" in str(error):
        return "a line break is neither in quotes nor at the end of a row"
    if "field larger" in str(error):
        return "a cell has more than 131,072 characters. Check that all quotes are closed"
    return "a quote is opened and never closed"


def _bad(message: str) -> Problem:
    return invalid("file", message)


FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("linkid", "sourceid", "id"),
    "short": (
        *("short", "shorturl", "shortlink", "tinyurl", "link", "bitlink", "source"),
        *("kurzlink", "kurzurl", "kurzadresse", "liencourt", "urlcourte", "enlacecorto", "linkcurto", "urlcurta"),
    ),
    "alias": (
        *("alias", "custom", "customlink", "custombitlink", "slug", "slashtag", "keyword", "key", "path", "shortcode"),
        *("shortid", "code", "backhalf", "address", "kürzel", "kurzname"),
    ),
    "host": ("domain", "domainname", "hostname", "host", "domaine", "dominio", "domínio"),
    "url": (
        *("url", "longurl", "longlink", "destination", "destinationurl", "originalurl", "target", "redirecturl"),
        *("ziel", "zielurl", "zieladresse", "ziellink", "adresse", "urldedestination", "destino", "urldedestino"),
    ),
    "title": ("title", "name", "label", "titel", "bezeichnung", "titre", "nom", "título", "nombre", "nome"),
    "description": (
        *("description", "note", "notes", "comment", "comments", "notiz", "notizen", "beschreibung", "bemerkung"),
        *("descripción", "descrição", "nota", "notas"),
    ),
    "tags": ("tags", "labels", "tag", "channel", "schlagwörter", "schlagworte", "étiquettes", "etiquetas"),
    "clicks": (
        *("clicks", "totalclicks", "hits", "visits", "visitcount", "engagements", "klicks", "aufrufe", "clics"),
        "cliques",
    ),
    "created": (
        *("created", "createdat", "datecreated", "creationdate", "date", "timestamp", "erstellt", "erstelltam"),
        *(
            "angelegt",
            "angelegtam",
            "datum",
            "créé",
            "crééle",
            "datedecréation",
            "creado",
            "fecha",
            "criado",
            "criadoem",
        ),
    ),
    "expiry": (
        "expiry",
        "expires",
        "expiresat",
        "expiredat",
        "expirein",
        "expirytime",
        "expireatdatetime",
        "validuntil",
        *("gültigbis", "läuftab", "läuftabam", "ablauf", "ablaufdatum", "expirele", "expira", "caduca", "validade"),
    ),
    "clicklimit": ("clicklimit", "clickslimit", "maxvisits", "maxclicks", "expireatviews"),
    "password": ("password", "passwort", "kennwort", "motdepasse", "contraseña", "senha"),
}
"""The names of each field's column, without case, blanks, `_` and `-`. The first one that a file has is used.

Those of services are first, then the words of the languages of the dashboard, for spreadsheets.
"""

NO_DESTINATION = "No column is the destination."
_SHORT_OR_LONG = ("link", "source")
_FORMULA = re.compile(r"'(?=[=+@\t\r\n-])")
# Spreadsheets write 1,234 and pandas 12.0. A group has three digits.
_COUNT = re.compile(r"([0-9]{1,3}(?:[\s.,'\u2019][0-9]{3})+|[0-9]{1,15})(?:[.,]0{1,2})?")
_NULL = frozenset(("NULL", r"\N"))  # a missing value in exports of databases: it is no title and no password
_MAX_INTEGER = 2**53 - 1
_TIME = r"(?:,?[ T]+(?P<hour>[0-2]?[0-9])(?P<minutes>:[0-5][0-9](?::[0-5][0-9])?) ?(?P<half>[AaPp]\.?[Mm]\.?)?)?"
_LOCAL = re.compile(
    rf"(?P<first>[0-9]{{1,2}})(?P<sign>[./-])(?P<second>[0-9]{{1,2}})(?P=sign)(?P<year>[0-9]{{4}}){_TIME}"
)
_YEAR_FIRST = re.compile(
    rf"(?P<year>[0-9]{{4}})(?P<sign>[./-])(?P<month>[0-9]{{1,2}})(?P=sign)(?P<day>[0-9]{{1,2}}){_TIME}"
)
_UNIX = re.compile(r"([0-9]{9,14})(?:\.0+)?")
_SERIAL = re.compile(r"[3-7][0-9]{4}(?:\.[0-9]{1,15})?")  # the years 1982 to 2119
_SERIAL_START = datetime(1899, 12, 30)  # noqa: DTZ001  # spreadsheets know no time zones
_ZONE_NAME = re.compile(r"(?<![+-][0-9]{2}:[0-9]{2})(?<=:[0-9]{2}) ?(?:UTC|GMT)\Z", re.IGNORECASE)
_NONE = frozenset(
    ("", "0", "-", "null", "none", "nan", "nat", "n/a", "never", r"\n", "0000-00-00", "0000-00-00 00:00:00")
)
_MONTHS = 12
_HALF_DAY = 12
_MAX_SECOND = 253_402_300_799  # the end of the year 9999


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


class CsvDates:
    """Reads dates. In those with slashes or hyphens the month can be first, so `order` is that of all."""

    def __init__(self, zone: tzinfo, order: DateOrder) -> None:
        self._zone, self._order = zone, order

    def created(self, record: Record, text: str) -> int | None:
        """Return the time of creation; None if there is none, and a loss if it cannot be read."""
        if text.casefold() in _NONE:
            return None
        try:
            return self._second(record, text, is_start=True)
        except ValueError:
            record.losses.append("the date of creation is not a date, and the link gets the date of the import")
            return None

    def expiry(self, record: Record, text: str) -> int | None:
        """Return the last second before the expiry; None if there is none, and a problem if it cannot be read."""
        if text.casefold() in _NONE:
            return None
        try:
            return self._second(record, text)
        except ValueError:
            record.problem = record.problem or self._problem(text[:100])
            return None

    def _problem(self, text: str) -> str:
        match = _LOCAL.fullmatch(text)
        if match is None or match["sign"] == "." or self._order == "unambiguous":
            return f"expiry must be a date such as 2026-12-31. {text} does not exist, or can be two dates."
        if self._order == "day-first":
            return f"expiry must be a date such as 2026-12-31. {text} does not exist if the day is first."
        return f"expiry must be a date such as 2026-12-31. {text} does not exist if the month is first."

    def _second(self, record: Record, text: str, *, is_start: bool = False) -> int:
        """Return a Unix time: seconds, milliseconds, or text without an offset in the zone. Raises ValueError.

        A date alone is its last second, or its first one.
        """
        if unix := _UNIX.fullmatch(text):
            number = int(unix[1])
            return number if number < 10**11 else number // 1000
        iso = _ZONE_NAME.sub("Z", self._iso(text))
        second = clock.last_second(f"{iso} 00:00:00" if is_start and clock.is_day(iso) else iso, self._zone)
        if not 0 <= second <= _MAX_SECOND:
            raise ValueError("not a date")
        self._note(record, text, iso[:10])
        return second

    def _iso(self, text: str) -> str:
        """Return a date of a spreadsheet, such as `31.12.2026` or `46387`, as `2026-12-31`; any other text as it is.

        A date that can be two dates stays if the order is not known, and is refused.
        """
        if _SERIAL.fullmatch(text):
            days, _, fraction = text.partition(".")
            moment = _SERIAL_START + timedelta(days=float(text), microseconds=500_000 * bool(fraction))
            return (
                moment.isoformat(" ", "seconds")
                if fraction
                else (_SERIAL_START + timedelta(int(days))).date().isoformat()
            )
        if match := _YEAR_FIRST.fullmatch(text):
            return f"{match['year']}-{int(match['month']):02}-{int(match['day']):02}{_clock_time(match)}"
        match = _LOCAL.fullmatch(text)
        if match is None:
            return text
        first, second = match["first"], match["second"]
        is_day_first = match["sign"] == "." or self._order == "day-first"
        if match["sign"] != "." and self._order == "unambiguous":
            if _can_be_two(first, second):
                return text
            is_day_first = int(first) > _MONTHS
        day, month = (first, second) if is_day_first else (second, first)
        return f"{match['year']}-{int(month):02}-{int(day):02}{_clock_time(match)}"

    def _note(self, record: Record, text: str, day: str) -> None:
        """Note how a date was read that can be two dates."""
        match = _LOCAL.fullmatch(text)
        if match is None or match["sign"] == "." or not _can_be_two(match["first"], match["second"]):
            return
        if self._order == "day-first":
            record.notes.append(f"The date {text} was read as {day}, because the day is first.")
        else:
            record.notes.append(f"The date {text} was read as {day}, because the month is first.")


def _clock_time(match: re.Match[str]) -> str:
    """Return the time of day with a blank before it, such as ` 18:05` for `6:05 PM`; "" if there is none."""
    if match["hour"] is None:
        return ""
    hour = int(match["hour"])
    if match["half"]:
        if not 1 <= hour <= _HALF_DAY:
            raise ValueError("not a time")
        hour = hour % _HALF_DAY + _HALF_DAY * (match["half"][0] in "Pp")
    return f" {hour:02}{match['minutes']}"


def _can_be_two(first: str, second: str) -> bool:
    return int(first) != int(second) and max(int(first), int(second)) <= _MONTHS
