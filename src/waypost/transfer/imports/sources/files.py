"""The sources that read a file, whose content tells its kind. They run in a child process (`file_child`)."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from zoneinfo import ZoneInfo

from waypost.core.errors import invalid
from waypost.core.formats import DateOrder
from waypost.transfer.imports.archives import reader
from waypost.transfer.imports.archives.source import ArchiveSource, Shape
from waypost.transfer.imports.sources import linktree, sqlite_files
from waypost.transfer.imports.sources.csv_columns import CsvSource
from waypost.transfer.imports.sources.fields import MAX_VALUES, parse_json
from waypost.transfer.imports.sources.linkstack import LinkStackSource
from waypost.transfer.imports.sources.linktree import LinktreeSource
from waypost.transfer.imports.sources.sqlite_files import SqliteSource
from waypost.transfer.imports.sources.yourls_dump import YourlsDumpSource

FileSource = ArchiveSource | CsvSource | LinkStackSource | LinktreeSource | SqliteSource | YourlsDumpSource
_START = 65_536
_MAX_BYTES = 32 * 1024 * 1024
"""Bytes of a file that is read as a whole."""
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""The programs that compress files, by the first bytes of these. A ZIP archive is that of an account."""
_OLD_SPREADSHEET = b"\xd0\xcf\x11\xe0"  # .xls
_STATEMENT = re.compile(rb"--|/\*|(?:SET|CREATE|DROP|INSERT|REPLACE|LOCK|USE|START|BEGIN)[ \t\r\n;]", re.IGNORECASE)


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
        return LinktreeSource(linktree.data_of_html(content))
    value = parse_json(content, field="file", max_values=MAX_VALUES)
    return LinktreeSource(value) if linktree.is_page(value) else LinkStackSource(value)
