"""Files as tests send and fetch them."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.conftest import Person
from tests.support.visits import CHROME, CURL, PAGE, visit

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf50000003830181"
    "a7a7a4b80000000049454e44ae426082"
)
CONTENT = bytes(range(256)) * 40


def send(person: Person, file: str, content: Any = b"content", /, *, headers: Any = None, **query: Any) -> Any:
    """The response to an upload."""
    path = f"/files/upload/{quote(file, safe='')}"
    return person.call("POST", path, content=content, headers=headers or {}, params=query)


def new_file(person: Person, file: str, content: Any = b"content", /, **query: Any) -> int:
    """The id of a new file of that person."""
    made = send(person, file, content, **query)
    assert made.status_code == 200, made.text
    return int(made.json()["id"])


def fetch(service: Any, path: str = "mine", *, agent: str = CURL, **headers: str) -> Any:
    """What a program gets."""
    return visit(service, path, agent=agent, headers=headers)


def browse(service: Any, path: str = "mine", **headers: str) -> Any:
    """What a browser gets."""
    return visit(service, path, agent=CHROME, headers={**PAGE, **headers})


def downloads_left(person: Person, file: int) -> int:
    """How often a file of that person may still be fetched, where that is limited."""
    details = person.get(f"/file/{file}")["details"]
    return int(details["maxdownloads"] - details["downloads"])


def objects(folder: Path) -> list[Path]:
    """Where the bytes of all files are that are in a data folder."""
    return [path for path in (folder / "files").rglob("*") if path.is_file()]
