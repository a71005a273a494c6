"""Helpers for bio pages: blocks of all types, and visits of a page and of its blocks."""

import base64
from io import BytesIO
from typing import Any

from PIL import Image

from tests.conftest import Person
from tests.support.html import open_page
from tests.support.overlays import new_overlay
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

FORM_BLOCKS: list[dict[str, str]] = [
    {"type": "link", "title": "Shop", "url": "https://shop.example/"},
    {"type": "heading", "text": "Hello"},
    {"type": "text", "text": "One\nTwo"},
    {"type": "image", "image": "https://pictures.example/a.png", "link": "https://example.com/", "alt": "A cat"},
    {"type": "social", "network": "Mastodon", "url": "https://mastodon.example/@ana"},
    {"type": "vcard", "fname": "Ana", "email": "ana@example.com"},
]
"""One block of each type, as the builder's form sends them."""


def new_bio(person: Person, alias: str = "ana-costa", **fields: Any) -> int:
    """Create a bio page and return its id."""
    return person.add("bio", **{"name": "My page", "alias": alias, "blocks": list(BLOCKS), **fields})


def new_bio_with_all_parts(person: Person, alias: str = "ana-costa", **fields: Any) -> int:
    """Create a page with a picture in every place, a form and a scheduled block; return its id."""
    parts = {
        "avatar": picture_url(),
        "design": {"background": "#fff4e0", "picture": picture_url("#c8d4a0")},
        "blocks": [
            {"type": "link", "title": "Shop", "url": SHOP, "thumbnail": picture_url("#0b5c92")},
            {"type": "link", "title": "Blog", "url": "https://example.com/blog", "thumbnail": picture_url("#445566")},
            {"type": "form", "overlay": new_overlay(person, "newsletter")},
            {
                "type": "link",
                "title": "Sale",
                "url": "https://example.com/sale",
                "showfrom": "2020-01-01 00:00:00",
                "showuntil": "2999-12-31 23:59:59",
            },
        ],
    }
    return new_bio(person, alias, **{**parts, **fields})


def state_of(person: Person, bio: int) -> tuple[Any, dict[str, bytes]]:
    """Return the response of the API with ids and clicks of blocks, and the pictures that visitors get, by URL."""
    answer = person.get(f"/bio/{bio}")
    details = answer["details"]
    thumbnails = [block["thumbnail"] for block in details["blocks"] if block.get("thumbnail")]
    urls = [details["avatar"], details["design"]["picture"], *thumbnails]
    return answer, {url: _served_picture(person, url) for url in urls}


def _served_picture(person: Person, url: str) -> bytes:
    response = visit(person.client, url)
    opened(response)
    return bytes(response.content)


def open_bio(person: Person, alias: str = "ana-costa", **options: Any) -> Any:
    """Open a bio page as a browser does and return the response."""
    return open_page(person, alias, **options).response


def follow(person: Person, bio: int, title: str, **options: Any) -> Any:
    """Follow the block with this title and return the response."""
    page = person.get(f"/bio/{bio}")
    block = next(block for block in page["blocks"] if block["title"] == title)
    return visit(person.client, f"{page['details']['alias']}/{block['id']}", **options)


def clicks_of(person: Person, bio: int) -> dict[str, tuple[int, int]]:
    """Return (clicks, unique clicks) of every clicked block by its title."""
    return {
        block["title"]: (block["clicks"], block["uniqueClicks"])
        for block in person.get(f"/bio/{bio}")["blocks"]
        if block["clicks"]
    }


def picture(color: str = "#b02a4c", size: tuple[int, int] = (600, 400), kind: str = "JPEG") -> bytes:
    """Return a picture of one color as a file."""
    out = BytesIO()
    Image.new("RGB", size, color).save(out, kind)
    return out.getvalue()


def picture_url(color: str = "#b02a4c", size: tuple[int, int] = (600, 400)) -> str:
    """Return a picture as a `data:` URL."""
    return "data:image/jpeg;base64," + base64.b64encode(picture(color, size)).decode()


def opened(response: Any) -> Image.Image:
    """Return the picture in a response, decoded."""
    assert response.status_code == 200, response.text
    return Image.open(BytesIO(response.content)).convert("RGBA")
