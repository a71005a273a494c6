"""The hosts and words that the operator has blocked: nothing in the service may lead to a URL that has one."""

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
_DECODINGS = 3  # how often a word may be percent-encoded and still be found
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"\\]+", re.IGNORECASE)


@dataclass(frozen=True)
class Blocklist:
    """The whole list, for a process to keep: a host stands for everything below it too."""

    hosts: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hosts or self.words)

    def has(self, url: str) -> bool:
        """Whether a URL is blocked."""
        if not self:
            return False
        folded = _folded(url)
        return not self.hosts.isdisjoint(_hosts(url)) or any(word in folded for word in self.words)


def read(tx: Connection) -> Blocklist:
    """The list as it is now."""
    found = tx.execute(select(blocklist_entries.c.kind, blocklist_entries.c.value)).all()
    words = tuple(sorted(row.value for row in found if row.kind == WORD))
    return Blocklist(frozenset(row.value for row in found if row.kind == HOST), words)


def refuse(tx: Connection, urls: Iterable[str], *, field: str) -> None:
    """Raise INVALID on `field` when one of the URLs is blocked. Costs the same for any number of blocked hosts."""
    wanted = list(urls)
    hosts = sorted({host for url in wanted for host in _hosts(url)})
    c = blocklist_entries.c
    chosen = select(c.kind, c.value).where(or_(and_(c.kind == HOST, c.value.in_(hosts)), c.kind == WORD))
    folded = [_folded(url) for url in wanted]
    for kind, value in tx.execute(chosen) if wanted else ():
        if kind == HOST:
            raise invalid(field, f"{field} must not lead to {value}: the operator of this service has blocked it.")
        if any(value in url for url in folded):
            raise invalid(
                field, f"{field} must not have the word {value}, which the operator of this service has blocked."
            )


def addresses(text: str) -> list[str]:
    """The web addresses that stand in a text, such as that of a QR code."""
    return _WEB_ADDRESS.findall(text)


def word(text: str) -> str:
    """A word as it is looked for: without regard to case, width and composition."""
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _folded(url: str) -> str:
    for _ in range(_DECODINGS):
        plain = unquote(url)
        if plain == url:
            break
        url = plain
    return word(url)


def _hosts(url: str) -> list[str]:
    """The host of a URL, and every domain that it is below."""
    try:
        host = ascii_host(unquote(urlsplit(url).hostname or ""))
    except ValueError:
        host = None
    labels = (host or "").split(".")
    return [".".join(labels[place:]) for place in range(len(labels))] if host else []
