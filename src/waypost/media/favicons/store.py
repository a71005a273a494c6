"""The icons of sites in a folder of bounded size, and the threads that fetch them. Each node has its own."""

import hashlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import structlog

from waypost.core import data_files
from waypost.core.data_files import make_folder
from waypost.http import safe_client
from waypost.http.safe_client import Resolver
from waypost.media.favicons.fetch import fetch_icon
from waypost.storage import disk

_log = structlog.get_logger("favicons")
_DAY = 86_400
_LIFE, _LIFE_OF_NONE = 30 * _DAY, 3 * _DAY
MAX_ICONS = 4000
"""Icons in the folder, each of at most 7 KiB. The oldest ones are deleted."""
_THREADS, _MAX_WAITING = 2, 200


class Favicons:
    """The icons of sites. Nothing is stored or requested without a folder. Thread-safe."""

    def __init__(self, folder: Path | None, *, resolver: Resolver = safe_client.resolve) -> None:
        self._folder = folder
        self._resolver = resolver
        self._lock = threading.Lock()
        self._waiting: set[str] = set()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="favicons")  # starts its threads when needed

    def find(self, origin: str) -> bytes | None:
        """Return the icon of a site, empty for none; None if it is not known yet. Another thread then fetches it."""
        if self._folder is None:
            return b""
        file = self._folder / _name(origin)
        try:
            icon, age = file.read_bytes(), time.time() - file.stat().st_mtime
        except OSError:
            icon, age = None, 0
        if icon is None or age > (_LIFE if icon else _LIFE_OF_NONE):
            self._fetch_later(origin)
        return icon

    def close(self) -> None:
        """Fetch nothing more. Running requests end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _fetch_later(self, origin: str) -> None:
        with self._lock:
            if origin in self._waiting or len(self._waiting) >= _MAX_WAITING:
                return
            self._waiting.add(origin)
        try:
            self._threads.submit(self._fetch, origin)
        except RuntimeError:  # the service stops
            self._waiting.discard(origin)

    def _fetch(self, origin: str) -> None:
        try:
            self._save(origin, fetch_icon(origin, resolver=self._resolver))
        except safe_client.Refused as reason:
            _log.debug("icon not fetched", origin=origin, reason=str(reason))
            self._save(origin, b"")
        except Exception as error:  # noqa: BLE001  # the edge of the task
            _log.exception("icon not fetched", origin=origin, error=type(error).__name__)
        finally:
            self._waiting.discard(origin)

    def _save(self, origin: str, icon: bytes) -> None:
        assert self._folder is not None
        try:
            make_folder(self._folder)
            if disk.free_bytes(self._folder) == 0:
                return
            with data_files.replacing(self._folder / _name(origin)) as file:
                file.write(icon)
            self._delete_oldest()
        except OSError as error:
            _log.warning("icon not stored", reason=error.strerror)

    def _delete_oldest(self) -> None:
        assert self._folder is not None
        files = [(path.stat().st_mtime, path) for path in self._folder.glob("*.png")]
        for _, path in sorted(files)[: max(0, len(files) - MAX_ICONS)]:
            path.unlink(missing_ok=True)


def _name(origin: str) -> str:
    return hashlib.sha256(origin.encode()).hexdigest()[:32] + ".png"
