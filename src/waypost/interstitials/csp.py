"""The Content-Security-Policy of a page on the way: what it may load, from where, and nothing else."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from waypost.interstitials.pixel_providers import Provider
from waypost.urls.validation import ascii_host
from waypost.visits.responses import PAGE


def headers(
    *,
    nonce: str = "",
    images: Iterable[str] = (),
    frames: Iterable[str] = (),
    providers: Iterable[Provider] = (),
    sends: bool = False,
) -> dict[str, str]:
    """The headers of a page that runs the scripts with `nonce`. `images` are URLs, `frames` are origins.

    `sends`: it has a form whose answer is a page of ours.
    """
    used = list(providers)
    talks = [host for one in used for host in one.talks]
    parts = {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "script-src": [f"'nonce-{nonce}'"] * bool(nonce) + [host for one in used for host in one.scripts],
        "img-src": ["data:", *filter(None, map(origin, images)), *talks],
        "connect-src": ["'self'"] * sends + talks,
        "frame-src": [*frames, *(host for one in used for host in one.frames)],
        "form-action": ["'self'" if sends else "'none'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
    policy = "; ".join(f"{name} {' '.join(dict.fromkeys(values))}" for name, values in parts.items() if values)
    return {**PAGE, "Content-Security-Policy": policy}


def origin(url: str) -> str:
    """Scheme, host and port of a web address as a policy names them; "" where a policy has no way to say it."""
    try:
        parts = urlsplit(url)
        host, port = ascii_host(parts.hostname or ""), parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host or ":" in host:
        return ""
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")
