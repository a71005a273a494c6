"""The icons of sites, as our own copies: small opaque PNG files in a folder of bounded size (decision 126).

Threads fetch them from the host of the site only. Each node has its own.
"""

import hashlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import structlog

from waypost.core import data_files
from waypost.core.data_files import make_folder
from waypost.core.errors import Problem
from waypost.core.uris import ascii_host
from waypost.http import safe_client
from waypost.http.safe_client import FetchedResponse, Resolver
from waypost.media.pictures.decoding import Rules, decode
from waypost.storage import disk

_log = structlog.get_logger("favicons")
_DAY = 86_400
_LIFE, _LIFE_OF_NONE = 30 * _DAY, 3 * _DAY
MAX_ICONS = 4000
"""Icons in the folder, each of at most 7 KiB. The oldest ones are deleted."""
_THREADS, _MAX_WAITING = 2, 200
SIDE = 48
"""Width and height of an icon in pixels: sharp on every display."""
_MAX_BYTES = 512 * 1024  # of an icon or a page
_RULES = Rules("icon", SIDE, _MAX_BYTES, ("ICO", "PNG", "JPEG", "WEBP", "GIF"))
_SECONDS = 5
_REDIRECTS = 3
_MAX_PARSED = 100_000  # characters
_MAX_CANDIDATES = 3


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
        file = self._folder / _file_name(origin)
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
            with data_files.replacing(self._folder / _file_name(origin)) as file:
                file.write(icon)
            self._delete_oldest()
        except OSError as error:
            _log.warning("icon not stored", reason=error.strerror)

    def _delete_oldest(self) -> None:
        assert self._folder is not None
        files = [(path.stat().st_mtime, path) for path in self._folder.glob("*.png")]
        for _, path in sorted(files)[: max(0, len(files) - MAX_ICONS)]:
            path.unlink(missing_ok=True)


def _file_name(origin: str) -> str:
    return hashlib.sha256(origin.encode()).hexdigest()[:32] + ".png"


def origin_of(url: str) -> str:
    """Return scheme, host and port of a web address in lower case; "" for other addresses."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # an invalid port or IPv6 address
        return ""
    name = ascii_host(host) if host else None
    if parts.scheme not in ("http", "https") or name is None:
        return ""
    return f"{parts.scheme}://" + (f"[{name}]" if ":" in name else name) + (f":{port}" if port else "")


def fetch_icon(origin: str, *, resolver: Resolver = safe_client.resolve) -> bytes:
    """Return the icon of a site as PNG; empty if it has none. Raises Refused if its server cannot be reached.

    Neither the path of a link nor another host is requested: redirects and icons elsewhere are ignored.
    """
    for address in _candidates(origin, resolver):
        response = _get(address, _site(origin), resolver)
        if response is None or not response.body:
            continue
        try:
            return decode(response.body, _RULES, "icon")
        except Problem:
            continue
    return b""


def _candidates(origin: str, resolver: Resolver) -> Iterator[str]:
    """Yield /favicon.ico, then the icons that the first page of the site names."""
    yield f"{origin}/favicon.ico"
    page = _get(f"{origin}/", _site(origin), resolver)
    if page is None:
        return
    parser = _IconParser()
    parser.feed(page.body.decode("utf-8", "replace").partition("</head>")[0][:_MAX_PARSED])
    for address in parser.icons[:_MAX_CANDIDATES]:
        try:
            yield urljoin(f"{origin}/", address)
        except ValueError:  # an invalid IPv6 address
            continue


def _get(url: str, site: str, resolver: Resolver) -> FetchedResponse | None:
    """Return a response with the status 200; None for another one, or for a redirect to another site."""
    for _ in range(_REDIRECTS + 1):
        if _site(url) != site:
            return None
        response = safe_client.request(url, headers={}, max_bytes=_MAX_BYTES, seconds=_SECONDS, resolver=resolver)
        if response.status == 200:
            return response
        if not 300 < response.status < 400 or "location" not in response.headers:
            return None
        try:
            url = urljoin(url, response.headers["location"])
        except ValueError:
            return None
    return None


def _site(url: str) -> str:
    """Return the host of a web address without `www.`; "" for other addresses."""
    return urlsplit(origin_of(url)).netloc.removeprefix("www.")


class _IconParser(HTMLParser):
    """Collects the addresses of icons that are no drawings."""

    def __init__(self) -> None:
        super().__init__()
        self.icons: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        kinds, address = values.get("rel", "").lower().split(), values.get("href", "").strip()
        is_drawing = "svg" in values.get("type", "") or address.partition("?")[0].endswith(".svg")
        if tag == "link" and address and not is_drawing and {"icon", "apple-touch-icon"} & {*kinds}:
            self.icons.append(address)
