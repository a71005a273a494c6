"""Objects as files in a folder. Written and read by hand: four times as fast as through obstore, and synced (ADR 6)."""

import asyncio
import errno
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

from waypost.errors import Problem
from waypost.storage.store import CHUNK, Missing, Readable, away, full

T = TypeVar("T")
_THREADS = 8  # of each process: a slow disk must not take those that the database works in
_KEPT_FREE = 256 * 1024 * 1024  # bytes that stay free for the database and the journal
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class DiskBlob:
    """An open file. It can be read to its end also when it is deleted meanwhile."""

    def __init__(self, file: IO[bytes], threads: ThreadPoolExecutor) -> None:
        self.file: IO[bytes] | None = file
        self._fd = file.fileno()
        self._threads = threads

    async def read(self, start: int, end: int) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        while start < end:
            chunk = await loop.run_in_executor(self._threads, os.pread, self._fd, min(CHUNK, end - start), start)
            if not chunk:
                raise Missing
            start += len(chunk)
            yield chunk

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


class Disk:
    """A folder of objects."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="disk")

    async def put(
        self,
        name: str,
        chunks: AsyncIterator[bytes],
        *,
        seen: Callable[[bytes], object],
        disposition: str,  # a folder has no address, here and below
    ) -> None:
        try:
            file = await self._threaded(lambda: self._create(name))
            try:
                await self._pump(file, chunks, seen)
                await self._threaded(lambda: self._settle(file, name))
            finally:
                file.close()
        except BaseException as error:
            with suppress(OSError):
                self.remove(name)
            raise _translated(error) from error

    async def _pump(self, file: IO[bytes], chunks: AsyncIterator[bytes], seen: Callable[[bytes], object]) -> None:
        """Write in a thread while the next chunk arrives."""

        def work(chunk: bytes) -> None:
            seen(chunk)
            _write(file, chunk)

        loop = asyncio.get_running_loop()
        writing: asyncio.Future[None] | None = None
        try:
            async for chunk in chunks:
                if writing is not None:
                    await asyncio.shield(writing)
                writing = loop.run_in_executor(self._threads, work, chunk)
        finally:
            if writing is not None:  # whatever happened, the file must not be closed under the thread's hands
                await asyncio.wait({writing})
        if writing is not None:
            writing.result()

    async def open(self, name: str) -> DiskBlob:
        try:
            return DiskBlob(await self._threaded((self._folder / name).open, "rb"), self._threads)
        except FileNotFoundError as error:
            raise Missing from error
        except OSError as error:
            raise away() from error

    async def signed(self, name: str, *, seconds: int) -> str | None:
        return None

    def remove(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def load(self, name: str) -> tuple[int, Iterator[bytes]]:
        try:
            file = (self._folder / name).open("rb")
        except FileNotFoundError as error:
            raise Missing from error
        return os.fstat(file.fileno()).st_size, _chunks(file)

    def size(self, name: str) -> int | None:
        try:
            return (self._folder / name).stat().st_size
        except FileNotFoundError:
            return None

    def save(self, name: str, file: Readable, *, disposition: str) -> None:
        try:
            with self._create(name) as copy:
                while chunk := file.read(CHUNK):
                    _write(copy, chunk)
                self._settle(copy, name)
        except BaseException as error:
            with suppress(OSError):
                self.remove(name)
            raise _translated(error) from error

    def is_empty(self) -> bool:
        return not any(path.is_file() for path in self._folder.rglob("*"))

    def room(self) -> int | None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            return max(0, shutil.disk_usage(self._folder).free - _KEPT_FREE)
        except OSError:
            return None

    def close(self) -> None:
        self._threads.shutdown(wait=False)

    def _create(self, name: str) -> IO[bytes]:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "xb", buffering=0, opener=lambda at, flags: os.open(at, flags, 0o600))  # with a mode

    def _settle(self, file: IO[bytes], name: str) -> None:
        """Safe from a power cut: the bytes, and the name."""
        os.fdatasync(file.fileno())
        folder = os.open((self._folder / name).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    async def _threaded(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)


def _write(file: IO[bytes], chunk: bytes) -> None:
    """All of it: a disk that is nearly full takes the beginning of a chunk without a word, and refuses the rest."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[file.write(rest) :]


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk


def _translated(error: BaseException) -> BaseException:
    if isinstance(error, Problem) or not isinstance(error, OSError):
        return error
    return full() if error.errno in _FULL else away()
