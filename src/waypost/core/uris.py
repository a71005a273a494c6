"""URIs: what leaves the service for a URL that was typed in any script (decision 44)."""

import ipaddress
import re
import socket
import unicodedata
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit

import idna

MAX_DESTINATION = 8192
"""Bytes of a destination as a URI."""
MAX_PARAMETERS = 8192
"""Bytes of the parameters that a link adds to its destination."""
MAX_QUERY = 8192
"""Bytes of the query that a visitor can bring along."""
MAX_LOCATION = MAX_DESTINATION + 1 + MAX_PARAMETERS + 1 + MAX_QUERY
"""Bytes of the longest `Location`. The proxy configurations in `deploy/` must pass it on."""

_SAFE = "%/:?#[]@!$&'()*+,;=~"
"""Characters that have a meaning in a URL. They stay as they are."""
# A web URL that is a URI already, such as most: it takes a fraction of the time to see that.
_PLAIN = r"[A-Za-z0-9._~/:?#\[\]@!$&'()*+,;=-]*+"
_URI = re.compile(rf"https?://[A-Za-z0-9._~:\[\]@!$&'()*+,;=-]*+(?:[/?#]{_PLAIN}(?:%[0-9A-Fa-f]{{2}}{_PLAIN})*+)?\Z")
_STRAY_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_WEB = re.compile(r"(https?://)([^/?#]*)", re.IGNORECASE)
_MAIL = re.compile(r"(mailto:)([^?#]*)", re.IGNORECASE)
_MAIL_RECIPIENTS = re.compile(r"(?<=[?&])((?:to|cc|bcc)=)([^&#]*)", re.IGNORECASE)
_MAILBOX = re.compile(r"(.*(?:@|%40))(.*)", re.DOTALL)
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*\Z")
_MAX_HOST = 253
_MAX_CACHED = 4096
_BYTES_OF_CHARACTER = 12  # at most: four bytes of UTF-8, three characters each
LIKE_DELIMITERS = frozenset("\u2044\u2215\u2216\u2223\u2236\u2571\u27cb\u29f5\u29f8\u29f9\u2f03")
"""Symbols that look like a character which separates the parts of a URL."""


def to_uri(url: str) -> str:
    """Return a URL as a URI: the host in its ASCII form, all else percent-encoded. A URI is returned as it is.

    The host of an app's URL has no ASCII form, so it is percent-encoded too.
    """
    if _URI.match(url):
        return url
    if web := _WEB.match(url):
        return web[1] + _authority(web[2]) + encoded(url[web.end() :])
    if mail := _MAIL.match(url):
        fields = _MAIL_RECIPIENTS.sub(lambda match: match[1] + _mailboxes(match[2]), url[mail.end() :])
        return mail[1] + _mailboxes(mail[2]) + encoded(fields)
    return encoded(url)


def encoded(text: str | bytes) -> str:
    """Return a path, query or fragment with everything percent-encoded that a URI cannot contain."""
    return _STRAY_PERCENT.sub("%25", quote(text, safe=_SAFE))


def component(text: str, *, safe: str = "") -> str:
    """Return a text as a part of a URI: percent-encoded, with the characters that have a meaning there."""
    return quote(text, safe=safe)


def with_query(uri: str, **values: str) -> str:
    """Return a URI without a query with those values that are not empty."""
    query = "&".join(f"{name}={component(value, safe=',')}" for name, value in values.items() if value)
    return f"{uri}?{query}" if query else uri


def exceeds(url: str, max_bytes: int) -> bool:
    """Return whether a URL is longer than `max_bytes` as a URI."""
    return len(url) * _BYTES_OF_CHARACTER > max_bytes and len(to_uri(url)) > max_bytes


