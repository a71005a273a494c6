"""Blocklist of hosts and words. URLs that contain one are rejected as destinations."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from sqlalchemy import Connection, and_, or_, select

from waypost.db.schema import blocklist_entries
from waypost.errors import invalid
from waypost.urls.validation import ascii_host

HOST, WORD = "host", "word"
_MAX_DECODINGS = 3  # levels of percent-encoding in which words are found
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"\\]+", re.IGNORECASE)


@dataclass(frozen=True)
class Blocklist:
    """The whole blocklist, for a cache. A host includes its subdomains."""

    hosts: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hosts or self.words)

    def blocks(self, url: str) -> bool:
        """Return whether a URL is blocked."""
        if not self:
            return False
        folded = _folded(url)
        return not self.hosts.isdisjoint(_hosts(url)) or any(word in folded for word in self.words)


def read(tx: Connection) -> Blocklist:
    """Return the current blocklist."""
    rows = tx.execute(select(blocklist_entries.c.kind, blocklist_entries.c.value)).all()
    words = tuple(sorted(row.value for row in rows if row.kind == WORD))
    return Blocklist(frozenset(row.value for row in rows if row.kind == HOST), words)


def refuse(tx: Connection, urls: Iterable[str], *, field: str) -> None:
    """Raise INVALID on `field` if one of the URLs is blocked. The cost is independent of the size of the blocklist."""
    checked = list(urls)
    hosts = sorted({host for url in checked for host in _hosts(url)})
    c = blocklist_entries.c
    query = select(c.kind, c.value).where(or_(and_(c.kind == HOST, c.value.in_(hosts)), c.kind == WORD))
    folded = [_folded(url) for url in checked]
    for kind, value in tx.execute(query) if checked else ():
        if kind == HOST:
            raise invalid(field, f"{field} must not lead to {value}: the administrator of this service has blocked it.")
        if any(value in url for url in folded):
            raise invalid(
                field,
                f"{field} must not contain the word {value}, which the administrator of this service has blocked.",
            )


def find_urls(text: str) -> list[str]:
    """Return the web URLs in a text, such as the content of a QR code."""
    return _WEB_ADDRESS.findall(text)


def normalize_word(text: str) -> str:
    """Normalize a word for comparison: case, width and composition are ignored."""
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _folded(url: str) -> str:
    for _ in range(_MAX_DECODINGS):
        plain = unquote(url)
        if plain == url:
            break
        url = plain
    return normalize_word(url)


def _hosts(url: str) -> list[str]:
    """Return the host of a URL and all its parent domains."""
    try:
        host = ascii_host(unquote(urlsplit(url).hostname or ""))
    except ValueError:
        host = None
    labels = (host or "").split(".")
    return [".".join(labels[index:]) for index in range(len(labels))] if host else []
