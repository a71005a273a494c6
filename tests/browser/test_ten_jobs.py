"""Ten jobs of users, each with at most so many clicks, taps and fields, on a phone and on a computer."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyotp
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.conftest import PASSWORD, Person
from tests.support.browser import window
from tests.support.databases import ON_SQLITE
from tests.support.files import PNG
from tests.support.qr_decoders import png
from tests.support.visits import CHROME
from waypost.core import clock

pytestmark = ON_SQLITE
SHOP = "https://target.example"
_IMPORT_MS = 30_000


@dataclass
class Hands:
    """A person on a page; `actions` are the clicks or taps so far, and the fields that were filled in."""

    page: Page
    address: str
    files: Path
    taps: bool
    actions: int = 0

    def open(self, path: str) -> None:
        """Open the page where a job begins, which is in the menu."""
        self.page.goto(f"{self.address}/dashboard{path}")
        self.page.wait_for_load_state()
        self.actions = 0

    def arrive(self, path: str) -> None:
        """Wait for another page, and its scripts."""
        self.page.wait_for_url(f"**{path}")
        self.page.wait_for_load_state()

    def press(self, target: Locator) -> None:
        self.actions += 1
        target.tap() if self.taps else target.click()

    def button(self, name: str) -> None:
        self.press(self.page.get_by_role("button", name=name, exact=True).last)

    def link(self, name: str) -> None:
        """Follow a link to another page, and wait for its scripts: nothing may interrupt the navigation."""
        with self.page.expect_navigation():
            self.press(self.page.get_by_role("main").get_by_role("link", name=name, exact=True).first)

    def fill(self, target: Locator, text: str) -> None:
        self.actions += 1
        target.fill(text)

    def field(self, label: str, text: str) -> None:
        self.fill(self.page.get_by_label(label, exact=True).first, text)

    def choose(self, label: str, option: str) -> None:
        """Open a list and select an option."""
        self.actions += 2
        self.page.get_by_label(label, exact=True).select_option(label=option)

    def attach(self, target: Locator, name: str, content: bytes) -> None:
        self.actions += 1
        path = self.files / name
        path.write_bytes(content)
        target.set_input_files(path)

    def expect_message(self, text: str) -> None:
        expect(self.page.get_by_role("status").first).to_contain_text(text)


def _first_link(hands: Hands) -> None:
    hands.open("/signin")
    hands.field("Username or e-mail", "ana")
    hands.fill(hands.page.get_by_label("Password", exact=True), PASSWORD)
    hands.button("Sign in")
    hands.arrive("/dashboard")
    hands.fill(hands.page.locator("#quick-url"), "target.example/first")
    hands.button("Shorten")
    expect(hands.page.get_by_text("Your link is ready")).to_be_visible()


def _poster(hands: Hands) -> None:
    hands.open("/qr")
    hands.link("New QR code")
    hands.fill(hands.page.get_by_role("textbox", name="Destination"), f"{SHOP}/menu")
    hands.fill(hands.page.locator("#name"), "Poster Autumn")
    hands.button("Ocean")
    hands.fill(hands.page.get_by_role("textbox", name="Caption"), "OUR MENU")
    hands.attach(hands.page.locator("#logo-file"), "logo.png", png())
    hands.button("Create QR code")
    hands.expect_message("Your QR code is ready.")
    hands.press(hands.page.locator("summary", has_text="Other formats"))
    hands.field("Width in cm", "12.5")
    with hands.page.expect_download() as download:
        hands.press(hands.page.locator("a[href*='pdf']").first)
    assert download.value.suggested_filename == "Poster Autumn 12.5 cm.pdf"


def _new_destination(hands: Hands) -> None:
    hands.open("/qr")
    hands.link("Poster Autumn")
    hands.fill(hands.page.get_by_role("textbox", name="Destination"), f"{SHOP}/new-menu")
    hands.button("Save")
    hands.expect_message("Saved.")


def _campaign(hands: Hands) -> None:
    hands.open("/campaigns")
    hands.link("New campaign")
    hands.field("Name", "Autumn")
    hands.field("Alias optional", "autumn")
    hands.choose("Rotation", "Weighted")
    hands.button("Create campaign")
    hands.expect_message("Your campaign is ready. Select its links.")
    hands.link("New link")
    for number in range(5):
        hands.fill(hands.page.locator("#url"), f"{SHOP}/autumn/{number}")
        source = hands.page.locator("#utm_source")
        if not source.is_visible():
            hands.press(hands.page.locator("summary", has_text="UTM parameters"))
        hands.fill(source, "newsletter")
        hands.fill(hands.page.locator("#utm_medium"), "e-mail")
        hands.button("Create link" if number == 4 else "Save and add another")
        if number < 4:
            expect(hands.page.locator("#url")).to_have_value("")
    hands.arrive("/campaigns/*")
    weights = hands.page.get_by_label(re.compile("^Weight of "))
    expect(weights).to_have_count(5)
    hands.fill(weights.nth(0), "70")
    hands.fill(weights.nth(1), "30")
    hands.button("Save weights and quotas")
    hands.expect_message("Saved.")
    hands.link("Statistics")
    expect(hands.page.get_by_text("UTM parameters").or_(hands.page.get_by_text("Clicks")).first).to_be_visible()


def _file(hands: Hands) -> None:
    hands.open("/files")
    hands.link("Upload")
    hands.attach(hands.page.locator("#file"), "offer.png", PNG)
    hands.field("Download limit", "3")
    hands.field("Password for visitors optional", "tulip")
    hands.button("Upload")
    line = hands.page.locator("[data-uploads] [data-state=good]")
    expect(line).to_be_visible()
    hands.press(line.locator("[data-copy]"))


def _bio_page(hands: Hands) -> None:
    page = hands.page
    hands.open("/bios")
    hands.link("New page")
    hands.field("Name", "Juniper")
    hands.fill(page.get_by_role("textbox", name="Alias"), "juniper-bio")
    hands.press(page.locator("label.option-theme", has_text="Sunset"))
    hands.attach(page.locator("input[type=file][name*=avatar]"), "avatar.png", png())
    block = page.locator("[data-block]").last
    for number in range(3):
        hands.button("Link")
        hands.fill(block.get_by_role("textbox", name="Title"), f"Shop {number}")
        hands.fill(block.get_by_role("textbox", name="Destination"), f"{SHOP}/{number}")
    for network in ("Instagram", "Mastodon"):
        hands.button("Profile")
        hands.fill(block.get_by_label("Network"), network)
        hands.fill(block.get_by_label("Profile"), "@juniper@mastodon.example" if network == "Mastodon" else "@juniper")
    for kind in ("Heading", "Text"):
        hands.button(kind)
        hands.fill(block.locator("textarea"), f"A {kind}")
    hands.button("Create page")
    hands.expect_message("Your page is ready.")


def _statistics(hands: Hands) -> None:
    hands.open("/statistics")
    hands.press(hands.page.locator(".date-range a:visible", has_text="7 days").first)
    hands.page.wait_for_url("**period=7**")
    for parameter, label in (("country", "Germany"), ("device", "Mobile")):
        hands.press(hands.page.locator(f"table a[href*='{parameter}=']", has_text=label).first)
        hands.page.wait_for_url(f"**{parameter}={label}**")
    assert "period=7" in hands.page.url, "each of them limits the others"


def _share(hands: Hands) -> None:
    hands.open("/statistics")
    hands.press(hands.page.locator("form[data-share-address] button"))
    expect(hands.page.locator(".toast")).to_contain_text("The address was copied.")


def _import(hands: Hands) -> None:
    rows = "".join(f"{SHOP}/import/{n},{'old' if n < 20 else 'import'}-{n}\n" for n in range(200))
    hands.open("/links")
    hands.link("Import links")
    hands.attach(hands.page.get_by_label("File", exact=True), "links.csv", f"url,alias\n{rows}".encode())
    hands.button("Preview the import")
    # Another process reads the file.
    expect(hands.page.get_by_role("heading", name="Nothing is imported yet")).to_be_visible(timeout=_IMPORT_MS)
    hands.button("Import 200 links")
    expect(hands.page.get_by_role("heading", name="The import is complete")).to_be_visible(timeout=_IMPORT_MS)


def _delete(hands: Hands) -> None:
    hands.open("/links?q=old-")
    if hands.taps:
        hands.press(hands.page.locator("tbody [type=checkbox]").first)
    hands.press(hands.page.locator("[data-all]:visible"))
    hands.press(hands.page.locator("button[value=delete]"))
    hands.press(hands.page.get_by_role("dialog").get_by_role("button", name="Delete"))
    expect(hands.page.get_by_role("button", name="Undo")).to_be_visible()


def _undo(hands: Hands) -> None:
    hands.actions = 0
    hands.button("Undo")
    expect(hands.page.get_by_text("were restored").first).to_be_visible()


def _suspend(hands: Hands) -> None:
    hands.open("/admin/accounts")
    hands.link("ben")
    hands.actions = 0
    hands.press(hands.page.get_by_role("main").get_by_role("link", name="Suspend account", exact=True))
    hands.button("Suspend account")
    expect(hands.page.get_by_role("button", name="Reactivate")).to_be_visible()


def _second_factor(hands: Hands) -> None:
    hands.open("/account")
    hands.press(hands.page.locator("main a[href='/dashboard/account/factor']"))
    secret = hands.page.locator("details code").first.text_content() or ""
    hands.field("Code", pyotp.TOTP(secret.replace(" ", "")).at(clock.now()))
    hands.field("Your password", PASSWORD)
    hands.button("Enable")
    expect(hands.page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    (hands.files / "code").write_text(hands.page.locator(".recovery-codes code").first.inner_text())
    hands.link("I have saved them")


def _recovery(hands: Hands) -> None:
    hands.page.context.clear_cookies()
    hands.open("/signin")
    hands.field("Username or e-mail", "ana")
    hands.fill(hands.page.get_by_label("Password", exact=True), PASSWORD)
    hands.button("Sign in")
    expect(hands.page.get_by_role("heading", name="Enter your code")).to_be_visible()
    hands.actions = 0
    hands.field("Code", (hands.files / "code").read_text())
    hands.button("Sign in")
    expect(hands.page.get_by_role("main")).to_contain_text("codes left")


def _last_month(hands: Hands) -> None:
    hands.open("/links?order=click")
    if hands.taps:
        hands.press(hands.page.get_by_role("button", name="Actions for").first)
        hands.press(hands.page.locator(".row-sheet:popover-open").get_by_title("Statistics"))
    else:
        hands.press(hands.page.locator("td.num a").first)
        hands.page.wait_for_url("**/stats**")
        hands.press(hands.page.locator(".date-range summary"))
    hands.page.wait_for_url("**/stats**")
    hands.press(hands.page.locator(".date-range a:visible", has_text="Last month"))
    hands.page.wait_for_url("**period=last-month**")


_JOBS: tuple[tuple[Callable[[Hands], None], int], ...] = (
    *((_first_link, 6), (_poster, 13), (_new_destination, 3), (_campaign, 55), (_file, 9), (_bio_page, 45)),
    *((_statistics, 3), (_last_month, 3), (_share, 1), (_import, 4), (_delete, 4), (_undo, 1), (_suspend, 2)),
    *((_second_factor, 6), (_recovery, 4)),
)
"""The jobs, each with the most actions that it may need."""


def _context(chrome: Browser, *, is_phone: bool) -> BrowserContext:
    return chrome.new_context(
        viewport={"width": 390, "height": 844} if is_phone else {"width": 1280, "height": 800},
        has_touch=is_phone,
        is_mobile=is_phone,
        timezone_id="Europe/Berlin",
        locale="en-GB",
        user_agent=CHROME,
        service_workers="block",
    )


@pytest.mark.parametrize("is_phone", [True, False], ids=["phone", "computer"])
def test_no_job_needs_more_actions_than_allowed(
    ana: Person, ben: Person, sample: None, chrome: Browser, address: str, tmp_path: Path, *, is_phone: bool
) -> None:
    context, needed = _context(chrome, is_phone=is_phone), dict[str, tuple[int, int]]()
    with window(chrome, context=context) as seen:
        hands = Hands(seen.page, address, tmp_path, taps=is_phone)
        for job, most in _JOBS:
            job(hands)
            needed[job.__name__] = (hands.actions, most)
        assert seen.page.evaluate("matchMedia('(pointer: coarse)').matches") == is_phone
    context.close()
    assert {name: pair for name, pair in needed.items() if pair[0] > pair[1]} == {}, needed
