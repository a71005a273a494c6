"""Content-Security-Policy of interstitials: exactly the sources that the page needs."""

import base64
import hashlib
from collections.abc import Iterable

from waypost.interstitials.pixel_providers import Provider
from waypost.urls.url_parts import origin_of
from waypost.visits.responses import PAGE_HEADERS

# Without allow-same-origin: the page and its frames have an opaque origin, which shares nothing with the dashboard.
_SANDBOX = (
    "allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-presentation"
    " allow-scripts allow-top-navigation-by-user-activation"
)


def headers(
    *,
    script: str = "",
    images: Iterable[str] = (),
    frames: Iterable[str] = (),
    providers: Iterable[Provider] = (),
    form: str = "",
    sandboxed: bool = False,
) -> dict[str, str]:
    """Return the headers of a page. `images` are URLs, `frames` are origins, `form` is the source of its form's URL.

    `script` is the page's inline script: its hash allows it and no other. Scripts of providers could read a nonce.
    `sandboxed`: the page gets an opaque origin.
    """
    providers = list(providers)
    connect = [source for provider in providers for source in provider.connect_sources]
    scripts = [source for provider in providers for source in provider.script_sources]
    directives = {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "script-src": [_hash_source(script)] * bool(script) + scripts,
        "img-src": ["data:", *filter(None, map(origin_of, images)), *connect],
        "connect-src": [form] * bool(form) + connect,
        "frame-src": [*frames, *(source for provider in providers for source in provider.frame_sources)],
        "form-action": [form or "'none'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "sandbox": [_SANDBOX] * sandboxed,
    }
    policy = "; ".join(f"{name} {' '.join(dict.fromkeys(values))}" for name, values in directives.items() if values)
    return {**PAGE_HEADERS, "Content-Security-Policy": policy}


def _hash_source(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
