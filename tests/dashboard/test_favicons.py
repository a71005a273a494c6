"""Icons of destinations: fetched from their hosts only, in a thread, and shown from this service."""

import os
import re
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.fake_internet import PUBLIC, FakeInternet, empty, moved, ok, server
from tests.support.load import until
from tests.support.qr_decoders import png
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.media import favicons
from waypost.media.favicons import SIDE, Favicons, fetch_icon, origin_of
from waypost.server.app import build

SHOP = "http://shop.example"
DAY = 86_400
Site = dict[str, bytes]
"""The responses of a site by path; all others are 404."""


@pytest.fixture
def site(internet: FakeInternet) -> Iterator[tuple[Site, list[str]]]:
    """The responses of all hosts, and the requests, as host and path."""
    responses: Site = {}
    requests: list[str] = []

    def answer(head: bytes) -> list[bytes]:
        path = head.split()[1].decode()
        host = re.search(rb"(?i)\r\nhost: ([^\r]+)", head)
        assert host is not None
        requests.append(host[1].decode() + path)
        return [responses.get(path, empty(404))]

    for name in ("shop.example", "www.shop.example", "cdn.example"):
        internet.add_host(name, PUBLIC)
    with server(answer) as internet.routes[PUBLIC]:
        yield responses, requests


def _icon(size: int, color: str | tuple[int, int, int, int] = "red", kind: str = "ICO") -> bytes:
    out = BytesIO()
    Image.new("RGBA", (size, size), color).save(out, kind)
    return out.getvalue()


def _opened(icon: bytes) -> Image.Image:
    return Image.open(BytesIO(icon), formats=("PNG",))


@pytest.mark.parametrize(
    "content", [_icon(16), _icon(64), _icon(300, kind="PNG"), _icon(32, kind="GIF"), png(90, height=20)]
)
def test_icon_is_written_again_as_small_opaque_png(site: tuple[Site, list[str]], content: bytes) -> None:
    site[0]["/favicon.ico"] = ok(content)
    icon = fetch_icon(SHOP)
    assert (_opened(icon).size, _opened(icon).mode) == ((SIDE, SIDE), "P")
    assert len(icon) < 7 * 1024
    assert site[1] == ["shop.example/favicon.ico"]


def test_white_icon_gets_a_dark_ground(site: tuple[Site, list[str]]) -> None:
    white = Image.new("RGBA", (48, 48), (0, 0, 0, 0))
    white.paste((255, 255, 255, 255), (12, 12, 36, 36))
    out = BytesIO()
    white.save(out, "PNG")
    site[0]["/favicon.ico"] = ok(out.getvalue())
    pixels = _opened(fetch_icon(SHOP)).convert("L").tobytes()
    assert (pixels[0] < 60, pixels[24 * SIDE + 24]) == (True, 255)


def test_icon_that_the_page_names_is_used_if_it_is_on_the_host(site: tuple[Site, list[str]]) -> None:
    page = b"""<html><head><link rel="icon" href="/a.svg" type="image/svg+xml">
        <link rel="icon" href="//cdn.example/b.png">
        <link rel="stylesheet" href="/c.css"><link rel="shortcut ICON" href="img/d.png?v=1"></head><body>"""
    site[0].update({"/": ok(page, b"Content-Type: text/html"), "/img/d.png?v=1": ok(_icon(32, kind="PNG"))})
    assert _opened(fetch_icon(SHOP)).size == (SIDE, SIDE)
    assert site[1] == ["shop.example/favicon.ico", "shop.example/", "shop.example/img/d.png?v=1"]


def test_redirects_are_followed_within_the_site_only(site: tuple[Site, list[str]]) -> None:
    site[0].update({"/favicon.ico": moved(b"http://www.shop.example/new.ico"), "/new.ico": ok(_icon(32))})
    assert fetch_icon(SHOP)
    site[0]["/new.ico"] = moved(b"http://cdn.example/favicon.ico")
    assert fetch_icon(SHOP) == b""
    assert not [request for request in site[1] if request.startswith("cdn.example")]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>no icon</html>",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        png(200)[:500],
        _icon(40, (0, 0, 0, 0)),
    ],
    ids=["empty", "page", "drawing", "broken", "invisible"],
)
def test_site_without_a_usable_icon_has_none(site: tuple[Site, list[str]], content: bytes) -> None:
    site[0]["/favicon.ico"] = ok(content)
    assert fetch_icon(SHOP) == b""


def test_origins_of_addresses() -> None:
    cases = {
        "https://Shop.Example/secret?a=b#c": "https://shop.example",
        "http://user:word@shop.example:8080/": "http://shop.example:8080",
        "https://müller.example/": "https://xn--mller-kva.example",
        "mailto:ana@shop.example": "",
        "https:///path": "",
        "http://[::1": "",
        "http://shop.example:99999/": "",
        "example": "",
    }
    assert {address: origin_of(address) for address in cases} == cases


