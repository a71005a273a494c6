"""Forms in a real browser: summary of errors, quick create, guard of unsaved changes, drafts, shortcuts."""

from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from tests.conftest import PASSWORD, Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in, sign_in_by_form, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.visits import new_link

pytestmark = ON_SQLITE


@pytest.mark.parametrize("scripts", [True, False])
def test_failed_save_focuses_summary_that_links_to_fields(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    with window(chrome, scripts=scripts) as tab:
        page = tab.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/bios/new")
        page.get_by_label("Name", exact=True).fill("Ana")
        page.get_by_role("button", name="Link", exact=True).click()
        page.get_by_role("textbox", name="Title").fill("Shop")
        page.get_by_role("textbox", name="Destination").fill("no url")
        page.get_by_role("textbox", name="Alias").fill("a b")
        page.get_by_role("button", name="Create page").click()
        summary = page.get_by_role("alert")
        expect(summary).to_contain_text("Not saved: 2 problems")
        expect(summary).to_be_focused()
        expect(summary).to_be_in_viewport()
        if scripts:
            examine(page, "summary of errors")
        summary.get_by_role("link", name="Block 1 “Shop”: Destination URL").click()
        field = page.get_by_role("textbox", name="Destination")
        expect(field).to_be_in_viewport()
        expect(field).to_be_focused()
        expect(field).to_have_accessible_description("This is not an address. Example: example.com/page")
        page.get_by_role("textbox", name="Alias").fill("ana")
        page.get_by_role("button", name="Create page").click()
        expect(field).to_be_focused()
        expect(field).to_be_in_viewport()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(field).to_have_accessible_description("This is not an address. Example: example.com/page")


def test_link_of_the_form_for_all_options_is_copied_and_shown_in_a_card(
    ana: Person, chrome: Browser, address: str
) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links/new")
        page.locator("#url").fill("target.example/x")
        page.locator("form.editor").get_by_role("button", name="Create link").click()
        result = page.locator("main .quick-result")
        # A browser can refuse to copy without a click on the page.
        expect(result.get_by_role("status")).to_contain_text("Your link is ready")
        result.get_by_role("link", name="Create another").click()
        expect(page.locator("#url")).to_have_value("")


def test_first_link_is_copied_and_shown_in_one_card(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard")
        expect(page.locator(".checklist").first).to_contain_text("0 of 5 done")
        page.locator("#quick-url").fill("target.example/x")
        page.get_by_role("button", name="Shorten").click()
        result = page.locator("main .quick-result")
        expect(result).to_contain_text("Your link is ready and copied.")
        expect(result.get_by_role("status")).to_have_text("Your link is ready and copied.")
        expect(page.locator(".checklist").first).to_contain_text("1 of 5 done")
        expect(page.locator(".toast")).to_have_count(0)
        copy = result.get_by_role("button").first
        expect(copy).to_have_text("Copy")
        copy.click()
        expect(copy).to_have_text("Copied")
        expect(result.get_by_role("img")).to_be_visible()
        again = result.get_by_role("button", name="Create another")
        boxes = [box for part in (copy, result.get_by_role("link", name="Edit"), again) if (box := part.bounding_box())]
        middles = [box["y"] + box["height"] / 2 for box in boxes]
        assert max(middles) - min(middles) <= 4, "they are in one line"
        assert all(right["x"] - left["x"] - left["width"] >= 6 for left, right in pairwise(boxes)), "with gaps"
        expect(page.locator("#quick-url")).to_be_hidden()
        again.click()
        expect(page.locator("#quick-url")).to_be_focused()
        expect(result).to_have_count(0)


def test_refused_copy_is_not_called_copied(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.add_init_script(
            "navigator.clipboard.writeText = () => Promise.reject(); document.execCommand = () => false"
        )
        page.goto(f"{address}/dashboard")
        page.locator("#quick-url").fill("target.example/x")
        page.get_by_role("button", name="Shorten").click()
        copy = page.locator("main .quick-result").get_by_role("button").first
        copy.click()
        expect(page.locator(".toast")).to_have_text("The browser did not allow copying. Select the text and copy it.")
        expect(copy).to_have_text("Copy")
        expect(page.locator("main .quick-result")).to_contain_text("Your link is ready.")


def test_quick_create_answers_in_place(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as tab:
        page = tab.page
        sign_in_by_form(page, address)
        field = page.get_by_role("main").get_by_label("Destination URL")
        field.fill("no url")
        page.get_by_role("button", name="Shorten").click()
        expect(field).to_have_accessible_description("This is not an address. Example: example.com/page")
        expect(field).to_be_focused()
        expect(field).to_have_value("no url")
        field.fill("target.example/x")
        page.get_by_role("button", name="Shorten").click()
        result = page.locator("main .quick-result")
        expect(result).to_contain_text("Your link is ready")
        expect(result.get_by_role("button").first).to_be_focused()
        expect(field).to_have_value("")
        examine(page, "quick create")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.keyboard.press("c")
        dialog = page.get_by_role("dialog", name="New link")
        dialog.get_by_label("Destination URL").fill("target.example/y")
        dialog.get_by_label("Alias").fill("a b")
        dialog.get_by_role("button", name="Create link").click()
        expect(dialog.get_by_label("Alias")).to_be_focused()
        expect(dialog.get_by_label("Alias")).to_have_accessible_description(
            'Alias cannot have " ". Use only A-Z, a-z, 0-9, _ and -.'
        )
        dialog.get_by_label("Alias").fill("why")
        dialog.get_by_role("button", name="Create link").click()
        expect(dialog.locator(".quick-result")).to_contain_text("/why")
        assert page.url == f"{address}/dashboard"
    assert [link["longurl"] for link in ana.get("/urls")["data"]["urls"]] == [
        "https://target.example/y",
        "https://target.example/x",
    ]


def test_quick_create_shows_the_existing_link_and_creates_another(ana: Person, chrome: Browser, address: str) -> None:
    ana.add("url", url="https://target.example/x", custom="first")
    for scripts in (True, False):
        with window(chrome, scripts=scripts) as tab:
            page = tab.page
            sign_in_by_form(page, address)
            page.get_by_role("main").get_by_label("Destination URL").fill("target.example/x")
            page.get_by_role("button", name="Shorten").click()
            expect(page.get_by_role("main")).to_contain_text("You already have a link to this destination:")
            assert ana.get("/urls")["data"]["result"] == (1 if scripts else 2)
            if scripts:
                expect(page.locator(".quick-result").get_by_role("button", name="Copy")).to_be_focused()
                examine(page, "quick create with an existing link")
            page.get_by_role("button", name="Create another").click()
            expect(page.get_by_text("Your link is ready")).to_be_visible()
    assert ana.get("/urls")["data"]["result"] == 3


def _is_guarded(page: Page) -> bool:
    """Return whether the page asks before it is left."""
    return bool(page.evaluate("!window.dispatchEvent(new Event('beforeunload', {cancelable: true}))"))


def test_unsaved_changes_are_guarded_until_saved(ana: Person, chrome: Browser, address: str) -> None:
    link = new_link(ana, "spring")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links/{link}")
        page.wait_for_load_state()
        assert not _is_guarded(page)
        title = page.get_by_label("Title", exact=False).first
        title.fill("Changed")
        assert _is_guarded(page)
        dialog_types: list[str] = []

        def stay(dialog: Dialog) -> None:
            dialog_types.append(dialog.type)
            dialog.dismiss()

        page.once("dialog", stay)
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Files").first.click(no_wait_after=True)
        page.wait_for_timeout(300)
        assert dialog_types == ["beforeunload"]
        expect(title).to_have_value("Changed")
        title.fill("")
        assert not _is_guarded(page)
        title.fill("Changed")
        page.get_by_label("Destination URL").first.fill("no url")
        title.press("Control+Enter")
        expect(page.get_by_label("Destination URL").first).to_have_attribute("aria-invalid", "true")
        page.wait_for_load_state()
        assert _is_guarded(page)
        page.get_by_label("Destination URL").first.fill("target.example")
        title.press("Control+Enter")
        expect(page.get_by_text("Saved.")).to_be_visible()
        page.wait_for_load_state()
        assert not _is_guarded(page)
        assert dialog_types == ["beforeunload"]
    assert ana.get(f"/url/{link}")["details"]["title"] == "Changed"


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/admin/brand", "name"),
        ("/shares/link/1", "title"),
        ("/utm/new", "name"),
        ("/campaigns/1", "place.weight"),
        ("/admin/plans/new", "name"),
        ("/admin/blocks", "values"),
    ],
)
def test_other_forms_are_guarded(ana: Person, chrome: Browser, address: str, path: str, field: str) -> None:
    campaign = ana.add("campaign", name="Spring", slug="spring", rotation="weighted")
    new_link(ana, "spring", campaign=campaign)
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard{path}")
        page.wait_for_load_state()
        assert not _is_guarded(page)
        page.locator(f'main [name="{field}"]:not([type=hidden])').first.fill("7")
        assert _is_guarded(page)


def test_each_form_of_a_page_is_guarded(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/account")
        page.wait_for_load_state()
        for summary in page.locator("#security ~ .folds summary").all():
            summary.click()
        page.get_by_label("Your password").fill("known to the browser")
        assert not _is_guarded(page)
        page.get_by_label("E-mail").fill("new@example.com")
        assert _is_guarded(page)
        page.get_by_label("New password").fill("a new password")
        dialog_types: list[str] = []

        def stay(dialog: Dialog) -> None:
            dialog_types.append(dialog.type)
            dialog.dismiss()

        page.once("dialog", stay)
        page.get_by_role("button", name="Change e-mail address").click(no_wait_after=True)
        page.wait_for_timeout(300)
        assert dialog_types == ["beforeunload"], "the new password would be lost"


def _wait_for_draft(page: Page, text: str) -> None:
    """Wait until the browser keeps a draft with this text."""
    for _ in range(100):
        if text in str(page.evaluate("Object.values(localStorage).join()")):
            return
        page.wait_for_timeout(50)
    raise AssertionError("no draft is kept")


def test_draft_of_bio_page_is_offered_again_until_saved(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/bios/new")
        page.get_by_label("Name", exact=True).fill("Ana")
        page.get_by_role("button", name="Text", exact=True).click()
        page.locator("[data-block] textarea").fill("Two\nlines")
        _wait_for_draft(page, "lines")
        page.goto(f"{address}/dashboard/bios/new")
        expect(page.get_by_label("Name", exact=True)).to_have_value("")
        page.get_by_role("button", name="Restore").click()
        expect(page.get_by_label("Name", exact=True)).to_have_value("Ana")
        expect(page.locator("[data-block] textarea")).to_have_value("Two\nlines")
        page.wait_for_load_state()
        assert _is_guarded(page)
        page.get_by_role("button", name="Create page").click()
        expect(page.get_by_text("Your page is ready.")).to_be_visible()
        page.goto(f"{address}/dashboard/bios/new")
        page.wait_for_load_state()
        expect(page.get_by_role("button", name="Restore")).to_be_hidden()
        assert page.evaluate("Object.keys(localStorage).filter(name => name.startsWith('draft '))") == []
        page.goto(f"{address}/dashboard/bios/1")
        page.wait_for_load_state()
        page.locator(".bio-profile > summary").click()
        page.get_by_label("Name", exact=True).fill("Other")
        _wait_for_draft(page, "Other")
        page.goto(f"{address}/dashboard/bios/1")
        page.get_by_role("button", name="Discard").click()
        page.reload()
        page.wait_for_load_state()
        expect(page.get_by_role("button", name="Restore")).to_be_hidden()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_session_that_ends_while_form_is_open_loses_no_input(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links/new")
        page.locator("#url").fill("https://typed.example/page")
        page.context.clear_cookies()
        page.get_by_role("main").get_by_role("button", name="Create link").click()
        expect(page.get_by_text("the fields that you filled in are kept")).to_be_visible()
        if scripts:
            examine(page, "sign-in with a kept form")
        page.get_by_label("Username or e-mail").fill("ana")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        if not scripts:
            page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("alert")).to_contain_text("You signed in after this page was opened")
        assert ana.get("/urls")["data"]["result"] == 0
        page.get_by_role("main").get_by_role("button", name="Create link").click()
        page.wait_for_url(f"{address}/dashboard/links")
    assert ana.get("/urls")["data"]["urls"][0]["longurl"] == "https://typed.example/page"


def test_short_form_keeps_input_when_session_ends(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard")
        page.locator("#quick-url").fill("https://typed.example/short")
        page.context.clear_cookies()
        page.keyboard.press("Enter")
        page.get_by_label("Username or e-mail").fill("ana")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("You signed in after this page was opened")
        expect(page.locator("[name=url]").first).to_have_value("https://typed.example/short")


@pytest.mark.parametrize("status", [403, 500, 504])
def test_short_form_keeps_input_and_is_sent_once_if_it_fails(
    ana: Person, chrome: Browser, address: str, status: int
) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard")
        body = page.content()  # like an error page, it has an empty form for a new link
        sent: list[str] = []

        def fail(route: Route) -> None:
            sent.append(route.request.method)
            route.fulfill(status=status, content_type="text/html", body=body)

        page.route("**/dashboard/links/new", fail)
        page.locator("#quick-url").fill("https://typed.example/short")
        page.keyboard.press("Enter")
        expect(page.locator(".toasts")).to_contain_text("failed")
        expect(page.locator("#quick-url")).to_have_value("https://typed.example/short")
        assert (sent, page.url) == (["POST"], f"{address}/dashboard")


@pytest.mark.parametrize("command", ["Deutsch", "Use dark colors", "Sign out"])
def test_command_of_the_palette_asks_before_changes_are_lost(
    ana: Person, chrome: Browser, address: str, command: str
) -> None:
    link = new_link(ana, "spring")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links/{link}")
        title = page.get_by_label("Title", exact=False).first
        title.fill("Changed")
        page.keyboard.press("Control+k")
        page.keyboard.type(command)
        dialog_types: list[str] = []

        def stay(dialog: Dialog) -> None:
            dialog_types.append(dialog.type)
            dialog.dismiss()

        page.once("dialog", stay)
        page.locator("#palette").get_by_role("button", name=command).click(no_wait_after=True)
        page.wait_for_timeout(300)
        assert dialog_types == ["beforeunload"]
        expect(title).to_have_value("Changed")
