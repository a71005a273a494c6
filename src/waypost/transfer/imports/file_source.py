"""A file as the source of an import. It is read in a child process, because it can come from anyone (ADR 16)."""

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, TypeAdapter, ValidationError

from waypost.core.errors import Problem, invalid
from waypost.core.formats import DateOrder
from waypost.core.sandbox import process
from waypost.core.sandbox.process import Limits, Sandbox
from waypost.db.schema.nouns import NOUNS
from waypost.transfer.imports.archives.kinds import shapes
from waypost.transfer.imports.archives.staging import Staging
from waypost.transfer.imports.batches import Cancellation
from waypost.transfer.imports.source_row import Clicks, Record

_TARGET = "waypost.transfer.imports.file_child:main"
_MEMORY = 256 << 20
_SECONDS, _SECONDS_PER_MIB = 30, 5  # of processor time; a dump of visits takes a third of a second per MiB
_WALL = 10
"""The factor of wall time: on a busy machine the child, with its lower priority, gets a tenth of a processor."""
_DISK = 64 << 20


class _Opened(BaseModel):
    name: str
    ignored: list[str]
    service: str | None


class _Answer(BaseModel):
    problem: str


_OPENED, _HISTORY, _ANSWER = TypeAdapter(_Opened), TypeAdapter(list[Clicks]), TypeAdapter(_Answer)
_RECORDS = TypeAdapter(list[tuple[Record, bool]])
_UNREADABLE = "The file cannot be read. It is damaged, or too large for its kind."
_ROWS = TypeAdapter(list[dict[str, Any]])
M = TypeVar("M")


class FileSource:
    """The records of a file. `service` is the base URL of the service that wrote an archive, None for other files."""

    def __init__(self, sandbox: Sandbox, staging: Staging | None, cancellation: Cancellation) -> None:
        self.name = ""
        self.ignored: list[str] = []
        self.service: str | None = None
        self._sandbox, self._staging, self._cancellation = sandbox, staging, cancellation

    def open(self, path: Path, columns: Mapping[str, str | None], zone: ZoneInfo | None, dates: DateOrder) -> None:
        """Open the file. Raises INVALID on `file` or `column`, OSError."""
        folder = str(self._staging.settings.data_dir.resolve()) if self._staging else ""
        request = {"path": str(path.resolve()), "columns": dict(columns), "zone": zone and zone.key, "dates": dates}
        opened = self._call(_OPENED, {**request, "folder": folder, "shapes": shapes()})
        self.name, self.ignored, self.service = opened.name, opened.ignored, opened.service

    def __iter__(self) -> Iterator[Record]:
        """Yield the records. Raises INVALID on `file`."""
        while records := self._call(_RECORDS, {"action": "records"}):
            for record, has_history in records:
                if not _is_possible(record, self.service):
                    raise invalid("file", _UNREADABLE)
                record.history = self._history(record.line) if has_history else ()
                if self.service is not None and self._staging is not None:
                    self._staging.complete(record, self._open)
                yield record

    def rows(self, sheet: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table of an archive. Raises INVALID on `file`."""
        is_first = True
        while rows := self._call(_ROWS, {"action": "rows", "sheet": sheet, "is_first": is_first}):
            is_first = False
            yield from rows

    def _history(self, line: int) -> Iterator[Clicks]:
        while clicks := self._call(_HISTORY, {"action": "history", "line": line}):
            yield from clicks

    def _open(self, file: int) -> BinaryIO:
        """Open a file in an archive. Raises INVALID on `bytes` if only this file is damaged, also while it is read."""
        self._call(_ANSWER, {"action": "open", "file": file})
        return io.BufferedReader(_Content(self._read))

    def _read(self) -> bytes:
        """Return the next bytes of the open file; none after the last."""
        with self._faults():
            message = self._sandbox.call({"action": "read"})
        if problem := _validated(_ANSWER, message.value).problem:
            raise invalid("bytes", problem)
        return message.data

    def _call(self, answer: TypeAdapter[M], request: Mapping[str, Any]) -> M:
        with self._faults():
            message = self._sandbox.call(request)
        return _validated(answer, message.value)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Raise the reason of a cancellation, which has killed the child."""
        try:
            yield
        except Problem:
            self._cancellation.check()
            raise


class _Content(io.RawIOBase):
    """The bytes of a file in an archive."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read, self._waiting = read, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer with some of the next bytes; return their number."""
        content = self._waiting or self._read()
        size = min(len(buffer), len(content))
        buffer[:size], self._waiting = content[:size], content[size:]
        return size


@contextmanager
def open_file(
    path: Path,
    columns: Mapping[str, str | None],
    zone: ZoneInfo | None = None,
    staging: Staging | None = None,
    cancellation: Cancellation | None = None,
    *,
    dates: DateOrder = "unambiguous",
) -> Iterator[FileSource]:
    """Open a file, whose content tells its kind. Archives need `staging`. A cancellation ends the child process.

    `zone` and `dates` are for the dates of CSV files, see CsvSource.

    Raises INVALID on `file` or `column`, OSError.
    """
    cancellation = cancellation or Cancellation()
    size = path.stat().st_size
    seconds = _SECONDS + _SECONDS_PER_MIB * (size >> 20)
    limits = Limits(_MEMORY, seconds, seconds * _WALL, 2 * size + _DISK)
    with process.start(_TARGET, limits) as sandbox, cancellation.calling(sandbox.kill):
        source = FileSource(sandbox, staging, cancellation)
        source.open(path, columns, zone, dates)
        yield source


def _is_possible(record: Record, service: str | None) -> bool:
    """Return whether a source can have the record. The child is not trusted: its names become those of columns.

    Only an archive has files, counters and references: `Staging.complete` replaces what the child says of stored bytes.
    """
    if record.kind not in NOUNS:
        return False
    if service is None:
        return record.kind != "file" and not (record.totals or record.references or record.stored)
    noun = NOUNS[record.kind]
    return record.totals.keys() <= {*noun.totals, *noun.imported}


def _validated(answer: TypeAdapter[M], value: Any) -> M:
    """Return the answer of the child, which is not trusted."""
    try:
        return answer.validate_python(value)
    except ValidationError:
        raise invalid("file", _UNREADABLE) from None
