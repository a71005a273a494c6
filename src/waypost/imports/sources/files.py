"""The sources that read a file, whose content tells its kind. They run in a child process (`file_child`)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from zoneinfo import ZoneInfo

from waypost.imports.archives import reader
from waypost.imports.archives.source import ArchiveSource, Shape
from waypost.imports.sources import sqlite_files
from waypost.imports.sources.csv_columns import CsvSource
from waypost.imports.sources.linkstack import LinkStackSource
from waypost.imports.sources.sqlite_files import SqliteSource
from waypost.imports.sources.yourls_dump import YourlsDumpSource

FileSource = ArchiveSource | CsvSource | LinkStackSource | SqliteSource | YourlsDumpSource
_START = 65_536


@contextmanager
def open_source(
    path: Path, columns: Mapping[str, str], zone: ZoneInfo | None, shapes: Mapping[str, Shape]
) -> Iterator[FileSource]:
    """Open a file. `shapes` are for archives. Raises INVALID on `file` or `column`, OSError."""
    with path.open("rb") as file:
        start = file.read(_START)
        file.seek(0)
        yield _source(path, file, start, columns, zone, shapes)


def _source(
    path: Path,
    file: BinaryIO,
    start: bytes,
    columns: Mapping[str, str],
    zone: ZoneInfo | None,
    shapes: Mapping[str, Shape],
) -> FileSource:
    if start.startswith(reader.MAGIC):
        return ArchiveSource(file, shapes)
    if start.startswith(sqlite_files.MAGIC):
        return SqliteSource(path)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[")):
        return LinkStackSource(file)
    if text.startswith((b"--", b"/*", b"SET ", b"CREATE ", b"DROP ", b"INSERT ")):
        return YourlsDumpSource(file, zone=zone)
    return CsvSource(file, columns, zone)
