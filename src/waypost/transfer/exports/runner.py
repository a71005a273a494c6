"""Runs of exports: with a claim that is kept while they run, directly or in a thread for a download."""

import threading
import time
from collections.abc import Callable

import structlog
from sqlalchemy import ColumnElement, Connection, func, select, update
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.db.database import upsert
from waypost.db.schema import account_exports
from waypost.http import file_names
from waypost.transfer.exports import archive
from waypost.transfer.exports.archive import Source, Summary
from waypost.transfer.exports.pipe import Abandoned, Pipe

CLAIM_SECONDS = 60
"""Duration of a claim. It is extended while the export runs, and ends by itself if the process is killed."""
MOST_RUNNING = 4
_c = account_exports.c


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
