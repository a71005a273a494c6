"""Temporary files of imports: one for each account on a machine. They end with the process that has them open."""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from waypost.api.context import RequestContext
from waypost.core.errors import Kind, Problem
from waypost.items.files import ops as files
from waypost.storage import disk
from waypost.storage.store import storage_full
from waypost.transfer.imports import plan_removal

MAX_BYTES = 1 << 30
_PREFIX = "import-"
_TRIES, _PAUSE_SECONDS = 10, 0.05
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class ImportFile:
    """The temporary file of an account, locked until it is closed, which deletes it."""

    def __init__(self, folder: Path, account: int, *, left: int | None = None) -> None:
        """`left` is the storage that the account's plan has left. Raises IMPORT_STATE while the file is in use."""
        remove_abandoned(folder)
        self.path = folder / f"{_PREFIX}{account}"
        self._folder, self._left = folder, left
        self._file = _open_locked(self.path)
        self.size = 0

    def require(self, size: int) -> None:
        """Raise TOO_LARGE or STORAGE_FULL unless that many bytes more can be written."""
        if self.size + size > MAX_BYTES:
            raise too_large()
        if self._left is not None and self.size + size > self._left:
            raise files.storage_full(self._left)
        disk.require(self._folder, size)

    def write(self, chunk: bytes) -> None:
        """Write bytes. Raises as `require`."""
        self.require(len(chunk))
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            if error.errno in _FULL:
                raise storage_full() from error
            raise
        self.size += len(chunk)

    def close(self) -> None:
        """Delete the file, and end its lock."""
        if not self._file.closed:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
            self._file.close()

    def __enter__(self) -> "ImportFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def begin(context: RequestContext, declared: int) -> ImportFile:
    """Return the file for an upload of `declared` bytes, or 0, before its first byte is read.

    Raises IMPORT_STATE while another import or upload of the account runs, TOO_LARGE, STORAGE_FULL.
    """
    context.write(lambda _: None)  # refuses everything in maintenance
    context.read(lambda tx: plan_removal.require_replaceable(tx, context.account))
    quota = context.read(lambda tx: files.upload_quota(tx, context.account))
    file = ImportFile(context.settings.data_dir, context.account, left=quota.left)
    try:
        file.require(max(1, declared))
    except BaseException:
        file.close()
        raise
    return file


def copy(folder: Path, account: int, size: int, load: Callable[[], Iterable[bytes]]) -> ImportFile:
    """Return a temporary file with the bytes of a stored file, which its account's storage includes already.

    `load` returns the bytes, of which there are `size`. Raises as `begin`.
    """
    file = ImportFile(folder, account)
    try:
        file.require(size)
        for chunk in load():
            file.write(chunk)
    except BaseException:
        file.close()
        raise
    return file


def remove_abandoned(folder: Path) -> None:
    """Delete the files of processes that were killed: nothing holds their locks."""
    for path in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError), path.open("rb") as file:  # its process has deleted it, or still uses it
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, path):
                path.unlink()


def too_large() -> Problem:
    """Return the TOO_LARGE problem of a file."""
    message = f"The file has more than {MAX_BYTES >> 30} GiB. Split it, or use the command waypost import."
    return Problem(Kind.TOO_LARGE, message, field="file")


def _open_locked(path: Path) -> IO[bytes]:
    """Return an empty file that is locked. Raises IMPORT_STATE while another request or process has it."""
    for _ in range(_TRIES):
        file = open(path, "w+b", buffering=0, opener=_open_private)  # noqa: SIM115  # Path.open takes no mode
        with suppress(BlockingIOError):  # it is in use, or `remove_abandoned` checks it
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, path):
                file.truncate()
                return file
        file.close()
        time.sleep(_PAUSE_SECONDS)
    message = "Another file of this account is being read for an import. Wait for its end, or cancel it."
    raise Problem(Kind.IMPORT_STATE, message)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags & ~os.O_TRUNC, 0o600)


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Return whether the path is still that of the open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
