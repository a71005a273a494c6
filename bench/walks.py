"""The files of waypost that one request executes: `python -m bench.walks`.

A file counts if a function of it runs, from the ASGI application to the end of the response, in any thread. The service
is warm, and a file must run in each of five equal requests, so work in the background does not count. Files that run
before the first one of `api/` are those of every request, such as of the dispatcher.
"""

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
from waypost.admin.new_accounts import create_account
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.server.app import build

_FOLDER = f"{Path(waypost.__file__).parent}/"
_REQUESTS = 5
_PAUSE = 0.1  # seconds, until the last functions of a request have run
_WALKS: tuple[tuple[str, str, Any], ...] = (
    ("PUT", "/api/channel/1/update", {"description": "Posts of the spring sale"}),
    ("GET", "/api/url/1", None),
    ("POST", "/api/bulk", {"items": [{"action": "update", "noun": "channel", "id": 1, "fields": {"name": "Social"}}]}),
    ("POST", "/api/files/upload/notes.txt", b"Notes of the spring sale"),
)


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
        work()
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


def main() -> int:
    """Print the files of each request."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    trace = FileTrace()
    with tempfile.TemporaryDirectory() as folder, _service(Path(folder)) as client:
        for method, path, body in _WALKS:
            content = {"content": body} if isinstance(body, bytes) else {"json": body}

            def send(method: str = method, path: str = path, content: Mapping[str, Any] = content) -> None:
                client.request(method, path, **content).raise_for_status()

            send()
            first, *others = (trace.of(send) for _ in range(_REQUESTS))
            files = [name for name in first if all(name in other for other in others)]
            before = next(number for number, name in enumerate(files) if name.startswith("api/"))
            print(f"{method} {path}: {len(files)} files, {before} of them before the API", *files, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
