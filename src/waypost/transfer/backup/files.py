"""The file bytes inside a backup archive."""

import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import IO, Any, NamedTuple

import structlog
from sqlalchemy import Connection, select

from waypost.core import clock
from waypost.db.schema import files
from waypost.http.file_names import disposition
from waypost.storage.store import ObjectNotFound, Readable, Store
from waypost.trash import ops as trash

_log = structlog.get_logger("archive")
OBJECT_NAME = re.compile(r"[0-9A-Za-z_-]+(/[0-9A-Za-z_-]+)*")


class StoredFile(NamedTuple):
    """The object of a file in the storage."""

    object: str
    filename: str
    size: int
    sha256: bytes


OpenObject = Callable[[StoredFile], IO[bytes] | None]
"""Opens the saved bytes of a file; None if there are none."""


def stored_files(tx: Connection) -> list[StoredFile]:
    """Return all files whose bytes are in the storage, those in the trash included."""
    query = select(files.c.object, files.c.filename, files.c.size, files.c.sha256).where(files.c.purged.is_(None))
    in_trash = (StoredFile(item.object, item.filename, item.size, item.sha256) for item in trash.stored_objects(tx))
    return sorted([*(StoredFile(*row) for row in tx.execute(query)), *in_trash])


def save(store: Store, stored: Iterable[StoredFile], tar: tarfile.TarFile) -> int:
    """Add objects to the archive; return how many the storage has."""
    count = 0
    for file in stored:
        try:
            size, chunks = store.load(file.object)
            add_entry(tar, f"files/{file.object}", ChunkReader(chunks), size)
            count += 1
        except ObjectNotFound:
            log_missing(file)
    return count


def log_missing(file: StoredFile) -> None:
    """Log that the bytes of a file cannot be saved or restored."""
    _log.error("the bytes of a file are missing", object=file.object)


class ChunkReader:
    """A file object over an iterator of chunks, as tarfile needs it."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int = -1, /) -> bytes:
        """Return `size` bytes, fewer only at the end."""
        parts, missing = [], size
        while missing:
            if not self._rest:
                self._rest = next(self._chunks, b"")
                if not self._rest:
                    break
            part, self._rest = self._rest[:missing], self._rest[missing:]
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


def add_json(tar: tarfile.TarFile, name: str, value: Mapping[str, Any]) -> None:
    """Add a JSON object to the archive."""
    content = json.dumps(value).encode()
    add_entry(tar, name, io.BytesIO(content), len(content))


def add_entry(tar: tarfile.TarFile, name: str, file: Readable, size: int) -> None:
    """Add `size` bytes of `file` to the archive."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime = size, clock.now()
    tar.addfile(entry, file)


def load(tx: Connection, open_object: OpenObject, store: Store, saved_objects: list[str]) -> tuple[int, int]:
    """Copy the bytes of all files into the storage: (files, files without bytes).

    Appends the name of each object to `saved_objects` before it is created, so that the caller can remove them.
    """
    count, missing = 0, 0
    for stored in stored_files(tx):
        file = open_object(stored) if OBJECT_NAME.fullmatch(stored.object) else None
        if file is None:
            missing += 1
            continue
        saved_objects.append(stored.object)
        with closing(file):
            store.save(stored.object, file, disposition=disposition(stored.filename))
        count += 1
    return count, missing


def opener(tar: tarfile.TarFile) -> OpenObject:
    """Return the function that opens the bytes of a file in an archive. Call it in the order of `stored_files`."""
    members = {member.name: member for member in tar.getmembers()}  # tarfile itself searches in a list

    def open_object(file: StoredFile) -> IO[bytes] | None:
        member = members.get(f"files/{file.object}")
        return None if member is None else tar.extractfile(member)

    return open_object
