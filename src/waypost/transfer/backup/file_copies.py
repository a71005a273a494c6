"""Copies of file contents in a folder: a backup adds only the objects that the folder lacks.

Objects never change, so a copy is complete once its size is right. The time of a copy is that of the last backup that
needed it.
"""

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

import structlog

from waypost.core import clock, data_files
from waypost.core.data_files import make_folder
from waypost.core.errors import Kind, Problem
from waypost.storage.store import ObjectNotFound, Store
from waypost.transfer.backup.files import OBJECT_NAME, StoredFile, log_missing

_log = structlog.get_logger("archive")
_DAY = 86_400


class FileCopies:
    """A folder with copies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, store: Store, files: Iterable[StoredFile]) -> int:
        """Copy the objects that the folder lacks; return how many of the files it has then. Raises INVALID."""
        count = 0
        try:
            for file in files:
                count += self._has(file) or self._copy(store, file)
        except OSError as error:
            reason = error.strerror or error
            raise Problem(Kind.INVALID, f"{self._folder} cannot be written: {reason}.") from error
        return count

    def open(self, file: StoredFile) -> IO[bytes] | None:
        """Open a copy; None if it is missing or damaged."""
        try:
            copy = (self._folder / file.object).open("rb")
        except OSError:
            log_missing(file)
            return None
        if hashlib.file_digest(copy, "sha256").digest() != file.sha256:
            copy.close()
            _log.error("the copy of a file is damaged", object=file.object)
            return None
        copy.seek(0)
        return copy

    def delete_unused(self, days: int) -> int:
        """Delete the copies that no backup of the last days needed; return their number."""
        deleted = 0
        for path in self._folder.rglob("*"):
            name = data_files.target_name(path.relative_to(self._folder).as_posix())
            with suppress(FileNotFoundError):  # another backup has renamed or deleted it since the folder was listed
                if OBJECT_NAME.fullmatch(name) and path.is_file() and path.stat().st_mtime < clock.now() - days * _DAY:
                    path.unlink()
                    deleted += 1
        return deleted

    def _has(self, file: StoredFile) -> bool:
        path = self._folder / file.object
        with suppress(FileNotFoundError):
            if path.stat().st_size == file.size:
                os.utime(path, (clock.now(), clock.now()))
                return True
        return False

    def _copy(self, store: Store, file: StoredFile) -> bool:
        """Copy an object; return whether the storage has it."""
        path = self._folder / file.object
        make_folder(path.parent)
        try:
            _, chunks = store.load(file.object)
        except ObjectNotFound:
            log_missing(file)
            return False
        with data_files.replacing(path) as target:
            target.writelines(chunks)
            data_files.sync(target)
        return True
