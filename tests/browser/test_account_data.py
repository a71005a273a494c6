"""The export and the deletion of an account in a real browser."""

import zipfile
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import PASSWORD, Person
from tests.support.browser import served
from tests.support.browser_login import examine, signed_in_page
from tests.support.databases import ON_SQLITE
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.accounts import ops
from waypost.server.app import build

pytestmark = ON_SQLITE


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    with served(build(settings, Database(settings.database))) as url:
        yield url


def test_button_downloads_archive_and_stays_usable(ana: Person, chrome: Browser, address: str) -> None:
    ana.add("url", url="https://example.com/", custom="spring")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/account")
        button = page.get_by_role("button", name="Export everything")
        with page.expect_download() as download:
            button.click()
        with zipfile.ZipFile(download.value.path()) as opened:
            assert opened.testzip() is None
        expect(button).not_to_have_attribute("aria-busy", "true")
        expect(page.get_by_role("heading", name="Your data", exact=True)).to_be_visible()


def test_deletion_shows_banner_until_it_is_canceled(ana: Person, ben: Person, chrome: Browser, address: str) -> None:
    ana.add("url", url="https://example.com/", custom="spring")
    ben.write(lambda tx: ops.set_admin(tx, ben.account, admin=True))
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/account")
        page.locator("summary", has_text="Delete account").click()
        page.get_by_role("link", name="Delete account").click()
        page.get_by_label("Your password").fill(PASSWORD)
        page.get_by_role("button", name="Delete my account in 7 days").click()
        banner = page.get_by_text("This account and everything in it will be deleted on")
        expect(banner).to_be_visible()
        examine(page, "/dashboard/account")
        page.get_by_role("button", name="Cancel the deletion").click()
        expect(page.get_by_text("Your account is not deleted.")).to_be_visible()
        expect(banner).to_have_count(0)
