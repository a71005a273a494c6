"""Content-Security-Policy of interstitials: exactly the origins that the page needs."""

from collections.abc import Iterable

from waypost.interstitials.pixel_providers import Provider
from waypost.urls.url_parts import origin_of
from waypost.visits.responses import PAGE_HEADERS


def headers(
    *,
    nonce: str = "",
    images: Iterable[str] = (),
    frames: Iterable[str] = (),
    providers: Iterable[Provider] = (),
    has_form: bool = False,
) -> dict[str, str]:
    """Return the headers of a page. `nonce` allows its scripts; `images` are URLs, `frames` are origins.

    `has_form`: the page submits a form to this service.
    """
    providers = list(providers)
    connect = [source for provider in providers for source in provider.connect_sources]
    scripts = [source for provider in providers for source in provider.script_sources]
    directives = {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "script-src": [f"'nonce-{nonce}'"] * bool(nonce) + scripts,
        "img-src": ["data:", *filter(None, map(origin_of, images)), *connect],
        "connect-src": ["'self'"] * has_form + connect,
        "frame-src": [*frames, *(source for provider in providers for source in provider.frame_sources)],
        "form-action": ["'self'" if has_form else "'none'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
    policy = "; ".join(f"{name} {' '.join(dict.fromkeys(values))}" for name, values in directives.items() if values)
    return {**PAGE_HEADERS, "Content-Security-Policy": policy}
