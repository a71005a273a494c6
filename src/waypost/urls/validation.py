"""Validation of URLs: destinations, images, webhooks (decision 44)."""

import ipaddress
import re
import socket
from urllib.parse import SplitResult, urlsplit

import idna
from sqlalchemy import Connection, bindparam, select

from waypost.db.schema import domains
from waypost.errors import Problem, invalid
from waypost.settings import Settings

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BLANK = re.compile(r"[\x00-\x20\x7f\u0085\u00a0\u2028\u2029\\]")
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*\Z")
_AUTHORITY = re.compile(r"(.*@)?(\[[^\[\]@]*\]|[^\[\]@:]*)(:\d*)?\Z")
_LOOPBACK = re.compile(r"(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|::1|::)\Z")
_WEB_PORTS = {"http": 80, "https": 443}
_IS_BRANDED = select(domains.c.id).where(domains.c.host == bindparam("host"))


def web_url(value: str, *, field: str) -> str:
    """Return the trimmed URL if it is http or https with a valid host. Raises INVALID on `field`."""
    url = value.strip()
    _split(url, field)
    return url


def destination(value: str, *, field: str, settings: Settings) -> str:
    """Return the trimmed URL if it is a valid destination: http, https, or an app scheme of the settings.

    Raises INVALID on `field`.
    """
    url = value.strip()
    scheme = _scheme(url)
    if scheme not in _WEB_PORTS and scheme in settings.schemes and not _BLANK.search(url):
        return url
    _split(url, field, extra=settings.schemes)
    return url


def refuse_own(tx: Connection, url: str, *, field: str, settings: Settings) -> None:
    """Raise INVALID on `field` if `url` is on the service itself or a branded domain, which could loop."""
    host = foreign_host(url, field=field, settings=settings)
    if host and tx.execute(_IS_BRANDED, {"host": host}).first() is not None:
        raise loop(field)


def foreign_host(url: str, *, field: str, settings: Settings) -> str:
    """Return the host of a web URL, "" for another URL. Raises INVALID on `field` for the service itself."""
    if _scheme(url) not in _WEB_PORTS:
        return ""
    parts = _split(url, field)
    host = ascii_host(parts.hostname or "") or ""
    if _is_own(host, parts, settings):
        raise loop(field)
    return host


def loop(field: str) -> Problem:
    """Return the problem of a URL that points to the service itself."""
    return invalid(field, f"{field} must not lead to this service itself: that could cause a redirect loop.")


def host_of(url: str) -> str | None:
    """Return the host of a URL that `web_url` has accepted."""
    return ascii_host(urlsplit(url).hostname or "")


def ascii_host(name: str) -> str | None:
    """Return a host name in its canonical form: lower case, IDNA, no final dot, addresses in dotted decimal.

    Return None if it is not valid.
    """
    name = name.lower().removesuffix(".")
    if ":" in name:
        return _ipv6(name)
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode()
        except idna.IDNAError:
            return None
    if len(name) > 253 or not _HOST.match(name):
        return None
    last = name.rpartition(".")[2]
    if last.isdigit() or last.startswith("0x"):
        try:
            return socket.inet_ntoa(socket.inet_aton(name))
        except OSError:
            return None
    return name


def _ipv6(name: str) -> str | None:
    """Return an IPv6 address in its shortest form; the IPv4 address if it is IPv4-mapped."""
    try:
        address = ipaddress.IPv6Address(name.partition("%")[0])
    except ValueError:
        return None
    return str(address.ipv4_mapped or address)


def _scheme(url: str) -> str:
    match = _SCHEME.match(url)
    return match[1].lower() if match else ""


def _split(url: str, field: str, extra: frozenset[str] = frozenset()) -> SplitResult:
    if _scheme(url) not in _WEB_PORTS or url[len(_scheme(url)) :][:3] != "://":
        if extra:
            allowed = ", ".join(["http://", "https://", *(f"{scheme}:" for scheme in sorted(extra))])
            raise invalid(field, f"{field} must begin with {allowed}.")
        raise invalid(field, f"{field} must begin with http:// or https://.")
    if _BLANK.search(url):
        raise invalid(
            field,
            f"{field} must not contain spaces, control characters or backslashes; percent-encode them, such as %20.",
        )
    try:
        url.encode()
        parts = urlsplit(url)
        has_authority = parts.port != 0 and _AUTHORITY.match(parts.netloc) is not None
        is_valid = has_authority and ascii_host(parts.hostname or "") is not None
    except ValueError:  # an invalid port or IPv6 address, or half a surrogate pair
        is_valid = False
    if not is_valid:
        raise invalid(field, f"{field} must have a valid host name, such as https://example.com/page.")
    return parts


def _is_own(host: str, parts: SplitResult, settings: Settings) -> bool:
    return any(_is_at(host, parts, url) for url in (settings.base, settings.dashboard))


def _is_at(host: str, parts: SplitResult, url: str) -> bool:
    """Return whether a URL is on the host and port of one of the service's own URLs."""
    base = urlsplit(url)
    own_host = base.hostname or ""
    is_same_host = host == own_host or (_LOOPBACK.match(host) and _LOOPBACK.match(own_host))
    port = parts.port or _WEB_PORTS[parts.scheme]
    own_ports = {base.port} if base.port else set(_WEB_PORTS.values())
    return bool(is_same_host) and port in own_ports
