"""Where the bytes of files are kept: a folder, or an S3-compatible store. Names are ours, random, never a person's.

What the two share is this shape; neither knows what a file is, nor the database.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import IO, Protocol

from waypost.errors import Kind, Problem

CHUNK = 1 << 20
"""Bytes that are read at once where nothing else says how many."""


class Missing(Exception):
    """There is no object with that name."""


class Readable(Protocol):
    """All that is needed of a file to keep what is in it."""

    def read(self, size: int = -1, /) -> bytes: ...


class Blob(Protocol):
    """An object, open. Close it when done."""

    @property
    def file(self) -> IO[bytes] | None:
        """The object as a file of this machine, if it is one: then it can be sent without being read."""

    def read(self, start: int, end: int) -> AsyncIterator[bytes]:
        """The bytes from `start` to before `end`. Raises Missing, UNAVAILABLE."""

    def close(self) -> None: ...


class Store(Protocol):
    """A place for objects. The methods that are not async block, and are for threads and for commands."""

    async def put(
        self, name: str, chunks: AsyncIterator[bytes], *, seen: Callable[[bytes], object], disposition: str
    ) -> None:
        """Keep what the chunks hold, safe from a power cut when this returns; `seen` gets each of them, in a thread.

        `disposition` is the Content-Disposition with which a signed URL answers.

        When anything goes wrong, an exception of `chunks` included, nothing is left but, after a crash, a part that
        `remove` takes away. Raises STORAGE_FULL, UNAVAILABLE.
        """

    async def open(self, name: str) -> Blob:
        """The object. Raises Missing, UNAVAILABLE."""

    async def signed(self, name: str, *, seconds: int) -> str | None:
        """A URL at which anybody may fetch the object for that long; None where there is none."""

    def remove(self, name: str) -> None:
        """Delete the object, or what a broken upload left of it; nothing when there is none."""

    def load(self, name: str) -> tuple[int, Iterator[bytes]]:
        """The object's size and its bytes. Raises Missing, UNAVAILABLE."""

    def size(self, name: str) -> int | None:
        """How many bytes the object has; None when there is none. Raises UNAVAILABLE."""

    def save(self, name: str, file: Readable, *, disposition: str) -> None:
        """Keep all that is left in `file`. Raises STORAGE_FULL, UNAVAILABLE."""

    def is_empty(self) -> bool:
        """Whether there is no object at all."""

    def room(self) -> int | None:
        """Bytes that may still be kept; None when nobody knows."""

    def close(self) -> None: ...


def full() -> Problem:
    """507: the storage cannot take any more."""
    return Problem(Kind.STORAGE_FULL, "The storage of this service is full. Nothing was saved.")


def away() -> Problem:
    """503: the storage did not answer."""
    return Problem(Kind.UNAVAILABLE, "The file storage is not available right now. Please try again.", retry_after=5)
