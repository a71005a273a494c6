"""Prepare a bio page for its template: blocks, contact card, JSON, and the sources of its images. Pure functions."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from waypost.bios import blocks
from waypost.bios.blocks import Block
from waypost.bios.social_networks import find_network
from waypost.errors import Problem
from waypost.qrcode import payload_fields, vcard
from waypost.qrcode.payloads import Content
from waypost.urls.url_parts import origin_of
from waypost.visits.lookup import BioView

_MAX_IMAGE_ORIGINS = 20  # a policy with more of them would be a header that proxies reject
_NAME_FIELDS = frozenset({"fname", "lname", "org"})
_VALIDATORS = {
    "phone": payload_fields.phone,
    "cell": payload_fields.phone,
    "fax": payload_fields.phone,
    "email": payload_fields.email,
}


class LinkItem(NamedTuple):
    """A link. The items are tuples, which templates unpack fastest."""

    href: str
    title: str


class ProfileItem(NamedTuple):
    """A profile in a social network; `path` is the SVG path of its icon."""

    href: str
    path: str
    name: str


class TextItem(NamedTuple):
    """A heading or a text."""

    text: str


class ImageItem(NamedTuple):
    """An image; `href` is "" for one without a link."""

    href: str
    image: str
    alt: str


class ContactItem(NamedTuple):
    """A contact card to download."""

    href: str
    name: str
    title: str
    org: str


Item = LinkItem | ProfileItem | TextItem | ImageItem | ContactItem


class Section(NamedTuple):
    """Consecutive blocks of one type."""

    type: str
    items: Sequence[Item]


def heading(bio: BioView) -> str:
    """Return the title of the page."""
    return bio.title.strip() or bio.name


def sections(bio: BioView) -> list[Section]:
    """Return the page's blocks in order."""
    grouped = groupby(_visible_blocks(bio), key=lambda block: str(block["type"]))
    return [Section(kind, [_item(bio, block) for block in group]) for kind, group in grouped]


def image_sources(bio: BioView) -> str:
    """Return the sources of images for the page's policy: the origins of its image blocks."""
    images = (block["image"] for block in _visible_blocks(bio) if block["type"] == "image")
    origins = sorted(set(map(origin_of, images)) - {""})
    return " ".join(origins if len(origins) <= _MAX_IMAGE_ORIGINS else ("https:", "http:")) or "'none'"


def find_block(bio: BioView, segment: str) -> Block | None:
    """Return the block of a path segment: its id, or `vcard` for the first contact card. Hidden blocks have none."""
    shown = [block for block in bio.blocks if not block.get("hidden")]
    if segment == "vcard":
        return next((block for block in shown if block["type"] == "vcard"), None)
    return next((block for block in shown if "id" in block and str(block["id"]) == segment), None)


def contact_card(bio: BioView, block: Block) -> Content:
    """Return a contact card as a file. Invalid numbers and addresses are omitted; it always has a name."""
    values = {name: str(block.get(name, "")).strip() for name in vcard.CARD_FIELDS}
    for name, validate in _VALIDATORS.items():
        if values[name] and not _is_valid(validate, values[name]):
            values[name] = ""
    if not any(values[name] for name in _NAME_FIELDS):
        values["fname"] = heading(bio)
    text = vcard.vcard(values)
    return Content("vcard", text, file=text, name=vcard.name_in(text))


def as_json(bio: BioView, base: str) -> dict[str, Any]:
    """Return the page for programs."""
    url = f"{base}/{bio.alias}"
    items = []
    for block in _visible_blocks(bio):
        item = {name: value for name, value in block.items() if name not in ("id", "hidden")}
        items.append({**item, "visit": f"{url}/{block['id']}"} if "id" in block else item)
    fields = {"title": heading(bio), "description": bio.description, "sensitive": bio.sensitive}
    return {"error": 0, "shorturl": url, **fields, "blocks": items}


def _visible_blocks(bio: BioView) -> list[Block]:
    """Return the blocks without hidden ones and those that contain blocked URLs (visits.lookup)."""
    return [block for block in bio.blocks if not block.get("hidden") and "blocked" not in block]


def _item(bio: BioView, block: Block) -> Item:
    href = f"/{bio.alias}/{block['id']}" if "id" in block else ""
    match block["type"]:
        case "link":
            return LinkItem(href, block["title"])
        case "social":
            network = find_network(block["network"])
            return ProfileItem(href, network.path, network.name)
        case "image":
            return ImageItem(href, block["image"], block.get("alt") or _default_alt(blocks.url_of(block)))
        case "vcard":
            name = blocks.title_of(block) or heading(bio)
            org = block.get("org", "")
            return ContactItem(href, name, block.get("title", ""), org if org != name else "")
        case _:
            return TextItem(block["text"])


def _default_alt(url: str) -> str:
    """Return the alternative text of an image without one: the host that it links to."""
    return url.partition("://")[2].partition("/")[0] or url


def _is_valid(validate: Any, value: str) -> bool:
    try:
        validate(value)
    except Problem:
        return False
    return True
