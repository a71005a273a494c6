"""Routes of a whole host: certificate check (decision 39), robots.txt and icon."""

from io import BytesIO

import pytest
from PIL import Image

from tests.conftest import BASE, Person
from tests.support.databases import ON_SQLITE
from tests.support.visits import ACCEPT_HTML, click_totals, visit

BRAND = "https://brand.example"


def test_tls_ask_accepts_own_hosts_only(ana: Person) -> None:
    def ask(domain: str) -> int:
        return int(visit(ana.client, "tls/ask", params={"domain": domain}).status_code)

    assert ask("brand.example") == 404
    domain = ana.add("domain", domain=BRAND)
    for name in ("brand.example", "BRAND.example", "brand.example.", "go.localhost"):
        assert ask(name) == 200
    for name in ("", "www.brand.example", "other.example", "127.0.0.1", "::1", "localhost", "a b", "\x00", "x" * 5000):
        assert ask(name) == 404
    assert visit(ana.client, "tls/ask").status_code == 404
    ana.remove("domain", domain)
    assert ask("brand.example") == 404
    assert click_totals(ana, "") == {}


@ON_SQLITE
def test_tls_ask_is_served_on_all_hosts_but_branded_domains(ana: Person) -> None:
    ana.post("/domain/add", {"domain": BRAND})
    for host, status in (("brand.example", 404), ("127.0.0.1:8000", 200), ("waypost:8000", 200), ("waypost-1", 200)):
        response = visit(ana.client, "tls/ask", params={"domain": "brand.example"}, headers={"Host": host})
        assert response.status_code == status, host


@ON_SQLITE
def test_unknown_host_names_do_not_fill_cache(ana: Person) -> None:
    for number in range(300):
        assert visit(ana.client, "tls/ask", params={"domain": f"x{number}.example"}).status_code == 404
    dispatcher = ana.client.app._app._app  # type: ignore[attr-defined]  # behind the context, to count
    memory = dispatcher._tasks.worker_state.cache
    assert len(memory._domains) <= 10_000


@ON_SQLITE
def test_every_host_serves_robots_txt(ana: Person) -> None:
    ana.post("/domain/add", {"domain": BRAND})
    for url in (f"{BASE}/robots.txt", f"{BRAND}/robots.txt"):
        response = visit(ana.client, url)
        assert (response.status_code, response.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert "Disallow: /api/\nDisallow: /qr/\n" in response.text
        assert "Disallow: /\n" not in response.text
    assert visit(ana.client, "https://other.example/robots.txt").text == "User-agent: *\nDisallow: /\n"
    assert click_totals(ana, "") == {}


@ON_SQLITE
def test_every_host_serves_icon(ana: Person) -> None:
    for url in (f"{BASE}/favicon.ico", f"{BRAND}/favicon.ico"):
        response = visit(ana.client, url, headers=ACCEPT_HTML)
        assert response.headers["content-type"] == "image/x-icon"
        assert Image.open(BytesIO(response.content)).size == (48, 48)
    assert click_totals(ana, "") == {}


@ON_SQLITE
@pytest.mark.parametrize("alias", ["tls", "robots", "favicon", "Tls"])
def test_host_routes_are_reserved_aliases(ana: Person, alias: str) -> None:
    assert ana.call("POST", "/url/add", {"url": "https://example.com", "custom": alias}).status_code == 400
