"""The child process that reads the file of an import: it answers the requests of `file_source`, one after the other.

Records are sent in messages of bounded size. The parent asks for the history of a link if it creates the link, and
before it asks for many more records.
"""

import json
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

from waypost.clicks.ingest.aggregate import VisitAttributes
from waypost.core import bounded_json
from waypost.core.errors import Problem, invalid
from waypost.core.formats import DateOrder
from waypost.core.sandbox.channel import MAX_TEXT, MAX_VALUES, Channel
from waypost.transfer.imports.archives import reader
from waypost.transfer.imports.archives.source import ArchiveSource, Shape
from waypost.transfer.imports.source_row import Clicks, Record
from waypost.transfer.imports.sources import bio_page_services, sqlite_files
from waypost.transfer.imports.sources.bio_page_services import LinkStackSource, LinktreeSource
from waypost.transfer.imports.sources.csv_files import CsvSource
from waypost.transfer.imports.sources.fields import MAX_VALUES as MAX_FILE_VALUES
from waypost.transfer.imports.sources.fields import parse_json
from waypost.transfer.imports.sources.sqlite_files import SqliteSource
from waypost.transfer.imports.sources.yourls_dump import YourlsDumpSource

BATCH = 500
"""Rows of a message at most."""
ENTRIES = 1000
"""Entries of a history in a message at most."""
CHUNK = 1 << 20
_ENOUGH, _ENOUGH_VALUES = 1 << 20, 100_000
"""A message with so many bytes or values is sent without more rows."""
_MAX_ROW = MAX_TEXT - _ENOUGH - 65_536  # a message with fewer takes one more row
_KEPT_HISTORIES = 2 * BATCH  # those of the batch that the parent plans, and of the message that it has read ahead
_COLUMNS = [
    (item.name, item.default if item.default_factory is MISSING else item.default_factory())
    for item in fields(Record)
    if item.name != "history"
]
FileSource = ArchiveSource | CsvSource | LinkStackSource | LinktreeSource | SqliteSource | YourlsDumpSource
_START = 65_536
_MAX_BYTES = 32 * 1024 * 1024
"""Bytes of a file that is read as a whole."""
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""The programs that compress files, by the first bytes of these. A ZIP archive is that of an account."""
_OLD_SPREADSHEET = b"\xd0\xcf\x11\xe0"  # .xls
_STATEMENT = re.compile(rb"--|/\*|(?:SET|CREATE|DROP|INSERT|REPLACE|LOCK|USE|START|BEGIN)[ \t\r\n;]", re.IGNORECASE)


def main(channel: Channel) -> None:
    """Open the file of the first message, and answer requests until the parent ends this process."""
    with ExitStack() as stack:
        request = channel.receive().value
        if request["folder"]:
            os.environ["SQLITE_TMPDIR"] = request["folder"]
        zone = ZoneInfo(request["zone"]) if request["zone"] else None
        source = stack.enter_context(
            open_source(Path(request["path"]), request["columns"], zone, request["dates"], request["shapes"])
        )
        service = source.reader.service if isinstance(source, ArchiveSource) else None
        channel.send({"name": source.name, "ignored": source.ignored, "service": service})
        reader = _Reader(channel, source)
        while True:
            request = channel.receive().value
            reader.actions[request.pop("action")](**request)


class _Reader:
    """Answers requests: `actions` by name."""

    def __init__(self, channel: Channel, source: FileSource) -> None:
        self._channel, self._source = channel, source
        self._records = _encoded(source, self._keep)
        self._histories: deque[tuple[int, Iterator[Clicks]]] = deque(maxlen=_KEPT_HISTORIES)
        self._rows: dict[str, Iterator[bytes]] = {}
        self._file = ExitStack()
        self._content: Any = None
        self.actions: Mapping[str, Callable[..., None]] = {
            "records": self._send_records,
            "history": self._send_history,
            "rows": self._send_rows,
            "open": self._open,
            "read": self._read,
        }

    def _keep(self, record: Record) -> bool:
        """Keep the history of a record; return whether it has one."""
        if has_history := record.history != ():
            self._histories.append((record.line, iter(record.history)))
        return has_history

    def _send_records(self) -> None:
        self._channel.send_text(_batch(self._records))

    def _send_history(self, line: int) -> None:
        """Send the next part of a history: clicks and visits by second and labels."""
        history = next((clicks for number, clicks in self._histories if number == line), iter(()))
        clicks: Counter[tuple[int, VisitAttributes]] = Counter()
        visits: Counter[tuple[int, VisitAttributes]] = Counter()
        for item in history:
            clicks[item.second, item.attributes] += item.clicks
            visits[item.second, item.attributes] += item.visits
            if len(clicks) == ENTRIES:
                break
        self._channel.send([(key[0], count, visits[key], key[1]) for key, count in clicks.items()])

    def _send_rows(self, sheet: str, *, is_first: bool) -> None:
        """Send the next rows of a table of the archive."""
        assert isinstance(self._source, ArchiveSource)
        if is_first:
            reader = self._source.reader
            self._rows[sheet] = (json.dumps(row).encode() for _, row in reader.rows(sheet))
        self._channel.send_text(_batch(self._rows[sheet]))

    def _open(self, file: int) -> None:
        """Open a file of the archive. `_read` sends its bytes."""
        assert isinstance(self._source, ArchiveSource)
        self._file.close()
        reader, entry = self._source.reader, self._source.reader.file_entry(file)
        assert entry is not None  # the parent has its description
        self._content = self._answer(lambda: self._file.enter_context(reader.open(entry)))

    def _read(self) -> None:
        self._answer(lambda: self._content.read(CHUNK))

    def _answer(self, work: Callable[[], Any]) -> Any:
        """Send the bytes that `work` returns, or why a file of the archive cannot be read: the others still can."""
        value, problem = None, ""
        try:
            value = work()
        except Problem as error:
            problem = error.message
        self._channel.send({"problem": problem}, value if isinstance(value, bytes) else b"")
        return value


def _encoded(records: Iterable[Record], keep: Callable[[Record], bool]) -> Iterator[bytes]:
    """Yield the records as JSON, without fields that have their default."""
    for record in records:
        record.shorten()
        try:
            content = _json(record, has_history=keep(record))
        except RecursionError:
            content = b""
        if not 0 < len(content) <= _MAX_ROW or bounded_json.count_values(content) > MAX_VALUES // 2:
            record.empty()
            content = _json(record, has_history=False)
        yield content


def _json(record: Record, *, has_history: bool) -> bytes:
    values = {name: value for name, default in _COLUMNS if (value := getattr(record, name)) != default}
    return json.dumps([values, has_history]).encode()


def _batch(rows: Iterator[bytes]) -> bytes:
    """Return the next rows as a JSON list."""
    batch: list[bytes] = []
    size = values = 0
    while size < _ENOUGH and values < _ENOUGH_VALUES and len(batch) < BATCH and (row := next(rows, None)) is not None:
        batch.append(row)
        size += len(row)
        values += bounded_json.count_values(row)
    return b"[" + b",".join(batch) + b"]"


@contextmanager
def open_source(
    path: Path, columns: Mapping[str, str | None], zone: ZoneInfo | None, dates: DateOrder, shapes: Mapping[str, Shape]
) -> Iterator[FileSource]:
    """Open a file. `shapes` are for archives. Raises INVALID on `file` or `column`, OSError."""
    with path.open("rb") as file:
        start = file.read(_START)
        file.seek(0)
        yield _source(path, file, start, shapes, lambda: CsvSource(file, columns, zone, dates), zone)


def _source(
    path: Path,
    file: BinaryIO,
    start: bytes,
    shapes: Mapping[str, Shape],
    read_csv: Callable[[], CsvSource],
    zone: ZoneInfo | None,
) -> FileSource:
    if start.startswith(reader.MAGIC):
        return ArchiveSource(file, shapes)
    if start.startswith(_OLD_SPREADSHEET):
        raise reader.spreadsheet()
    if start.startswith(sqlite_files.MAGIC):
        return SqliteSource(path)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[", b"<")):
        return _bio_pages(file, is_html=text.startswith(b"<"))
    if (kind := next((kind for magic, kind in _COMPRESSED.items() if start.startswith(magic)), "")) != "":
        raise reader.packed(kind)
    if _STATEMENT.match(text):
        return YourlsDumpSource(file, zone=zone)
    return read_csv()


def _bio_pages(file: BinaryIO, *, is_html: bool) -> LinkStackSource | LinktreeSource:
    content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise invalid("file", f"The file has more than {_MAX_BYTES // 10**6} MB.")
    if is_html:
        return LinktreeSource(bio_page_services.linktree_data(content))
    value = parse_json(content, field="file", max_values=MAX_FILE_VALUES)
    return LinktreeSource(value) if bio_page_services.is_linktree_page(value) else LinkStackSource(value)
