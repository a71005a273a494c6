"""The card that social networks show for a destination: its title, description and image, read from the page itself."""

import re
from base64 import b64encode
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from urllib.parse import urljoin

import webencodings

from waypost.core.errors import Problem
from waypost.http import safe_client
from waypost.http.safe_client import FetchedResponse, Resolver
from waypost.media.pictures.decoding import Rules, decode
from waypost.urls import validation

_MAX_PAGE_BYTES = 1024 * 1024
_MAX_IMAGE_BYTES = 2 * 1024 * 1024
_RULES = Rules("metaimage", 600, _MAX_IMAGE_BYTES, ("PNG", "JPEG", "WEBP", "GIF"))
_SECONDS = 5
_MAX_TEXT = 300
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"'/>;,]{1,40})", re.IGNORECASE)
_HEAD_BYTES = 4096
_MAX_PARSED = 100_000  # characters: the parser can be slow with malformed text
_TITLES = ("og:title", "twitter:title", "title")
_DESCRIPTIONS = ("og:description", "twitter:description", "description")
_IMAGES = ("og:image", "og:image:url", "twitter:image", "twitter:image:src")


@dataclass(frozen=True)
class Card:
    """The texts of a page; `image` is its URL."""

    title: str = ""
    description: str = ""
    image: str = ""


def read(url: str, *, resolver: Resolver = safe_client.resolve) -> Card:
    """Return the card of a page. Raises INVALID on `url` if it cannot be read."""
    url = validation.web_url(url, field="url")
    response = safe_client.fetch(url, max_bytes=_MAX_PAGE_BYTES, seconds=_SECONDS, resolver=resolver)
    if response.status >= 400 or "html" not in response.headers.get("content-type", "html"):
        return Card()
    parser = _CardParser()
    parser.feed(_text(response).partition("</head>")[0][:_MAX_PARSED])
    card = parser.card()
    return replace(card, image=_absolute(url, card.image))


def image_data(url: str, *, resolver: Resolver = safe_client.resolve) -> str:
    """Return an image as a `data:` URL, or "" if it cannot be fetched or shown.

    It is decoded and written again as a JPEG of at most 600 pixels a side, so nothing else of the file gets to the
    dashboard, and the browser does not contact its server (decision 114).
    """
    try:
        url = validation.web_url(url, field="metaimage")
        response = safe_client.fetch(url, max_bytes=_MAX_IMAGE_BYTES, seconds=_SECONDS, resolver=resolver)
        if response.status >= 400:
            return ""
        return "data:image/jpeg;base64," + b64encode(decode(response.body, _RULES, "preview")).decode()
    except (Problem, safe_client.Refused):
        return ""


def _absolute(url: str, image: str) -> str:
    try:
        return urljoin(url, image) if image else ""
    except ValueError:  # an invalid IPv6 address
        return ""


def _text(response: FetchedResponse) -> str:
    """Return the text of a page. A byte order mark, the header and the page name its encoding, as the web names them.

    The names are those of the Encoding Standard of the WHATWG: `shift_jis` is Windows-31J, `iso-8859-1` Windows-1252.
    """
    in_page = _named_encoding(response.body[:_HEAD_BYTES].decode("latin-1"))
    if in_page and in_page.name in ("utf-16le", "utf-16be"):
        in_page = webencodings.UTF8  # the name could be read, so it is wrong
    encoding = _named_encoding(response.headers.get("content-type", "")) or in_page or webencodings.UTF8
    text: str = webencodings.decode(response.body, encoding)[0]
    return text


def _named_encoding(text: str) -> webencodings.Encoding | None:
    match = _CHARSET.search(text)
    return webencodings.lookup(match[1]) if match else None


class _CardParser(HTMLParser):
    """Collects the first value of each <meta>, and the <title>."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, str] = {}
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = "title" not in self._values
        if tag == "meta":
            values = {name: value or "" for name, value in attrs}
            key = (values.get("property") or values.get("name") or "").lower()
            self._values.setdefault(key, values.get("content", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._values["title"] = self._values.get("title", "") + data

    def card(self) -> Card:
        """Return the collected texts, in one line each."""
        first = (
            next((self._values[key] for key in keys if self._values.get(key, "").strip()), "")
            for keys in (_TITLES, _DESCRIPTIONS)
        )
        title, description = (" ".join(text.split())[:_MAX_TEXT] for text in first)
        image = next((self._values[key].strip() for key in _IMAGES if self._values.get(key, "").strip()), "")
        return Card(title, description, image)
