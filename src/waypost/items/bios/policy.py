"""Headers of bio pages: a page loads its pictures, and runs one script, whose hash allows it and no other.

A page with players can frame those, which its script does when the visitor presses play.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache

from waypost.items.bios import view
from waypost.visits import responses
from waypost.visits.record_queries import BioView
from waypost.visits.responses import PAGE_HEADERS


def script() -> str:
    """Return the script of the page."""
    return responses.script("bio.js")


@cache
def _hash() -> str:
    return base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()


def headers(bio: BioView) -> Mapping[str, str]:
    """Return the headers of a page, whose blocks are those of `view.shown_at`."""
    sources = ["data:", "'self'", *view.image_origins(bio)]
    frames = view.frame_origins(bio)
    directives = [f"script-src 'sha256-{_hash()}'", f"img-src {' '.join(sources)};"]
    if frames:
        directives.insert(0, f"frame-src 'self' {' '.join(frames)}")
    policy = PAGE_HEADERS["Content-Security-Policy"].replace("img-src data:;", "; ".join(directives))
    return {**PAGE_HEADERS, "Content-Security-Policy": policy}
