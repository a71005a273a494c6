"""The queue of writers of a SQLite file: threads of one process, and processes of one machine.

SQLite has no queue: a writer that finds the file locked sleeps for up to 100 ms, while others begin. Here, the
writer that takes the head of the queue is the next one, so that a writer that has just finished cannot begin again
before it. SQLite's own lock decides in any case: where these locks do not work, only the order is lost.
"""

import fcntl
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from waypost.ownership import inherit_owner

MAX_SECONDS = 2.0
"""A writer waits so long for other processes; one of them may be suspended. Then it waits for SQLite's lock."""
_RETRY_SECONDS = 0.0005  # locks of files have no time limit, so a writer tries again
_FILE_NAME_ENDS = ("-queue", "-turn")


def create_files(database: Path) -> None:
    """Create the lock files of a database, as the start of the service does. Without them, processes do not queue."""
    with suppress(OSError):  # of a folder that cannot be written, for example
        for path in _paths(database):
            if not path.exists():
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
                inherit_owner(path)


def _paths(database: Path) -> list[Path]:
    return [database.with_name(database.name + end) for end in _FILE_NAME_ENDS]


class WriteQueue:
    """Context manager of one write: waits for the turn of this thread, then for that of this process.

    The kernel releases the locks of a process that ends. A suspended one delays a single write of each other process.
    """

    def __init__(self, database: Path | None) -> None:
        """`database` is the file of the database; None for one in memory, which has no other processes."""
        self._paths = _paths(database) if database else []
        self._head = threading.Lock()
        self.thread_turn = threading.Lock()
        """Held by the thread of this process that writes or waits for other processes."""
        self._files: tuple[int, ...] = ()
        self._is_stuck = False

    def __enter__(self) -> None:
        with self._head:
            self.thread_turn.acquire()
        try:
            self._files = self._files or self._open()
            if self._files:
                self._wait_for_processes(*self._files)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        if self._files:
            _unlock(self._files[1])
        self.thread_turn.release()

    def close(self) -> None:
        """Close the files. Call it with `thread_turn`, after the last write."""
        for file in self._files:
            os.close(file)
        self._files = ()

    def _open(self) -> tuple[int, ...]:
        """Open the lock files. Return none if there are none; the next write tries again."""
        files: list[int] = []
        try:
            files.extend(os.open(path, os.O_RDWR) for path in self._paths)
        except OSError:
            for file in files:
                os.close(file)
            return ()
        return tuple(files)

    def _wait_for_processes(self, head: int, turn: int) -> None:
        """Wait at the head of the queue for the turn; not after a wait without success."""
        deadline = time.monotonic() + (0 if self._is_stuck else MAX_SECONDS)
        self._is_stuck = True
        if _lock(head, deadline):
            self._is_stuck = not _lock(turn, deadline)
            _unlock(head)


def _lock(file: int, deadline: float) -> bool:
    """Wait for the lock of a file. Return False after the deadline, or if its file system has no locks."""
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_RETRY_SECONDS)
        except OSError:
            return False
        else:
            return True


def _unlock(file: int) -> None:
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_UN)
