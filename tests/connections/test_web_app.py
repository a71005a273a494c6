"""The dashboard as an installable app: manifest, icons, service worker and share target."""

from io import BytesIO
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, new_browser
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE


def test_manifest_icons_and_shortcuts_exist(dashboard: Browser, service: AsgiClient) -> None:
    browser = new_browser(service)
    page = browser.get("/signin").text
    assert '<link rel="manifest" href="/dashboard/app.webmanifest">' in page
    response = browser.get("/app.webmanifest")
    assert response.headers["content-type"].startswith("application/manifest+json")
    manifest = response.json()
    for icon in manifest["icons"]:
        image = Image.open(BytesIO(browser.client.get(icon["src"]).content))
        assert "{}x{}".format(*image.size) == icon["sizes"]
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    for shortcut in manifest["shortcuts"]:
        assert dashboard.client.get(shortcut["url"]).status_code == 200
        assert shortcut["url"].startswith(manifest["scope"])
    assert browser.get("/icon-180.png").headers["content-type"] == "image/png"
    assert browser.get("/icon-181.png").status_code == 404


def test_icon_is_the_logo_on_a_full_square(browser: Browser) -> None:
    image = Image.open(BytesIO(browser.get("/icon-192.png").content)).convert("RGB")
    corners = {image.getpixel(point) for point in ((0, 0), (191, 0), (0, 191), (191, 191))}
    assert corners == {(13, 107, 79)}
    assert image.getpixel((80, 72)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("query", "url", "title"),
    [
        ("url=https%3A%2F%2Fexample.com%2F%3Fa%3Db&title=A+page", "https://example.com/?a=b", "A page"),
        ("text=Look+https%3A%2F%2Fexample.com%2Fx+nice&title=News", "https://example.com/x", "News"),
        ("title=https%3A%2F%2Fexample.com%2Fy", "https://example.com/y", ""),
        ("title=Only+words", "", "Only words"),
        ("", "", ""),
    ],
)
def test_shared_page_fills_the_form_for_a_new_link(
    ana: Person, dashboard: Browser, query: str, url: str, title: str
) -> None:
    target = urlsplit(dashboard.get(f"/share?{query}").headers["location"])
    values = parse_qs(target.query, keep_blank_values=True)
    assert (target.path, values["url"], values["title"]) == ("/dashboard/links/new", [url], [title])
    assert dashboard.client.get(f"{target.path}?{target.query}").status_code == 200


def test_shared_page_is_kept_during_sign_in(ana: Person, browser: Browser) -> None:
    location = browser.get("/share?url=https%3A%2F%2Fexample.com%2F").headers["location"]
    assert location.startswith("/dashboard/signin?next=")
    assert parse_qs(urlsplit(location).query)["next"] == ["/dashboard/share?url=https%3A%2F%2Fexample.com%2F"]


def test_offline_page_is_the_same_for_everybody(dashboard: Browser, service: AsgiClient) -> None:
    browser = new_browser(service)
    assert browser.get("/offline").text == dashboard.get("/offline").text
    assert dashboard.submit_for_message("/account/timezone", "/account", timezone="Asia/Kolkata") == "Saved."
    assert browser.get("/offline").text == dashboard.get("/offline").text
    worker = browser.get("/service-worker.js")
    assert (worker.headers["content-type"], worker.headers["cache-control"]) == (
        "text/javascript; charset=utf-8",
        "no-cache",
    )
