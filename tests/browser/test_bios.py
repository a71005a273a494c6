"""Bio page builder in a real browser."""

from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.bios import FORM_BLOCKS, new_bio, picture, picture_url
from tests.support.browser import Window, window
from tests.support.browser_login import examine, fetched, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.load import until

pytestmark = ON_SQLITE
_BOXES = """
  (images) =>
    images.map((image) => ({
      width: image.clientWidth,
      height: image.getBoundingClientRect().height,
      column: image.parentElement.clientWidth,
    }))
"""


@pytest.mark.parametrize("scripts", [True, False])
def test_builder_creates_page_and_shows_block_clicks(
    ana: Person, chrome: Browser, address: str, ingester: None, *, scripts: bool
) -> None:
    with window(chrome, scripts=scripts) as tab:
        page = tab.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/bios")
        page.get_by_role("main").get_by_role("link", name="New page").first.click()
        page.wait_for_load_state()  # the builder script is active now
        page.get_by_label("Name", exact=True).fill("Ana")
        page.get_by_role("textbox", name="Alias").fill("ana-costa")
        page.get_by_label("Sunset").check(force=True)
        page.get_by_role("button", name="Link", exact=True).click()
        page.get_by_role("textbox", name="Title").fill("Shop")
        page.get_by_role("textbox", name="Destination").fill("https://target.example/shop")
        page.get_by_role("button", name="Profile", exact=True).click()
        page.get_by_label("Network").fill("Mastodon")
        page.get_by_label("Profile URL").fill("https://mastodon.example/@ana")
        page.get_by_role("button", name="Heading", exact=True).click()
        page.locator("[data-block] textarea").fill("Hello")
        _move_heading_up(page, scripts=scripts)
        page.get_by_role("button", name="Contact", exact=True).click()
        _choose(page, "Contact 4", "Delete")
        expect(page.locator("[data-block] h3")).to_have_text(["Heading", "Link", "Profile"])
        if not scripts:
            page.get_by_role("button", name="Preview").click()
        _expect_preview(page)
        page.get_by_role("button", name="Create page").click()
        expect(page.get_by_role("status").first).to_contain_text("Your page is ready.")
        block = ana.get("/bio/1")["blocks"][0]["id"]
        assert fetched(address, f"ana-costa/{block}").headers["location"] == "https://target.example/shop"
        page.reload()
        expect(page.locator("[data-block]", has_text="Link").locator(".tag:visible")).to_have_text("1 click")
        _choose(page, "Profile 3", "Delete")
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
        expect(page.locator("[data-block] h3")).to_have_text(["Heading", "Link"])


def _expect_preview(page: Page) -> None:
    phone = page.frame_locator("iframe[name=phone]")
    expect(phone.get_by_text("Hello")).to_be_visible()
    expect(phone.get_by_text("Mastodon")).to_be_visible()
    sky = phone.locator("html").evaluate("page => getComputedStyle(page).getPropertyValue('--sky')")
    assert sky.strip() == "#fff0e2"


def _choose(page: Page, block: str, action: str) -> None:
    """Choose an action in the menu of a block."""
    page.get_by_role("button", name=f"Actions for {block}").click()
    page.get_by_role("button", name=f"{action}: {block}").click()


def _move_heading_up(page: Page, *, scripts: bool) -> None:
    """Move the third block to the top, by keyboard and by pointer."""
    page.get_by_role("button", name="Actions for Heading 3").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Move up: Heading 3").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-block] h3").nth(1)).to_have_text("Heading")
    _choose(page, "Heading 2", "Move up")
    expect(page.locator("[data-block] h3").first).to_have_text("Heading")
    if scripts:
        expect(page.get_by_role("button", name="Actions for Heading 1")).to_be_focused()


@pytest.mark.parametrize("width", [390, 1280])
def test_block_is_duplicated_and_hidden_by_its_menu(ana: Person, chrome: Browser, address: str, width: int) -> None:
    overlay = ana.add("overlay", name="News", type="newsletter", message="News")
    bio = ana.add("bio", name="Ana", blocks=[FORM_BLOCKS[0], {"type": "form", "overlay": overlay}])
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(f"{address}/dashboard/bios/{bio}")
        blocks = page.locator("[data-block]")
        blocks.first.locator("summary").first.click()
        page.get_by_role("textbox", name="Title").fill("Typed")
        _choose(page, "Link 1", "Duplicate")
        _choose(page, "Form 3", "Duplicate")
        expect(page.locator("[data-block] h3")).to_have_text(["Link", "Link", "Form", "Form"])
        expect(blocks.nth(1).get_by_role("textbox", name="Title")).to_have_value("Typed")
        _choose(page, "Link 2", "Hide")
        expect(page.get_by_role("button", name="Actions for Link 2")).to_be_focused()
        expect(page.locator(".when-hidden:visible")).to_have_count(1)
        page.get_by_role("button", name="Actions for Link 2").click()
        expect(page.get_by_role("button", name="Hide: Link 2")).to_be_hidden()
        expect(page.get_by_role("button", name="Show: Link 2")).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
    stored = ana.details("bio", bio)["blocks"]
    assert [block.get("title") or block.get("overlay") for block in stored] == ["Typed", "Typed", overlay, overlay]
    assert [block.get("hidden", False) for block in stored] == [False, True, False, False]


