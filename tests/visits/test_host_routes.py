"""What a whole host has: a certificate when it is one of ours (decision 39), robots.txt, and an icon."""

from io import BytesIO

import pytest
from PIL import Image

from tests.conftest import BASE, Person
from tests.support.visits import PAGE, sums, visit

ONCE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
BRAND = "https://brand.example"


def test_a_proxy_may_get_certificates_for_our_hosts_and_no_others(ana: Person) -> None:
    def ask(domain: str) -> int:
        return int(visit(ana.client, "tls/ask", params={"domain": domain}).status_code)

    assert ask("brand.example") == 404
    domain = ana.post("/domain/add", {"domain": BRAND})["id"]
    for name in ("brand.example", "BRAND.example", "brand.example.", "go.localhost"):
        assert ask(name) == 200
    for name in ("", "www.brand.example", "other.example", "127.0.0.1", "::1", "localhost", "a b", "\x00", "x" * 5000):
        assert ask(name) == 404
    assert visit(ana.client, "tls/ask").status_code == 404
    ana.delete(f"/domain/{domain}/delete")
    assert ask("brand.example") == 404
    assert sums(ana, "") == {}


@ONCE
def test_only_our_own_host_is_asked_for_certificates(ana: Person) -> None:
    ana.post("/domain/add", {"domain": BRAND})
    for host in ("brand.example", "other.example"):
        answer = visit(ana.client, "tls/ask", params={"domain": "brand.example"}, headers={"Host": host})
        assert answer.status_code == 404
    proxied = visit(ana.client, "tls/ask", params={"domain": "brand.example"}, headers={"Host": "127.0.0.1:8000"})
    assert proxied.status_code == 200  # as a proxy beside us asks


@ONCE
def test_very_many_unknown_names_do_not_fill_the_memory(ana: Person) -> None:
    for number in range(300):
        assert visit(ana.client, "tls/ask", params={"domain": f"x{number}.example"}).status_code == 404
    memory = ana.client.app._house.traffic.cache  # type: ignore[attr-defined]  # behind the context, to count
    assert len(memory._domains) <= 10_000


@ONCE
def test_every_host_tells_robots_where_they_may_go(ana: Person) -> None:
    ana.post("/domain/add", {"domain": BRAND})
    for url in (f"{BASE}/robots.txt", f"{BRAND}/robots.txt"):
        told = visit(ana.client, url)
        assert (told.status_code, told.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert "Disallow: /api/\nDisallow: /qr/\n" in told.text
        assert "Disallow: /\n" not in told.text
    assert visit(ana.client, "https://other.example/robots.txt").text == "User-agent: *\nDisallow: /\n"
    assert sums(ana, "") == {}


@ONCE
def test_every_host_has_an_icon(ana: Person) -> None:
    for url in (f"{BASE}/favicon.ico", f"{BRAND}/favicon.ico"):
        told = visit(ana.client, url, headers=PAGE)
        assert told.headers["content-type"] == "image/x-icon"
        assert Image.open(BytesIO(told.content)).size == (48, 48)
    assert sums(ana, "") == {}


@ONCE
def test_these_names_are_nobodys_aliases(ana: Person) -> None:
    for alias in ("tls", "robots", "favicon", "Tls"):
        assert ana.call("POST", "/url/add", {"url": "https://example.com", "custom": alias}).status_code == 400
