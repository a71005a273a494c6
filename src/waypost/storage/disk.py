"""File storage in a folder. Without obstore, which is four times slower and does not sync to disk (ADR 6)."""

import asyncio
import errno
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

import structlog

from waypost.core import data_files
from waypost.core.data_files import inherit_owner, make_folder
from waypost.core.errors import Problem
from waypost.storage.store import CHUNK, Health, ObjectNotFound, Readable, StorageUnavailable, storage_full

_RESERVED_BYTES = 256 * 1024 * 1024


def free_bytes(folder: Path) -> int | None:
    """Return the bytes that may still be stored in a folder, or in the one that will contain it; None if unknown."""
    existing = next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)
    try:
        return max(0, shutil.disk_usage(existing).free - _RESERVED_BYTES)
    except OSError:
        return None


def require(folder: Path, size: int) -> None:
    """Raise STORAGE_FULL if `size` bytes more would leave too little space."""
    free = free_bytes(folder)
    if free is not None and size > free:
        raise storage_full()


_log = structlog.get_logger("storage")
T = TypeVar("T")
_THREADS = 8  # of each process, separate from those of the database, so that a slow disk does not block it
_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class DiskBlob:
    """An open file. It stays readable after it is deleted."""

    def __init__(self, file: IO[bytes], threads: ThreadPoolExecutor) -> None:
        self.file: IO[bytes] | None = file
        self._fd = file.fileno()
        self._threads = threads

    async def read(self, start: int, end: int) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        while start < end:
            with _translated_errors():
                chunk = await loop.run_in_executor(self._threads, os.pread, self._fd, min(CHUNK, end - start), start)
            if not chunk:
                raise ObjectNotFound
            start += len(chunk)
            yield chunk

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


class DiskStore:
    """Objects as files of a folder."""

    is_local = True
    max_bytes: int | None = None

    def __init__(self, folder: Path) -> None:
        self.health = Health()
        self._folder = folder
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="disk")

    async def put(
        self,
        name: str,
        chunks: AsyncIterator[bytes],
        *,
        on_chunk: Callable[[bytes], object],
        disposition: str,  # unused: a folder has no signed URLs
    ) -> None:
        with self._writing(name):
            file = await self._in_thread(lambda: self._create(name))
            try:
                await self._pump(file, chunks, on_chunk)
                await self._in_thread(lambda: self._sync(file, name))
            finally:
                file.close()

    async def _pump(self, file: IO[bytes], chunks: AsyncIterator[bytes], on_chunk: Callable[[bytes], object]) -> None:
        """Write each chunk in a thread while the next one arrives."""

        def work(chunk: bytes) -> None:
            on_chunk(chunk)
            _write(file, chunk)

        loop = asyncio.get_running_loop()
        writing: asyncio.Future[None] | None = None
        try:
            async for chunk in chunks:
                if writing is not None:
                    await asyncio.shield(writing)
                writing = loop.run_in_executor(self._threads, work, chunk)
        finally:
            if writing is not None:  # the file must not be closed while the thread writes
                await asyncio.wait({writing})
        if writing is not None:
            writing.result()

    async def open(self, name: str) -> DiskBlob:
        with _translated_errors():
            return DiskBlob(await self._in_thread((self._folder / name).open, "rb"), self._threads)

    async def signed(self, name: str, *, seconds: int) -> str | None:
        return None

    def remove(self, name: str) -> None:
        with _translated_errors():
            (self._folder / name).unlink(missing_ok=True)

    def load(self, name: str) -> tuple[int, Iterator[bytes]]:
        with _translated_errors():
            file = (self._folder / name).open("rb")
            return os.fstat(file.fileno()).st_size, _chunks(file)

    def size(self, name: str) -> int | None:
        try:
            with _translated_errors():
                return (self._folder / name).stat().st_size
        except ObjectNotFound:
            return None

    def save(self, name: str, file: Readable, *, disposition: str) -> None:
        with self._writing(name), self._create(name) as target:
            while chunk := file.read(CHUNK):
                _write(target, chunk)
            self._sync(target, name)

    def check(self) -> None:
        folder = self._existing_folder()
        reason = ""
        if not folder.is_dir():
            reason = os.strerror(errno.ENOTDIR)
        elif not os.access(folder, os.W_OK | os.X_OK):
            reason = os.strerror(errno.EACCES)
        if reason and reason != self.health.access_fault:
            _log.error("file storage cannot be written", folder=str(folder), reason=reason, user=os.geteuid())
        self.health.access_fault = reason

    def is_empty(self) -> bool:
        try:
            return not any(path.is_file() for path in self._folder.rglob("*"))
        except OSError:  # the disk fails, or a folder was just removed
            return False

    def free_bytes(self) -> int | None:
        return free_bytes(self._folder)

    def close(self) -> None:
        self._threads.shutdown(wait=False)

    def _create(self, name: str) -> IO[bytes]:
        path = self._folder / name
        make_folder(path.parent)
        return open(path, "xb", buffering=0, opener=_open_private)  # Path.open takes no mode

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Translate errors, record the result, and leave nothing after an error."""
        try:
            yield
        except BaseException as error:
            with suppress(OSError):
                (self._folder / name).unlink(missing_ok=True)
            if not isinstance(error, OSError):
                raise
            self.health.record_write(_reason(error))
            raise _problem(error) from error
        self.health.record_write("")

    def _existing_folder(self) -> Path:
        """Return the folder, or the one in which the first upload creates it."""
        return next(path for path in (self._folder, *self._folder.absolute().parents) if path.exists())

    def _sync(self, file: IO[bytes], name: str) -> None:
        """Make the content and the directory entry durable."""
        data_files.sync_content(file.fileno())
        folder = os.open((self._folder / name).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    async def _in_thread(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)


def _open_private(path: str, flags: int) -> int:
    fd = os.open(path, flags, 0o600)
    inherit_owner(Path(path))
    return fd


def _write(file: IO[bytes], chunk: bytes) -> None:
    """Write all bytes. On an almost full disk a single write can store only the beginning of a chunk."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[file.write(rest) :]


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise ObjectNotFound from error
    except OSError as error:
        raise _problem(error) from error


def _problem(error: OSError) -> Problem:
    """Log the reason of an error, and return the problem, which does not contain it."""
    _log.error("file storage failed", reason=str(error), user=os.geteuid())
    return storage_full() if error.errno in _FULL_ERRORS else StorageUnavailable()


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
