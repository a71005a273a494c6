"""Webhooks: post visitors' submissions to the server of an account, in the background."""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog

from waypost.http import safe_client

_log = structlog.get_logger("webhooks")
_TIMEOUT_SECONDS = 5.0
_THREADS = 8
_MAX_QUEUED = 1000
_MAX_QUEUED_OF_ACCOUNT = 50


class Webhooks:
    """Posts JSON with the safe HTTP client: one request at a time for each account, whose server can be slow."""

    def __init__(self, report_queued: Callable[[int], None] = lambda _: None) -> None:
        """Start no thread yet. `report_queued` is called with the length of the queue when it changes."""
        self._report_queued = report_queued
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="hook")
        self._queues: dict[int, deque[tuple[str, bytes]]] = {}
        """The requests of each account, the running one first."""
        self._queued = 0
        self._lock = threading.Lock()

    def send(self, account: int, url: str, payload: Mapping[str, Any]) -> None:
        """Queue a request. A failed one is logged and not repeated; the submission is stored in any case."""
        body = json.dumps(payload, ensure_ascii=False).encode()
        with self._lock:
            queue = self._queues.get(account, deque())
            if self._queued >= _MAX_QUEUED or len(queue) >= _MAX_QUEUED_OF_ACCOUNT:
                _log.warning("webhook dropped: queue is full", url=url)
                return
            self._queued += 1
            self._report_queued(self._queued)
            queue.append((url, body))
            if account not in self._queues:
                self._queues[account] = queue
                self._threads.submit(self._run_next, account)

    def _run_next(self, account: int) -> None:
        """Send the first request of an account, then queue for its next one behind other accounts."""
        with self._lock:
            url, body = self._queues[account][0]
        self._post(url, body)
        with self._lock:
            self._queued -= 1
            self._report_queued(self._queued)
            self._queues[account].popleft()
            if self._queues[account]:
                self._threads.submit(self._run_next, account)
            else:
                del self._queues[account]

    def _post(self, url: str, body: bytes) -> None:
        try:
            status = safe_client.post(url, body, media_type="application/json", seconds=_TIMEOUT_SECONDS).status
            if not 200 <= status < 300:
                _log.warning("webhook rejected", url=url, status=status)
        except safe_client.Refused as error:
            _log.warning("webhook not delivered", url=url, reason=str(error))
        except Exception:  # noqa: BLE001  # the edge of the thread
            _log.exception("webhook failed", url=url)
