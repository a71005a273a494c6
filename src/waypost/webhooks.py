"""Webhooks: post visitors' submissions to the server of an account, in the background."""

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog

from waypost.http import safe_client

_log = structlog.get_logger("webhooks")
_TIMEOUT_SECONDS = 5.0
_MAX_QUEUED = 100


class Webhooks:
    """Posts JSON with the safe HTTP client, two requests at a time."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="hook")
        self._queued = 0
        self._lock = threading.Lock()

    def send(self, url: str, payload: Mapping[str, Any]) -> None:
        """Queue a request. A failed one is logged and not repeated; the submission is stored in any case."""
        with self._lock:
            if self._queued >= _MAX_QUEUED:
                _log.warning("webhook dropped: queue is full", url=url)
                return
            self._queued += 1
        self._threads.submit(self._post, url, json.dumps(payload, ensure_ascii=False).encode())

    def _post(self, url: str, body: bytes) -> None:
        try:
            status = safe_client.post(url, body, media_type="application/json", seconds=_TIMEOUT_SECONDS)
            if not 200 <= status < 300:
                _log.warning("webhook rejected", url=url, status=status)
        except safe_client.Refused as error:
            _log.warning("webhook not delivered", url=url, reason=str(error))
        except Exception:  # noqa: BLE001  # the edge of the thread
            _log.exception("webhook failed", url=url)
        finally:
            with self._lock:
                self._queued -= 1
