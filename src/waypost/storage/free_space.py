"""Free space of the disk with the data folder: a part of it stays free for the database and the journal."""

import shutil
from pathlib import Path

from waypost.storage.store import storage_full

_RESERVED_BYTES = 256 * 1024 * 1024


def free_bytes(folder: Path) -> int | None:
    """Return the bytes that may still be stored in a folder, or in the one that will contain it; None if unknown."""
    existing = next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)
    try:
        return max(0, shutil.disk_usage(existing).free - _RESERVED_BYTES)
    except OSError:
        return None


def require(folder: Path, size: int) -> None:
    """Raise STORAGE_FULL if `size` bytes more would leave too little space."""
    free = free_bytes(folder)
    if free is not None and size > free:
        raise storage_full()
