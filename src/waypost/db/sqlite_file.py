"""The file of an open SQLite database. Connections keep working on a removed file, where changes are lost."""

from contextlib import suppress
from pathlib import Path


class SqliteFile:
    """Notices that the file at a path is no longer the one that was opened."""

    def __init__(self, path: Path) -> None:
        self.fault = ""
        """The result of the last check: "missing", "replaced", or "" for the opened file."""
        self._path = path
        self._opened = _identity(path)

    def check(self) -> str:
        """Return the fault of the file, and remember it."""
        with suppress(PermissionError):  # the database reports it
            present = _identity(self._path)
            self._opened = self._opened or present
            self.fault = "missing" if present is None else "" if present == self._opened else "replaced"
        return self.fault


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and the number of a file; None if it does not exist, or its disk is away."""
    try:
        status = path.stat()
    except PermissionError:
        raise
    except OSError:
        return None
    return status.st_dev, status.st_ino
