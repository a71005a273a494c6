"""Owners of files in the data folder. Administrators run commands as root, but the service as another user."""

import os
from pathlib import Path


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
