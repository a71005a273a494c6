"""Interface of the file storage: a folder, or an S3-compatible bucket.

A store knows neither files nor the database. Names of objects are random.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import IO, Protocol

from waypost.core.errors import Kind, Problem

CHUNK = 1 << 20
"""Default number of bytes to read at once."""


_FAULT_SECONDS = 600  # an access that failed longer ago says nothing about the present


@dataclass
class Health:
    """The faults of a store as `/readyz` shows them: without paths and addresses, which only the log has."""

    access_fault: str = ""
    lost_objects: str = ""
    """Why all objects are missing although files have some, such as a disk that is not mounted."""
    _write_fault: str = ""
    _write_failed: float = 0.0
    _read_fault: str = ""
    _read_failed: float = 0.0

    @property
    def fault(self) -> str:
        """Return why the store does not work; "" if no fault is known."""
        since = time.monotonic() - _FAULT_SECONDS
        write_fault = self._write_fault if self._write_failed > since else ""
        read_fault = self._read_fault if self._read_failed > since else ""
        return self.access_fault or self.lost_objects or write_fault or read_fault

    def record_write(self, fault: str) -> None:
        """Record the result of a write; "" for success."""
        if not fault:
            self.access_fault = ""
        self._write_fault, self._write_failed = fault, time.monotonic()

    def record_read(self, fault: str) -> None:
        """Record the result of opening an object; "" for success."""
        self._read_fault, self._read_failed = fault, time.monotonic()


class ObjectNotFound(Exception):
    """No object has this name."""


class StorageUnavailable(Problem):
    """The storage does not answer, or lacks an object that a file needs: 503 with Retry-After."""

    def __init__(self) -> None:
        message = "The file storage is not available right now. Please try again."
        super().__init__(Kind.UNAVAILABLE, message, retry_after=5)


class Readable(Protocol):
    """A file opened for reading."""

    def read(self, size: int = -1, /) -> bytes: ...


class Blob(Protocol):
    """An open object. Close it when done."""

    @property
    def file(self) -> IO[bytes] | None:
        """The object as a local file, if it is one: sendfile can send it."""

    def read(self, start: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes from `start` until before `end`. Raises ObjectNotFound, UNAVAILABLE."""

    def close(self) -> None: ...


class Store(Protocol):
    """A collection of objects. Methods that are not async block; call them in threads and commands."""

    is_local: bool
    """The objects are local files, so that a small one is read at once."""
    max_bytes: int | None
    """The size of the largest object; None without a limit."""

    @property
    def health(self) -> Health:
        """The result of the last check and of the last write."""

    def check(self) -> None:
        """Test whether the store can be reached and written, without writing, and update `health`."""

    async def put(
        self, name: str, chunks: AsyncIterator[bytes], *, on_chunk: Callable[[bytes], object], disposition: str
    ) -> None:
        """Store the chunks durably. `on_chunk` is called with each of them in a thread.

        `disposition` is the Content-Disposition of responses to a signed URL.

        After an error, including exceptions of `chunks`, nothing is left. After a crash, an incomplete object can be
        left, which `remove` deletes. Raises STORAGE_FULL, UNAVAILABLE.
        """

    async def open(self, name: str) -> Blob:
        """Open an object. Raises ObjectNotFound, UNAVAILABLE."""

    async def signed(self, name: str, *, seconds: int) -> str | None:
        """Return a presigned URL, valid for `seconds`; None if the store has no URLs."""

    def remove(self, name: str) -> None:
        """Delete the object, or what an interrupted upload left of it, if it exists."""

    def load(self, name: str) -> tuple[int, Iterator[bytes]]:
        """Return the object's size and content. Raises ObjectNotFound, UNAVAILABLE."""

    def size(self, name: str) -> int | None:
        """Return the object's size in bytes; None if it does not exist. Raises UNAVAILABLE."""

    def save(self, name: str, file: Readable, *, disposition: str) -> None:
        """Store the rest of `file`. Raises STORAGE_FULL, UNAVAILABLE."""

    def is_empty(self) -> bool:
        """Return whether the store has no objects."""

    def free_bytes(self) -> int | None:
        """Return the number of free bytes; None if it is unknown."""

    def close(self) -> None: ...


def storage_full() -> Problem:
    """Return the error 507: the storage is full."""
    return Problem(Kind.STORAGE_FULL, "The storage of this service is full. Nothing was saved.")
