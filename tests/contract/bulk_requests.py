"""Bulk requests of a person."""

from collections.abc import Sequence
from typing import Any

from tests.conftest import Person


def bulk(person: Person, *items: Any, **fields: Any) -> list[dict[str, Any]]:
    """Return the results of a bulk request that must succeed."""
    results: list[dict[str, Any]] = person.post("/bulk", {"items": list(items), **fields})["results"]
    assert len(results) == len(items)
    return results


def update_links(person: Person, links: Sequence[int], fields: Sequence[Any]) -> list[dict[str, Any]]:
    """Change links with one bulk request."""
    pairs = zip(links, fields, strict=True)
    return bulk(person, *({"action": "update", "noun": "url", "id": link, "fields": each} for link, each in pairs))
