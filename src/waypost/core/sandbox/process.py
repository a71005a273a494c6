"""Child processes that interpret the content of strangers: files of imports, pictures (ADR 16).

Such content can take gigabytes, or compute without end, while the interpreter lock is held. So it is interpreted in a
new interpreter with limits of memory, processor time and wall time. The child has no descriptor but its channel, and
no secret in its environment. The parent reads messages of bounded size, and ends the child in any case.

A `Sandbox` has one large task. A `WarmChild` does many small ones: it starts at the first one, and ends when there are
none.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any

import structlog

from waypost.core.errors import Kind, Problem, invalid
from waypost.core.sandbox import child
from waypost.core.sandbox.channel import BrokenMessage, Channel, Message

_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from waypost.core.sandbox.child import main
main(sys.argv[2:])
"""
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "TMPDIR", "TZ")
_MAX_TEXT = 1000
_log = structlog.get_logger("sandbox")
_running: set["Sandbox"] = set()
_lock = threading.Lock()


@dataclass(frozen=True)
class Limits:
    """Limits of a child. `memory` is in bytes above that of its modules; `wall` counts while the parent waits for it.

    `file_bytes` is the largest size of a file that it writes.
    """

    memory: int = 256 << 20
    processor: int = 60
    wall: float = 120
    file_bytes: int = 0


