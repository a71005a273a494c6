"""The click journal: append-only files with one line per visit.

Each click is one line of tab-separated fields on disk before the visitor gets the response. Each worker appends to its
own segment and holds a file lock on it. A released lock means that the worker has ended and nothing writes to the
segment again. Readers list the segments and delete those that are counted.
"""

import errno
import fcntl
import os
import tempfile
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from waypost.core import data_files

# Flags of a line. They exclude a visit from the clicks, or say where it came from.
HEAD = b"h"
PREFETCH = b"p"
LATE = b"l"
SCAN = b"q"
TAKEN = b"t"  # a click that was subtracted from a click limit before the response
ROTATED = b"r"  # a visit of a campaign whose rotator picked a link; the link id follows; always the last flag
_log = structlog.get_logger("journal")
SEGMENT_SUFFIX = ".log"
_MAX_AGE_SECONDS = 3.0  # a counted address is deleted from the disk within ten seconds (decision 47)
_MAX_BYTES = 64 * 1024 * 1024
_PROBE_BYTES = 4096  # a block of most file systems
_LOG_SECONDS = 60.0  # between two log entries about lost clicks


def rotated(link: int) -> bytes:
    """Return the flag of a visit that a rotator sent to this link."""
    return b"%b%d" % (ROTATED, link)


def item_fields(account: int, kind: str, item: int) -> bytes:
    """Return the fields of a line that identify the visited item."""
    return b"%d\t%b\t%d" % (account, kind.encode(), item)


def format_line(
    item_fields: bytes, at_ms: int, flags: bytes, address: bytes, country: bytes, headers: tuple[bytes, bytes, bytes]
) -> bytes:
    """Return one journal line. `headers` are User-Agent, Referer and Accept-Language as received."""
    country, *headers_without_tabs = (value.replace(b"\t", b" ") for value in (country[:2], *headers))
    return join_fields(b"%d" % at_ms, item_fields, flags, (address, country), headers_without_tabs) + b"\n"


def join_fields(
    at: bytes, item_fields: bytes, flags: bytes, client: tuple[bytes, bytes], headers: Sequence[bytes]
) -> bytes:
    """Return the line as `format_line`, without its end. No header may contain a tab.

    `at`: the digits of `at_ms`. `client`: the address and the country.
    """
    address, country = client
    agent, referrer, language = headers
    return b"\t".join((at, item_fields, flags, address, country, agent[:512], referrer[:1024], language[:64]))


