"""The file bytes inside a backup archive."""

import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import structlog
from sqlalchemy import Connection, select

from waypost import clock
from waypost.db.schema import files
from waypost.http.file_names import disposition
from waypost.storage.store import ObjectNotFound, Readable, Store

_log = structlog.get_logger("archive")
_OBJECT_NAME = re.compile(r"[0-9A-Za-z_-]+(/[0-9A-Za-z_-]+)*")


def object_names(tx: Connection) -> list[str]:
    """Return the names of the stored objects of all files."""
    return list(tx.execute(select(files.c.object).where(files.c.purged.is_(None)).order_by(files.c.object)).scalars())


def save(store: Store, names: Iterable[str], tar: tarfile.TarFile) -> int:
    """Add objects to the archive; return how many the storage has."""
    count = 0
    for name in names:
        try:
            size, chunks = store.load(name)
            add_entry(tar, f"files/{name}", ChunkReader(chunks), size)
            count += 1
        except ObjectNotFound:
            _log.error("the bytes of a file are not in the storage", object=name)
    return count


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


def load(tx: Connection, tar: tarfile.TarFile, store: Store, saved_objects: list[str]) -> tuple[int, int]:
    """Copy the bytes of all files into the storage: (files, files without bytes in the archive).

    Appends the name of each object to `saved_objects` before it is created, so that the caller can remove them.
    """
    count, missing = 0, 0
    for name, filename in tx.execute(select(files.c.object, files.c.filename).where(files.c.purged.is_(None))).all():
        file = _open_entry(tar, f"files/{name}")
        if file is None or not _OBJECT_NAME.fullmatch(name):
            missing += 1
            continue
        saved_objects.append(name)
        store.save(name, file, disposition=disposition(filename))
        count += 1
    return count, missing


def _open_entry(tar: tarfile.TarFile, name: str) -> IO[bytes] | None:
    try:
        return tar.extractfile(name)
    except KeyError:
        return None