def test_pictures_keep_their_shape_and_place_while_they_load(ana: Person, chrome: Browser, address: str) -> None:
    """A photo, a banner and a tall picture: neither bars nor cropping, on the page and in the builder's preview."""
    sizes = [(600, 400), (1200, 300), (450, 800)]
    bio = new_bio(ana, blocks=[{"type": "image", "picture": picture_url(size=size)} for size in sizes])
    with signed_in_page(chrome, address) as page:
        for width, path in product((390, 1280), ("ana-costa", f"dashboard/bios/{bio}/phone")):
            page.set_viewport_size({"width": width, "height": 2400})
            page.route("**/picture-*", lambda _: None)  # they never come
            page.goto(f"{address}/{path}", wait_until="domcontentloaded")
            before = page.locator("figure img").evaluate_all(_BOXES)
            ratios = [box["width"] / box["height"] for box in before]
            assert ratios == pytest.approx([1.5, 4, 0.5625], rel=0.01), path
            assert {box["width"] for box in before} == {before[0]["column"]}, path
            page.unroute("**/picture-*")
            page.reload()
            until(
                lambda: page.locator("figure img").evaluate_all("(images) => images.every((image) => image.complete)")
            )
            assert page.locator("figure img").evaluate_all(_BOXES) == before, path


def test_block_is_moved_by_dragging_also_beyond_the_edge_of_the_window(
    ana: Person, chrome: Browser, address: str
) -> None:
    ana.post("/bio/add", {"name": "Ana", "blocks": FORM_BLOCKS[:3]})
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/bios/1")
        page.set_viewport_size({"width": 1280, "height": 2400})  # all blocks are in view during the drag
        page.locator("[data-grip]").nth(2).drag_to(
            page.locator("[data-block]").first, target_position={"x": 20, "y": 4}
        )
        expect(page.locator("[data-block] h3")).to_have_text(["Text", "Link", "Heading"])
        expect(page.locator("[data-block][draggable=true]")).to_have_count(0)  # the drag has ended
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
        assert [block["type"] for block in ana.get("/bio/1")["details"]["blocks"]] == ["text", "link", "heading"]
        _drag_beyond_the_edge(ana, page, address)


@pytest.mark.parametrize("scripts", [True, False])
def test_page_with_pictures_and_own_colors_is_built(
    ana: Person, chrome: Browser, address: str, tmp_path: Path, *, scripts: bool
) -> None:
    (tmp_path / "me.jpg").write_bytes(picture("#b02a4c", (2400, 1800)))
    (tmp_path / "no.jpg").write_bytes(b"<svg/>")
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/bios/new")
        page.get_by_label("Name", exact=True).fill("Ana")
        page.get_by_role("textbox", name="Alias").fill("ana-costa")
        page.get_by_role("button", name="Link", exact=True).click()
        page.get_by_role("textbox", name="Title").fill("Shop")
        page.get_by_role("textbox", name="Destination").fill("target.example/shop")
        page.get_by_label("Own colors and background").check(force=True)
        page.get_by_label("Background color").fill("#fff4e0")
        _choose_pictures(page, tmp_path, scripts=scripts)
        page.locator("button[value=add-image]").click()
        page.locator("[data-picture=image] input[type=file]").set_input_files(tmp_path / "me.jpg")
        if scripts:
            expect(page.locator("[data-picture=image] img")).to_be_visible()
        page.get_by_role("button", name="Create page").click()
        expect(page.get_by_role("status").first).to_contain_text("Your page is ready.")
        expect(page.locator(".bio-profile > summary img")).to_be_visible()
        page.goto(f"{address}/ana-costa")
        widths = [
            image.evaluate("image => image.decode().then(() => image.naturalWidth)")
            for image in page.locator("main img:not(details img)").all()
        ]
        assert widths == [400, 160, 1600]
        assert page.locator("body").evaluate("body => getComputedStyle(body.parentElement).backgroundImage") != "none"
        assert seen.foreign_urls == []


