"""The service worker: a page for the time without a network, and nothing of an account in its cache."""

from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in_by_form
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE


def test_page_without_network_is_shown_and_ends_with_it(ana: Person, chrome: Browser, address: str) -> None:
    context = chrome.new_context()
    with window(chrome, context=context) as seen:
        page = seen.page
        sign_in_by_form(page, address)
        page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        page.goto(f"{address}/dashboard/links")
        context.set_offline(True)
        page.goto(f"{address}/dashboard/files")
        expect(page.get_by_role("heading", name="No connection")).to_be_visible()
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.button')).backgroundColor") != "rgba(0, 0, 0, 0)"
        )
        context.set_offline(False)
        page.get_by_role("link", name="Try again").click()
        expect(page.get_by_role("heading", name="Files", exact=True)).to_be_visible()
        kept = page.evaluate(
            "caches.open('offline').then(c => c.keys()).then(k => k.map(r => new URL(r.url).pathname).sort())"
        )
        assert [path.rpartition("-")[0] or path for path in kept] == ["/dashboard/offline", "/dashboard/static/main"]
        seen.console_errors[:] = [error for error in seen.console_errors if "ERR_INTERNET_DISCONNECTED" not in error]
    context.close()
