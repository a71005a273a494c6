"""Files of the data folder: they are replaced completely or not at all, and belong to the user of the service.

Administrators run commands as root, but the service as another user.
"""

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

SUFFIX = ".partial"
_TEMPORARY = re.compile(r"\.[^.]+\.partial\Z")
_ABANDONED_SECONDS = 86_400


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `target` at the end. Raises OSError.

    Only this user can read it. After an exception `target` is unchanged. Several writers do not disturb each other:
    the last one that ends wins. Files of writers that were killed are deleted after a day.
    """
    _delete_abandoned(target)
    fd, name = tempfile.mkstemp(SUFFIX, f"{target.name}.", target.parent)
    temporary = Path(name)
    try:
        with open(name, "wb", opener=lambda _path, _flags: fd) as file:  # Path.open takes no opener
            yield file
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def sync(file: IO[bytes]) -> None:
    """Wait until the disk has the content, so that a power cut after the rename cannot leave an empty file."""
    file.flush()
    sync_content(file.fileno())


def sync_content(fd: int) -> None:
    """Wait until the disk has the content and size of an open file."""
    if sys.platform == "linux":
        os.fdatasync(fd)
    else:  # macOS has no fdatasync
        os.fsync(fd)


def target_name(name: str) -> str:
    """Return the name of the file that a temporary file was to replace; other names are returned unchanged."""
    return _TEMPORARY.sub("", name)


def inherit_owner(path: Path) -> None:
    """Give a new file or folder the owner of its folder. Without effect unless this process runs as root."""
    if os.geteuid() == 0:
        parent = path.parent.stat()
        os.chown(path, parent.st_uid, parent.st_gid, follow_symlinks=False)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, private, each with the owner of the one above. Raises OSError."""
    if folder.is_dir():
        return
    if not folder.parent.is_dir():
        make_folder(folder.parent)
    try:
        folder.mkdir(0o700)
    except FileExistsError:
        if folder.is_dir():  # created by another process
            return
        raise
    inherit_owner(folder)


def _delete_abandoned(target: Path) -> None:
    for path in target.parent.glob(f"*{SUFFIX}"):
        try:
            is_old = path.stat().st_mtime < time.time() - _ABANDONED_SECONDS
        except FileNotFoundError:  # renamed by its writer
            continue
        if is_old and target_name(path.name) == target.name:
            path.unlink(missing_ok=True)
