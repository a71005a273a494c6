"""Parts of a URL that is shown or named in a policy."""

from urllib.parse import unquote, urlsplit

from waypost.core.uris import url_host


def origin_of(url: str) -> str:
    """Return scheme, host and port of a web URL as a Content-Security-Policy names them.

    "" for other schemes, and for hosts that a policy cannot name: IPv6 addresses and invalid names.
    """
    try:
        parts = urlsplit(url)
        host, port = url_host(parts.hostname or ""), parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host or ":" in host:
        return ""
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")


def display_host(url: str) -> str:
    """Return the host of a URL for people: not IDNA-encoded, without user and port. "" if there is none."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return unquote(host) if url_host(host) else host
