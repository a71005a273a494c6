"""Fixtures and helpers for browser tests of the dashboard."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from playwright.sync_api import Browser, Page

from tests.conftest import PASSWORD
from tests.support import accessibility
from tests.support.browser import HOST, served, window
from tests.support.fake_internet import FakeInternet
from tests.support.layout import check_layout
from tests.support.server import free_port
from tests.support.slow_pages import in_pieces
from tests.support.visits import CHROME
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

_TOKEN = re.compile(r'name="token" value="([^"]+)"')


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    """The URL of a running app."""
    with served(build(settings, Database(settings.database))) as url:
        yield url


@pytest.fixture
def slow_address(settings: Settings) -> Iterator[str]:
    """The URL of a running app whose pages arrive in pieces."""
    with served(in_pieces(build(settings, Database(settings.database)))) as url:
        yield url


@pytest.fixture
def public_address(settings: Settings, framed_site: FakeInternet) -> Iterator[str]:
    """The URL of a running app with pixel consent and a root page, at which one site can be framed."""
    port = free_port()
    changes = {"base_url": f"http://{HOST}:{port}", "pixel_consent": "on", "root_redirect": "page"}
    opened = Settings.model_validate({**settings.model_dump(), **changes})
    with served(build(opened, Database(settings.database)), port) as url:
        yield url


def sign_in_by_form(page: Page, address: str) -> None:
    """Sign in as Ana through the form. The page is the overview then."""
    page.goto(f"{address}/dashboard/signin")
    page.get_by_label("Username or e-mail").fill("ana")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/dashboard")


def sign_in(page: Page, address: str, *, password: str = PASSWORD) -> None:
    """Sign in as Ana without a page, which costs the browser more than many tests: it gets the cookies of a client."""
    port = address.rpartition(":")[2]
    headers = {"Host": f"{HOST}:{port}", "User-Agent": CHROME}
    with httpx2.Client(
        base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False, timeout=60, verify=False
    ) as client:
        match = _TOKEN.search(client.get("/dashboard/signin").text)
        assert match is not None
        fields = {"name": "ana", "password": password, "token": match[1]}
        assert client.post("/dashboard/signin", data=fields).status_code == 303
        cookies = [(cookie.name, str(cookie.value), cookie.path) for cookie in client.cookies.jar]
    for name, content, path in cookies:
        page.context.add_cookies(
            [{"name": name, "value": content, "domain": HOST, "path": path, "httpOnly": True, "sameSite": "Lax"}]
        )


@contextmanager
def signed_in_page(browser: Browser, address: str) -> Iterator[Page]:
    """Open a window and sign in as Ana."""
    with window(browser) as seen:
        sign_in(seen.page, address)
        yield seen.page


def examine(page: Page, path: str) -> None:
    """Fail if a text does not fit at a common width, or if axe-core reports a violation on desktop or phone."""
    page.evaluate("document.querySelectorAll('details.form-section').forEach(details => { details.open = true })")
    check_layout(page, path, (1920, 1280))
    accessibility.remember_shown(page)
    assert accessibility.faults(page) == [], (path, 1280)
    check_layout(page, path, (768, 390, 320, 360))
    assert accessibility.faults_of_small_screen(page) == [], (path, 360)
    assert accessibility.faults_by_night(page) == [], path


def fetched(address: str, name: str) -> httpx2.Response:
    """Return the response of a public URL to a client without cookies."""
    port = address.rpartition(":")[2]
    return httpx2.get(
        f"http://127.0.0.1:{port}/{name}", headers={"Host": f"{HOST}:{port}"}, trust_env=False, timeout=60, verify=False
    )