class Journal:
    """The journal of one worker. Not thread-safe, except for `sync`: visits write on the event loop."""

    def __init__(self, folder: Path, *, sync_always: bool = False) -> None:
        self._folder = folder
        self._sync_always = sync_always
        self._fd = -1
        self._name = ""
        self._size = 0
        self._opened_at = 0.0
        self._is_unsynced = False
        self.lost = 0
        self.fault = ""
        """The reason why the last click could not be written; "" if it was, or if the next one can be."""
        self._reported_lost = 0
        self._reported_until = 0.0
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, lines: bytes) -> bool:
        """Append whole lines. Return False if some could not be written; they are counted in `lost`."""
        written = 0
        try:
            if self._fd < 0:
                self._open()
            written = os.write(self._fd, lines)
        except OSError as error:
            self.fault = error.strerror or str(error)
        if written == len(lines):
            self._size += written
            self.fault = ""
        else:
            # Keep whole lines: the ingester may already have read them.
            kept = lines.rfind(b"\n", 0, written) + 1
            self._size += kept
            self._truncate()
            self.fault = self.fault or os.strerror(errno.ENOSPC)  # a part was written
            self.lost += lines.count(b"\n", kept)
            self._report_lost()
        self._is_unsynced = True
        if self._sync_always:
            self.sync()
        return written == len(lines)

    def sync(self) -> None:
        """Flush written lines to the disk. May run in another thread during `write`."""
        if self._is_unsynced and self._fd >= 0:
            self._is_unsynced = False
            try:
                data_files.sync_content(self._fd)
            except OSError as error:
                _log.error("cannot flush the click journal to disk", reason=error.strerror)

    def rotate(self) -> None:
        """Close the segment if it is old or large; the next write opens a new one. Call it once a second.

        An empty segment stays open: on a full disk, no other one could be written either.
        """
        self._report_lost()
        self._keep_segment()
        if self.fault and self._is_writable():
            self.fault = ""
        is_old = self._size > 0 and time.monotonic() - self._opened_at > _MAX_AGE_SECONDS
        if self._fd >= 0 and (is_old or self._size > _MAX_BYTES):
            self.close()

    def close(self) -> None:
        """Flush and close the segment."""
        if self._fd >= 0:
            self.sync()
            os.close(self._fd)  # releases the lock
            self._fd = -1

    def _truncate(self) -> None:
        """Remove a partial line, so that the next line starts at a line boundary."""
        if self._fd >= 0:
            try:
                os.ftruncate(self._fd, self._size)
            except OSError:
                self.close()

    def _keep_segment(self) -> None:
        """Write the segment again if it was removed, under its name: the lines that are counted are counted once.

        If another file system was mounted over it, leave it: it comes back with its lines.
        """
        if self._fd < 0:
            return
        path, held = self._folder / self._name, os.fstat(self._fd)
        try:
            is_present = os.path.samestat(path.stat(), held)
        except OSError:
            is_present = False
        if is_present:
            return
        _log.error("a segment of the click journal was removed", bytes=held.st_size, segment=self._name)
        lines = b"" if held.st_nlink else os.pread(self._fd, held.st_size, 0)
        os.close(self._fd)
        self._fd = -1
        if not lines:
            return
        try:
            self._open(self._name)
        except OSError as error:
            self.fault = error.strerror or str(error)
            self.lost += lines.count(b"\n")
        else:
            self.write(lines)

    def _is_writable(self) -> bool:
        """Write a block that is deleted at once, to learn without a click that a fault is over."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder, buffering=0) as probe:
                return probe.write(bytes(_PROBE_BYTES)) == _PROBE_BYTES
        except OSError:
            return False

    def _report_lost(self) -> None:
        """Log how many clicks were lost since the last entry: at once, and then once a minute while it lasts."""
        new = self.lost - self._reported_lost
        if new and time.monotonic() >= self._reported_until:
            self._reported_lost, self._reported_until = self.lost, time.monotonic() + _LOG_SECONDS
            _log.error(
                "clicks are lost: cannot write the click journal",
                lost=self.lost,
                new=new,
                reason=self.fault or "unknown",
            )

    def _open(self, name: str = "") -> None:
        name = name or f"{time.time_ns():020d}-{uuid.uuid4().hex}{SEGMENT_SUFFIX}"
        new = self._folder / f"{name}.new"
        self._folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Rename after locking, so that the ingester never sees a segment whose writer holds no lock yet.
            new.rename(self._folder / name)
        except OSError:
            os.close(fd)
            new.unlink(missing_ok=True)
            raise
        self._fd, self._name, self._size, self._opened_at = fd, name, 0, time.monotonic()


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a segment, with their start and end offsets in bytes."""

    segment: str
    lines: bytes
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.lines)


def segment_sizes(folder: Path) -> dict[str, int]:
    """Return the size in bytes of every segment by name, oldest first."""
    sizes = {}
    with os.scandir(folder) as files:
        for file in files:
            if file.name.endswith(SEGMENT_SUFFIX):
                with suppress(FileNotFoundError):  # deleted since the folder was listed
                    sizes[file.name] = file.stat().st_size
    return dict(sorted(sizes.items()))


def time_at(path: Path, position: int) -> int | None:
    """Return the time in milliseconds of the line at a position; None if there is no whole line with a time."""
    with suppress(OSError, ValueError), path.open("rb") as file:  # deleted since it was listed, or a damaged line
        file.seek(position)
        line = file.readline()
        return int(line.partition(b"\t")[0]) if line.endswith(b"\n") else None
    return None


def read_chunks(folder: Path, positions: Mapping[str, int], *, max_bytes: int, max_lines: int) -> list[Chunk]:
    """Return uncounted whole lines of all segments, oldest segments first, up to about the limits in total."""
    chunks = []
    for name, size in segment_sizes(folder).items():
        start = positions.get(name, 0)
        if size <= start or max_bytes <= 0 or max_lines <= 0:
            continue
        with (folder / name).open("rb") as file:
            file.seek(start)
            uncounted = file.read(min(size - start, max_bytes))
        *lines, rest = uncounted.split(b"\n", max_lines)
        if lines:
            chunk = Chunk(name, uncounted[: len(uncounted) - len(rest)], start)
            chunks.append(chunk)
            max_bytes -= len(chunk.lines)
            max_lines -= len(lines)
    return chunks


def counted_segments(folder: Path, positions: Mapping[str, int]) -> list[str]:
    """Return the names of segments that have no writer and no uncounted whole lines."""
    counted = []
    for name in segment_sizes(folder):
        with (folder / name).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # a worker still writes to it
            file.seek(positions.get(name, 0))
            if not file.readline().endswith(b"\n"):  # the request of a partial last line got no response
                counted.append(name)
    return counted


def delete_segments(folder: Path, names: Iterable[str]) -> None:
    """Delete segments. They do not come back after a power cut."""
    for name in names:
        (folder / name).unlink()
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
