"""Passwords can be shown while they are typed."""

import re

from playwright.sync_api import Browser, expect

from tests.conftest import PASSWORD, Person
from tests.support.browser import window
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE

_RECORD_TYPE = "addEventListener('pagehide', () => (sessionStorage.type = document.getElementById('password').type))"


def test_every_password_can_be_shown_and_hidden_again(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page = seen.page
        page.goto(f"{address}/dashboard/signin")
        field, button = page.locator("#password"), page.get_by_role("button", name="Show characters")
        field.fill(PASSWORD)
        expect(field).to_have_attribute("type", "password")
        button.click()
        expect(field).to_have_attribute("type", "text")
        expect(button).to_have_attribute("aria-pressed", "true")
        button.click()
        expect(field).to_have_attribute("type", "password")
        button.click()
        page.get_by_label("Username or e-mail").fill("ana")
        page.evaluate(_RECORD_TYPE)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile("/dashboard$"))
        assert page.evaluate("sessionStorage.type") == "password", "the browser would keep the text"
        for path in ("account", "account/two-factor", "account/delete", "links/new", "import", "admin/accounts/1"):
            page.goto(f"{address}/dashboard/{path}")
            fields = page.locator("main input[type=password]")
            for number in range(fields.count()):
                expect(fields.nth(number).locator("xpath=../button")).to_have_attribute("aria-pressed", "false")


def test_without_scripts_password_field_has_no_button(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome, scripts=False) as seen:
        seen.page.goto(f"{address}/dashboard/signin")
        expect(seen.page.locator("[data-reveal]")).to_be_hidden()
