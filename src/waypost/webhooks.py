"""Tells an account's own server what a visitor sent: afterwards, beside everything else, and never in anybody's way."""

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog

from waypost.http import safe_client

_log = structlog.get_logger("hooks")
_SECONDS = 5.0
_MOST_WAITING = 100


class Webhooks:
    """Posts JSON through the outgoing guard, two at a time."""

    def __init__(self) -> None:
        self._senders = ThreadPoolExecutor(2, thread_name_prefix="hook")
        self._waiting = 0
        self._lock = threading.Lock()

    def tell(self, url: str, words: Mapping[str, Any]) -> None:
        """Send soon. What is stored is stored; a hook that is not heard is logged, and not sent again."""
        with self._lock:
            if self._waiting >= _MOST_WAITING:
                _log.warning("too many webhooks are waiting; one was left out", url=url)
                return
            self._waiting += 1
        self._senders.submit(self._send, url, json.dumps(words, ensure_ascii=False).encode())

    def _send(self, url: str, body: bytes) -> None:
        try:
            status = safe_client.post(url, body, kind="application/json", seconds=_SECONDS)
            if not 200 <= status < 300:
                _log.warning("a webhook was refused", url=url, status=status)
        except safe_client.Refused as error:
            _log.warning("a webhook was not heard", url=url, why=str(error))
        except Exception:  # noqa: BLE001  # the edge of the thread
            _log.exception("a webhook failed", url=url)
        finally:
            with self._lock:
                self._waiting -= 1
