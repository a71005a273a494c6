"""Links of type `frame`: the target inside a page of ours, where the target lets itself be framed."""

import time
from collections.abc import Iterable, Iterator

import pytest

from tests.conftest import Person
from tests.support import fake_internet
from tests.support.fake_internet import PUBLIC, Outside
from tests.support.html import Page, walk
from tests.support.visits import CURL, GOOGLEBOT, clicks, new_link, visit
from waypost.http.safe_client import Seen
from waypost.interstitials import frame_check
from waypost.interstitials.frame_check import origins_of

ONCE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
TARGET = "http://framed.example/page"
HTML = b"Content-Type: text/html; charset=utf-8"
US = "https://go.example"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    with fake_internet.world(monkeypatch) as found:
        yield found


def _answer(head: bytes) -> Iterable[bytes]:
    """What the site says, by path."""
    path = head.split(b" ")[1]
    if path.startswith(b"/deny"):
        return [fake_internet.ok(b"x", HTML, b"X-Frame-Options: DENY")]
    if path.startswith(b"/elsewhere"):
        return [fake_internet.moved(b"http://other.example/there")]
    if path.startswith(b"/slow"):
        time.sleep(3)
    if path.startswith(b"/picture"):
        return [fake_internet.ok(b"x", b"Content-Type: image/png")]
    return [fake_internet.ok(b"x" * 100_000, HTML)]


@pytest.fixture
def site(world: Outside) -> Iterator[list[bytes]]:
    asked: list[bytes] = []

    def answer(head: bytes) -> Iterable[bytes]:
        asked.append(head)
        return _answer(head)

    with fake_internet.server(answer) as context:
        world.has("framed.example", PUBLIC)
        world.has("other.example", PUBLIC)
        world.doors[PUBLIC] = context
        yield asked


def _goes_to(page: Page) -> str | None:
    location: str | None = page.response.headers.get("location")
    return location if page.status == 302 else None


def test_a_framed_link_shows_its_target_under_the_short_address(ana: Person, site: list[bytes]) -> None:
    link = new_link(ana, "spring", url=TARGET, type="frame", title="My <title>")
    page = walk(ana, "spring", params={"a": "b"})
    frame = page.one("iframe").attributes
    assert (page.status, frame["src"], frame["title"]) == (200, f"{TARGET}?a=b", "My <title>")
    assert "allow-top-navigation" not in frame["sandbox"].split()
    assert page.policy == {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "img-src": ["data:"],
        "frame-src": ["http://framed.example"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
    assert clicks(ana, link) == (1, 1)


def test_a_target_that_forbids_frames_is_gone_to(ana: Person, site: list[bytes]) -> None:
    link = new_link(ana, "spring", url="http://framed.example/deny", type="frame")
    assert _goes_to(walk(ana, "spring")) == "http://framed.example/deny"
    assert clicks(ana, link) == (1, 1)


@ONCE
def test_a_target_is_looked_at_once_whatever_query_a_visitor_adds(ana: Person, site: list[bytes]) -> None:
    new_link(ana, "spring", url=TARGET, type="frame")
    for number in range(5):
        assert walk(ana, "spring", params={"n": str(number)}).status == 200
    assert len(site) == 1


@ONCE
def test_a_target_that_leads_elsewhere_may_be_framed_where_it_ends(ana: Person, site: list[bytes]) -> None:
    new_link(ana, "spring", url="http://framed.example/elsewhere", type="frame")
    assert walk(ana, "spring").policy["frame-src"] == ["http://framed.example", "http://other.example"]


@ONCE
def test_what_is_no_page_or_out_of_reach_or_internal_is_gone_to(ana: Person, site: list[bytes], world: Outside) -> None:
    world.has("inside.example", "127.0.0.1")
    for number, url in enumerate(
        (
            "http://framed.example/picture.png",
            "http://nowhere.example/",
            "http://inside.example/",
            "http://[2001:db8::1]/",
        )
    ):
        new_link(ana, f"odd-{number}", url=url, type="frame")
        assert _goes_to(walk(ana, f"odd-{number}")) == url


@ONCE
def test_no_visitor_waits_long_for_a_slow_target(ana: Person, site: list[bytes]) -> None:
    new_link(ana, "spring", url="http://framed.example/slow", type="frame")
    began = time.monotonic()
    assert _goes_to(walk(ana, "spring")) == "http://framed.example/slow"
    assert time.monotonic() - began < frame_check.PATIENCE + 1
    for _ in range(100):  # the look went on, and is known to the next
        if walk(ana, "spring").status == 200:
            break
        time.sleep(0.05)
    else:
        pytest.fail("nobody learned that the slow page can be framed")


def test_programs_and_crawlers_get_the_target_itself(ana: Person, site: list[bytes]) -> None:
    new_link(ana, "spring", url=TARGET, type="frame")
    assert visit(ana.client, "spring", agent=CURL).headers["location"] == TARGET
    assert _goes_to(walk(ana, "spring", agent=GOOGLEBOT)) == TARGET
    assert site == []


CSP = "content-security-policy"
MAY: tuple[dict[str, str], ...] = (
    {},
    {CSP: "default-src 'self'"},
    {CSP: "frame-ancestors *"},
    {CSP: "frame-ancestors https:"},
    {CSP: "frame-ancestors 'self' https://go.example"},
    {CSP: "frame-ancestors go.example"},
    {CSP: "frame-ancestors *.example"},
    {CSP: "frame-ancestors *", "x-frame-options": "DENY"},  # browsers then ignore the older header
)
MAY_NOT: tuple[dict[str, str], ...] = (
    {"x-frame-options": "DENY"},
    {"x-frame-options": "sameorigin"},
    {"x-frame-options": "ALLOW-FROM https://go.example"},
    {CSP: "frame-ancestors 'none'"},
    {CSP: "default-src *; Frame-Ancestors 'self'"},
    {CSP: "frame-ancestors"},
    {CSP: "frame-ancestors http:"},
    {CSP: "frame-ancestors https://other.example"},
    {CSP: "frame-ancestors *, frame-ancestors 'none'"},
    {"content-type": "application/pdf"},
)


@pytest.mark.parametrize("headers", [*MAY, *MAY_NOT])
def test_a_frame_is_where_the_targets_headers_let_it(headers: dict[str, str]) -> None:
    told = tuple({"content-type": "text/html", **headers}.items())
    assert bool(origins_of(Seen(("https://site.example/x",), 200, told), US)) == (headers in MAY)


@pytest.mark.parametrize(
    ("status", "urls"),
    [
        (403, ("https://site.example/",)),
        (200, ("http://site.example/",)),
        (200, ("https://site.example/", "http://site.example/")),
        (200, ("https://go.example/x",)),
        (200, ("https://[2001:db8::1]/",)),
    ],
)
def test_a_frame_is_never_broken_mixed_or_of_ourselves(status: int, urls: tuple[str, ...]) -> None:
    assert origins_of(Seen(urls, status, (("content-type", "text/html"),)), US) == ()
