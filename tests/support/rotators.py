"""A campaign whose rotator is `/r/spring`, its links, and visitors who are sent to one of them."""

from typing import Any

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.visits import new_link, visit


def new_campaign(person: Person, **fields: Any) -> int:
    """The id of a new campaign."""
    return int(person.post("/campaign/add", {"slug": "spring", **fields})["id"])


def fill(person: Person, campaign: int, *names: str, **fields: Any) -> list[int]:
    """Links called so, each leading to its own name."""
    return [new_link(person, name, url=f"https://example.com/{name}", campaign=campaign, **fields) for name in names]


def goes(service: Inside, **options: Any) -> str:
    """Where the rotator sends a visitor, without the site."""
    answer = visit(service, "r/spring", **options)
    assert (answer.status_code, answer.headers["cache-control"]) == (302, "private, no-store")
    return str(answer.headers["location"].removeprefix("https://example.com/"))
