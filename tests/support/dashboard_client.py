"""The dashboard as a browser uses it, without the browser: cookies, forms with their token, redirects not followed."""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import Inside

_TOKEN = re.compile(r'name="token" value="([^"]+)"')


@dataclass
class Browser:
    """A window of somebody's browser, with cookies of its own."""

    client: Inside

    def get(self, path: str, **options: Any) -> Any:
        """A page."""
        return self.client.get(f"/dashboard{path}", **options)

    def send(self, path: str, at: str = "", **fields: Any) -> Any:
        """A form that stands on the page `at`, with these fields, sent to `path`."""
        found = _TOKEN.search(self.get(at or path).text)
        assert found is not None, at or path
        return self.client.post(f"/dashboard{path}", data={"token": found[1], **fields})

    def sign_in(self, name: str, password: str = PASSWORD) -> Any:
        """Through the form."""
        return self.send("/signin", name=name, password=password)

    @property
    def cookie(self) -> str:
        """What the browser is known by."""
        return str(self.client.cookies["waypost"])


@pytest.fixture
def browser(service: Inside) -> Browser:
    """Somebody who has not signed in."""
    return Browser(service)


@pytest.fixture
def inside(browser: Browser, ana: Person) -> Browser:
    """Ana, signed in."""
    assert browser.sign_in("ana").status_code == 303
    return browser


def window(service: Inside) -> Browser:
    """A fresh browser in front of the same service."""
    return Browser(service.another())


def said(response: Any, browser: Browser) -> str:
    """What the page says to which a form led."""
    assert response.status_code == 303, response.text
    page = browser.client.get(response.headers["location"])
    found = re.search(r'<div class="alert.*?<p>(.*?)</p>', page.text, re.DOTALL)
    return re.sub("<[^>]+>", "", found[1]).strip() if found else ""


def hidden(page: Any, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found is not None, name
    return found[1]


def version(page: Any, action: str) -> str:
    """The version that stands in the form which is sent to this path below /dashboard."""
    found = re.search(rf'action="/dashboard{action}".*?name="version" value="([^"]*)"', page.text, re.DOTALL)
    assert found is not None, action
    return found[1]
