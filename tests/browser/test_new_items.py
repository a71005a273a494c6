"""New items for a list of choices: a dialog with their form, which leaves the edited page as it is."""

from playwright.sync_api import Browser, Page, Route, expect

from tests.conftest import Person
from tests.support.bios import new_bio
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.load import until
from tests.support.visits import new_link

pytestmark = ON_SQLITE


def _options(page: Page, label: str) -> list[str]:
    return page.get_by_label(label, exact=True).locator("option").all_inner_texts()


def test_form_of_a_bio_page_is_created_in_place(ana: Person, chrome: Browser, address: str) -> None:
    bio = new_bio(ana, "shop", blocks=[])
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/bios/{bio}")
        page.wait_for_load_state()
        page.locator(".bio-profile > summary").click()
        page.get_by_label("Name", exact=True).fill("Unsaved name")
        for _ in range(2):
            page.get_by_role("button", name="Form", exact=True).click()
        first, second = page.get_by_label("Form", exact=True).all()
        link = page.get_by_role("link", name="New contact form").last
        link.click()
        dialog = page.get_by_role("dialog", name="New contact form")
        expect(dialog.get_by_role("textbox", name="Name")).to_be_focused()
        examine(page, "form of a new overlay in a dialog")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.keyboard.press("Escape")
        expect(link).to_be_focused()
        link.click()
        dialog.get_by_label("Name", exact=False).first.fill("Questions")
        dialog.get_by_label("Delay").fill("soon")
        page.keyboard.press("Control+Enter")
        expect(dialog.get_by_label("Delay")).to_be_focused()
        expect(dialog.get_by_label("Delay")).to_have_attribute("aria-invalid", "true")
        dialog.get_by_label("Delay").fill("0")
        dialog.get_by_role("button", name="Create overlay").click()
        expect(dialog).to_be_hidden()
        expect(second).to_be_focused()
        expect(second.locator("option:checked")).to_have_text("Questions")
        expect(first.locator("option:checked")).to_have_text("Select a form")
        assert first.locator("option").all_inner_texts() == ["Select a form", "Questions"]
        page.get_by_role("button", name="Form", exact=True).click()
        expect(page.get_by_label("Form", exact=True).nth(2).locator("option")).to_have_count(2)
        first.select_option(label="Questions")
        page.get_by_label("Form", exact=True).nth(2).select_option(label="Questions")
        expect(page.get_by_label("Name", exact=True)).to_have_value("Unsaved name")
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
    assert [block["type"] for block in ana.details("bio", bio)["blocks"]] == ["form"] * 3


def test_form_of_a_bio_page_is_created_in_another_tab_without_scripts(
    ana: Person, chrome: Browser, address: str
) -> None:
    bio = new_bio(ana, "shop", blocks=[])
    with window(chrome, scripts=False) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/bios/{bio}")
        page.locator(".bio-profile > summary").click()
        page.get_by_label("Name", exact=True).fill("Unsaved name")
        page.get_by_role("button", name="Form", exact=True).click()
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="New newsletter form").click()
        tab = opened.value
        tab.get_by_role("textbox", name="Name only you see it").fill("News")
        tab.get_by_role("button", name="Create overlay").click()
        expect(tab.get_by_role("status").first).to_contain_text("Your overlay is ready.")
        tab.close()
        page.get_by_role("button", name="Update the list").click()
        page.get_by_label("Form", exact=True).select_option(label="News")
        expect(page.get_by_label("Name", exact=True)).to_have_value("Unsaved name")


def test_items_of_a_link_are_created_in_place(ana: Person, chrome: Browser, address: str) -> None:
    ana.add("campaign", name="Old campaign")
    link = new_link(ana, "spring")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links/{link}")
        page.get_by_label("Title", exact=False).first.fill("Unsaved title")
        page.locator("summary", has_text="Organization").click()
        page.get_by_role("link", name="New campaign").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("textbox", name="Name", exact=True).fill("New campaign of spring")
        dialog.get_by_role("button", name="Create campaign").click()
        expect(page.get_by_label("Campaign", exact=True)).to_be_focused()
        assert _options(page, "Campaign") == ["None", "New campaign of spring", "Old campaign"]
        page.get_by_role("link", name="New pixel").click()
        dialog.get_by_role("radio", name="Google Tag Manager").check()
        dialog.get_by_label("Tag", exact=True).fill("GTM-ABC1234")
        dialog.get_by_role("textbox", name="Name only you see it").fill("My tags")
        dialog.get_by_role("button", name="Create pixel").click()
        expect(page.get_by_role("checkbox", name="My tags")).to_be_checked()
        page.locator("summary", has_text="Redirect type").click()
        page.get_by_role("link", name="New overlay").click()
        dialog.get_by_role("link", name="Message A text").click()
        dialog.get_by_role("link", name="Cancel").click()
        page.get_by_role("link", name="New overlay").click()  # the choice again
        dialog.get_by_role("link", name="Poll").click()
        dialog.get_by_role("textbox", name="Name").fill("Tea")
        for number, answer in enumerate(("Green", "Black")):
            dialog.get_by_label("Answer", exact=True).nth(number).fill(answer)
        dialog.get_by_role("button", name="Create overlay").click()
        expect(page.get_by_label("Type", exact=True).locator("option:checked")).to_have_text("Overlay: Tea")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
    stored = ana.details("url", link)
    assert (stored["title"], stored["type"].split("-")[0]) == ("Unsaved title", "overlay")
    assert stored["campaign"]
    assert stored["pixels"]


