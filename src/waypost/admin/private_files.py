"""Permissions of the data folder. Its files contain secrets and addresses, so only the service's user may read them."""

import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import structlog

from waypost.core.settings import Settings

_log = structlog.get_logger("permissions")
# Not the content of `files`: there can be millions, and the folder protects them.
_FOLDERS = ("journal", "metrics", "uploads", "geo")
_PATTERNS = (
    "waypost.db*",
    "attempt_limits.db*",
    "first-sign-in-*.txt",
    "installation-id",
    *(f"{name}{rest}" for name in _FOLDERS for rest in ("", "/*")),
    "files",
)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def exposed(settings: Settings) -> list[Path]:
    """Return the files and folders of an installation that other users of this machine can access."""
    return [path for path in _paths(settings) if (mode := _mode(path)) is not None and mode & _OTHERS]


def protect(settings: Settings) -> None:
    """Remove the access of other users. A folder that all users share, such as /tmp, is left alone."""
    corrected = 0
    for path in _paths(settings):  # a folder before its files, so that other users can no longer replace them
        mode = _mode(path)
        if mode is not None and mode & _OTHERS and not mode & stat.S_ISVTX:
            with suppress(OSError):  # the file of another user, or a file system without permissions: doctor reports it
                path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
                corrected += 1
    if corrected:
        _log.warning("removed access of other users to the data folder", paths=corrected)


def _paths(settings: Settings) -> Iterator[Path]:
    folder = settings.data_dir.resolve()
    if folder.is_dir():
        yield folder
    for pattern in _PATTERNS:
        yield from sorted(folder.glob(pattern))
    database = settings.database_file
    if database is not None and database.resolve().parent != folder:
        yield from sorted(database.resolve().parent.glob(f"{database.name}*"))


def _mode(path: Path) -> int | None:
    """Return the mode of a file, folder or pipe; None for a symbolic link and a missing file."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return None
    return mode if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode) else None
