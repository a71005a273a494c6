"""LinkStack: the file of *Export all data* becomes a bio page."""

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from waypost.core.errors import invalid
from waypost.transfer.imports.source_row import Record
from waypost.transfer.imports.sources import contact_cards
from waypost.transfer.imports.sources.fields import MAX_VALUES, Fields, parse_json

_MAX_LINKS = 400  # a page here has at most 200 blocks
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
_NETWORKS = {8: "Discord"}


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
        blocks = [(block, link.number("click_number")) for link in links for block in _blocks(record, link)]
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


def _blocks(record: Record, link: Fields) -> Iterator[dict[str, Any]]:
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
        yield _card(record, link)
    elif button in _CONTACT_SCHEMES or contact_cards.is_contact(url):
        yield contact_cards.of_url(record, title, url, scheme=_CONTACT_SCHEMES.get(button, ""))
    elif button == _ICON or button not in (0, *_CUSTOM):
        yield {"type": "social", "network": title or _NETWORKS.get(button, "Website"), "url": url}
    else:
        if link.text("custom_icon"):
            record.losses.append(f"the icon of {title or url} is left out")
        yield {"type": "link", "title": title or url, "url": url}


def _card(record: Record, link: Fields) -> dict[str, Any]:
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
    return contact_cards.usable(record, card)


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
