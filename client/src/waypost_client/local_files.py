"""Local content of transfers, read and written in chunks: memory does not grow with its size."""

from __future__ import annotations

import base64
import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeAlias

from waypost_client.errors import ConnectionLostError, DigestMismatchError
from waypost_client.records import Downloaded

CHUNK = 256 * 1024

Content: TypeAlias = "str | os.PathLike[str] | bytes | BinaryIO"
"""Content to upload: a path, bytes, or a binary file object, which is read from its position."""
Target: TypeAlias = "str | os.PathLike[str] | BinaryIO"
"""Where content is written: a path, or a binary file object."""
Progress: TypeAlias = "Callable[[int, int | None], None]"
"""Called with the bytes (or items) done, and the total if it is known. A repeated request begins again."""


class Source:
    """Content to upload. `size` is None if it is a stream that ends somewhere; such an upload is not repeated."""

    def __init__(self, content: Content) -> None:
        self._is_own = not hasattr(content, "read")
        self._file = _opened(content)
        self._start = self._file.tell() if self._file.seekable() else None
        self.size: int | None = None
        if self._start is not None:
            self.size = self._file.seek(0, os.SEEK_END) - self._start
            self._file.seek(self._start)
        self.hash = hashlib.sha256()

    @property
    def can_rewind(self) -> bool:
        """True if the content can be sent again."""
        return self._start is not None

    def rewind(self) -> None:
        """Go back to the start. A stream is at its start only once."""
        if self._start is not None:
            self._file.seek(self._start)
        self.hash = hashlib.sha256()

    def read(self) -> bytes:
        """Return the next chunk; b"" at the end."""
        chunk = self._file.read(CHUNK)
        self.hash.update(chunk)
        return chunk

    def digest_header(self) -> dict[str, str]:
        """Return the header by which the server verifies the content. Reads all of it."""
        self.rewind()
        while self.read():
            pass
        return {"Content-Digest": f"sha-256=:{base64.b64encode(self.hash.digest()).decode()}:"}

    def close(self) -> None:
        """Close the file, unless the caller opened it."""
        if self._is_own:
            self._file.close()


def _opened(content: Content) -> BinaryIO:
    if isinstance(content, bytes):
        return io.BytesIO(content)
    if isinstance(content, str | os.PathLike):
        return Path(content).open("rb")
    return content


class Sink:
    """A download in progress.

    A path gets the content once it is complete; until then it is in a file next to it, whose name ends with `.part`.
    With `resume_name`, the name of the content, a later download continues such a file.
    """

    def __init__(self, target: Target, progress: Progress | None, *, resume_name: str = "") -> None:
        self._progress = progress
        self._can_resume = bool(resume_name)
        self._path = Path(target) if isinstance(target, str | os.PathLike) else None
        self._total: int | None = None
        self.size = 0
        self.hash = hashlib.sha256()
        if isinstance(target, str | os.PathLike):
            path = Path(target)
            self._part = path.with_name(f"{path.name}.{resume_name}.part" if resume_name else f"{path.name}.part")
            self._file: BinaryIO = self._part.open("a+b" if resume_name else "w+b")
            self._file.seek(0)
            self._hash_existing()
        else:
            self._file = target
        self._start = None if self._path is None and not self._file.seekable() else self._file.tell() - self.size

    @property
    def can_restart(self) -> bool:
        """True if content that was written can be replaced."""
        return self._start is not None

    def headers(self) -> dict[str, str]:
        """Return the headers of the next attempt. Content is not compressed, so that ranges are those of the file."""
        resumed = {"Range": f"bytes={self.size}-"} if self._can_resume and self.size else {}
        return {"Accept-Encoding": "identity", **resumed}

    def begin(self, *, is_rest: bool, length: int | None) -> None:
        """Prepare for the bytes of a response, which is the rest of the content or all of it."""
        if not is_rest and self.size:
            if self._start is None:
                raise ConnectionLostError("The connection was lost, and the target cannot be written again.")
            self._file.seek(self._start)
            self._file.truncate()
            self.size, self.hash = 0, hashlib.sha256()
        self._total = None if length is None else self.size + length

    def write(self, chunk: bytes) -> None:
        """Write a chunk."""
        self._file.write(chunk)
        self.hash.update(chunk)
        self.size += len(chunk)
        if self._progress is not None:
            self._progress(self.size, self._total)

    def finish(self, expected: str = "") -> Downloaded:
        """Return the size and digest of the content, and give a path its content.

        Raises DigestMismatchError if another digest is expected; the content is then discarded.
        """
        if expected not in ("", self.hash.hexdigest()):
            self._can_resume = False
            raise DigestMismatchError("The content that was received does not have the digest of the file.")
        self._file.flush()
        if self._path is not None:
            self._file.close()
            self._part.replace(self._path)
        return Downloaded(self.size, self.hash.hexdigest())

    def abort(self) -> None:
        """Close the file of a path. It is kept if it can be resumed."""
        if self._path is not None:
            self._file.close()
            if not (self._can_resume and self.size):
                self._part.unlink(missing_ok=True)

    def _hash_existing(self) -> None:
        while chunk := self._file.read(CHUNK):
            self.hash.update(chunk)
            self.size += len(chunk)
