"""Prepare a bio page for its template: blocks, contact card, JSON, and the sources of its images. Pure functions.

Those that take a page expect the blocks of `shown_at`, except for `find_block`.

A page loads its pictures, and runs one script, whose hash allows it and no other. A page with players can frame those,
which its script does when the visitor presses play.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

from waypost.core.errors import Problem
from waypost.http.picture_headers import Size
from waypost.items.bios import blocks, embeds, pictures
from waypost.items.bios.blocks import Block
from waypost.items.bios.form_blocks import PageForm
from waypost.items.bios.profile_urls import find_network
from waypost.media.qrcode import vcard
from waypost.media.qrcode.payloads import Content
from waypost.urls.url_parts import origin_of
from waypost.visits import responses
from waypost.visits.record_queries import BioView
from waypost.visits.responses import PAGE_HEADERS

_MAX_IMAGE_ORIGINS = 20  # a policy with more of them would be a header that proxies reject
_PRIVATE_FIELDS = frozenset({"id", "hidden", "showfrom", "showuntil"})
_NAME_FIELDS = frozenset({"fname", "lname", "org"})


class LinkItem(NamedTuple):
    """A link; `thumbnail` is the URL of its picture or "". The items are tuples, which templates unpack fastest."""

    href: str
    title: str
    thumbnail: str


class ProfileItem(NamedTuple):
    """A profile in a social network; `path` is the SVG path of its icon."""

    href: str
    path: str
    name: str


class TextItem(NamedTuple):
    """A heading or a text."""

    text: str


class ImageItem(NamedTuple):
    """An image; `href` is "" for one without a link. `size` is that of an uploaded one; others are not known."""

    href: str
    image: str
    alt: str
    size: Size | None


class EmbedItem(NamedTuple):
    """A player that is not loaded yet; `shape` is that of embeds.Player."""

    href: str
    title: str
    service: str
    shape: str


class FormItem(NamedTuple):
    """A form; `form` is that of an overlay."""

    form: PageForm


class ContactItem(NamedTuple):
    """A contact card to download."""

    href: str
    name: str
    title: str
    org: str


Item = LinkItem | ProfileItem | TextItem | ImageItem | EmbedItem | FormItem | ContactItem


class Section(NamedTuple):
    """Consecutive blocks of one type."""

    type: str
    items: Sequence[Item]


def shown_at(bio: BioView, now: int) -> BioView:
    """Return the page with the blocks that visitors see at a time: known, not hidden, in schedule, no blocked URL."""
    known = filter(blocks.is_known, bio.blocks)
    shown = [block for block in known if blocks.is_shown(block, now) and "blocked" not in block]
    return replace(bio, blocks=shown)


def sections(bio: BioView, forms: Mapping[int, PageForm]) -> list[Section]:
    """Return the page's blocks in order. Blocks whose form is not in `forms` are omitted."""
    shown = [block for block in bio.blocks if block["type"] != "form" or int(block["overlay"]) in forms]
    grouped = groupby(shown, key=lambda block: str(block["type"]))
    return [Section(kind, [_item(bio, block, forms) for block in group]) for kind, group in grouped]


def image_origins(bio: BioView) -> list[str]:
    """Return the origins of the page's image blocks; all origins if there are many."""
    images = (block.get("image", "") for block in bio.blocks if block["type"] == "image" and not block.get("picture"))
    origins = sorted(set(map(origin_of, images)) - {""})
    return origins if len(origins) <= _MAX_IMAGE_ORIGINS else ["https:", "http:"]


def frame_origins(bio: BioView) -> list[str]:
    """Return the origins of the page's players."""
    players = (embeds.find_player(block["url"]) for block in bio.blocks if block["type"] == "embed")
    return sorted({player.origin for player in players if player})


def picture_names(bio: BioView) -> set[str]:
    """Return the names of the pictures that visitors see."""
    return pictures.names_of(bio.avatar, bio.design, bio.blocks)


