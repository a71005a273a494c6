"""The files of waypost that one request executes: `python -m bench.walks`.

A file counts if a function of it runs, from the ASGI application to the end of the response, in any thread; for a visit
from its new connection on. The service is warm, and a file must run in each of five equal requests, so work in the
background does not count. Files that run before the first one of `api/` are those of every request, such as of the
dispatcher.
"""

import itertools
import json
import logging
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import structlog

import waypost
from tests.support.asgi_client import AsgiClient
from tests.support.protocol import protocol_client
from waypost.admin.new_accounts import create_account
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.server.app import build

_FOLDER = f"{Path(waypost.__file__).parent}/"
_REQUESTS = 5
_PAUSE = 0.1  # seconds, until the last functions of a request have run
_WALKS: tuple[tuple[str, str, Any], ...] = (
    ("PUT", "/api/channel/1/update", {"description": "Post %d of the spring sale"}),
    ("GET", "/api/url/1", None),
    (
        "POST",
        "/api/bulk",
        {"items": [{"action": "update", "noun": "channel", "id": 1, "fields": {"name": "Social %d"}}]},
    ),
    ("POST", "/api/files/upload/notes.txt", b"Notes of the spring sale"),
)
_VISIT = b"GET /cold%d HTTP/1.1\r\nHost: go.localhost:8000\r\nUser-Agent: Mozilla/5.0 Firefox/140.0\r\n\r\n"


class FileTrace:
    """The files whose functions run in a block. Threads must start after the trace was created."""

    def __init__(self) -> None:
        self._files: dict[str, None] | None = None
        threading.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and self._files is not None and name.startswith(_FOLDER):
            self._files[name.removeprefix(_FOLDER)] = None

    def of(self, work: Callable[[], None]) -> Mapping[str, None]:
        """Return the files in the order in which they first run."""
        time.sleep(_PAUSE)
        files: dict[str, None] = {}
        self._files = files
        sys.setprofile(self._note)  # the service runs in threads of its own, or in this one
        work()
        sys.setprofile(None)
        self._files = None
        return files


@contextmanager
def _service(folder: Path) -> Iterator[AsgiClient]:
    """Run a service with one link and one channel."""
    settings = Settings(data_dir=folder, base_url="http://go.localhost:8000")
    database = Database(settings.database)
    upgrade(database)
    owner = create_account(database, email="ana@example.com", username="ana", rate_limit=1_000_000_000)
    with AsgiClient(build(settings, database)) as client:
        client.headers["Authorization"] = f"Bearer {owner.apikey}"
        client.post("/api/url/add", json={"url": "https://example.com"}).raise_for_status()
        client.post("/api/channel/add", json={"name": "Social"}).raise_for_status()
        yield client


def _walk(trace: FileTrace, send: Callable[[], None]) -> list[str]:
    """Return the files that run in each of several equal requests, in their order."""
    send()
    first, *others = (trace.of(send) for _ in range(_REQUESTS))
    return [name for name in first if all(name in other for other in others)]


def _walk_api(trace: FileTrace, client: AsgiClient) -> None:
    """Print the files of each request to the API. A number in a body makes each request a change."""
    numbers = itertools.count()
    for method, path, body in _WALKS:
        text = body.decode() if isinstance(body, bytes) else json.dumps(body)

        def send(method: str = method, path: str = path, text: str = text) -> None:
            content = text.replace("%d", str(next(numbers))) if method != "GET" else None
            client.request(method, path, content=content).raise_for_status()

        files = _walk(trace, send)
        before = next(number for number, name in enumerate(files) if name.startswith("api/"))
        print(f"{method} {path}: {len(files)} files, {before} of them before the API", *files, sep="\n  ")


def _walk_visit(trace: FileTrace, folder: Path) -> None:
    """Print the files of a click whose link is not in memory, from its new connection to the bytes sent."""
    settings = Settings(data_dir=folder, base_url="http://go.localhost:8000")
    database = Database(settings.database)
    upgrade(database)
    with protocol_client(settings, database) as client:
        numbers = itertools.count()
        for number in range(_REQUESTS + 1):
            client.add_link(f"cold{number}")

        def visit() -> None:
            response = client.request(_VISIT % next(numbers))
            if not response.startswith(b"HTTP/1.1 302"):
                raise RuntimeError(f"not a redirect: {response[:80]!r}")

        files = _walk(trace, visit)
        print(f"GET of a link that is not in memory: {len(files)} files", *files, sep="\n  ")
    database.close()


def main() -> int:
    """Print the files of each request."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    trace = FileTrace()
    with tempfile.TemporaryDirectory() as folder, _service(Path(folder)) as client:
        _walk_api(trace, client)
    with tempfile.TemporaryDirectory() as folder:
        _walk_visit(trace, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
