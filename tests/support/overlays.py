"""Overlays of every type."""

from typing import Any

from tests.conftest import Person

OVERLAY_TYPES: dict[str, dict[str, Any]] = {
    "message": {"label": "See more", "link": "https://shop.example/"},
    "contact": {"button": "Write", "thanks": "We answer soon"},
    "poll": {"options": ["Red", "Blue"], "label": "Cast it"},
    "newsletter": {"button": "Sign me up"},
    "coupon": {"code": "SAVE-10"},
    "image": {"image": "https://pictures.example/x.png", "link": "https://shop.example/", "label": "A shop"},
}


def new_overlay(person: Person, kind: str, **fields: Any) -> int:
    """Create an overlay; return its id."""
    body = {"name": "An overlay", "type": kind, "message": "Two\nlines", **OVERLAY_TYPES[kind], **fields}
    return person.add("overlay", **body)