def _choose_pictures(page: Page, folder: Path, *, scripts: bool) -> None:
    """Choose a file that is no picture, then pictures for the avatar and for the thumbnail of a link."""
    page.locator("#avatar").set_input_files(folder / "no.jpg")
    if scripts:
        expect(page.locator("[data-picture=avatar] [data-picture-error]")).to_have_text(
            "Picture must be a PNG, JPEG or WebP picture."
        )
    page.locator("#avatar").set_input_files(folder / "me.jpg")
    page.locator("[data-picture=thumbnail] input[type=file]").set_input_files(folder / "me.jpg")
    if scripts:
        expect(page.locator("[data-picture=avatar] img")).to_be_visible()
        expect(page.locator("[data-picture=thumbnail] img")).to_be_visible()
        expect(page.locator("[data-thumbnail]").first).to_be_visible()
        chooser = page.locator("[data-picture=thumbnail] label", has_text="Choose a picture")
        with page.expect_file_chooser():
            chooser.click()
        expect(page.frame_locator("iframe[name=phone]").locator("img.avatar")).to_be_visible()


def test_builder_folds_undoes_and_follows(ana: Person, chrome: Browser, address: str) -> None:
    texts = [{"type": "text", "text": f"Paragraph {number}\n" * 8} for number in range(6)]
    ana.post("/bio/add", {"name": "Ana", "blocks": texts})
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/bios/1")
        blocks, toast = page.locator("[data-block]"), page.locator(".toast")
        _choose(page, "Text 2", "Delete")
        expect(blocks).to_have_count(5)
        toast.get_by_role("button", name="Undo").click()
        expect(blocks).to_have_count(6)
        expect(blocks.nth(1).locator("textarea")).to_have_value(texts[1]["text"])
        expect(blocks.nth(1).locator("summary").first).to_be_focused()
        expect(blocks.nth(2).locator("textarea")).to_be_hidden()
        expect(blocks.nth(2).locator("[data-title]")).to_contain_text("Paragraph 2")
        blocks.nth(5).locator("summary").first.click()
        blocks.nth(5).locator("textarea").click()
        shown = page.frame_locator("iframe[name=phone]").get_by_text("Paragraph 5").first
        expect(shown).to_be_in_viewport()
        expect(page.get_by_role("button", name="Save", exact=True).last).to_be_in_viewport()
        page.get_by_role("button", name="Close all").click()
        expect(page.locator("[data-block] textarea:visible")).to_have_count(0)
        blocks.nth(2).locator("summary").first.click()
        page.reload()
        expect(page.locator("[data-block] textarea:visible")).to_have_count(1)
        expect(blocks.first.locator("[data-title]")).to_be_visible()
        page.set_viewport_size({"width": 390, "height": 800})
        expect(page.locator("iframe[name=phone]")).to_be_hidden()
        page.get_by_text("Preview", exact=True).click()
        expect(page.locator("iframe[name=phone]")).to_be_in_viewport()
        expect(blocks.first).to_be_hidden()


def test_profile_of_a_saved_page_is_folded_and_opens_for_an_error(ana: Person, chrome: Browser, address: str) -> None:
    bio = ana.add("bio", name="Ana", title="Ana Costa", description="Potter", blocks=[])
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/bios/{bio}")
        page.wait_for_load_state()
        profile, name = page.locator(".bio-profile > summary"), page.get_by_label("Name", exact=True)
        expect(profile).to_contain_text("Ana Costa")
        expect(name).to_be_hidden()
        profile.click()
        name.fill("")
        profile.click()
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(name).to_be_focused()
        name.fill("Ana")
        page.get_by_role("textbox", name="Alias").fill("a b")
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.get_by_role("textbox", name="Alias")).to_be_focused()
        message = 'Alias cannot have " ". Use only A-Z, a-z, 0-9, _ and -.'
        expect(page.get_by_role("textbox", name="Alias")).to_have_accessible_description(message)


def _drag_beyond_the_edge(ana: Person, page: Page, address: str) -> None:
    texts = [{"type": "text", "text": f"Number {number}"} for number in range(8)]
    bio = ana.add("bio", name="Ana", blocks=texts)
    page.set_viewport_size({"width": 1280, "height": 700})
    page.goto(f"{address}/dashboard/bios/{bio}")
    first, last = page.locator("[data-block]").first, page.locator("[data-block] textarea").last
    handle = first.locator("[data-grip]")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 8, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 8, 690, steps=4)
    expect(last).to_have_value("Number 0")  # the page has scrolled to its end
    page.mouse.up()
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status").first).to_contain_text("Saved.")
    assert ana.details("bio", bio)["blocks"][7]["text"] == "Number 0"


