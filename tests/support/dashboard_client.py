"""A client for dashboard pages: cookies, forms with their CSRF token, redirects not followed."""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient

_TOKEN = re.compile(r'name="token" value="([^"]+)"')


@dataclass
class Browser:
    """A browser with its own cookies."""

    client: AsgiClient

    def get(self, path: str, **options: Any) -> Any:
        """Request a page below /dashboard."""
        return self.client.get(f"/dashboard{path}", **options)

    def submit(self, path: str, at: str = "", **fields: Any) -> Any:
        """Submit a form to `path`, with the CSRF token of the page `at`."""
        match = _TOKEN.search(self.get(at or path).text)
        assert match is not None, at or path
        return self.client.post(f"/dashboard{path}", data={"token": match[1], **fields})

    def submit_for_message(self, path: str, at: str = "", **fields: Any) -> str:
        """Submit a form to `path`, follow its redirect, and return the flash message."""
        return self.flash_message(self.submit(path, at, **fields))

    def flash_message(self, response: Any) -> str:
        """Follow the redirect of a form. Return the flash message, or ""."""
        assert response.status_code == 303, response.text
        page = self.client.get(response.headers["location"])
        match = re.search(r'<div class="alert.*?<p>(.*?)</p>', page.text, re.DOTALL)
        return re.sub("<[^>]+>", "", match[1]).strip() if match else ""

    def sign_in(self, name: str, password: str = PASSWORD) -> Any:
        """Sign in through the form."""
        return self.submit("/signin", name=name, password=password)

    @property
    def cookie(self) -> str:
        """The value of the session cookie."""
        return str(self.client.cookies["waypost"])


@pytest.fixture
def browser(service: AsgiClient) -> Browser:
    """A browser without a session."""
    return Browser(service)


@pytest.fixture
def dashboard(browser: Browser, ana: Person) -> Browser:
    """A browser in which Ana is signed in."""
    assert browser.sign_in("ana").status_code == 303
    return browser


def new_browser(service: AsgiClient) -> Browser:
    """Return another browser for the same app."""
    return Browser(service.another())


def hidden_field(page: Any, name: str) -> str:
    """Return the value of a hidden field."""
    match = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert match is not None, name
    return match[1]


def form_version(page: Any, action: str) -> str:
    """Return the version in the form that is submitted to this path below /dashboard."""
    match = re.search(rf'action="/dashboard{action}".*?name="version" value="([^"]*)"', page.text, re.DOTALL)
    assert match is not None, action
    return match[1]
