"""The paths of all pages of the dashboard, from its routes."""

import re
from collections.abc import Sequence

from waypost.routers import DASHBOARD_PAGES

_NO_PAGES = re.compile(r"export$|\.csv$|\.webmanifest$|\.png$|\.js$|\{(?!id:int\})|/qr$(?<!/dashboard/qr)|/phone$")
"""Paths of downloads, images, redirects and parts of other pages."""
SIGNED_OUT = ("/dashboard/signin", "/dashboard/register", "/dashboard/forgot", "/dashboard/offline")


def dashboard_paths(*, link: int = 1) -> Sequence[str]:
    """Return the paths of all pages of a signed-in user, of the first item of each kind, and of a link."""
    paths = [page.path for page in DASHBOARD_PAGES if page.method == "GET" and not _NO_PAGES.search(page.path)]
    own = [path for path in paths if path not in (*SIGNED_OUT, "/dashboard/share")]
    return [path.replace("{id:int}", str(link if "/links/" in path else 1)) for path in own]
