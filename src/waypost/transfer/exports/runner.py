"""Runs of exports: with a claim that is kept while they run, directly or in a thread for a download.

A pipe connects the export with a slow client: the database is read at full speed, however slow the download is.
"""

import os
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import structlog
from sqlalchemy import ColumnElement, Connection, func, select, update
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.db import audit_log
from waypost.db.database import upsert
from waypost.db.schema import account_exports
from waypost.http import file_names
from waypost.storage import disk
from waypost.transfer.exports import archive
from waypost.transfer.exports.archive import Source, Summary

_CHUNK = 1 << 18
_MOST_WAITING = 4 << 20  # bytes
CLAIM_SECONDS = 60
"""Duration of a claim. It is extended while the export runs, and ends by itself if the process is killed."""
MOST_RUNNING = 4
_c = account_exports.c


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


def acquire_claim(tx: Connection, account: int) -> None:
    """Start an export. Raises UNAVAILABLE if one of the account runs, or too many of others."""
    now = clock.now()
    running = select(func.count()).select_from(account_exports).where(_is_running(now), _c.account != account)
    if tx.execute(running).scalar_one() >= MOST_RUNNING:
        raise Problem(Kind.UNAVAILABLE, "Other exports are running. Please try again later.", retry_after=60)
    insert = upsert(tx, account_exports).values(account=account, running_until=now + CLAIM_SECONDS)
    values = {"running_until": now + CLAIM_SECONDS}
    take = insert.on_conflict_do_update(index_elements=["account"], set_=values, where=~_is_running(now))
    if tx.execute(take.returning(_c.account)).first() is None:
        message = "An export of this account is running. Wait until it has ended, at most a minute after its download."
        raise Problem(Kind.UNAVAILABLE, message, retry_after=CLAIM_SECONDS)
    audit_log.record(tx, account, "account.exported", account)


def extend_claim(tx: Connection, account: int) -> None:
    """Keep the claim of an export that still runs."""
    tx.execute(update(account_exports).where(_c.account == account).values(running_until=clock.now() + CLAIM_SECONDS))


def release_claim(tx: Connection, account: int, *, is_complete: bool) -> None:
    """End an export."""
    values = {"running_until": 0, **({"finished": clock.now()} if is_complete else {})}
    tx.execute(update(account_exports).where(_c.account == account).values(values))


def last_finished(tx: Connection, account: int) -> int | None:
    """Return the time of the last complete export; None without one."""
    return tx.execute(select(_c.finished).where(_c.account == account)).scalar_one_or_none()


def _is_running(now: int) -> ColumnElement[bool]:
    # A claim that ends far in the future was made before the clock was set back.
    return (_c.running_until > now) & (_c.running_until <= now + 2 * CLAIM_SECONDS)


_log = structlog.get_logger("exports")


def run(source: Source, output: Callable[[bytes], object]) -> Summary:
    """Write the archive of an account to `output`. Raises UNAVAILABLE, NOT_FOUND, and errors of `output`."""
    source.database.write(lambda tx: acquire_claim(tx, source.account))
    return _run(source, output, lambda: None)


def download(source: Source, *, name: str) -> StreamingResponse:
    """Return the archive as a download, written by a thread. Raises UNAVAILABLE if an export runs already.

    An error in between breaks the download off: the archive has no end, and so is invalid.
    """
    source.database.write(lambda tx: acquire_claim(tx, source.account))
    settings = source.settings
    pipe = Pipe(settings.data_dir, stalled_seconds=settings.transfer_seconds)

    def work() -> None:
        try:
            _run(source, pipe.write, pipe.stop_spooling)
        except Abandoned:
            _log.info("export abandoned by the client", account=source.account)
        except (Problem, OSError) as error:
            _log.warning("export failed", account=source.account, reason=str(error))
            pipe.end(error)
        except BaseException as error:
            pipe.end(error)
            raise
        else:
            pipe.end()

    threading.Thread(target=work, name="export", daemon=True).start()
    headers = {"Content-Disposition": file_names.attachment(name, "zip"), "X-Accel-Buffering": "no"}
    return _Download(pipe, headers)


def _run(source: Source, output: Callable[[bytes], object], on_snapshot_end: Callable[[], object]) -> Summary:
    """Write the archive, and keep the claim until its end."""
    extended, is_complete = time.monotonic(), False

    def write(content: bytes) -> None:
        nonlocal extended
        if time.monotonic() - extended > CLAIM_SECONDS / 3:
            source.database.write(lambda tx: extend_claim(tx, source.account))
            extended = time.monotonic()
        output(content)

    try:
        summary = archive.write(source, write, on_snapshot_end)
        is_complete = True
        return summary
    finally:
        source.database.write(lambda tx: release_claim(tx, source.account, is_complete=is_complete))


class _Download(StreamingResponse):
    """A response that stops the export when the client disconnects."""

    def __init__(self, pipe: Pipe, headers: dict[str, str]) -> None:
        super().__init__(pipe, media_type="application/zip", headers=headers)
        self._pipe = pipe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._pipe.abandon()
