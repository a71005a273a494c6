"""The bytes of files in an archive: put in from the store, and back into one."""

import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import structlog
from sqlalchemy import Connection, select

from waypost import clock
from waypost.db import upgrade
from waypost.db.schema import files
from waypost.http.file_names import disposition
from waypost.storage.store import Missing, Readable, Store

_log = structlog.get_logger("archive")
_WITHOUT_FILES = ("0001", "0002")  # revisions at which there were no files yet
_OBJECT = re.compile(r"[0-9A-Za-z_-]+(/[0-9A-Za-z_-]+)*")


def names(tx: Connection) -> list[str]:
    """The names of all bytes that some file has."""
    if upgrade.revision(tx) in _WITHOUT_FILES:
        return []
    return list(tx.execute(select(files.c.object).where(files.c.purged.is_(None)).order_by(files.c.object)).scalars())


def save(store: Store, wanted: Iterable[str], tar: tarfile.TarFile) -> int:
    """How many there were."""
    count = 0
    for name in wanted:
        try:
            size, chunks = store.load(name)
            put(tar, f"files/{name}", Reader(chunks), size)
        except Missing:
            _log.error("the bytes of a file are not in the store", object=name)
            continue
        count += 1
    return count


class Reader:
    """Chunks as what tarfile wants to read from."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int = -1, /) -> bytes:
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


def put_json(tar: tarfile.TarFile, name: str, value: Mapping[str, Any]) -> None:
    """Put a JSON object into the archive."""
    content = json.dumps(value).encode()
    put(tar, name, io.BytesIO(content), len(content))


def put(tar: tarfile.TarFile, name: str, file: Readable, size: int) -> None:
    """Put `size` bytes of `file` into the archive."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime = size, clock.now()
    tar.addfile(entry, file)


def load(tx: Connection, tar: tarfile.TarFile, store: Store, kept: list[str]) -> tuple[int, int]:
    """Put the bytes of all files into the store: (how many, how many were missing).

    `kept` gets the name of each object before it is there.
    """
    if upgrade.revision(tx) in _WITHOUT_FILES:
        return 0, 0
    count, missing = 0, 0
    for name, filename in tx.execute(select(files.c.object, files.c.filename).where(files.c.purged.is_(None))).all():
        file = _extracted(tar, f"files/{name}")
        if file is None or not _OBJECT.fullmatch(name):
            missing += 1
            continue
        kept.append(name)
        store.save(name, file, disposition=disposition(filename))
        count += 1
    return count, missing


def _extracted(tar: tarfile.TarFile, name: str) -> IO[bytes] | None:
    try:
        return tar.extractfile(name)
    except KeyError:
        return None
