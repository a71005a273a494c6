"""ZIP archives that are written without seeking, with ZIP64 and the SHA-256 of every entry."""

import hashlib
import io
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Self

from waypost.core import clock


@dataclass(frozen=True)
class Entry:
    """An entry that was written. `rows` is None for entries that are no table."""

    name: str
    rows: int | None
    bytes: int
    sha256: str


class EntryWriter:
    """Writes the content of one entry."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0
        self.rows: int | None = None

    def write(self, content: bytes) -> None:
        """Append to the entry."""
        self._digest.update(content)
        self._size += len(content)
        self._file.write(content)

    def entry(self, name: str) -> Entry:
        """Return the name, size and digest of the content."""
        return Entry(name, self.rows, self._size, self._digest.hexdigest())


class ZipStream:
    """Writes an archive to a function. It is valid at the end of the `with` block, and never after an error."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._sink = _Sink(write)
        self._zip = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._date = time.gmtime(clock.now())[:6]
        self.entries: list[Entry] = []

    @contextmanager
    def entry(self, name: str, *, compress: bool = True) -> Iterator[EntryWriter]:
        """Add an entry. Its size need not be known, so it has the fields of ZIP64."""
        info = zipfile.ZipInfo(name, self._date)
        info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        info.external_attr = 0o600 << 16
        with self._zip.open(info, "w", force_zip64=True) as file:
            writer = EntryWriter(file)
            yield writer
        self.entries.append(writer.entry(name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        """Write the directory of the archive, unless there was an error."""
        if error is not None:
            self._sink.is_closed = True  # the destructor writes a directory too
        self._zip.close()


class _Sink(io.RawIOBase):
    """A file that cannot seek."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        super().__init__()
        self._write = write
        self.is_closed = False

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if not self.is_closed:
            self._write(bytes(content))
        return len(content)
