"""Validation of URLs: destinations, images, webhooks (decision 44), also as people type them."""

import re
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from waypost.core.errors import Problem, invalid
from waypost.core.uris import MAX_DESTINATION, exceeds, to_uri, url_host

if TYPE_CHECKING:  # the child of imports loads this module, and starts faster without settings
    from waypost.core.settings import Settings


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BLANK = re.compile(r"[\x00-\x20\x7f\u0085\u00a0\u2028\u2029\\]")
_AUTHORITY = re.compile(r"(.*@)?(\[[^\[\]@]*\]|[^\[\]@:]*)(:\d+)?\Z")
_TWO_SCHEMES = re.compile(r"https?://https?(:/|//)", re.IGNORECASE)
_LOOPBACK = re.compile(r"(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|::1|::)\Z")
_NO_ADDRESS = re.compile(r"[^ ]+ must begin with http://, https://.*, such as https://example\.com/\.\Z")
_NUMBER_SCHEMES = frozenset({"tel", "sms", "smsto"})
"""Schemes of phone numbers, in which an encoded space cannot be dialed."""
_WEB_PORTS = {"http": 80, "https": 443}
# `example.com`, `//example.com:8080/path`: a host with a dot, without a scheme. An e-mail address is none.
_HOST_WITHOUT_SCHEME = re.compile(r"(?://)?([^\s/?#@:\\]+\.[^\s/?#@:\\]+(?::\d{1,5})?(?:[/?#].*)?)", re.DOTALL)
_SCHEME_TWICE = re.compile(r"\A(?:https?://)+(?=https?://)", re.IGNORECASE)
_EMPTY_PORT = re.compile(r"\A((?:https?:)?//[^\s/?#]*[^\s/?#:]):(?=[/?#]|\Z)", re.IGNORECASE)


def web_url(value: str, *, field: str) -> str:
    """Return the trimmed URL if it is http or https with a valid host. Raises INVALID on `field`."""
    return _usable(stored(value, field=field), field)


def destination(value: str, *, field: str, schemes: frozenset[str]) -> str:
    """Return the trimmed URL if it is a valid destination: http, https, or one of the schemes of apps.

    Raises INVALID on `field`.
    """
    return _usable(stored(value, field=field, schemes=schemes), field)


def stored(value: str, *, field: str, schemes: frozenset[str] = frozenset()) -> str:
    """Return the trimmed URL if it is valid but for a `fault`, which only URLs that are stored already may have.

    Raises INVALID on `field`.
    """
    url = value.strip()
    _check(url, field, extra=schemes)
    return url


def fault(url: str, *, field: str) -> str:
    """Return why a URL that `stored` accepts opens another page than intended, and the repair; or ""."""
    if _TWO_SCHEMES.match(url):
        return f"{field} must begin with only one https://, such as https://example.com/page."
    if _scheme(url) in _WEB_PORTS and not _AUTHORITY.match(urlsplit(url).netloc):
        return _no_host(field)
    return ""


def refuse_long(url: str, *, field: str) -> None:
    """Raise INVALID on `field` if a URL is too long in the form in which it leaves (decision 44)."""
    if exceeds(url, MAX_DESTINATION):
        length = len(to_uri(url))
        message = (
            f"{field} must have at most {MAX_DESTINATION} bytes when it is percent-encoded, as it is sent to visitors;"
            f" it has {length}."
        )
        raise invalid(field, message)


def is_no_address(message: str) -> bool:
    """Return whether an error is that of a text that is no URL even with `https://`, which forms add."""
    return _NO_ADDRESS.match(message) is not None


def foreign_host(url: str, *, field: str, settings: "Settings") -> str:
    """Return the host of a valid web URL, "" for another URL. Raises INVALID on `field` for the service itself."""
    if _scheme(url) not in _WEB_PORTS:
        return ""
    parts = _parts(url, has_host=True)
    host = (url_host(parts.hostname or "") or "") if parts else ""
    if parts and _is_own(host, parts, settings):
        raise loop(field)
    return host


def loop(field: str) -> Problem:
    """Return the problem of a URL that points to the service itself."""
    return invalid(field, f"{field} must not lead to this service itself: that could cause a redirect loop.")


def host_of(url: str) -> str | None:
    """Return the host of a URL that `web_url` has accepted."""
    return url_host(urlsplit(url).hostname or "")


def complete_url(text: str) -> str:
    """Return a URL that a person typed, trimmed and with `https://` if it has a host with a dot but no scheme.

    A scheme that was typed in front of a pasted URL, and the colon of a missing port, are removed. Other text is
    returned trimmed, so that the validation rejects it (decision 94).
    """
    text = _EMPTY_PORT.sub(r"\1", _SCHEME_TWICE.sub("", text.strip()))
    match = _HOST_WITHOUT_SCHEME.fullmatch(text)
    return f"https://{match[1]}" if match else text


def _usable(url: str, field: str) -> str:
    if message := fault(url, field=field):
        raise invalid(field, message)
    return url


def _no_host(field: str) -> str:
    return f"{field} must have a valid host name, such as https://example.com/page."


def _scheme(url: str) -> str:
    match = _SCHEME.match(url)
    return match[1].lower() if match else ""


def _check(url: str, field: str, extra: frozenset[str] = frozenset()) -> None:
    scheme = _scheme(url)
    if scheme not in extra and (scheme not in _WEB_PORTS or url[len(scheme) :][:3] != "://"):
        allowed = ", ".join(["http://", "https://", *(f"{name}:" for name in sorted(extra))])
        if not scheme and complete_url(url) == url:
            raise invalid(field, f"{field} must begin with {allowed}, such as https://example.com/.")
        if extra:
            raise invalid(field, f"{field} must begin with {allowed}.")
        raise invalid(field, f"{field} must begin with http:// or https://.")
    if _BLANK.search(url):
        if scheme in _NUMBER_SCHEMES:
            raise invalid(field, f"{field} must not contain spaces: write its number as in tel:+49301234567.")
        raise invalid(
            field,
            f"{field} must not contain spaces, control characters or backslashes; percent-encode them, such as %20.",
        )
    if _parts(url, has_host=scheme not in extra) is None:
        raise invalid(field, _no_host(field))
    refuse_long(url, field=field)


def _parts(url: str, *, has_host: bool) -> SplitResult | None:
    """Return the parts of a URL; None if it is not valid Unicode, or needs a valid host and port and has none."""
    try:
        url.encode()
        if not has_host:
            return SplitResult(_scheme(url), "", "", "", "")
        parts = urlsplit(url)
        return parts if parts.port != 0 and url_host(parts.hostname or "") is not None else None
    except ValueError:  # an invalid port or IPv6 address, or half a surrogate pair
        return None


def _is_own(host: str, parts: SplitResult, settings: "Settings") -> bool:
    return host in settings.former or any(_is_at(host, parts, url) for url in (settings.base, settings.dashboard))


def _is_at(host: str, parts: SplitResult, url: str) -> bool:
    """Return whether a URL is on the host and port of one of the service's own URLs."""
    base = urlsplit(url)
    own_host = base.hostname or ""
    is_same_host = host == own_host or (_LOOPBACK.match(host) and _LOOPBACK.match(own_host))
    port = parts.port or _WEB_PORTS[parts.scheme]
    own_ports = {base.port} if base.port else set(_WEB_PORTS.values())
    return bool(is_same_host) and port in own_ports
