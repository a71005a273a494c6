"""Blocklist of hosts and words. URLs that contain one are rejected as destinations."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    bindparam,
    literal_column,
    select,
    union_all,
)

from waypost.core.errors import Problem, invalid
from waypost.core.text_folding import INVISIBLE
from waypost.core.uris import url_host
from waypost.db.schema import blocklist_entries, domains
from waypost.db.statements import DriverSelect
from waypost.urls import hostnames, validation

if TYPE_CHECKING:  # the child of imports loads this module, and starts faster without settings
    from waypost.core.settings import Settings

HOST, WORD = "host", "word"
_DOMAIN = "domain"
_MAX_DECODINGS = 20  # levels of percent-encoding in which hosts and words are found
_NESTED = re.compile(r"%(?:25)+")
# Characters that are not displayed (Default_Ignorable_Code_Point of Unicode).
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
# A host without a scheme, if it has a dot.
_DOTTED = re.compile(r"[\w.\u3002-]+")
_MAX_HOST = 253
_QUERY_SIZE = 500  # hosts in a statement
_FEW_HOSTS = 4  # most URLs have no more
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"\\]+", re.IGNORECASE)


@dataclass(frozen=True)
class Blocklist:
    """The whole blocklist, for a cache. A host includes its subdomains."""

    hosts: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    is_empty: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_empty", not (self.hosts or self.words))

    def blocks(self, url: str) -> bool:
        """Return whether a URL is blocked."""
        if self.is_empty:
            return False
        folded = _folded(url)
        return not self.hosts.isdisjoint(_hosts(url)) or any(word in folded for word in self.words)


def read(tx: Connection) -> Blocklist:
    """Return the current blocklist."""
    rows = tx.execute(select(blocklist_entries.c.kind, blocklist_entries.c.value)).all()
    words = tuple(sorted(row.value for row in rows if row.kind == WORD))
    return Blocklist(frozenset(row.value for row in rows if row.kind == HOST), words)


def refuse_destination(tx: Connection, url: str, *, field: str, settings: "Settings") -> None:
    """Raise INVALID on `field` if a URL is blocked, or points to the service itself or a branded domain."""
    refuse(tx, [url], field=field, foreign_host=validation.foreign_host(url, field=field, settings=settings))


def refuse(tx: Connection, urls: Iterable[str], *, field: str, foreign_host: str = "") -> None:
    """Raise INVALID on `field` if one of the URLs is blocked, or if `foreign_host` is a branded domain.

    The cost is independent of the size of the blocklist.
    """
    checked = list(urls)
    hosts = sorted({host for url in checked for host in _hosts(url)})
    words: set[str] = set()
    for start in range(0, max(1, len(hosts)) if checked else 0, _QUERY_SIZE):
        for kind, value in _entries(tx, hosts[start : start + _QUERY_SIZE], foreign_host):
            if kind == _DOMAIN:
                raise validation.loop(field)
            if kind == HOST:
                message = f"{field} must not lead to {value}: the administrator of this service has blocked it."
                raise invalid(field, message)
            words.add(value)
    folded = [_folded(url) for url in checked] if words else []
    for word in sorted(words):
        if any(word in url for url in folded):
            message = f"{field} must not contain the word {word}, which the administrator of this service has blocked."
            raise invalid(field, message)


@contextmanager
def preloaded(tx: Connection, destinations: Iterable[str], *, settings: "Settings") -> Iterator[None]:
    """Let the block check many URLs with two statements: one for the list, one for the domains of `destinations`."""
    hosts = set()
    for url in destinations:
        with suppress(Problem):  # the check of the URL itself raises it
            hosts.add(validation.foreign_host(url, field="url", settings=settings))
    branded = hostnames.find_answered(tx, hosts).keys() if hosts else set()
    _preloaded[tx] = _Preloaded(read(tx), frozenset(hosts), frozenset(branded))
    try:
        yield
    finally:
        del _preloaded[tx]


@dataclass(frozen=True)
class _Preloaded:
    """The blocklist, and which of the hosts are branded domains."""

    blocklist: Blocklist
    hosts: frozenset[str]
    branded: frozenset[str]


_preloaded: "WeakKeyDictionary[Connection, _Preloaded]" = WeakKeyDictionary()


def _entries(tx: Connection, hosts: Sequence[str], foreign_host: str) -> Iterable[tuple[str, str]]:
    """Return the foreign host if it is a branded domain, the blocked ones of the hosts, and all words."""
    known = _preloaded.get(tx)
    if known is None or (foreign_host and foreign_host not in known.hosts):
        foreign = hostnames.named("foreign_host", foreign_host)
        if len(hosts) <= _FEW_HOSTS:
            padded = [*hosts, *[""] * (_FEW_HOSTS - len(hosts))]
            parameters = {f"host{n}": host for n, host in enumerate(padded)}
            return [(row[0], row[1]) for row in _ENTRIES_OF_FEW.fetch_all(tx, **foreign, **parameters)]
        return [(row[0], row[1]) for row in tx.execute(_ENTRIES, {"hosts": hosts, **foreign})]
    branded = [(_DOMAIN, foreign_host)] if foreign_host in known.branded else []
    blocked = [(HOST, host) for host in hosts if host in known.blocklist.hosts]
    return [*branded, *blocked, *((WORD, word) for word in known.blocklist.words)]


_entry = blocklist_entries.c
_branded = select(literal_column(f"'{_DOMAIN}'"), domains.c.host).where(hostnames.is_named("foreign_host"))


def _select_entries(is_of_hosts: ColumnElement[bool]) -> CompoundSelect[Any]:
    """Select the foreign host if it is a branded domain, the given hosts that are blocked, and all words."""
    is_match = (_entry.kind == WORD) | ((_entry.kind == HOST) & is_of_hosts)
    return union_all(_branded, select(_entry.kind, _entry.value).where(is_match))


_ENTRIES = _select_entries(_entry.value.in_(bindparam("hosts", expanding=True)))
_ENTRIES_OF_FEW = DriverSelect(_select_entries(_entry.value.in_([bindparam(f"host{n}") for n in range(_FEW_HOSTS)])))
"""For one URL, without composing a statement for the number of its hosts."""


def find_urls(text: str) -> list[str]:
    """Return the addresses in a text, such as a message of a QR code: URLs, and hosts without a scheme.

    The parts between blanks that have such a host are returned too, for the words in them.
    """
    text = _visible(_decoded(text))
    urls: list[str] = _WEB_ADDRESS.findall(text)
    text = _WEB_ADDRESS.sub(lambda match: " " if _hosts(match[0]) else match[0], text)
    for part in text.split():
        hosts = [f"//{host}" for host in _dotted_names(part)]
        urls += [*hosts, part] if hosts else []
    return urls


def normalize_word(text: str) -> str:
    """Normalize a word for comparison: case, width and composition are ignored."""
    return _visible(text).casefold().strip()


def _folded(url: str) -> str:
    return normalize_word(_decoded(url))


def _visible(text: str) -> str:
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


def _decoded(text: str) -> str:
    """Return the text without percent-encoding, however often it is encoded."""
    for _ in range(_MAX_DECODINGS):
        plain = unquote(_NESTED.sub("%", text))
        if plain == text:
            break
        text = plain
    return text


def _dotted_names(part: str) -> Iterator[str]:
    """Yield the names with a dot in a part of a text, except the hosts of e-mail addresses."""
    for match in _DOTTED.finditer(part):
        name = match[0].replace("\u3002", ".").strip(".-")
        is_email = part[max(0, match.start() - 1) : match.start()] == "@" and part[
            match.end() : match.end() + 1
        ] not in (*"/:?#",)
        if "." in name and len(name) <= _MAX_HOST and not is_email:
            yield name


def _hosts(url: str) -> list[str]:
    """Return the host of a URL and all its parent domains."""
    try:
        host = url_host(urlsplit(url).hostname or "")
    except ValueError:
        host = None
    labels = (host or "").split(".")
    return [".".join(labels[index:]) for index in range(len(labels))] if host else []