class Sandbox:
    """A running child. Only one thread may call it; any thread may kill it."""

    def __init__(self, target: str, limits: Limits, field: str) -> None:
        ours, theirs = socket.socketpair()
        self.channel, self._left, self._field = Channel(ours), limits.wall, field
        self._is_killed = False
        numbers = (theirs.fileno(), os.getpid(), limits.memory, limits.processor, limits.file_bytes)
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own interpreter and code
                [sys.executable, *_options(), "-c", _START, _search_path(), target, *map(str, numbers)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                cwd="/",
                env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()

    def call(self, value: Any, data: bytes = b"") -> Message:
        """Send a message and return the answer. Raises as `receive`."""
        self.send(value, data)
        return self.receive()

    def send(self, value: Any, data: bytes = b"") -> None:
        """Send a message. Raises as `receive`."""
        with self._faults():
            self.channel.send(value, data)

    def receive(self) -> Message:
        """Return the next message, whose value can be anything: the caller must check it.

        Raises the Problem or OSError of the child; INVALID on the field for a child that exceeded a limit.
        """
        with self._faults():
            message = self.channel.receive()
        if message.kind == "value":
            return message
        if message.kind == "problem":
            raise self._problem(message.value)
        if message.kind == "system_error":
            raise _system_error(message.value)
        _log.error("sandbox failed", error=str(message.value))
        raise RuntimeError("the child process failed")

    @property
    def has_ended(self) -> bool:
        """True after the child has ended, or was killed."""
        return self._is_killed or self._process.poll() is not None

    def allow(self, seconds: float) -> None:
        """Set the time that is left for waiting, instead of `wall`."""
        self._left = seconds

    def kill(self) -> None:
        """End the child at once. A thread that waits for it gets a Problem."""
        self._is_killed = True
        self._process.kill()

    def end(self) -> None:
        """End the child, and wait until it has ended."""
        self._process.kill()
        self._process.wait()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Limit the time of waiting. Turn the end of the child, and its broken messages, into a Problem."""
        started = time.monotonic()
        try:
            self.channel.deadline = started + self._left
            yield
        except TimeoutError:
            self.kill()
            raise self._too_slow() from None
        except BrokenMessage as error:
            self.kill()
            _log.warning("sandbox sent a broken message", error=str(error))
            raise invalid(self._field, "The file cannot be read. It is damaged, or too large for its kind.") from None
        except (EOFError, ConnectionError):
            raise self._end() from None
        finally:
            self._left -= time.monotonic() - started

    def _end(self) -> Problem:
        """Return why the child ended before it answered."""
        self.channel.connection.close()
        status = self._process.wait()
        if status == -signal.SIGXCPU:
            return self._too_slow()
        if status in (child.NO_MEMORY, -signal.SIGKILL):  # the kernel kills it first if the machine has no memory left
            return invalid(self._field, "The file needs too much memory to be read. Split it, or check its content.")
        return invalid(self._field, "The file cannot be read. It is damaged, or too large for its kind.")

    def _too_slow(self) -> Problem:
        return invalid(self._field, "The file takes too long to read. Split it, or check its content.")

    def _problem(self, value: Any) -> Problem:
        """Return the Problem of the child, which is checked like any other value from there."""
        match value:
            case [str(name), str(message), str() | None as field, int() | None as retry_after] if (
                name in Kind.__members__
            ):
                return Problem(Kind[name], message[:_MAX_TEXT], field=field, retry_after=retry_after)
        return invalid(self._field, "The file cannot be read. It is damaged, or too large for its kind.")


@contextmanager
def start(target: str, limits: Limits, *, field: str = "file") -> Iterator[Sandbox]:
    """Start a child that calls the function `module:name` with its end of the channel. It ends with the context.

    Problems are on `field`.
    """
    sandbox = Sandbox(target, limits, field)
    with _lock:
        _running.add(sandbox)
    try:
        yield sandbox
    finally:
        sandbox.end()
        sandbox.channel.connection.close()
        with _lock:
            _running.discard(sandbox)


def end_all() -> None:
    """End the children of this process, before it ends itself: nothing else would read their exit status."""
    with _lock:
        sandboxes = list(_running)
    for sandbox in sandboxes:
        sandbox.end()


def _options() -> list[str]:
    """Return options of the interpreter: nothing of the environment, and no search for packages."""
    return ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]


def _search_path() -> str:
    return json.dumps([str(Path(path).absolute()) for path in sys.path])


def _system_error(value: Any) -> OSError:
    match value:
        case [int(number), str(text)]:
            return OSError(number, text[:_MAX_TEXT])
    return OSError(0, "unknown error")


class Busy(Exception):
    """Too many tasks wait, or one has waited too long."""


class Ended(Exception):
    """The child ended in a task: it exceeded a limit, or crashed."""


@dataclass(frozen=True, eq=False)
class _Task:
    value: Any
    data: bytes
    result: "Future[Message]" = field(default_factory=Future)


class WarmChild:
    """Runs tasks one after the other. Any thread may call it; a thread of its own starts the children.

    That one lives as long as the process: Linux ends a child with the thread that started it.
    `wall` of the limits is for each task. After `max_tasks`, and after a task in which it ended, a new child starts. A
    child without tasks ends after `idle_seconds`.
    """

    def __init__(
        self,
        target: str,
        limits: Limits,
        *,
        max_tasks: int,
        idle_seconds: float,
        max_waiting: int,
        wait_seconds: float,
    ) -> None:
        self._target, self._limits = target, limits
        self._max_tasks, self._idle_seconds, self._wait_seconds = max_tasks, idle_seconds, wait_seconds
        self._waiting: Queue[_Task] = Queue(max_waiting)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def call(self, value: Any, data: bytes) -> Message:
        """Return the child's answer to a message. Raises Busy, Ended, and the Problem or OSError of the child."""
        task = _Task(value, data)
        try:
            self._waiting.put_nowait(task)
        except Full:
            raise Busy from None
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="warm child", daemon=True)
                self._thread.start()
        try:
            return task.result.result(self._wait_seconds + self._limits.wall)
        except TimeoutError:
            task.result.cancel()
            raise Busy from None

    def _run(self) -> None:
        while True:
            with ExitStack() as child:
                self._run_with(child)

    def _run_with(self, child: ExitStack) -> None:
        """Wait for a task, start a child, and give it tasks until it ends. `child` ends it."""
        sandbox: Sandbox | None = None
        for _ in range(self._max_tasks):
            try:
                task = self._waiting.get(timeout=None if sandbox is None else self._idle_seconds)
            except Empty:
                return
            if sandbox is None or sandbox.has_ended:
                child.close()
                try:
                    sandbox = child.enter_context(start(self._target, self._limits))
                except OSError as error:  # no process can be started
                    task.result.set_exception(error)
                    return
            _do(task, sandbox, self._limits.wall)
            del task  # and the bytes in it, while the thread waits
            if sandbox.has_ended:
                return


def _do(task: _Task, sandbox: Sandbox, seconds: float) -> None:
    if not task.result.set_running_or_notify_cancel():
        return
    sandbox.allow(seconds)
    try:
        task.result.set_result(sandbox.call(task.value, task.data))
    except Problem as problem:
        task.result.set_exception(Ended() if sandbox.has_ended else problem)
    except Exception as error:  # noqa: BLE001  # the caller raises it
        task.result.set_exception(error)
