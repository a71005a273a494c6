"""One child for many small tasks, such as pictures: it starts at the first one, and ends when there are none."""

import threading
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from queue import Empty, Full, Queue
from typing import Any

from waypost.core.errors import Problem
from waypost.core.sandbox import process
from waypost.core.sandbox.channel import Message
from waypost.core.sandbox.process import Limits, Sandbox


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
                    sandbox = child.enter_context(process.start(self._target, self._limits))
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
