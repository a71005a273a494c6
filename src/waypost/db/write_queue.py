"""The queue of writers of a SQLite file: threads of one process, and processes of one machine.

SQLite has no queue: a writer that finds the file locked sleeps for up to 100 ms, while others begin. Here, the
writer that takes the head of the queue is the next one, so that a writer that has just finished cannot begin again
before it. SQLite's own lock decides in any case: where these locks do not work, only the order is lost.
"""

import fcntl
import mmap
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from waypost.core.data_files import inherit_owner

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


class NoTurn(Exception):
    """Raised when a writer with a limit of time got no turn in it."""


class _ProcessTurns:
    """The turns of processes. One that finds the turn taken waits at the head, and its mark holds back all others.

    Without a mark, a turn costs one system call to take and one to give back.
    """

    def __init__(self, database: Path) -> None:
        """Raises OSError without lock files."""
        with ExitStack() as files:
            head, turn = (files.enter_context(path.open("r+b", buffering=0)) for path in _paths(database))
            head.truncate(1)
            self._mark = files.enter_context(mmap.mmap(head.fileno(), 1))
            self._head, self._turn = head.fileno(), turn.fileno()
            self._files = files.pop_all()
        self._is_stuck = False

    def take(self, until: float | None) -> None:
        """Wait for the turn; not after a wait without success. Without it, the writer waits for SQLite's lock."""
        try:
            if self._mark[0] or not _lock(self._turn):
                self._wait(until)
            else:
                self._is_stuck = False
        except OSError:  # of a file system without locks
            self._is_stuck = True

    def _wait(self, until: float | None) -> None:
        deadline = time.monotonic() + (0 if self._is_stuck else MAX_SECONDS)
        deadline = deadline if until is None else min(deadline, until)
        self._is_stuck = True
        if _lock(self._head, deadline):
            self._mark[0] = 1
            self._is_stuck = not _lock(self._turn, deadline)
            self._mark[0] = 0
            _unlock(self._head)

    def give_back(self) -> None:
        """End the turn."""
        _unlock(self._turn)

    def close(self) -> None:
        """Close the files."""
        self._files.close()


class WriteQueue:
    """Context manager of one write: waits for the turn of this thread, then for that of this process.

    The kernel releases the locks of a process that ends. A suspended one delays a single write of each other process.
    """

    def __init__(self, database: Path | None) -> None:
        """`database` is the file of the database; None for one in memory, which has no other processes."""
        self._database = database
        self._head = threading.Lock()
        self.thread_turn = threading.Lock()
        """Held by the thread of this process that writes or waits for other processes."""
        self._processes: _ProcessTurns | None = None

    def __enter__(self) -> None:
        self.enter()

    def enter(self, until: float | None = None) -> None:
        """Wait for the turn, up to a time of the monotonic clock. Raises NoTurn."""
        if not self._head.acquire(timeout=_left(until)):
            raise NoTurn
        try:
            if not self.thread_turn.acquire(timeout=_left(until)):
                raise NoTurn
        finally:
            self._head.release()
        try:
            if self._processes is None:
                self._processes = self._open()
            if self._processes is not None:
                self._processes.take(until)
        except BaseException:
            self.__exit__()
            raise

    @contextmanager
    def within(self, until: float) -> Iterator[None]:
        """Have the turn in a block; wait for it up to a time of the monotonic clock. Raises NoTurn."""
        self.enter(until)
        try:
            yield
        finally:
            self.__exit__()

    def __exit__(self, *_: object) -> None:
        if self._processes is not None:
            self._processes.give_back()
        self.thread_turn.release()

    def close(self) -> None:
        """Close the files. Call it with `thread_turn`, after the last write."""
        if self._processes is not None:
            self._processes.close()
        self._processes = None

    def _open(self) -> _ProcessTurns | None:
        """Open the lock files. Return None if there are none; the next write tries again."""
        try:
            return _ProcessTurns(self._database) if self._database else None
        except (OSError, ValueError):  # of `mmap`, where a file system has none
            return None


def _left(until: float | None) -> float:
    """Return the seconds until a time, as a limit of a lock: -1 for none."""
    return -1 if until is None else max(0.0, until - time.monotonic())


def _lock(file: int, deadline: float = 0) -> bool:
    """Lock a file; wait for it until the deadline. Return whether it is locked. Raises OSError without locks."""
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_RETRY_SECONDS)
        else:
            return True


def _unlock(file: int) -> None:
    try:  # not `suppress`, which takes longer
        fcntl.flock(file, fcntl.LOCK_UN)
    except OSError:
        return
