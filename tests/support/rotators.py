"""A campaign whose rotator is `/r/spring`, and visits to it."""

from typing import Any

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.visits import new_link, visit


def new_campaign(person: Person, **fields: Any) -> int:
    """Create a campaign; return its id."""
    return person.add("campaign", **{"slug": "spring", **fields})


def add_links(person: Person, campaign: int, *aliases: str, **fields: Any) -> list[int]:
    """Add links to a campaign, each with the destination `https://example.com/<alias>`; return their ids."""
    return [
        new_link(person, alias, url=f"https://example.com/{alias}", campaign=campaign, **fields) for alias in aliases
    ]


def rotated_to(service: AsgiClient, **options: Any) -> str:
    """Visit the rotator; return the destination's path and query."""
    response = visit(service, "r/spring", **options)
    assert (response.status_code, response.headers["cache-control"]) == (302, "private, no-store")
    return str(response.headers["location"].removeprefix("https://example.com/"))
