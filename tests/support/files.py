"""Upload and download files through the API and public URLs."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.conftest import Person
from tests.support.visits import ACCEPT_HTML, CHROME, CURL, visit

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf50000003830181"
    "a7a7a4b80000000049454e44ae426082"
)
CONTENT = bytes(range(256)) * 40


def upload(person: Person, file: str, content: Any = b"content", /, *, headers: Any = None, **query: Any) -> Any:
    """Upload a file; return the response."""
    path = f"/files/upload/{quote(file, safe='')}"
    return person.call("POST", path, content=content, headers=headers or {}, params=query)


def new_file(person: Person, file: str, content: Any = b"content", /, **query: Any) -> int:
    """Upload a file; return its id."""
    response = upload(person, file, content, **query)
    assert response.status_code == 200, response.text
    return int(response.json()["id"])


def download(service: Any, path: str = "mine", *, agent: str = CURL, **headers: str) -> Any:
    """Request a file as a program does."""
    return visit(service, path, agent=agent, headers=headers)


def open_page(service: Any, path: str = "mine", **headers: str) -> Any:
    """Request a file as a browser does."""
    return visit(service, path, agent=CHROME, headers={**ACCEPT_HTML, **headers})


def downloads_left(person: Person, file: int) -> int:
    """Return how many downloads a file with a limit has left."""
    details = person.details("file", file)
    return int(details["maxdownloads"] - details["downloads"])


def objects(folder: Path) -> list[Path]:
    """Return the paths of all stored objects in a data folder."""
    return [path for path in (folder / "files").rglob("*") if path.is_file()]
