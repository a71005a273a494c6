"""Bytes that a browser without a cache loads for each page of the dashboard and for visitors."""

from collections.abc import Iterable

from playwright.sync_api import Browser, Page

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.dashboard_paths import dashboard_paths
from tests.support.databases import ON_SQLITE
from tests.support.form_pages import signed_out_paths
from tests.support.public_pages import ROOT_PAGE, public_pages, shared_statistics

pytestmark = ON_SQLITE
_MAX_BYTES, _MIN_BYTES, _MIN_PUBLIC_BYTES = 120 * 1024, 10_000, 1_000


def test_first_load_of_every_page_is_small(ana: Person, chrome: Browser, address: str, sample: None) -> None:
    shared = ana.post("/share/add", {"type": "link", "itemid": 1})["url"].rpartition("/")[2]
    with window(chrome) as seen:
        sign_in(seen.page, address)
        # The preview of a destination is read after the page was shown; responses to forms are never compressed.
        seen.page.route("**/links/preview", lambda route: route.fulfill(status=204))
        sizes = _sizes(seen.page, address, (*dashboard_paths(), *signed_out_paths(ana), f"/stats/{shared}"))
    assert [path for path, size in sizes.items() if size < _MIN_BYTES and not path.endswith("/preview")] == []
    assert {path: size for path, size in sizes.items() if size > _MAX_BYTES} == {}


def test_first_load_of_every_public_page_is_small(ana: Person, chrome: Browser, public_address: str) -> None:
    paths = [
        *(f"/{page.path}" for page in (*public_pages(ana), ROOT_PAGE)),
        *(f"/{path}" for path in shared_statistics(ana)),
    ]
    with window(chrome, stays=True) as seen:
        sizes = _sizes(seen.page, public_address, paths)
    assert [path for path, size in sizes.items() if size < _MIN_PUBLIC_BYTES] == []
    assert {path: size for path, size in sizes.items() if size > _MAX_BYTES} == {}


def _sizes(page: Page, address: str, paths: Iterable[str]) -> dict[str, float]:
    """Return the bytes that each page loads: compressed, with heads."""
    received: list[float] = []
    sizes: dict[str, float] = {}
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    for path in paths:
        received.clear()
        page.goto(f"{address}{path}", wait_until="networkidle")
        sizes[path] = sum(received)
    return sizes