@pytest.mark.parametrize("scripts", [True, False])
def test_visitor_shares_plays_and_sends_form(ana: Person, chrome: Browser, address: str, *, scripts: bool) -> None:
    overlay = ana.add("overlay", name="News", type="newsletter", message="News twice a month")
    blocks = [{"type": "embed", "url": "https://vimeo.com/22439234"}, {"type": "form", "overlay": overlay}]
    ana.post("/bio/add", {"name": "Ana", "alias": "ana-costa", "blocks": blocks})
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"{address}/ana-costa")
        assert seen.foreign_urls == []
        page.get_by_text("QR code", exact=True).click()
        expect(page.get_by_role("img", name="QR code of this page")).to_be_visible()
        share = page.get_by_role("button", name="Share")
        if scripts:
            share.click()
            expect(page.locator("footer [role=status]")).to_have_text("Link copied")
            assert page.evaluate("navigator.clipboard.readText()").endswith("/ana-costa")
            page.locator("[data-player]").click()
            expect(page.locator("iframe")).to_be_visible()
            assert any(url.startswith("https://player.vimeo.com/video/22439234") for url in _requested(seen))
        else:
            expect(share).to_be_hidden()
            page.locator("[data-player]").click()
            page.wait_for_url("https://vimeo.com/22439234")
            page.goto(f"{address}/ana-costa")
        page.get_by_label("Your e-mail").fill("zoe@example.com")
        page.get_by_role("button", name="Subscribe").click()
        page.wait_for_url(f"{address}/overlay/{overlay}")
    (stored,) = ana.get(f"/overlay/{overlay}/submissions")["data"]["submissions"]
    assert stored["email"] == "zoe@example.com"


def _requested(seen: Window) -> list[str]:
    """Return the URLs that the window requested from other hosts, once there is one."""
    for _ in range(100):
        if seen.foreign_urls:
            break
        seen.page.wait_for_timeout(50)
    return seen.foreign_urls


def test_bio_pages_have_no_accessibility_violations(ana: Person, chrome: Browser, address: str) -> None:
    overlay = ana.add("overlay", name="Write to us", type="contact")
    blocks = [block for block in FORM_BLOCKS if block["type"] != "image"]
    blocks = [{**blocks[0], "thumbnail": picture_url(), "showfrom": "2020-01-01"}, *blocks[1:]]
    added = [{"type": "embed", "url": "https://vimeo.com/22439234"}, {"type": "form", "overlay": overlay}]
    design = {"background": "#fff4e0", "gradient": "#ffd9c0", "button": "#3d1522"}
    page = {"name": "x" * 200, "title": "مرحبا بالعالم", "theme": "mono", "avatar": picture_url(), "design": design}
    ana.post("/bio/add", {**page, "blocks": [*blocks, *added]})
    with window(chrome) as seen:
        sign_in(seen.page, address)
        for path in ("", "/new", "/1", "/1/stats", "/1/delete"):
            seen.page.goto(f"{address}/dashboard/bios{path}")
            examine(seen.page, path)
        assert seen.foreign_urls == []


def test_preview_shows_the_form_after_a_failed_save(ana: Person, chrome: Browser, address: str) -> None:
    ana.add("bio", name="Stored", blocks=[{"type": "text", "text": "Stored text"}])
    with signed_in_page(chrome, address) as page:
        page.on("dialog", lambda dialog: dialog.accept())  # a form that is not saved is left
        for path, button in (("new", "Create page"), ("1", "Save")):
            page.goto(f"{address}/dashboard/bios/{path}")
            page.wait_for_load_state()
            if path != "new":
                page.locator(".bio-profile > summary").click()
            page.get_by_label("Name", exact=True).fill("Typed name")
            page.get_by_role("button", name="Text", exact=True).click()
            page.locator("[data-block] textarea").last.fill("Typed text")
            page.get_by_role("button", name="Link", exact=True).click()
            page.get_by_role("textbox", name="Destination").last.fill("no url")
            page.get_by_role("button", name=button, exact=True).last.click()
            expect(page.get_by_role("alert")).to_be_visible()
            phone = page.frame_locator("iframe[name=phone]")
            expect(phone.get_by_text("Typed text")).to_be_visible()
            expect(phone.get_by_role("heading", name="Typed name")).to_be_visible()
            number = page.locator("[data-block]").count()
            expect(page.get_by_role("alert")).to_contain_text(f"Block {number}: ")
            mark = page.locator("[data-block] h3").last.evaluate("e => getComputedStyle(e, '::before').content")
            assert mark != "none"


def test_block_of_an_unknown_type_is_not_called_empty(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/bios/new")
        page.get_by_label("Name", exact=True).fill("Ana")
        page.get_by_role("button", name="Heading", exact=True).click()
        page.locator("[data-block] [name$='.type']").evaluate("field => (field.value = 'hologram')")
        page.get_by_role("button", name="Create page").click()
        expect(page.locator("[data-block] h3")).to_have_text("hologram")
        expect(page.locator("[data-empty]")).to_be_hidden()