def ascii_host(name: str) -> str | None:
    """Return a host name in its canonical form: lower case, UTS 46, no final dot, addresses in dotted decimal.

    Return None if it is not valid.
    """
    name = name.lower().removesuffix(".")
    if ":" in name:
        return _ipv6(name)
    if not name.isascii():
        name = _ascii_name(name) or ""
    if len(name) > _MAX_HOST or not _HOST.match(name):
        return None
    last = name.rpartition(".")[2]
    if last.isdigit() or last.startswith("0x"):
        try:
            return socket.inet_ntoa(socket.inet_aton(name))
        except OSError:
            return None
    return name


def url_host(host: str) -> str | None:
    """Return the host of a web URL as `ascii_host` does, also of a name that is percent-encoded in its own script.

    Return None if it is not valid, as for an encoded ASCII name or address: that is only done to hide it.
    """
    if "%" not in host or ":" in host:
        return ascii_host(host)
    try:
        typed = unquote(host, errors="strict")
    except UnicodeDecodeError:
        return None
    name = None if typed.isascii() else ascii_host(typed)
    return name if name and not name[-1].isdigit() else None


def other_spellings(url: str) -> list[str]:
    """Return a web URL with its host in its ASCII form and in its own script, except the spelling that it has."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError:
        return []
    return [parts._replace(netloc=name + port).geturl() for name in _spellings(url_host(host)) if name != host]


def _authority(text: str) -> str:
    """Return user, host and port of a web URL as in a URI."""
    user, at, address = text.rpartition("@")
    is_ipv6 = address.startswith("[")
    host, colon, port = (address, "", "") if is_ipv6 else address.partition(":")
    return f"{encoded(user)}{at}{_host(host)}{colon}{encoded(port)}"


def _host(host: str) -> str:
    """Return a host in its ASCII form, also if it was percent-encoded."""
    if not host.isascii() or "%" in host:
        host = url_host(host) or host
    return encoded(host)


def _mailboxes(addresses: str) -> str:
    """Return e-mail addresses with commas as in a URI."""
    return ",".join(map(_mailbox, addresses.split(",")))


def _mailbox(address: str) -> str:
    match = _MAILBOX.match(address)
    return encoded(match[1]) + _host(match[2]) if match else encoded(address)


def _ipv6(name: str) -> str | None:
    """Return an IPv6 address in its shortest form; the IPv4 address if it is IPv4-mapped."""
    try:
        address = ipaddress.IPv6Address(name.partition("%")[0])
    except ValueError:
        return None
    return str(address.ipv4_mapped or address)


@lru_cache(_MAX_CACHED)
def _ascii_name(name: str) -> str | None:
    """Return a name outside ASCII in the form of IDNA 2008; one with symbols, such as emoji, as UTS 46 has it."""
    if len(name) > _MAX_HOST:
        return None
    try:
        return idna.encode(name, uts46=True).decode()
    except idna.IDNAError:
        pass
    try:
        return ".".join(map(_label, idna.uts46_remap(name, std3_rules=False).split(".")))
    except UnicodeError:
        return None


def _label(label: str) -> str:
    """Return a label in Punycode. All but its symbols must be valid in IDNA 2008. Raises UnicodeError."""
    if label.isascii():
        return label
    text = "".join(character for character in label if not _is_symbol(character))
    if text:
        idna.check_label(text)
    idna.check_bidi(label)
    return f"xn--{label.encode('punycode').decode()}"


def _spellings(name: str | None) -> tuple[str, ...]:
    """Return a host in its ASCII form as it is and, if it has one, in its own script."""
    if not name:
        return ()
    try:
        own_script = ".".join(map(_own_script, name.split(".")))
    except UnicodeError:
        return (name,)
    return (name,) if own_script == name else (name, own_script)


def _own_script(label: str) -> str:
    """Return a label of a host's ASCII form in its own script. Raises UnicodeError."""
    is_punycode = label.startswith("xn--")
    return label.removeprefix("xn--").encode().decode("punycode") if is_punycode else label


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character).startswith("S") and character not in LIKE_DELIMITERS
