"""Files as tests send and fetch them."""

from typing import Any
from urllib.parse import quote

from tests.conftest import Person

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf50000003830181"
    "a7a7a4b80000000049454e44ae426082"
)


def send(person: Person, file: str, content: Any = b"content", /, *, headers: Any = None, **query: Any) -> Any:
    """The response to an upload."""
    path = f"/files/upload/{quote(file, safe='')}"
    return person.call("POST", path, content=content, headers=headers or {}, params=query)


def new_file(person: Person, file: str, content: Any = b"content", /, **query: Any) -> int:
    """The id of a new file of that person."""
    made = send(person, file, content, **query)
    assert made.status_code == 200, made.text
    return int(made.json()["id"])
