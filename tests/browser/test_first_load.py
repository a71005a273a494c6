"""Bytes that a browser without a cache loads for each page of the dashboard."""

from playwright.sync_api import Browser

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.databases import ON_SQLITE
from waypost.demo import content, visits
from waypost.settings import Settings

pytestmark = ON_SQLITE
_MAX_BYTES, _MIN_BYTES = 120 * 1024, 10_000
_PATHS = (
    *("", "/links", "/links/new", "/links/1", "/links/1/stats", "/visits", "/files", "/files/new", "/qr", "/qr/new"),
    *("/qr/1", "/bios", "/bios/1", "/campaigns", "/campaigns/1", "/campaigns/1/stats", "/channels/1", "/splash/new"),
    *("/statistics", "/shares", "/shares/link/1"),
    *("/overlays/new?type=poll", "/pixels/new", "/domains/1", "/search", "/import/new", "/account", "/account/keys"),
)


def test_first_load_of_every_page_is_small(
    ana: Person, chrome: Browser, address: str, settings: Settings, ingester: None
) -> None:
    targets = ana.write(lambda tx: content.add(tx, ana.account, settings))
    visits.write(settings.journal_dir, ana.account, targets)
    shared = ana.post("/share/add", {"type": "link", "itemid": 1})["url"].rpartition("/")[2]
    received: list[float] = []
    sizes: dict[str, float] = {}
    with window(chrome) as seen:
        sign_in(seen.page, address)
        session = seen.page.context.new_cdp_session(seen.page)
        session.send("Network.enable")
        session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        # The preview of a destination is read after the page was shown; responses to forms are never compressed.
        seen.page.route("**/links/preview", lambda route: route.fulfill(status=204))
        session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
        for path in (*_PATHS, f"/../stats/{shared}"):
            received.clear()
            seen.page.goto(f"{address}/dashboard{path}", wait_until="networkidle")
            sizes[path] = sum(received)  # compressed, with heads
    assert min(sizes.values()) > _MIN_BYTES
    assert {path: size for path, size in sizes.items() if size > _MAX_BYTES} == {}
