"""Cancellation of an import in the background: by a request of its owner, a deadline, or the end of its plan."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from waypost.core.errors import Problem


class Cancellation:
    """Tells the thread of an import to stop. Any thread may cancel; the first reason is kept."""

    def __init__(self, require: Callable[[], object] = lambda: None) -> None:
        """`require` is called by `check` as well, and can raise to stop: the service is in maintenance, for example."""
        self._require = require
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._reason: Problem | None = None
        self._callbacks: list[Callable[[], object]] = []

    def cancel(self, reason: Problem) -> None:
        """Let `check` and `sleep` raise `reason`, and run the callbacks of `calling`."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks = list(self._callbacks)
        self._event.set()
        for callback in callbacks:
            callback()

    def check(self) -> None:
        """Raise the reason if the import was canceled. Called before every batch."""
        if self._reason is not None:
            raise self._reason
        self._require()

    def sleep(self, seconds: float) -> None:
        """Wait. Raises the reason as soon as the import is canceled."""
        self._event.wait(seconds)
        self.check()

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Run `callback` once if the import is canceled in this context, for example to end a child process."""
        with self._lock:
            self._callbacks.append(callback)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)
