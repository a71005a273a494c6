"""Links of type `frame`: the destination in a frame if it allows framing."""

import time
from collections.abc import Iterable, Iterator

import pytest

from tests.conftest import Person
from tests.support import fake_internet
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet
from tests.support.html import SANDBOX, Page, open_page
from tests.support.visits import CURL, GOOGLEBOT, clicks, new_link, visit
from waypost.http.safe_client import RedirectChain
from waypost.visits import frame_check
from waypost.visits.frame_check import framing_origins

TARGET = "http://framed.example/page"
HTML = b"Content-Type: text/html; charset=utf-8"
OWN_ORIGIN = "https://go.example"


def _answer(head: bytes) -> Iterable[bytes]:
    """The response of the site, by path."""
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
def site(internet: FakeInternet) -> Iterator[list[bytes]]:
    requests: list[bytes] = []

    def answer(head: bytes) -> Iterable[bytes]:
        requests.append(head)
        return _answer(head)

    with fake_internet.server(answer) as context:
        internet.add_host("framed.example", PUBLIC)
        internet.add_host("other.example", PUBLIC)
        internet.routes[PUBLIC] = context
        yield requests


def _redirect_location(page: Page) -> str | None:
    location: str | None = page.response.headers.get("location")
    return location if page.status == 302 else None


def test_frame_link_shows_destination_in_frame(ana: Person, site: list[bytes]) -> None:
    link = new_link(ana, "spring", url=TARGET, type="frame", title="My <title>")
    page = open_page(ana, "spring", params={"a": "b"})
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
        "sandbox": SANDBOX,
    }
    assert clicks(ana, link) == (1, 1)


def test_destination_that_forbids_framing_is_redirected_to(ana: Person, site: list[bytes]) -> None:
    link = new_link(ana, "spring", url="http://framed.example/deny", type="frame")
    assert _redirect_location(open_page(ana, "spring")) == "http://framed.example/deny"
    assert clicks(ana, link) == (1, 1)


@ON_SQLITE
def test_frame_check_is_cached_regardless_of_query(ana: Person, site: list[bytes]) -> None:
    new_link(ana, "spring", url=TARGET, type="frame")
    for number in range(5):
        assert open_page(ana, "spring", params={"n": str(number)}).status == 200
    assert len(site) == 1


@ON_SQLITE
def test_redirecting_destination_is_framed_at_its_final_url(ana: Person, site: list[bytes]) -> None:
    new_link(ana, "spring", url="http://framed.example/elsewhere", type="frame")
    assert open_page(ana, "spring").policy["frame-src"] == ["http://framed.example", "http://other.example"]


@ON_SQLITE
def test_unreachable_internal_or_non_html_destination_is_redirected_to(
    ana: Person, site: list[bytes], internet: FakeInternet
) -> None:
    internet.add_host("inside.example", "127.0.0.1")
    for number, url in enumerate(
        (
            "http://framed.example/picture.png",
            "http://nowhere.example/",
            "http://inside.example/",
            "http://[2001:db8::1]/",
        )
    ):
        new_link(ana, f"odd-{number}", url=url, type="frame")
        assert _redirect_location(open_page(ana, f"odd-{number}")) == url


@ON_SQLITE
def test_slow_frame_check_redirects_within_time_limit(ana: Person, site: list[bytes]) -> None:
    new_link(ana, "spring", url="http://framed.example/slow", type="frame")
    began = time.monotonic()
    assert _redirect_location(open_page(ana, "spring")) == "http://framed.example/slow"
    assert time.monotonic() - began < frame_check.VISITOR_WAIT_SECONDS + 1
    for _ in range(100):  # the check continues in the background and is cached
        if open_page(ana, "spring").status == 200:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the background check did not find that the slow page can be framed")


def test_programs_and_crawlers_are_redirected_without_frame(ana: Person, site: list[bytes]) -> None:
    new_link(ana, "spring", url=TARGET, type="frame")
    assert visit(ana.client, "spring", agent=CURL).headers["location"] == TARGET
    assert _redirect_location(open_page(ana, "spring", agent=GOOGLEBOT)) == TARGET
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
def test_frame_follows_destination_headers(headers: dict[str, str]) -> None:
    all_headers = tuple({"content-type": "text/html", **headers}.items())
    assert bool(framing_origins(RedirectChain(("https://site.example/x",), 200, all_headers), OWN_ORIGIN)) == (
        headers in MAY
    )


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
def test_failed_mixed_or_own_page_is_never_framed(status: int, urls: tuple[str, ...]) -> None:
    assert framing_origins(RedirectChain(urls, status, (("content-type", "text/html"),)), OWN_ORIGIN) == ()


@pytest.mark.parametrize(("scheme", "status"), [("http", 200), ("https", 302)])
def test_frame_of_branded_domain_uses_scheme_of_domain(
    scheme: str, status: int, ana: Person, site: list[bytes]
) -> None:
    ana.post("/domain/add", {"domain": f"{scheme}://go.brand.example"})
    new_link(ana, "spring", url="http://framed.example/brand", type="frame", domain="go.brand.example")
    page = open_page(ana, "spring", headers={"Host": "go.brand.example"})
    assert page.status == status
