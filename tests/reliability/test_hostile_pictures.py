"""Pictures of strangers: no process that answers redirects grows with them (decision 71)."""

import base64
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.bios import picture
from tests.support.hostile_pictures import HOSTILE_PICTURES, hostile_picture, small_picture_with_large_copy
from tests.support.load import add_ana
from tests.support.server import Server, at_once, processes, serving
from waypost.db.database import Database

_MAX_GROWTH = 64 << 20
_AT_ONCE = 8


@dataclass
class _Service:
    server: Server
    key: str
    worker: psutil.Process

    def upload(self, name: str, *, number: int = 0) -> Any:
        """Send a picture as the avatar of a bio page; return the response."""
        return self.send(*hostile_picture(name), number=number)

    def send(self, media: str, picture: bytes, *, number: int = 0) -> Any:
        """Send a picture of a media type as the avatar of a bio page; return the response."""
        url = f"data:image/{media};base64,{base64.b64encode(picture).decode()}"
        return self.server.call("POST", "/api/bio/add", key=self.key, json={"name": f"{number}", "avatar": url})


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[_Service]:
    """A service that has processed a picture before."""
    folder = tmp_path_factory.mktemp("service")
    shutil.copy(sqlite_template, folder)
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        key = database.write(add_ana)
    with serving(folder, workers=1) as server:
        (worker,), _ = processes(server)
        service = _Service(server, key, worker)
        assert service.send("jpeg", picture()).status_code == 200
        yield service


def _peak(worker: psutil.Process) -> int:
    status = Path(f"/proc/{worker.pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))


def _reset_peak(worker: psutil.Process) -> None:
    Path(f"/proc/{worker.pid}/clear_refs").write_text("5")


@pytest.mark.parametrize("name", HOSTILE_PICTURES)
def test_worker_does_not_grow_with_picture(service: _Service, name: str) -> None:
    before = service.worker.memory_info().rss
    _reset_peak(service.worker)
    response = service.upload(name)
    assert response.status_code in (200, 400), response.text
    assert response.status_code == 200 or response.json()["field"] == "avatar"
    assert _peak(service.worker) - before <= _MAX_GROWTH


def test_worker_does_not_grow_with_many_pictures_at_once(service: _Service) -> None:
    before = service.worker.memory_info().rss
    _reset_peak(service.worker)
    responses = at_once([lambda: service.upload("WebP") for _ in range(_AT_ONCE)])
    assert {response.status_code for response in responses} <= {200, 503}
    assert _peak(service.worker) - before <= _MAX_GROWTH
    assert len(service.worker.children()) == 1


def test_worker_does_not_grow_with_large_copies_of_small_pictures(service: _Service) -> None:
    picture = small_picture_with_large_copy()
    url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    body = {"name": "Many", "blocks": [{"type": "image", "picture": url}] * 60}
    before = service.worker.memory_info().rss
    _reset_peak(service.worker)
    response = service.server.call("POST", "/api/bio/add", key=service.key, json=body)
    assert (response.status_code, response.json()["field"]) == (400, "blocks")
    assert "copies of pictures" in response.json()["message"]
    assert _peak(service.worker) - before <= _MAX_GROWTH