def test_late_and_lost_responses_keep_the_input(ana: Person, chrome: Browser, address: str) -> None:
    link = new_link(ana, "spring")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links/{link}")
        page.locator("summary", has_text="Organization").click()
        _receive_late_response(page)
        page.keyboard.press("Escape")
        _lose_the_list(page, link)
        names = {campaign["name"] for campaign in ana.get("/campaigns")["data"]["campaigns"]}
        assert names == {"A $& B", "Once"}
        page.unroute_all()
        page.goto(f"{address}/dashboard/links/{link}")
        _end_session(page)


def _receive_late_response(page: Page) -> None:
    """The response for one item leaves the form of another one alone."""
    held: list[Route] = []
    page.route(
        "**/dashboard/campaigns/new*", lambda route: held.append(route) if _is_post(route) else route.continue_()
    )
    page.get_by_role("link", name="New campaign").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name", exact=True).fill("A $& B")
    dialog.get_by_role("button", name="Create campaign").click()
    until(lambda: bool(held or page.evaluate("0")))
    page.keyboard.press("Escape")
    page.get_by_role("link", name="New pixel").click()
    name = dialog.get_by_role("textbox", name="Name only you see it")
    name.fill("My tags")
    held[0].continue_()
    expect(page.locator(".toast", has_text="Added: A $& B")).to_be_visible()
    expect(name).to_have_value("My tags")
    assert "A $& B" in _options(page, "Campaign")
    page.unroute_all()


def _lose_the_list(page: Page, link: int) -> None:
    """An item whose list cannot be read is not reported as failed."""
    page.get_by_role("link", name="New campaign").click()
    page.get_by_role("dialog").get_by_role("textbox", name="Name", exact=True).fill("Once")
    page.route(f"**/dashboard/links/{link}", lambda route: route.fulfill(status=503, body="Busy."))
    page.get_by_role("dialog").get_by_role("button", name="Create campaign").click()
    expect(page.get_by_text("It was created, but this list could not be updated.")).to_be_visible()


def _end_session(page: Page) -> None:
    """The form stays in the dialog after the session ended."""
    page.locator("summary", has_text="Redirect type").click()
    page.get_by_role("link", name="New splash page").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").first.fill("Long")
    message = "語" * 4_900  # more than the service keeps until the sign-in
    dialog.get_by_role("textbox", name="Text optional").fill(message)
    page.context.clear_cookies()
    dialog.get_by_role("button", name="Create splash page").click()
    expect(page.get_by_text("The request failed. Please try again.")).to_be_visible()
    expect(dialog.get_by_role("textbox", name="Text optional")).to_have_value(message)


def _is_post(route: Route) -> bool:
    return route.request.method == "POST"


def test_values_of_a_link_become_a_template_in_place(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links/new")
        page.get_by_label("Destination URL").first.fill("https://shop.example/")
        page.locator("summary", has_text="UTM parameters").click()
        page.get_by_label("Source").fill("newsletter")
        page.get_by_role("link", name="Save these values as a template").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Source")).to_have_value("newsletter")
        dialog.get_by_role("textbox", name="Name", exact=True).fill("Weekly")
        dialog.get_by_role("button", name="Create UTM template").click()
        expect(page.locator("#utm-template option:checked")).to_have_text("Weekly")
        expect(page.get_by_label("Destination URL").first).to_have_value("https://shop.example/?utm_source=newsletter")


def test_domain_that_was_added_in_another_tab_is_selected(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        for path in ("links/new", "files/new"):
            page.goto(f"{address}/dashboard/{path}")
            page.wait_for_load_state()
            if path == "files/new":
                page.locator("#file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"})
            page.evaluate("document.querySelectorAll('main details').forEach(details => { details.open = true })")
            with page.context.expect_page() as opened:
                page.get_by_role("main").get_by_role("link", name="New domain").click()
            assert opened.value.url == f"{address}/dashboard/domains/new"
            opened.value.close()
            host = f"{path.replace('/', '-')}.brand.example"
            ana.add("domain", domain=f"https://{host}")
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            field = page.get_by_role("main").get_by_label("Domain", exact=True)
            expect(field.locator("option:checked")).to_have_text(host)
