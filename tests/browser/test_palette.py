"""The command palette, and keys of lists, in a real browser."""

from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
_MILLISECONDS = 30_000  # for a busy machine

# Records the texts that a status on the page gets, which screen readers read out.
_RECORD = """
  window.said = [];
  new MutationObserver((changes) => {
    for (const { target } of changes)
      if (target.nodeType === 1 && target.getAttribute("role") === "status") said.push(target.textContent);
  }).observe(document, { childList: true, subtree: true });
"""


def _hear(page: Page, text: str) -> None:
    """Wait until a status on the page gets the text, as screen readers do."""
    for _ in range(_MILLISECONDS // 50):
        if text in page.evaluate("said"):
            return
        page.wait_for_timeout(50)
    raise AssertionError(text)


def _fill(ana: Person) -> None:
    for number in (1, 2, 3):
        ana.add("url", url="https://target.example/", title=f"Link {number}", custom=f"link-{number}")
    ana.add("campaign", name="Link campaign")


def test_palette_runs_an_action_and_opens_a_thing_by_keys_alone(ana: Person, chrome: Browser, address: str) -> None:
    _fill(ana)
    with signed_in_page(chrome, address) as page:
        _run_action(page, address)
        page.goto(f"{address}/dashboard")
        page.keyboard.press("Control+k")
        palette = page.get_by_role("dialog", name="Command palette")
        expect(palette.get_by_role("link", name="New QR code")).to_be_visible(timeout=_MILLISECONDS)
        page.keyboard.type("link 2")
        expect(palette.locator(".result")).to_have_count(1, timeout=_MILLISECONDS)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{address}/dashboard/links/2")
        page.keyboard.press("Control+k")
        page.keyboard.insert_text("link")  # at once: results of a part of it would come between the keys
        expect(palette.get_by_role("heading", name="Campaigns")).to_be_visible(timeout=_MILLISECONDS)
        for _ in range(4):
            page.keyboard.press("ArrowDown")
        expect(palette.get_by_role("link", name="Link campaign")).to_be_focused()
        page.keyboard.press("ArrowUp")
        expect(palette.get_by_role("link", name="Link 1")).to_be_focused()
        palette.get_by_role("button", name="Close").click()
        expect(palette).not_to_be_visible()
        page.locator("#title").fill("Changed")
        page.keyboard.press("Control+k")  # also from a field
        expect(palette).to_be_visible()


def _run_action(page: Page, address: str) -> None:
    page.goto(f"{address}/dashboard")
    page.get_by_role("link", name="Search").first.click()
    page.get_by_label("Search everything").fill("dark")
    page.get_by_role("button", name="Use dark colors").last.wait_for()
    expect(page.locator("#palette .result")).to_have_count(1, timeout=_MILLISECONDS)
    page.keyboard.press("Enter")
    expect(page.locator("html[data-theme=dark]")).to_be_attached()


def test_search_page_works_without_scripts(ana: Person, chrome: Browser, address: str) -> None:
    _fill(ana)
    with window(chrome, scripts=False) as seen:
        sign_in(seen.page, address)
        seen.page.goto(f"{address}/dashboard")
        seen.page.get_by_role("link", name="Search").first.click()
        seen.page.get_by_label("Search everything").fill("link 3")
        seen.page.keyboard.press("Enter")
        seen.page.get_by_role("link", name="Link 3").click()
        seen.page.wait_for_url(f"{address}/dashboard/links/3")


def test_search_page_is_accessible_and_fits(ana: Person, chrome: Browser, address: str) -> None:
    _fill(ana)
    with signed_in_page(chrome, address) as page:
        page.add_init_script(_RECORD)
        page.goto(f"{address}/dashboard/search?q=link")
        expect(page.get_by_role("status").first).to_have_text("9 results for “link”")
        _hear(page, "9 results for “link”")
        examine(page, "/dashboard/search")
        page.goto(f"{address}/dashboard")
        page.keyboard.press("Control+k")
        page.keyboard.type("link")
        expect(page.locator("#palette .result")).to_have_count(9, timeout=_MILLISECONDS)
        _hear(page, "9 results for “link”")
        page.get_by_label("Search everything").fill("nothing like it")
        _hear(page, "No results for “nothing like it”.")
        page.get_by_label("Search everything").fill("link")
        expect(page.locator("#palette .result")).to_have_count(9, timeout=_MILLISECONDS)
        examine(page, "palette")


def test_keys_move_and_act_in_a_list_until_single_keys_are_turned_off(
    ana: Person, chrome: Browser, address: str
) -> None:
    _fill(ana)
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links")
        link = page.get_by_role("link", name="Link 2", exact=True)
        for _ in range(2):
            page.keyboard.press("ArrowDown")
        expect(link).to_be_focused()
        page.keyboard.press("x")
        expect(page.get_by_label("Select link-2")).to_be_checked()
        page.keyboard.press("q")
        dialog = page.get_by_role("dialog", name="QR code of link-2")
        expect(dialog.get_by_role("img")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("s")
        page.wait_for_url("**/links/2/stats**")
        page.go_back()
        link.focus()
        page.keyboard.press("e")
        page.wait_for_url("**/links/2")
        _check_without_single_keys(page, address)


def _check_without_single_keys(page: Page, address: str) -> None:
    page.goto(f"{address}/dashboard/links")
    page.keyboard.press("?")
    page.get_by_role("button", name="Turn off shortcuts of single keys").click()
    page.wait_for_load_state()
    page.keyboard.press("ArrowDown")
    for key in ("c", "?", "/", "e", "x"):
        page.keyboard.press(key)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("link", name="Link 3", exact=True)).to_be_focused()
    assert page.url == f"{address}/dashboard/links"
    expect(page.get_by_label("Select link-3")).not_to_be_checked()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Command palette")).to_be_visible()
