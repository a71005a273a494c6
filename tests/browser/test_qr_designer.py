"""QR code designer in a real browser; codes are decoded from screenshots."""

import re
from io import BytesIO

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, fetched, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.qr_decoders import LOGO, new_code, png
from waypost.core.settings import Settings
from waypost.media.qrcode import render

pytestmark = ON_SQLITE


def test_too_pale_color_is_repaired_with_one_button(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        code, error = _new_menu(page, address), page.locator("#preview .field-error")
        foreground = page.get_by_label("Foreground", exact=True)
        foreground.fill("#ffd54f")
        expect(error).to_have_text("Too pale to scan. Use a darker color for the code.")
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            expect(error).to_be_visible()
            assert error.evaluate(_IS_RUNNING_TEXT), width
        examine(page, "code that is too pale")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.get_by_role("button", name="Use this color").click()
        expect(code).to_be_visible()
        expect(foreground).to_have_value(re.compile("#[0-9a-f]{6}"))
        assert foreground.input_value() != "#ffd54f"
        page.get_by_label("Caption").fill("\U0001f980")
        expect(error).to_contain_text("Caption has")
        assert error.evaluate(_IS_RUNNING_TEXT), "a link with a text behind it"


_IS_RUNNING_TEXT = """element => {
  const words = document.createRange();
  words.selectNodeContents(element);
  const lines = new Set([...words.getClientRects()].map(({ top }) => Math.round(top / 8)));
  return element.textContent.length / lines.size > 8;
}"""


def _new_menu(page: Page, address: str) -> Locator:
    """Open the designer, enter the destination of a code, and return its preview."""
    page.goto(f"{address}/dashboard/qr")
    page.get_by_role("main").get_by_role("link", name="New QR code").first.click()
    page.wait_for_load_state()  # the preview is active now
    page.get_by_role("textbox", name="Destination").fill("https://target.example/menu")
    code = page.locator("#preview img")
    expect(code).to_be_visible()
    return code


def _decode(screenshot: bytes) -> str | None:
    """Decode the QR code in a screenshot."""
    return render.decode_image(Image.open(BytesIO(screenshot)))


def test_designer_creates_scannable_code_and_shows_scans(
    ana: Person, chrome: Browser, address: str, settings: Settings, ingester: None
) -> None:
    with signed_in_page(chrome, address) as page:
        code = _new_menu(page, address)
        page.get_by_label("Background", exact=True).fill("#222222")
        expect(page.locator("#preview")).to_contain_text("Use a lighter background.")
        page.get_by_label("Background", exact=True).fill("#fff3e0")
        expect(code).to_be_visible()
        page.get_by_label("Dots", exact=True).check(force=True)
        page.get_by_role("textbox", name="Address of the code").fill("menu")
        page.get_by_role("textbox", name="Caption").fill("OUR MENU")
        page.locator("#logo-file").set_input_files({"name": "logo.png", "mimeType": "image/png", "buffer": png(900)})
        expect(page.locator("[data-logo] img")).to_be_visible()
        page.get_by_role("button", name="Create QR code").click()
        expect(page.get_by_role("status").first).to_contain_text("Your QR code is ready.")
        expect(page.get_by_text("A logo is set. A new one replaces it.")).to_be_visible()
        assert _decode(code.screenshot()) == f"{settings.base}/menu"
        assert fetched(address, "menu").headers["location"] == "https://target.example/menu"
        page.get_by_role("textbox", name="Destination").fill("https://target.example/new-menu")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
        assert fetched(address, "menu").headers["location"] == "https://target.example/new-menu"
        page.get_by_text("Other formats").click()
        for name, start in (("Download as SVG", b"<svg"), ("PDF", b"%PDF"), ("PNG 1024", b"\x89PNG")):
            with page.expect_download() as download:
                page.get_by_role("link", name=name, exact=True).click()
            assert download.value.path().read_bytes().startswith(start)
        page.get_by_label("Width in cm").fill("12.5")
        with page.expect_download() as download:
            page.get_by_role("link", name="PDF", exact=True).click()
        assert download.value.suggested_filename == "menu 12.5 cm.pdf"
        assert b"/MediaBox [0 0 354 " in download.value.path().read_bytes()
        page.reload()
        page.get_by_role("link", name="2 scans").click()
        expect(page.locator(".tiles div").first.locator("dd")).to_have_text("2")


def test_preset_fills_in_all_colors(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/qr/new")
        page.wait_for_load_state()
        code = page.locator("#preview img")
        sample = code.get_attribute("src")
        presets = page.get_by_role("group", name="Colors").get_by_role("button")
        pressed = presets.and_(page.locator("[aria-pressed=true]"))
        expect(pressed).to_have_text("Black")
        page.get_by_role("button", name="Sunset").click()
        expect(pressed).to_have_text("Sunset")
        expect(code).not_to_have_attribute("src", sample or "")
        expect(page.get_by_label("Second color")).to_have_value("#7e22ce")
        page.get_by_role("button", name="Ocean").click()
        expect(page.get_by_label("Foreground", exact=True)).to_have_value("#0b3d91")
        expect(page.get_by_label("Second color")).to_be_hidden()
        page.get_by_role("textbox", name="Destination").fill("https://target.example/menu")
        page.get_by_role("button", name="Create QR code").click()
        expect(page.get_by_role("status").first).to_contain_text("Your QR code is ready.")
        expect(pressed).to_have_text("Ocean")
        page.get_by_label("Background", exact=True).fill("#ffffff")
        expect(pressed).to_have_count(0)
    code_of = ana.details("qr", ana.get("/qr")["data"]["qrs"][0]["id"])
    assert (code_of["foreground"], code_of["background"], code_of["gradient"]) == ("#0b3d91", "#f4f8ff", None)


def test_own_style_and_former_logo_are_taken_over(ana: Person, chrome: Browser, address: str) -> None:
    logo, _ = new_code(ana, name="Poster", foreground="#102040", modules="tiles", caption="Scan me", logo=LOGO)
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/qr/{logo}")
        page.get_by_text("Save as my style").click()
        page.get_by_label("Name of the style").fill("Autumn")
        page.get_by_role("button", name="Save style").click()
        expect(page.locator("#style-tools").get_by_role("status")).to_have_text("The style was saved.")
        style = page.locator("#my-styles").get_by_role("button", name="Autumn")
        expect(style).to_have_attribute("aria-pressed", "true")
        page.goto(f"{address}/dashboard/qr/new")
        page.wait_for_load_state()
        code = page.locator("#preview img")
        sample = code.get_attribute("src")
        page.get_by_role("button", name="Autumn").click()
        expect(code).not_to_have_attribute("src", sample or "")
        expect(page.get_by_label("Tiles")).to_be_checked()
        expect(page.get_by_label("Logo of Poster")).to_be_checked()
        examine(page, "own styles and former logos")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.get_by_role("textbox", name="Destination").fill("https://target.example/menu")
        page.get_by_role("button", name="Create QR code").click()
        expect(page.get_by_role("status").first).to_contain_text("Your QR code is ready.")
    newest = ana.details("qr", ana.get("/qr")["data"]["qrs"][0]["id"])
    assert (newest["foreground"], newest["modules"], newest["caption"]) == ("#102040", "tiles", "Scan me")
    assert newest["logo"]
    assert newest["id"] != logo


def test_designer_without_scripts_previews_and_creates_code(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome, scripts=False) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/qr/new")
        expect(page.get_by_role("textbox", name="Destination")).to_be_visible()
        page.get_by_label("Wi-Fi").check(force=True)
        expect(page.get_by_role("textbox", name="Destination")).not_to_be_visible()
        page.get_by_role("textbox", name="Network name").fill("Café")
        page.get_by_role("button", name="Preview").click()
        assert _decode(page.locator("#preview img").screenshot()) == "WIFI:T:nopass;S:Café;;"
        page.get_by_role("textbox", name="Password", exact=True).fill("geheimnis")
        page.get_by_role("button", name="Create QR code").click()
        assert _decode(page.locator("#preview img").screenshot()) == "WIFI:T:WPA;S:Café;P:geheimnis;;"


def test_qr_pages_have_no_accessibility_violations(ana: Person, chrome: Browser, address: str) -> None:
    new_code(ana, name="x" * 200, logo=LOGO, gradient={"color": "#000044"})
    new_code(ana, "vcard", {"fname": "مرحبا"}, name="مرحبا", caption="SCAN ME")
    with window(chrome) as seen:
        sign_in(seen.page, address)
        for path in ("", "?q=nothing", "/new", "/new?type=event", "/1", "/2", "/1/stats", "/2/delete"):
            seen.page.goto(f"{address}/dashboard/qr{path}")
            examine(seen.page, path)
        assert seen.foreign_urls == []
