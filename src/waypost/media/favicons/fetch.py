"""The icon of a site, fetched from the host of the site only, as our own copy: a small opaque PNG (decision 126)."""

from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from waypost.core.errors import Problem
from waypost.core.uris import ascii_host
from waypost.http import safe_client
from waypost.http.safe_client import FetchedResponse, Resolver
from waypost.media.pictures.decoding import Rules, decode

SIDE = 48
"""Width and height of an icon in pixels: sharp on every display."""
_MAX_BYTES = 512 * 1024  # of an icon or a page
_RULES = Rules("icon", SIDE, _MAX_BYTES, ("ICO", "PNG", "JPEG", "WEBP", "GIF"))
_SECONDS = 5
_REDIRECTS = 3
_MAX_PARSED = 100_000  # characters
_MAX_CANDIDATES = 3


def origin_of(url: str) -> str:
    """Return scheme, host and port of a web address in lower case; "" for other addresses."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # an invalid port or IPv6 address
        return ""
    name = ascii_host(host) if host else None
    if parts.scheme not in ("http", "https") or name is None:
        return ""
    return f"{parts.scheme}://" + (f"[{name}]" if ":" in name else name) + (f":{port}" if port else "")


def fetch_icon(origin: str, *, resolver: Resolver = safe_client.resolve) -> bytes:
    """Return the icon of a site as PNG; empty if it has none. Raises Refused if its server cannot be reached.

    Neither the path of a link nor another host is requested: redirects and icons elsewhere are ignored.
    """
    for address in _candidates(origin, resolver):
        response = _get(address, _site(origin), resolver)
        if response is None or not response.body:
            continue
        try:
            return decode(response.body, _RULES, "icon")
        except Problem:
            continue
    return b""


def _candidates(origin: str, resolver: Resolver) -> Iterator[str]:
    """Yield /favicon.ico, then the icons that the first page of the site names."""
    yield f"{origin}/favicon.ico"
    page = _get(f"{origin}/", _site(origin), resolver)
    if page is None:
        return
    parser = _IconParser()
    parser.feed(page.body.decode("utf-8", "replace").partition("</head>")[0][:_MAX_PARSED])
    for address in parser.icons[:_MAX_CANDIDATES]:
        try:
            yield urljoin(f"{origin}/", address)
        except ValueError:  # an invalid IPv6 address
            continue


def _get(url: str, site: str, resolver: Resolver) -> FetchedResponse | None:
    """Return a response with the status 200; None for another one, or for a redirect to another site."""
    for _ in range(_REDIRECTS + 1):
        if _site(url) != site:
            return None
        response = safe_client.request(url, headers={}, max_bytes=_MAX_BYTES, seconds=_SECONDS, resolver=resolver)
        if response.status == 200:
            return response
        if not 300 < response.status < 400 or "location" not in response.headers:
            return None
        try:
            url = urljoin(url, response.headers["location"])
        except ValueError:
            return None
    return None


def _site(url: str) -> str:
    """Return the host of a web address without `www.`; "" for other addresses."""
    return urlsplit(origin_of(url)).netloc.removeprefix("www.")


class _IconParser(HTMLParser):
    """Collects the addresses of icons that are no drawings."""

    def __init__(self) -> None:
        super().__init__()
        self.icons: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        kinds, address = values.get("rel", "").lower().split(), values.get("href", "").strip()
        is_drawing = "svg" in values.get("type", "") or address.partition("?")[0].endswith(".svg")
        if tag == "link" and address and not is_drawing and {"icon", "apple-touch-icon"} & {*kinds}:
            self.icons.append(address)
