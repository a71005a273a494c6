"""A pipe from the export to a slow client: the database is read at full speed, however slow the download is."""

import os
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from waypost.storage import disk

_CHUNK = 1 << 18
_MOST_WAITING = 4 << 20  # bytes


class Abandoned(Exception):
    """The client has disconnected, or stopped reading."""


class Pipe:
    """Passes bytes from one thread to another.

    Until `stop_spooling` it never blocks the writer: the bytes go to a temporary file. After it, the writer waits for
    the reader, so that neither memory nor disk grow.
    """

    def __init__(self, folder: Path, *, stalled_seconds: float) -> None:
        """`stalled_seconds`: the time after which a client that reads nothing is abandoned."""
        self._folder = folder
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed by the reader
        self._stalled_seconds = stalled_seconds
        self._changed = threading.Condition()
        self._chunks: deque[bytes] = deque()
        self._waiting = self._written = self._read = 0
        self._is_spooling, self._is_ended, self._is_abandoned = True, False, False
        self._failure: BaseException | None = None

    def write(self, content: bytes) -> None:
        """Pass bytes on. Raises Abandoned, and STORAGE_FULL if little space is left for the temporary file."""
        with self._changed:
            if self._is_spooling and not self._is_abandoned:
                self._write_to_file(content)
            else:
                has_room = self._changed.wait_for(
                    lambda: self._is_abandoned or self._waiting < _MOST_WAITING, self._stalled_seconds
                )
                if not has_room or self._is_abandoned:
                    raise Abandoned
                self._chunks.append(content)
                self._waiting += len(content)
            self._changed.notify_all()

    def _write_to_file(self, content: bytes) -> None:
        disk.require(self._folder, len(content))
        view = memoryview(content)
        while view:
            number = os.pwrite(self._file.fileno(), view, self._written)
            self._written += number
            view = view[number:]

    def stop_spooling(self) -> None:
        """Write nothing to the file any more."""
        with self._changed:
            self._is_spooling = False

    def end(self, failure: BaseException | None = None) -> None:
        """Tell the reader that nothing follows. With a failure, its iteration raises it: the download breaks off."""
        with self._changed:
            self._is_ended, self._failure = True, failure
            self._changed.notify_all()

    def abandon(self) -> None:
        """Make the writer stop: the client has gone, or everything was read."""
        with self._changed:
            self._is_abandoned = True
            self._changed.notify_all()
            self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        while (content := self._next()) is not None:
            yield content

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_abandoned or self._read < self._written or self._chunks or self._is_ended
            )
            if self._is_abandoned:
                return None
            if self._read < self._written:
                content = os.pread(self._file.fileno(), min(_CHUNK, self._written - self._read), self._read)
                self._read += len(content)
                return content
            if self._chunks:
                content = self._chunks.popleft()
                self._waiting -= len(content)
                self._changed.notify_all()
                return content
            if self._failure is not None:
                raise self._failure
            return None
