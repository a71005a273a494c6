"""Pages of Linktree and LinkStack become bio pages. Their e-mail addresses and phone numbers become contact cards.

Linktree has no documented export. Its pages contain their data as JSON, in the element with the id __NEXT_DATA__:
`props.pageProps.account` has the name, texts, links and profiles of the page. The JSON alone is read, too.
The file of LinkStack is that of *Export all data*.
"""

import html
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

from waypost.core.errors import Problem, invalid
from waypost.media.qrcode import vcard
from waypost.transfer.imports.source_row import Record
from waypost.transfer.imports.sources.fields import MAX_VALUES, Fields, parse_json

_LINKTREE_SCRIPT = re.compile(rb"<script[^<>]{0,300}\bid=[\"']?__NEXT_DATA__\b[^<>]{0,300}>")
_LINKTREE_SCRIPT_END = b"</script"
_MAX_LINKS = 400  # a page here has at most 200 blocks
_HEADINGS = frozenset({"HEADER", "GROUP", "COLLECTION"})
_EMAIL = "EMAIL_ADDRESS"
_LINKTREE_NETWORKS = {
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
_MAX_NAME, _MAX_TEXT, _MAX_CARD = 1000, 5000, 65_536
"""Characters of texts that are read. The parser of HTML needs quadratic time for tags without an end."""
_HEADING, _SPACES, _TEXT, _ICON, _CARD = 42, (43, 47), 93, 94, 96
_CONTACT_SCHEMES = {6: "mailto", 44: "tel"}
_CUSTOM = (1, 2)
_DEFAULT_THEME = "default"
_CARD_FIELDS = {
    "first_name": "fname", "last_name": "lname", "organization": "org", "vtitle": "title", "work_phone": "phone",
    "cell_phone": "cell", "home_phone": "phone", "email": "email", "work_url": "site",
    "work_address_street": "street", "work_address_city": "city", "work_address_state": "state",
    "work_address_zip": "zip", "work_address_country": "country",
}  # fmt: skip
_LINKSTACK_NETWORKS = {8: "Discord"}
_CARD_FIELD_BY_SCHEME = {"mailto": "email", "tel": "phone"}


def is_linktree_page(value: Any) -> bool:
    """Return whether a JSON value is the data of a page."""
    return isinstance(value, Mapping) and "props" in value


def linktree_data(content: bytes) -> Any:
    """Return the data in a saved page. Raises INVALID on `file`."""
    start = _LINKTREE_SCRIPT.search(content)
    end = content.find(_LINKTREE_SCRIPT_END, start.end()) if start else -1
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
            yield from _linktree_blocks(record, link)
        yield from () if is_top else profiles

    def _profile(self, record: Record, profile: Fields) -> dict[str, Any]:
        kind, url = profile.text("type"), profile.text("url").strip()
        if kind == _EMAIL or _is_contact(url):
            return _card_of_url(record, self._title, url, scheme="mailto" if kind == _EMAIL else "")
        return {
            "type": "social",
            "network": _LINKTREE_NETWORKS.get(kind, kind.replace("_", " ").title()) or "Website",
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


def _linktree_blocks(record: Record, link: Fields) -> Iterator[dict[str, Any]]:
    """Yield the block of a link; none for one without an address."""
    title, url = link.text("title").strip(), link.text("url").strip()
    name = title or url or link.text("type")
    if link.text("type") in _HEADINGS:
        yield {"type": "heading", "text": title}
        return
    if not url:
        record.losses.append(f"{name} has no address and is left out")
        return
    if _is_contact(url):
        block = _card_of_url(record, title, url)
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


class LinkStackSource:
    """The page of each LinkStack account in a file, as one record."""

    name = "linkstack"

    def __init__(self, value: Any) -> None:
        """Raises INVALID on `file`; `value` is the JSON of the file."""
        self._accounts = [Fields(item) for item in (value if isinstance(value, list) else [value])]
        if not any("littlelink_name" in account for account in self._accounts):
            raise invalid(
                "file", "The file is JSON, but no export of LinkStack or Linktree. Links are imported as CSV."
            )
        self.ignored = ["image_data"] if any("image_data" in account for account in self._accounts) else []

    def __iter__(self) -> Iterator[Record]:
        """Yield the page of each account."""
        for line, account in enumerate(self._accounts, 1):
            yield self._page(line, account)

    def _page(self, line: int, account: Fields) -> Record:
        record = Record(line, kind="bio", alias=account.text("littlelink_name").strip().lstrip("@"))
        record.source_id = account.text("id")
        record.created = account.second("created_at")
        name = _plain(account.text("name"), _MAX_NAME) or record.alias
        links = sorted(account.items("links"), key=lambda link: link.number("order"))
        if len(links) > _MAX_LINKS:
            record.losses.append(f"only the first {_MAX_LINKS} of {len(links)} links are kept")
            del links[_MAX_LINKS:]
        blocks = [(block, link.number("click_number")) for link in links for block in _linkstack_blocks(record, link)]
        record.fields = {
            "name": name,
            "title": name,
            "description": _plain(account.text("littlelink_description"), _MAX_TEXT),
            "blocks": [block for block, _ in blocks],
        }
        record.blocks = [(0, clicks, 0) for _, clicks in blocks]
        if "image_data" in account:
            record.losses.append("the picture is left out")
        if account.text("theme") not in ("", _DEFAULT_THEME):
            record.losses.append(f"the theme {account.text('theme')} is left out")
        if not record.alias:
            record.problem = "littlelink_name is missing."
        if account.text("block") == "yes":
            record.problem = "The account was blocked there."
        return record


def _linkstack_blocks(record: Record, link: Fields) -> Iterator[dict[str, Any]]:
    """Yield the block of a link; none for a space."""
    button, url = link.number("button_id"), link.text("link").strip()
    title = _plain(link.text("title"), _MAX_TEXT if button == _TEXT else _MAX_NAME)
    if link.text("custom_css"):
        record.losses.append(f"the custom CSS of {title or url} is left out")
    if button in _SPACES:
        record.losses.append("a space is left out")
        return
    if button == _HEADING:
        yield {"type": "heading", "text": title}
    elif button == _TEXT:
        yield {"type": "text", "text": title}
    elif button == _CARD:
        yield _linkstack_card(record, link)
    elif button in _CONTACT_SCHEMES or _is_contact(url):
        yield _card_of_url(record, title, url, scheme=_CONTACT_SCHEMES.get(button, ""))
    elif button == _ICON or button not in (0, *_CUSTOM):
        yield {"type": "social", "network": title or _LINKSTACK_NETWORKS.get(button, "Website"), "url": url}
    else:
        if link.text("custom_icon"):
            record.losses.append(f"the icon of {title or url} is left out")
        yield {"type": "link", "title": title or url, "url": url}


def _linkstack_card(record: Record, link: Fields) -> dict[str, Any]:
    text = link.text("type_params")
    if len(text) > _MAX_CARD:
        record.losses.append("a contact card is too long")
        text = ""
    parameters = Fields(parse_json(text, field="file", max_values=MAX_VALUES) if text else {})
    card = {"type": "vcard"}
    for source, name in _CARD_FIELDS.items():
        if parameters.text(source):
            card.setdefault(name, parameters.text(source))
    if len(card) == 1:
        record.losses.append("a contact card is empty")
    return _usable_card(record, card)


class _TextParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._hidden += tag in ("script", "style")
        self.parts.append("\n" if tag in ("p", "br", "li", "div", "h1", "h2", "h3") else "")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def _plain(text: str, length: int) -> str:
    """Return HTML as text. Only so many characters of it are read."""
    parser = _TextParser()
    parser.feed(text[:length])
    parser.close()
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in html.unescape("".join(parser.parts)).splitlines())
    return "\n".join(line for line in lines if line)


def _is_contact(url: str) -> bool:
    """Return whether a URL is an e-mail address or a phone number."""
    return url.startswith(tuple(f"{scheme}:" for scheme in _CARD_FIELD_BY_SCHEME))


def _card_of_url(record: Record, title: str, url: str, scheme: str = "") -> dict[str, Any]:
    """Return the contact card of an e-mail address or a phone number; `scheme` is that of a value without one."""
    prefix, separator, value = url.partition(":")
    if not separator or prefix not in _CARD_FIELD_BY_SCHEME:
        prefix, value = scheme, url
    return _usable_card(
        record, {"type": "vcard", "fname": title, _CARD_FIELD_BY_SCHEME[scheme or prefix]: value.partition("?")[0]}
    )


def _usable_card(record: Record, card: dict[str, Any]) -> dict[str, Any]:
    """Leave out the parts of a card that no phone can use."""
    for name in vcard.CHECKED_FIELDS:
        try:
            fault = vcard.checked(name, card[name])[1] if card.get(name) else ""
        except Problem as problem:
            fault = problem.message
        if fault:
            record.losses.append(f"{name} of a contact card is left out: {card.pop(name)}")
    return card
