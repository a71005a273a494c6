"""Linktree: a page that a browser saved becomes a bio page.

Linktree has no documented export. Its pages contain their data as JSON, in the element with the id __NEXT_DATA__:
`props.pageProps.account` has the name, texts, links and profiles of the page. The JSON alone is read, too.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from waypost.core.errors import invalid
from waypost.transfer.imports.source_row import Record
from waypost.transfer.imports.sources import contact_cards
from waypost.transfer.imports.sources.fields import MAX_VALUES, Fields, parse_json

_SCRIPT = re.compile(rb"<script[^<>]{0,300}\bid=[\"']?__NEXT_DATA__\b[^<>]{0,300}>")
_END = b"</script"
_MAX_LINKS = 400  # a page here has at most 200 blocks
_HEADINGS = frozenset({"HEADER", "GROUP", "COLLECTION"})
_EMAIL = "EMAIL_ADDRESS"
_NETWORKS = {
    "APPLE_MUSIC": "Apple Music",
    "GITHUB": "GitHub",
    "LINKEDIN": "LinkedIn",
    "SOUNDCLOUD": "SoundCloud",
    "TIKTOK": "TikTok",
    "TWITTER": "X",
    "WHATSAPP": "WhatsApp",
    "YOUTUBE": "YouTube",
}
_PICTURES = ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/webp;base64,")
_NO_PAGE = "The file is not a saved page of Linktree. Open your page, save it as HTML, and import that file."


def is_page(value: Any) -> bool:
    """Return whether a JSON value is the data of a page."""
    return isinstance(value, Mapping) and "props" in value


def data_of_html(content: bytes) -> Any:
    """Return the data in a saved page. Raises INVALID on `file`."""
    start = _SCRIPT.search(content)
    end = content.find(_END, start.end()) if start else -1
    if start is None or end < 0:
        raise invalid("file", _NO_PAGE)
    return parse_json(content[start.end() : end], field="file", max_values=MAX_VALUES)


class LinktreeSource:
    """The page in a file, as one record."""

    name = "linktree"

    def __init__(self, value: Any) -> None:
        """Raises INVALID on `file`; `value` is the data of the page."""
        self._props = Fields(value).fields("props").fields("pageProps")
        self._account = self._props.fields("account")
        if "username" not in self._account:
            raise invalid("file", _NO_PAGE)
        self._title = self._account.text("pageTitle").strip() or self._account.text("username").strip()
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the page."""
        account = self._account
        username = account.text("username").strip()
        record = Record(1, kind="bio", alias=username.replace(".", "-"))
        record.source_id = account.text("id")
        record.created = account.second("createdAt")
        if record.alias != username:
            record.notes.append("Dots in the name of the page became -.")
        blocks = list(self._blocks(record))
        record.fields = {
            "name": self._title.removeprefix("@"),
            "title": self._title,
            "description": account.text("description").strip(),
            "sensitive": "contentWarning" in account or self._props.is_true("hasSensitiveContent"),
            "blocks": blocks,
        }
        record.blocks = [(0, 0, 0) for _ in blocks]
        if picture := self._picture(record):
            record.fields["avatar"] = picture
        yield record

    def _picture(self, record: Record) -> str:
        """Return the picture of the page if the file contains it."""
        pictures = [source.text("profilePictureUrl") for source in (self._account, self._props)]
        if any(pictures) and not any(map(_is_in_file, pictures)):
            record.losses.append("the picture is left out")
        return next(filter(_is_in_file, pictures), "")

    def _blocks(self, record: Record) -> Iterator[dict[str, Any]]:
        """Yield the links in their order, and the profiles where the page has them."""
        links = list(_in_order(self._account.items("links"))) or list(_in_order(self._props.items("links")))
        if len(links) > _MAX_LINKS:
            record.losses.append(f"only the first {_MAX_LINKS} of {len(links)} links are kept")
            del links[_MAX_LINKS:]
        profiles = [self._profile(record, profile) for profile in self._account.items("socialLinks")]
        is_top = self._account.text("socialLinksPosition") == "TOP"
        yield from profiles if is_top else ()
        for link in links:
            yield from _block(record, link)
        yield from () if is_top else profiles

    def _profile(self, record: Record, profile: Fields) -> dict[str, Any]:
        kind, url = profile.text("type"), profile.text("url").strip()
        if kind == _EMAIL or contact_cards.is_contact(url):
            return contact_cards.of_url(record, self._title, url, scheme="mailto" if kind == _EMAIL else "")
        return {
            "type": "social",
            "network": _NETWORKS.get(kind, kind.replace("_", " ").title()) or "Website",
            "url": url,
        }


def _in_order(links: Iterator[Fields]) -> Iterator[Fields]:
    """Yield links by their position; those of a group follow it."""
    ordered = sorted(links, key=lambda link: link.number("position"))
    tops = {link.text("id") for link in ordered if not _parent(link)} - {""}
    groups: dict[str, list[Fields]] = {}
    for link in ordered:
        groups.setdefault(_parent(link) if _parent(link) in tops else "", []).append(link)
    for link in groups.pop("", ()):
        yield link
        yield from groups.pop(link.text("id"), ())


def _parent(link: Fields) -> str:
    return link.fields("parent").text("id")


def _block(record: Record, link: Fields) -> Iterator[dict[str, Any]]:
    """Yield the block of a link; none for one without an address."""
    title, url = link.text("title").strip(), link.text("url").strip()
    name = title or url or link.text("type")
    if link.text("type") in _HEADINGS:
        yield {"type": "heading", "text": title}
        return
    if not url:
        record.losses.append(f"{name} has no address and is left out")
        return
    if contact_cards.is_contact(url):
        block = contact_cards.of_url(record, title, url)
    else:
        block = {"type": "link", "title": name, "url": url}
        thumbnail = link.text("thumbnail") or link.fields("modifiers").text("thumbnailUrl")
        if _is_in_file(thumbnail):
            block["thumbnail"] = thumbnail
        elif thumbnail:
            record.losses.append(f"the picture of {name} is left out")
    if "locked" in link or link.fields("rules").fields("gate").values("activeOrder"):
        block["hidden"] = True
        record.losses.append(f"{name} was locked there: its block is hidden")
    yield block


def _is_in_file(picture: str) -> bool:
    return picture.startswith(_PICTURES)
