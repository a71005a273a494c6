"""A bio page with blocks of every kind, and visitors who open it and follow its blocks."""

from typing import Any

from tests.conftest import Person
from tests.support.html import walk
from tests.support.visits import visit

SHOP, MASTODON = "https://example.com/shop?a=b#c", "https://example.social/@ana"
BLOCKS: tuple[dict[str, Any], ...] = (
    {"type": "link", "title": "Shop", "url": SHOP},
    {"type": "link", "title": "Blog", "url": "https://example.com/blog"},
    {"type": "heading", "text": "About me"},
    {"type": "text", "text": "Two\nlines"},
    {"type": "image", "image": "https://pictures.example:8443/a.png", "link": "https://example.com/gallery"},
    {"type": "image", "image": "http://other.example/b.png", "alt": "A cat"},
    {"type": "social", "network": "mastodon", "url": MASTODON},
    {"type": "vcard", "fname": "Ana", "lname": "Costa", "org": "Costa & Co", "email": "ana@example.com"},
)


def new_bio(person: Person, alias: str = "ana-costa", **fields: Any) -> int:
    """The id of a new bio page of that person."""
    return int(person.post("/bio/add", {"name": "My page", "alias": alias, "blocks": list(BLOCKS), **fields})["id"])


def open_bio(person: Person, alias: str = "ana-costa", **options: Any) -> Any:
    """What a browser gets that asks for a bio page."""
    return walk(person, alias, **options).response


def follow(person: Person, bio: int, title: str, **options: Any) -> Any:
    """What a visitor gets who follows the block of a page that has this title."""
    shown = person.get(f"/bio/{bio}")
    block = next(block for block in shown["blocks"] if block["title"] == title)
    return visit(person.client, f"{shown['details']['alias']}/{block['id']}", **options)


def clicks_of(person: Person, bio: int) -> dict[str, tuple[int, int]]:
    """(clicks, distinct visitors) of every block that has any, by its title."""
    return {
        block["title"]: (block["clicks"], block["uniqueClicks"])
        for block in person.get(f"/bio/{bio}")["blocks"]
        if block["clicks"]
    }
