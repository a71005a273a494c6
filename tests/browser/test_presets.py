"""Saved views and icons in the list of links, saved styles and the menu of QR codes, and Save on phones."""

import re

from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.conftest import Person
from tests.support.browser_login import examine, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet, ok, server
from tests.support.load import until
from tests.support.qr_decoders import new_code, png
from tests.support.visits import DESTINATION
from waypost.media.favicons import SIDE

pytestmark = ON_SQLITE
_DESKTOP: ViewportSize = {"width": 1280, "height": 800}
_PHONE: ViewportSize = {"width": 390, "height": 844}
_AT_ITS_CENTER = """(element) => {
  const box = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
}"""

_PIXELS = "(image) => image.decode().then(() => image.naturalWidth)"


def _save_view(page: Page, name: str) -> None:
    page.get_by_role("button", name="Save view").click()
    page.get_by_label("Name of the view").fill(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("The view was saved.")


def test_view_is_saved_and_shown_again_on_desktop_and_phone(ana: Person, chrome: Browser, address: str) -> None:
    for title, status in (("Open", "public"), ("Closed", "disabled")):
        ana.add("url", url=DESTINATION, title=title, status=status)
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links")
        page.get_by_role("button", name="Filter · Sort", exact=True).click()
        page.get_by_label("Status").select_option("disabled")
        expect(page.locator("tbody tr")).to_have_count(1)
        page.keyboard.press("Escape")
        _save_view(page, "Not in use")
        tabs = page.get_by_role("navigation", name="Views")
        expect(tabs.get_by_role("link", name="Not in use")).to_have_attribute("aria-current", "page")
        tabs.get_by_role("link", name="All links").click()
        expect(page.locator("tbody tr")).to_have_count(2)
        tabs.get_by_role("link", name="Not in use").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page).to_have_url(re.compile(r"/dashboard/links\?status=disabled&columns=link\."))
        page.get_by_role("button", name="Edit view").click()
        expect(page.get_by_role("button", name="Delete view")).to_be_visible()
        page.keyboard.press("Escape")
        examine(page, "/links with a view")
        page.set_viewport_size(_PHONE)
        page.goto(f"{address}/dashboard/links")
        expect(page.locator(".tabs.views")).to_be_hidden()
        page.get_by_role("button", name="Filter · Sort").click()
        view = page.get_by_role("link", name="Not in use")
        expect(view).to_be_visible()
        page.get_by_label("Status").select_option("disabled")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(view).to_have_attribute("aria-current", "page")  # these are the settings of the view
        view.click()
        page.get_by_role("button", name="Edit view").click()
        page.get_by_label("Name of the view").fill("Paused")
        page.get_by_role("button", name="Rename").click()
        expect(page.get_by_role("status").first).to_contain_text("The view was renamed.")
        page.get_by_role("button", name="Filter · Sort").click()
        expect(page.get_by_role("link", name="Paused")).to_have_attribute("aria-current", "page")


def test_style_is_saved_without_losing_the_form(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/qr/new")
        page.wait_for_load_state()
        destination = page.get_by_role("textbox", name="Destination")
        destination.fill("https://target.example/menu")
        page.get_by_role("button", name="Ocean").click()
        expect(page.locator("#preview")).to_contain_text("This code can be scanned.")
        page.get_by_text("Save as my style").click()
        page.get_by_label("Name of the style").fill("Sea")
        page.get_by_role("button", name="Save style").click()
        styles, tools = page.locator("#my-styles"), page.locator("#style-tools")
        expect(tools.get_by_role("status")).to_have_text("The style was saved.")
        expect(destination).to_have_value("https://target.example/menu")
        examine(page, "/qr/new with a style")
        page.set_viewport_size(_DESKTOP)
        page.get_by_role("button", name="Berry").click()
        foreground = page.get_by_label("Foreground", exact=True)
        expect(foreground).to_have_value("#7a1f3d")
        styles.get_by_role("button", name="Sea").click()
        expect(foreground).to_have_value("#0b3d91")
        tools.get_by_label("Saved style").select_option("Sea")
        tools.get_by_role("button", name="Delete style").click()
        expect(tools.get_by_role("status")).to_have_text("The style was deleted.")
        expect(styles.get_by_role("button", name="Sea")).to_have_count(0)
        destination.press("Enter")
        expect(page.get_by_role("status").first).to_contain_text("Your QR code is ready.")


def test_save_of_a_link_stays_in_view_on_phones(ana: Person, chrome: Browser, address: str) -> None:
    link = ana.add("url", url=DESTINATION, title="Link")
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size(_PHONE)
        for path, name in ((f"/links/{link}", "Save"), ("/links/new", "Create link")):
            page.goto(f"{address}/dashboard{path}")
            save = page.get_by_role("main").get_by_role("button", name=name, exact=True).last
            expect(page.locator(".bottom-nav")).to_be_hidden()
            for field in page.locator(".editor :is(input, select, textarea):visible").all():
                field.focus()
                assert save.evaluate(_AT_ITS_CENTER), path
                assert field.evaluate(_AT_ITS_CENTER), "Save lies on the field with the focus"
                box = save.bounding_box()
                assert box is not None
                assert box["y"] + box["height"] <= _PHONE["height"], path
        page.goto(f"{address}/dashboard/links/{link}")
        page.get_by_label("Title", exact=False).first.fill("Changed")
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")


def test_code_of_the_gallery_has_a_menu(ana: Person, chrome: Browser, address: str) -> None:
    code, _ = new_code(ana, name="Poster")
    with signed_in_page(chrome, address) as page:
        for size in (_DESKTOP, _PHONE):
            page.set_viewport_size(size)
            page.goto(f"{address}/dashboard/qr")
            page.get_by_role("button", name="Actions for Poster").click()
            sheet = page.locator(".row-sheet")
            actions = sheet.locator(":is(a, button):visible").evaluate_all("all => all.map(one => one.title)")
            assert actions == [
                *("Download as SVG", "Download as PNG", "Download as PDF", "Edit", "Statistics", "Delete"),
            ]
            with page.expect_download() as download:
                sheet.get_by_title("Download as PNG").click()
            assert download.value.suggested_filename == "Poster.png"
        page.get_by_role("button", name="Actions for Poster").click()
        sheet.get_by_title("Delete").click()
        expect(page.get_by_role("dialog")).to_contain_text("Poster")
        page.goto(f"{address}/dashboard/qr")
        page.get_by_role("button", name="Actions for Poster").click()
        sheet.get_by_title("Edit").click()
        expect(page).to_have_url(f"{address}/dashboard/qr/{code}")


def test_icon_of_destination_lies_on_the_character(
    ana: Person, chrome: Browser, address: str, internet: FakeInternet
) -> None:
    internet.add_host("shop.example", PUBLIC)
    link = ana.add("url", url="http://shop.example/page")
    ana.add("url", url="http://other.example/page")
    with server(lambda _head: [ok(png(64))]) as internet.routes[PUBLIC], signed_in_page(chrome, address) as page:
        for path in ("/links", f"/links/{link}"):
            page.goto(f"{address}/dashboard{path}")
            mark = page.locator(".host-mark").last if path == "/links" else page.locator(".host-mark").first
            icon, before = mark.locator("img"), mark.bounding_box()
            until(lambda: page.reload() and icon.evaluate(_PIXELS) == SIDE)  # noqa: B023  # called at once
            assert icon.bounding_box() == mark.bounding_box() == before, path
