"""The paths of all pages of the dashboard, from its routes."""

import re
from collections.abc import Sequence

from waypost.server.routers import DASHBOARD_PAGES

_NO_PAGES = re.compile(
    r"export$|\.csv$|\.json$|\.webmanifest$|\.png$|\.js$|\{(?!id:int\})|/qr$(?<!/dashboard/qr)|/phone$|/live$"
)
"""Paths of downloads, images, redirects and parts of other pages."""
_VIEWS = (
    *("/dashboard/shares/link/{id:int}", "/dashboard/shares/campaign/1", "/dashboard/shares/bio/1"),
    *("/dashboard/links?q=nothing+matches", "/dashboard/links?status=password&order=click"),
    *("/dashboard/links/{id:int}/stats?country=Germany&period=90", "/dashboard/links/{id:int}/trial?device=iphone"),
    *("/dashboard/statistics?device=Mobile&period=7", "/dashboard/statistics?country=XX&from=2020-01-01&to=2020-01-02"),
    *("/dashboard/visits?device=Mobile", "/dashboard/visits?country=XX", "/dashboard/search?q=autumn"),
    *("/dashboard/overlays/new?type=poll", "/dashboard/qr/new?type=wifi", "/dashboard/pixels/new?type=analyticspixel"),
    *("/dashboard/domains/check?domain=go.example.com", "/dashboard/domains/1?check=1"),
    *("/dashboard/admin/reports?closed=1", "/dashboard/admin/health?try=storage", "/dashboard/admin/accounts?q=none"),
)
"""Pages of filters, of one kind of item, and without results, with their parameters."""
SIGNED_OUT = ("/dashboard/signin", "/dashboard/register", "/dashboard/forgot", "/dashboard/offline")


def dashboard_paths(*, link: int = 1) -> Sequence[str]:
    """Return the paths of all pages of a signed-in user, of the first item of each kind, and of a link."""
    paths = [page.path for page in DASHBOARD_PAGES if page.method == "GET" and not _NO_PAGES.search(page.path)]
    own = [path for path in paths if path not in (*SIGNED_OUT, "/dashboard/share")]
    return [path.replace("{id:int}", str(link if "/link" in path else 1)) for path in (*own, *_VIEWS)]
