"""Pages that are the response to a form or need a token: layout, accessibility, and from right to left."""

from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in
from tests.support.databases import ON_SQLITE
from tests.support.form_pages import form_pages, public_form_pages, signed_out_paths, submit_in_browser
from tests.support.layout import mirror_faults
from tests.support.public_pages import public_pages

pytestmark = ON_SQLITE


def _examine(page: Page, name: str) -> None:
    examine(page, name)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert mirror_faults(page) == [], (name, width)


def test_responses_to_forms_of_the_dashboard_are_accessible(ana: Person, chrome: Browser, address: str) -> None:
    pages = form_pages(ana)
    with window(chrome) as seen:
        sign_in(seen.page, address)
        for form_page in pages:
            submit_in_browser(seen.page, address, form_page)
            expect(seen.page.get_by_text(form_page.says).first).to_be_visible()
            _examine(seen.page, form_page.name)


def test_pages_with_the_token_of_an_email_are_accessible(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        for path in signed_out_paths(ana):
            response = seen.page.goto(f"{address}{path}")
            assert response is not None
            assert response.status < 400 or "register" in path, path
            _examine(seen.page, path)


def test_responses_to_forms_of_visitors_are_accessible(ana: Person, chrome: Browser, public_address: str) -> None:
    public_pages(ana)
    with window(chrome, stays=True) as seen:
        for form_page in public_form_pages(ana, "before-poll"):
            submit_in_browser(seen.page, public_address, form_page)
            expect(seen.page.get_by_text(form_page.says).first).to_be_visible()
            _examine(seen.page, form_page.name)