def _known(icons: Favicons, origin: str) -> bytes:
    until(lambda: icons.find(origin) is not None)
    icon = icons.find(origin)
    assert icon is not None
    return icon


def test_icon_is_fetched_once_and_again_after_a_month(tmp_path: Path, site: tuple[Site, list[str]]) -> None:
    site[0]["/favicon.ico"] = ok(_icon(32))
    icons = Favicons(tmp_path / "icons")
    assert icons.find(SHOP) is None
    red = _known(icons, SHOP)
    assert [icons.find(SHOP) for _ in range(3)] == [red] * 3
    assert len(site[1]) == 1
    site[0]["/favicon.ico"] = ok(_icon(32, "blue"))
    file = next((tmp_path / "icons").glob("*.png"))
    os.utime(file, (time.time() - 31 * DAY,) * 2)
    assert icons.find(SHOP) == red  # until the new one is there
    until(lambda: icons.find(SHOP) != red)
    assert len(site[1]) == 2


def test_unreachable_site_is_asked_again_after_days(tmp_path: Path, internet: FakeInternet) -> None:
    icons = Favicons(tmp_path)
    assert _known(icons, "https://nowhere.example") == b""
    assert _known(icons, "http://127.0.0.1:9") == b""
    assert internet.connections == []
    for file in tmp_path.glob("*.png"):
        os.utime(file, (time.time() - 4 * DAY,) * 2)
    internet.add_host("nowhere.example", PUBLIC)
    with server(lambda _head: [ok(_icon(32))]) as internet.routes[PUBLIC]:
        assert icons.find("http://nowhere.example") is None
        assert _known(icons, "http://nowhere.example")


def test_number_of_icons_is_limited(
    tmp_path: Path, site: tuple[Site, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(favicons, "MAX_ICONS", 3)
    site[0]["/favicon.ico"] = ok(_icon(32))
    icons = Favicons(tmp_path)
    for n in range(5):
        _known(icons, f"{SHOP}:{8000 + n}")
        for file in tmp_path.glob("*.png"):
            os.utime(file, (file.stat().st_mtime - 10,) * 2)
    until(lambda: len([*tmp_path.glob("*.png")]) == 3)
    assert icons.find(f"{SHOP}:8004")


def _images(page: Any) -> list[str]:
    return re.findall(r'<img src="(/dashboard/favicon\?origin=[^"]+)"', page.text)


def test_list_and_page_of_links_show_icons_of_this_service(
    ana: Person, dashboard: Browser, site: tuple[Site, list[str]]
) -> None:
    site[0]["/favicon.ico"] = ok(_icon(32))
    link = ana.add("url", url=f"{SHOP}/secret")
    page = dashboard.get("/links")
    assert (
        _images(page)
        == _images(dashboard.get(f"/links/{link}"))
        == ["/dashboard/favicon?origin=http%3A%2F%2Fshop.example"]
    )
    path = _images(page)[0]
    first = dashboard.client.get(path)
    assert (first.status_code, first.headers["cache-control"]) == (200, "no-store")
    assert _opened(first.content).size == (1, 1)
    until(lambda: dashboard.client.get(path).headers["cache-control"] != "no-store")
    icon = dashboard.client.get(path)
    assert (icon.headers["content-type"], icon.headers["x-content-type-options"]) == ("image/png", "nosniff")
    assert icon.headers["cache-control"] == "private, max-age=86400"
    assert _opened(icon.content).size == (SIDE, SIDE)
    assert site[1] == ["shop.example/favicon.ico"]


@pytest.mark.parametrize(
    "origin", ["", "shop.example", "http://shop.example/", "javascript:1", "http://a b", "HTTP://X.example"]
)
def test_only_origins_have_icons(dashboard: Browser, origin: str) -> None:
    assert dashboard.get("/favicon", params={"origin": origin}).status_code == 404


def test_icons_need_a_session(browser: Browser) -> None:
    assert browser.get("/favicon", params={"origin": SHOP}).status_code == 303


def test_visits_request_no_icon(ana: Person, dashboard: Browser, site: tuple[Site, list[str]]) -> None:
    ana.add("url", url=f"{SHOP}/", custom="shop")
    assert dashboard.client.get("/shop").headers["location"] == f"{SHOP}/"
    dashboard.get("/links")
    assert site[1] == []


def test_icons_can_be_off(settings: Settings, database: Database, ana: Person, site: tuple[Site, list[str]]) -> None:
    ana.add("url", url=f"{SHOP}/")
    with AsgiClient(build(settings.model_copy(update={"favicons": "off"}), database)) as client:
        browser = Browser(client)
        browser.sign_in("ana")
        page = browser.get("/links")
        assert 'class="host-mark' in page.text
        assert _images(page) == []
        assert browser.get("/favicon", params={"origin": SHOP}).status_code == 404
    assert site[1] == []
    assert Favicons(None).find(SHOP) == b""
