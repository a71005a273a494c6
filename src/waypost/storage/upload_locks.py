"""A locked file for each running upload. A file without a lock means that its process was killed.

Other machines cannot see the locks: they remove the object of a killed upload when its record expires.
"""

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from waypost.core.data_files import inherit_owner, make_folder


class UploadLocks:
    """The locked files of this machine's uploads. Files without an upload are rare, so a scan costs little."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def acquire(self, name: str) -> int | None:
        """Lock the file of an object; return its descriptor.

        None if the disk has no room or no locks: the record of the upload must then expire first.
        """
        path = self._path(name)
        fd = -1
        try:
            make_folder(self._folder)
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            inherit_owner(path)
            fcntl.flock(fd, fcntl.LOCK_EX)
        except OSError:
            if fd >= 0:
                self.release(name, fd)
            return None
        return fd

    def release(self, name: str, fd: int | None) -> None:
        """Delete the file of an object whose upload has ended."""
        if fd is not None:
            with suppress(OSError):
                self._path(name).unlink(missing_ok=True)
            os.close(fd)

    def take_abandoned(self, work: Callable[[str], object]) -> None:
        """Call `work` with the name of each object whose process was killed, then delete its file."""
        try:
            entries = os.listdir(self._folder)  # noqa: PTH208  # names, without a Path for each
        except OSError:
            return
        for entry in entries:
            name = entry.replace("-", "/")
            try:
                fd = os.open(self._folder / entry, os.O_RDWR | os.O_CLOEXEC)
            except OSError:  # the upload has just ended
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # the upload is running, or the disk has no locks
                os.close(fd)
                continue
            try:
                work(name)
            except BaseException:
                os.close(fd)
                raise
            self.release(name, fd)

    def _path(self, name: str) -> Path:
        return self._folder / name.replace("/", "-")
