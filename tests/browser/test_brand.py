"""The brand in a real browser: an administrator sets that of the installation, a user that of a domain."""

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from tests.conftest import Person
from tests.support.accessibility import faults, show
from tests.support.brands import logo
from tests.support.browser import BRANDED, window
from tests.support.browser_login import examine, sign_in
from tests.support.databases import ON_SQLITE
from tests.support.layout import check_layout
from tests.support.visits import new_link
from waypost.media.branding.colors import accents

pytestmark = ON_SQLITE
_NAME = "Donaudampfschifffahrtsgesellschaft <b>Wien</b> & Söhne GmbH"  # 59 characters, one of them a long word
_YELLOW, _BLUE = "#ffe000", "#1020a0"


def _fill_in(page: Page, name: str, color: str, picture: bytes) -> None:
    page.get_by_label("Name optional", exact=True).fill(name)
    page.get_by_label("Color optional", exact=True).fill(color)
    page.get_by_label("Logo").set_input_files({"name": "logo.png", "mimeType": "image/png", "buffer": picture})
    page.get_by_role("button", name="Save").click()


def _pick(page: Page, preview: FrameLocator, *, scripts: bool) -> None:
    """Change name and color without saving them: the preview follows, without scripts when its button is pressed."""
    page.get_by_label("Name optional", exact=True).fill("Another name")
    page.get_by_label("Pick a color").evaluate(_PICK, _BLUE)
    if scripts:
        expect(page.get_by_label("Color optional", exact=True)).to_have_value(_BLUE)
        page.get_by_label("Color optional", exact=True).fill("0A5CFF")
        expect(page.get_by_label("Pick a color")).to_have_value("#0a5cff")
        page.get_by_label("Pick a color").evaluate(_PICK, _BLUE)
    else:
        page.get_by_role("button", name="Preview").click()
    expect(preview.locator(".brand")).to_have_text("Another name")
    expect(preview.locator("button")).to_have_css("background-color", _rgb(_BLUE))


_PICK = "(field, color) => { field.value = color; field.dispatchEvent(new Event('input', {bubbles: true})) }"


def _expect_background(page: Page, selector: str, color: str) -> None:
    """Wait for the color: the text of a page is readable before its style sheets are loaded."""
    expect(page.locator(selector).first).to_have_css("background-color", _rgb(color))


def _rgb(color: str) -> str:
    return f"rgb({int(color[1:3], 16)}, {int(color[3:5], 16)}, {int(color[5:], 16)})"


@pytest.mark.parametrize("scripts", [True, False])
def test_brand_is_set_and_shown_everywhere(ana: Person, chrome: Browser, address: str, *, scripts: bool) -> None:
    new_link(ana, "locked", password="a password")
    domain = ana.add("domain", domain=f"http://{BRANDED}")
    ana.add("url", url="https://example.com/", custom="locked", domain=f"http://{BRANDED}", password="a password")
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/admin/brand")
        _fill_in(page, "x" * 20, "yellow", logo())
        expect(page.get_by_text("Color must be a color of the form #RRGGBB").first).to_be_visible()
        expect(page.get_by_label("Name optional", exact=True)).to_have_value("x" * 20)
        _fill_in(page, _NAME, _YELLOW, logo(ink="#202020"))
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
        expect(page.locator("aside .brand")).to_have_text(_NAME)
        expect(page).to_have_title(f"Brand · {_NAME}")
        _expect_background(page, "form.editor .form-actions button, form.editor button:not(.secondary)", _YELLOW)
        preview = page.frame_locator(".preview-frames iframe:not(.loading)")
        expect(preview.locator(".brand")).to_have_text(_NAME)
        _pick(page, preview, scripts=scripts)
        page.goto(f"{address}/dashboard/domains/{domain}")
        page.get_by_role("link", name="Brand", exact=True).click()
        _fill_in(page, "Acme", _BLUE, logo(600, 100))
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
        expect(page.get_by_text("pages use #1020a0 in light mode")).to_be_visible()
        for url, name, color in ((f"{address}/locked", _NAME, _YELLOW), (_branded(address), "Acme", _BLUE)):
            for scheme, mode in zip(("light", "dark"), accents(color), strict=True):
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of its literals
                page.goto(url)
                expect(page).to_have_title(f"Password required · {name}")
                _expect_background(page, "button", mode.fill)
        expect(page.get_by_alt_text("Acme")).to_be_visible()


@pytest.mark.parametrize("height", [120, 60])
def test_previews_have_the_space_of_the_page_around_the_logo(
    ana: Person, chrome: Browser, address: str, height: int
) -> None:
    splash = ana.add("splash", name="Hello", title="Hi", counter=60)
    new_link(ana, "hello", type=str(splash))
    new_link(ana, "locked", password="a password")
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/admin/brand")
        _fill_in(page, "Acme", _YELLOW, logo(120, height))
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
        for editor, public in (("admin/brand", "locked"), (f"splash/{splash}", "hello")):
            page.goto(f"{address}/dashboard/{editor}")
            preview = page.frame_locator(".preview-frames iframe:not(.loading)").first
            expect(preview.locator(".brand img")).to_be_visible()
            previewed = _space_below_brand(preview)
            page.goto(f"{address}/{public}")
            assert _space_below_brand(page) == previewed >= 12, editor


def _space_below_brand(page: Page | FrameLocator) -> float:
    """Return the pixels between the brand and the card."""
    bottom = page.locator(".brand").evaluate("element => element.getBoundingClientRect().bottom")
    top = page.locator("main").evaluate("element => element.getBoundingClientRect().top")
    return round(float(top - bottom), 1)


def test_branded_pages_fit_and_have_no_violation(ana: Person, chrome: Browser, address: str) -> None:
    domain = ana.add("domain", domain=f"http://{BRANDED}", brandname="Acme", brandcolor=_YELLOW)
    ana.add("bio", name="Bio", alias="card", blocks=[{"type": "text", "text": "Hello"}])
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/admin/brand")
        _fill_in(page, _NAME, _YELLOW, logo())
        for path in (
            "/dashboard/admin/brand",
            f"/dashboard/domains/{domain}/brand",
            "/dashboard",
            "/dashboard/statistics",
        ):
            page.goto(address + path)
            examine(page, path)
        for url in (f"{address}/unknown", f"{address}/report", f"{address}/card", _branded(address)):
            page.goto(url)
            check_layout(page, url)
            for scheme in ("light", "dark"):
                show(page, scheme)
                assert faults(page) == [], (url, scheme)


def _branded(address: str) -> str:
    return f"http://{BRANDED}:{address.rpartition(':')[2]}/locked"
