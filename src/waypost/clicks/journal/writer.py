"""The journal: a line on disk for every click, before the visitor has the answer.

Each worker appends to a segment of its own, which it holds by a file lock. A lock that is gone means that nobody will
write there any more, however the worker ended. Closed segments vanish once they are counted.
"""

import fcntl
import os
import time
import uuid
from contextlib import suppress
from pathlib import Path

import structlog

_log = structlog.get_logger("journal")
SUFFIX = ".log"
WAKE = "wake"
_MAX_AGE = 3.0  # seconds: a counted address is off the disk within ten (decision 47)
_MAX_BYTES = 64 * 1024 * 1024

# Flags of a line: what keeps it from being counted as a click, or where it came from.
HEAD = b"h"
PREFETCH = b"p"
LATE = b"l"
SCAN = b"q"
TAKEN = b"t"  # a click under a limit, which was taken from it before the answer
ROTATED = b"r"  # a visit of a campaign that got the link whose id stands behind; always the last


def rotated(link: int) -> bytes:
    """The flag of a visit that a rotator sent to this link."""
    return b"%b%d" % (ROTATED, link)


def target_of(account: int, kind: str, item: int) -> bytes:
    """What was visited, as it stands in a line."""
    return b"%d\t%b\t%d" % (account, kind.encode(), item)


def line(
    target: bytes, at_ms: int, flags: bytes, address: bytes, country: bytes, words: tuple[bytes, bytes, bytes]
) -> bytes:
    """One journal line. `words` are the user agent, the referrer and the languages, as they came."""
    parts = (country[:2], words[0][:512], words[1][:1024], words[2][:64])
    told = b"%b\t%b\t%b\t%b" % parts
    if told.count(b"\t") != len(parts) - 1:  # a tab is allowed in a header, and rare
        told = b"\t".join([part.replace(b"\t", b" ") for part in parts])
    return b"%d\t%b\t%b\t%b\t%b\n" % (at_ms, target, flags, address, told)


class Journal:
    """The journal of one process. Not for several threads: a visit writes on the event loop."""

    def __init__(self, folder: Path, *, sync_always: bool = False) -> None:
        self._folder = folder
        self._sync_always = sync_always
        self._fd = -1
        self._size = 0
        self._opened = 0.0
        self._unsynced = False
        self.lost = 0
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, entry: bytes, *, clicks: int = 1) -> bool:
        """Append whole lines. False when some could not be written: the loss is counted, the visits go on."""
        written = 0
        try:
            if self._fd < 0:
                self._open()
            written = os.write(self._fd, entry)
        except OSError:
            pass
        if written == len(entry):
            self._size += written
        else:
            # Whole lines stay: the ingester may have read them already.
            kept = entry.rfind(b"\n", 0, written) + 1
            self._size += kept
            self._cut_off()
            self._lose(clicks - entry.count(b"\n", 0, kept))
        self._unsynced = True
        if self._sync_always:
            self.sync()
        return written == len(entry)

    def sync(self) -> None:
        """Make what is written safe from a power cut. Safe in another thread while `write` goes on."""
        if self._unsynced and self._fd >= 0:
            self._unsynced = False
            try:
                os.fdatasync(self._fd)
            except OSError as error:
                _log.error("the journal cannot be made safe from a power cut", reason=error.strerror)

    def rotate(self) -> None:
        """Close the segment when it is old or large; the next write opens another."""
        if self._fd >= 0 and (time.monotonic() - self._opened > _MAX_AGE or self._size > _MAX_BYTES):
            self.close()

    def close(self) -> None:
        """Close the segment, safe from a power cut."""
        if self._fd >= 0:
            self.sync()
            os.close(self._fd)  # gives up the lock
            self._fd = -1

    def _cut_off(self) -> None:
        """Take back a part of a line, so that the next one stands whole."""
        if self._fd >= 0:
            try:
                os.ftruncate(self._fd, self._size)
            except OSError:
                self.close()

    def _lose(self, clicks: int) -> None:
        if self.lost // 1000 != (self.lost + clicks) // 1000 or not self.lost:
            _log.error("clicks are lost: the journal cannot be written", lost=self.lost + clicks)
        self.lost += clicks

    def _open(self) -> None:
        name = f"{time.time_ns():020d}-{uuid.uuid4().hex}"
        new = self._folder / f"{name}.new"
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Only now does it get its name: the ingester never sees a segment whose writer has no lock yet.
            new.rename(self._folder / f"{name}{SUFFIX}")
        except OSError:
            os.close(fd)
            raise
        self._fd, self._size, self._opened = fd, 0, time.monotonic()


def wake(folder: Path) -> None:
    """Tell the ingester of this machine that somebody waits for it; nothing happens when there is none."""
    try:
        fd = os.open(folder / WAKE, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return
    with suppress(OSError):  # it has been told often enough, or has just gone
        os.write(fd, b"!")
    os.close(fd)
