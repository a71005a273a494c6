"""What stands on a bio page: its blocks made ready for the template, its card, and what it may load. Pure."""

import zlib
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from waypost.bios import blocks
from waypost.bios.blocks import Block
from waypost.bios.social_networks import network
from waypost.errors import Problem
from waypost.qrcode import payload_fields, vcard
from waypost.qrcode.payloads import Content
from waypost.urls import validation
from waypost.visits.lookup import BioView

_MOST_HOSTS = 20  # a policy that names more would be a header that proxies refuse
_NAMES = frozenset({"fname", "lname", "org"})
_CHECKED = {
    "phone": payload_fields.phone,
    "cell": payload_fields.phone,
    "fax": payload_fields.phone,
    "email": payload_fields.email,
}


class Linked(NamedTuple):
    """A link as the template needs it. These are tuples, which a template takes apart at the least cost."""

    href: str
    title: str


class Profile(NamedTuple):
    """A profile in a network; `path` is the outline of its picture."""

    href: str
    path: str
    name: str


class Words(NamedTuple):
    """A heading or a text."""

    text: str


class Picture(NamedTuple):
    """A picture; `href` is "" for one that leads nowhere."""

    href: str
    image: str
    alt: str


class Contact(NamedTuple):
    """A card that can be taken."""

    href: str
    name: str
    title: str
    org: str


Shown = Linked | Profile | Words | Picture | Contact


class Section(NamedTuple):
    """Blocks of one kind that follow each other."""

    type: str
    blocks: Sequence[Shown]


def heading(bio: BioView) -> str:
    """What the page is called."""
    return bio.title.strip() or bio.name


def avatar(name: str, seed: str) -> dict[str, Any]:
    """A drawn picture: the first letter of a name on a colour that belongs to `seed`."""
    letter = next((letter for letter in name if letter.isalnum()), name[:1])
    return {"letter": letter.upper()[:1], "hue": zlib.crc32(seed.casefold().encode(errors="replace")) % 360}


def sections(bio: BioView) -> list[Section]:
    """The page in its order."""
    grouped = groupby(_seen(bio), key=lambda block: str(block["type"]))
    return [Section(kind, [_shown(bio, block) for block in found]) for kind, found in grouped]


def policy(bio: BioView) -> str:
    """Where pictures may come from: the hosts of the image blocks and nowhere else."""
    found = sorted({_source(block["image"]) for block in _seen(bio) if block["type"] == "image"} - {""})
    return " ".join(found if len(found) <= _MOST_HOSTS else ("https:", "http:")) or "'none'"


def block_of(bio: BioView, part: str) -> Block | None:
    """The block that the second part of a path means: its id, or `vcard` for the first card."""
    if part == "vcard":
        return next((block for block in bio.blocks if block["type"] == "vcard"), None)
    return next((block for block in bio.blocks if "id" in block and str(block["id"]) == part), None)


def card(bio: BioView, block: Block) -> Content:
    """The card as a file. What is no telephone number or address in it is left out, and a name is there always."""
    told = {name: str(block.get(name, "")).strip() for name in vcard.CARD_FIELDS}
    for name, check in _CHECKED.items():
        if told[name] and not _is_good(check, told[name]):
            told[name] = ""
    if not any(told[name] for name in _NAMES):
        told["fname"] = heading(bio)
    text = vcard.vcard(told)
    return Content("vcard", text, file=text, name=vcard.name_in(text))


def told(bio: BioView, base: str) -> dict[str, Any]:
    """The page for programs."""
    url = f"{base}/{bio.alias}"
    listed = []
    for block in _seen(bio):
        plain = {name: value for name, value in block.items() if name != "id"}
        listed.append({**plain, "visit": f"{url}/{block['id']}"} if "id" in block else plain)
    same = {"title": heading(bio), "description": bio.description, "sensitive": bio.sensitive}
    return {"error": 0, "shorturl": url, **same, "blocks": listed}


def _seen(bio: BioView) -> list[Block]:
    """The blocks, but for those that the operator has blocked (see cleaned.py)."""
    return [block for block in bio.blocks if "blocked" not in block]


def _shown(bio: BioView, block: Block) -> Shown:
    href = f"/{bio.alias}/{block['id']}" if "id" in block else ""
    match block["type"]:
        case "link":
            return Linked(href, block["title"])
        case "social":
            known = network(block["network"])
            return Profile(href, known.path, known.name)
        case "image":
            return Picture(href, block["image"], block.get("alt") or _place(blocks.target_of(block)))
        case "vcard":
            name = blocks.name_of(block) or heading(bio)
            org = block.get("org", "")
            return Contact(href, name, block.get("title", ""), org if org != name else "")
        case _:
            return Words(block["text"])


def _place(url: str) -> str:
    """What a picture says of where it leads, when nobody described it."""
    return url.partition("://")[2].partition("/")[0] or url


def _source(url: str) -> str:
    """The origin of a picture as a policy says it; "" for what a policy cannot say."""
    parts_of = urlsplit(url)
    host = validation.ascii_host(parts_of.hostname or "") or ""
    if not host or ":" in host:
        return ""
    return f"{parts_of.scheme.lower()}://{host}" + (f":{parts_of.port}" if parts_of.port else "")


def _is_good(check: Any, value: str) -> bool:
    try:
        check(value)
    except Problem:
        return False
    return True
