"""What stands on a bio page: its blocks made ready for the template, its card, and what it may load. Pure."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from waypost.bios import blocks
from waypost.bios.blocks import Block
from waypost.errors import Problem
from waypost.net import targets
from waypost.qr import cards, parts
from waypost.qr.payloads import Content
from waypost.visits.find import Bio
from waypost.visits.networks import network

_MOST_HOSTS = 20  # a policy that names more would be a header that proxies refuse
_NAMES = frozenset({"fname", "lname", "org"})
_CHECKED = {"phone": parts.phone, "cell": parts.phone, "fax": parts.phone, "email": parts.email}


@dataclass(frozen=True)
class Section:
    """Blocks of one kind that follow each other, each with what the template needs of it."""

    type: str
    blocks: Sequence[Mapping[str, Any]]


def heading(bio: Bio) -> str:
    """What the page is called."""
    return bio.title.strip() or bio.name


def avatar(name: str, seed: str) -> dict[str, Any]:
    """A drawn picture: the first letter of a name on a colour that belongs to `seed`."""
    letter = next((letter for letter in name if letter.isalnum()), name[:1])
    return {"letter": letter.upper()[:1], "hue": zlib.crc32(seed.casefold().encode(errors="replace")) % 360}


def sections(bio: Bio) -> list[Section]:
    """The page in its order."""
    shown = (_shown(bio, block) for block in bio.blocks)
    return [Section(kind, list(found)) for kind, found in groupby(shown, key=lambda block: str(block["type"]))]


def policy(bio: Bio) -> str:
    """Where pictures may come from: the hosts of the image blocks and nowhere else."""
    found = sorted({_source(block["image"]) for block in bio.blocks if block["type"] == "image"} - {""})
    return " ".join(found if len(found) <= _MOST_HOSTS else ("https:", "http:")) or "'none'"


def block_of(bio: Bio, part: str) -> Block | None:
    """The block that the second part of a path means: its id, or `vcard` for the first card."""
    if part == "vcard":
        return next((block for block in bio.blocks if block["type"] == "vcard"), None)
    return next((block for block in bio.blocks if "id" in block and str(block["id"]) == part), None)


def card(bio: Bio, block: Block) -> Content:
    """The card as a file. What is no telephone number or address in it is left out, and a name is there always."""
    told = {name: str(block.get(name, "")).strip() for name in cards.CARD_FIELDS}
    for name, check in _CHECKED.items():
        if told[name] and not _is_good(check, told[name]):
            told[name] = ""
    if not any(told[name] for name in _NAMES):
        told["fname"] = heading(bio)
    text = cards.vcard(told)
    return Content("vcard", text, file=text, name=cards.name_in(text))


def told(bio: Bio, base: str) -> dict[str, Any]:
    """The page for programs."""
    url = f"{base}/{bio.alias}"
    listed = []
    for block in bio.blocks:
        plain = {name: value for name, value in block.items() if name != "id"}
        listed.append({**plain, "visit": f"{url}/{block['id']}"} if "id" in block else plain)
    same = {"title": heading(bio), "description": bio.description, "sensitive": bio.sensitive}
    return {"error": 0, "shorturl": url, **same, "blocks": listed}


def size(bio: Bio) -> int:
    """About how much memory a page takes, in characters."""
    return len(bio.description) + sum(len(str(value)) for block in bio.blocks for value in block.values())


def _shown(bio: Bio, block: Block) -> dict[str, Any]:
    href = f"/{bio.alias}/{block['id']}" if "id" in block else ""
    shown = {**block, "href": href}
    if block["type"] == "social":
        shown["network"] = network(block["network"])
    elif block["type"] == "image" and href:
        shown["goes"] = blocks.target_of(block).partition("://")[2].partition("/")[0] or blocks.target_of(block)
    elif block["type"] == "vcard":
        shown["name"] = blocks.name_of(block) or heading(bio)
        about = (block.get("title", ""), block.get("org", "") if block.get("org") != shown["name"] else "")
        shown["about"] = [part for part in about if part]
    return shown


def _source(url: str) -> str:
    """The origin of a picture as a policy says it; "" for what a policy cannot say."""
    parts_of = urlsplit(url)
    host = targets.ascii_host(parts_of.hostname or "") or ""
    if not host or ":" in host:
        return ""
    return f"{parts_of.scheme.lower()}://{host}" + (f":{parts_of.port}" if parts_of.port else "")


def _is_good(check: Any, value: str) -> bool:
    try:
        check(value)
    except Problem:
        return False
    return True
