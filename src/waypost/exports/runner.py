"""Runs of exports: with a claim that is kept while they run, directly or in a thread for a download."""

import threading
import time
from collections.abc import Callable

import structlog
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from waypost.errors import Problem
from waypost.exports import archive, claims
from waypost.exports.archive import Source, Summary
from waypost.exports.pipe import Abandoned, Pipe
from waypost.http import file_names

_log = structlog.get_logger("exports")


def run(source: Source, output: Callable[[bytes], object]) -> Summary:
    """Write the archive of an account to `output`. Raises UNAVAILABLE, NOT_FOUND, and errors of `output`."""
    source.database.write(lambda tx: claims.acquire(tx, source.account))
    return _run(source, output, lambda: None)


def download(source: Source, *, name: str) -> StreamingResponse:
    """Return the archive as a download, written by a thread. Raises UNAVAILABLE if an export runs already.

    An error in between breaks the download off: the archive has no end, and so is invalid.
    """
    source.database.write(lambda tx: claims.acquire(tx, source.account))
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
        if time.monotonic() - extended > claims.CLAIM_SECONDS / 3:
            source.database.write(lambda tx: claims.extend(tx, source.account))
            extended = time.monotonic()
        output(content)

    try:
        summary = archive.write(source, write, on_snapshot_end)
        is_complete = True
        return summary
    finally:
        source.database.write(lambda tx: claims.release(tx, source.account, is_complete=is_complete))


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