def find_block(bio: BioView, segment: str, now: int) -> Block | None:
    """Return the block of a path segment: its id, or `vcard` for the first contact card. Hidden blocks have none."""
    shown = [block for block in bio.blocks if blocks.is_known(block) and blocks.is_shown(block, now)]
    if segment == "vcard":
        return next((block for block in shown if block["type"] == "vcard"), None)
    return next((block for block in shown if "id" in block and str(block["id"]) == segment), None)


def contact_card(bio: BioView, block: Block) -> Content:
    """Return a contact card as a file. Invalid parts, stored before they were checked, are omitted."""
    values = {name: str(block.get(name, "")).strip() for name in vcard.CARD_FIELDS}
    for name in vcard.CHECKED_FIELDS:
        if values[name] and not _is_valid(name, values[name]):
            values[name] = ""
    if not any(values[name] for name in _NAME_FIELDS):
        values["fname"] = bio.heading
    text = vcard.vcard(values)
    return Content("vcard", text, file=text, name=vcard.name_in(text))


def as_json(bio: BioView, base: str) -> dict[str, Any]:
    """Return the page for programs."""
    url = f"{base}/{bio.alias}"
    items = []
    for block in bio.blocks:
        item = {name: value for name, value in block.items() if name not in _PRIVATE_FIELDS}
        items.append({**item, "visit": f"{url}/{block['id']}"} if "id" in block else item)
    avatar = pictures.url_of(bio.avatar, url)
    fields = {"title": bio.heading, "description": bio.description, "avatar": avatar, "sensitive": bio.sensitive}
    return {"error": 0, "shorturl": url, **fields, "blocks": pictures.with_urls(items, url)}


def _item(bio: BioView, block: Block, forms: Mapping[int, PageForm]) -> Item:
    href = f"/{bio.alias}/{block['id']}" if "id" in block else ""
    item: Item
    match block["type"]:
        case "link":
            item = LinkItem(href, block["title"], pictures.url_of(block.get("thumbnail", ""), f"/{bio.alias}"))
        case "social":
            network = find_network(block["network"])
            item = ProfileItem(href, network.path, network.name)
        case "image":
            image = pictures.url_of(block.get("picture", ""), f"/{bio.alias}") or block.get("image", "")
            alt = block.get("alt") or _default_alt(blocks.url_of(block))
            item = ImageItem(href, image, alt, bio.picture_sizes.get(block.get("picture", "")))
        case "embed":
            player = embeds.find_player(block["url"])
            service, shape = (player.service, player.shape) if player else ("", "link")
            item = EmbedItem(href, block.get("title") or service or block["url"], service, shape)
        case "form":
            item = FormItem(forms[int(block["overlay"])])
        case "vcard":
            name = blocks.title_of(block) or bio.heading
            org = block.get("org", "")
            item = ContactItem(href, name, block.get("title", ""), org if org != name else "")
        case _:
            item = TextItem(block["text"])
    return item


def _default_alt(url: str) -> str:
    """Return the alternative text of an image without one: the host that it links to."""
    return url.partition("://")[2].partition("/")[0] or url


def _is_valid(name: str, value: str) -> bool:
    try:
        vcard.checked(name, value)
    except Problem:
        return False
    return True


def page_script() -> str:
    """Return the script of the page."""
    return responses.script("bio.js")


@cache
def _script_hash() -> str:
    return base64.b64encode(hashlib.sha256(page_script().encode()).digest()).decode()


def page_headers(bio: BioView) -> Mapping[str, str]:
    """Return the headers of a page, whose blocks are those of `view.shown_at`."""
    sources = ["data:", "'self'", *image_origins(bio)]
    frames = frame_origins(bio)
    directives = [f"script-src 'sha256-{_script_hash()}'", f"img-src {' '.join(sources)};"]
    if frames:
        directives.insert(0, f"frame-src 'self' {' '.join(frames)}")
    policy = PAGE_HEADERS["Content-Security-Policy"].replace("img-src data:;", "; ".join(directives))
    return {**PAGE_HEADERS, "Content-Security-Policy": policy}
