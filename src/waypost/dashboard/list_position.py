"""The position in a list that links and forms pass on as `next`, so that actions return to it (decision 87)."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from waypost.db.crud import Page

HOME = "/dashboard"
FIELD = "next"
_MAX_LENGTH = 1000
_OWN_PATH = re.compile(r"/dashboard(/[A-Za-z0-9_-]+)*(\?[A-Za-z0-9_.~%&=+:/-]*)?\Z")


def safe_redirect_path(path: str) -> str:
    """Return the path if it is a page of the dashboard, otherwise the overview: no open redirects."""
    return path if _OWN_PATH.match(path) else HOME


def requested(request: Request, fields: Mapping[str, Sequence[str]]) -> str:
    """Return the page in the field or query parameter `next`; this page if it has a query; otherwise ""."""
    sent = (fields.get(FIELD) or [request.query_params.get(FIELD, "")])[-1]
    if not sent and request.method == "GET" and request.query_params:
        sent = f"{request.url.path}?{urlencode(request.query_params.multi_items())}"
    return sent if len(sent) <= _MAX_LENGTH and _OWN_PATH.match(sent) else ""


def return_path(next_path: str, path: str) -> str:
    """Return `path` with the query of `next_path` if both are the same list; a path below it gets it as `next`."""
    listed = next_path.partition("?")[0]
    if not listed or not path.startswith(listed):
        return path
    page, mark, fragment = path.partition("#")
    if page == listed:
        return next_path + mark + fragment
    if page.startswith(f"{listed}/") and "?" not in page:
        return f"{page}?{FIELD}={_quote(next_path)}{mark}{fragment}"
    return path


@lru_cache(maxsize=64)
def _quote(path: str) -> str:
    """Return a path as the value of a query. A page quotes the same one for each of its rows."""
    return quote(path, safe="")


def last_page(request: Request, page: Page[Any], limit: int) -> Response | None:
    """Return a redirect to the last page if the requested one is behind it, as after its rows were deleted.

    `limit`: number of matches after which a search stops counting; 0 for none.
    """
    total = min(page.result, limit) if limit else page.result
    last = max(1, -(-total // page.window.limit))
    if not total or page.window.page <= last:
        return None
    query = {**request.query_params, "page": str(last)}
    if last == 1:
        del query["page"]
    return RedirectResponse(f"{request.url.path}?{urlencode(query)}" if query else request.url.path, status_code=303)
