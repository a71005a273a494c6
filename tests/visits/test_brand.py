"""The brand on pages for visitors: that of the domain, or of the installation, on the fast and on the slow path."""

from secrets import token_hex
from typing import Any

from tests.conftest import Person
from tests.support.brands import COLOR, data_url, logo
from tests.support.databases import ON_SQLITE
from tests.support.files import new_file
from tests.support.visits import ACCEPT_HTML, ACCEPT_JSON, CHROME, new_link, visit
from waypost.media.branding import store
from waypost.media.branding.brand import NO_BRAND, Brand
from waypost.media.branding.colors import accents
from waypost.visits.cache import Cache
from waypost.visits.record_queries import DomainView

HOST = "go.acme.example"
SERVICE = Brand("Service <i>", "#8a1f5c")


def _page(person: Person, path: str = "/unknown", host: str = "go.localhost") -> Any:
    return person.client.get(path, headers={"Host": host, "User-Agent": CHROME, **ACCEPT_HTML})


def _set(person: Person, brand: Brand) -> None:
    """Set the brand of the installation as another process does, and wait until this one knows it."""
    person.database.write(lambda tx: store.set_of_installation(tx, brand))
    person.add("channel", name=token_hex(4))  # a change of this process reads the log
    new_link(person, f"x{token_hex(4)}")


def test_pages_have_the_brand_of_the_domain_else_of_the_installation(ana: Person) -> None:
    plain = {host: _page(ana, host=host).content for host in ("go.localhost", "unknown.example")}
    picture = data_url(logo())
    domain = ana.add("domain", domain=f"https://{HOST}")
    _set(ana, SERVICE)
    for host in ("go.localhost", HOST, "unknown.example"):
        page = _page(ana, host=host).text
        assert "<title>Not found · Service &lt;i&gt;</title>" in page
        assert "<bdi>Service &lt;i&gt;</bdi>" in page
        assert f"--accent:{accents(SERVICE.color)[0].accent}" in page
    ana.update("domain", domain, brandname="Acme", brandlogo=picture)
    page = _page(ana, host=HOST).text
    assert "<title>Not found · Acme</title>" in page
    assert "Service" not in page
    assert 'class="plate"' in page
    assert f"--accent:{accents(SERVICE.color)[0].accent}" in page
    ana.update("domain", domain, brandcolor=COLOR)
    assert f"--accent:{COLOR}" in _page(ana, host=HOST).text
    assert "Acme" not in _page(ana).text
    _set(ana, NO_BRAND)
    assert {host: _page(ana, host=host).content for host in plain} == plain


@ON_SQLITE
def test_every_kind_of_page_has_the_brand(ana: Person) -> None:
    _set(ana, SERVICE)
    new_link(ana, "locked", password="a password")
    new_link(ana, "wait", type="splash")
    ana.add("bio", name="Bio", alias="card", blocks=[{"type": "text", "text": "Hello"}])
    for path in ("/locked", "/wait", "/report", "/unknown+", "/u/ana", "/card", "/wait+"):
        page = _page(ana, path).text
        assert "Service &lt;i&gt;" in page, path
        assert "<i>" not in page, path


@ON_SQLITE
def test_page_of_a_file_without_sender_names_the_host_next_to_the_brand(ana: Person) -> None:
    new_file(ana, "menu.pdf", custom="menu")
    page = _page(ana, "/menu").text
    assert "<bdi>go.localhost</bdi>" in page
    assert "Shared on" not in page
    _set(ana, SERVICE)
    page = _page(ana, "/menu").text
    assert "<bdi>Service &lt;i&gt;</bdi>" in page
    assert "Shared on <bdi>go.localhost</bdi>" in page


@ON_SQLITE
def test_programs_and_redirects_see_nothing_of_the_brand(ana: Person) -> None:
    new_link(ana, "spring")
    before = [visit(ana.client, path, headers=ACCEPT_JSON) for path in ("spring", "unknown")]
    _set(ana, SERVICE)
    after = [visit(ana.client, path, headers=ACCEPT_JSON) for path in ("spring", "unknown")]
    assert [response.content for response in before] == [response.content for response in after]
    assert before[0].headers.raw == after[0].headers.raw


@ON_SQLITE
def test_favicon_is_that_of_the_brand(ana: Person) -> None:
    ana.add("domain", domain=f"https://{HOST}", brandname="Acme", brandlogo=data_url(logo()))
    for host, kind in (("go.localhost", "image/x-icon"), (HOST, "image/png")):
        response = ana.client.get("/favicon.ico", headers={"Host": host})
        assert (response.status_code, response.headers["content-type"]) == (200, kind)


@ON_SQLITE
def test_wide_logo_replaces_the_name(ana: Person) -> None:
    ana.add("domain", domain=f"https://{HOST}", brandname="Acme & Co", brandlogo=data_url(logo(600, 100)))
    page = _page(ana, host=HOST).text
    assert 'alt="Acme &amp; Co"' in page
    assert "<bdi>Acme" not in page


def test_cached_logos_are_bounded() -> None:
    cache = Cache()
    logo_text = "x" * 32_000
    for number in range(2_000):
        brand = Brand("A", logo=f"{number}{logo_text}")
        view = DomainView(number, 1, f"{number}.example", "https", "", "", brand=brand)
        cache.put_domain(f"{number}.example", view, version=0)
    cached = [cache.get_domain(f"{number}.example")[1] for number in range(2_000)]
    assert sum(len(each.brand.logo) for each in cached if each) < 17 * 1024 * 1024
    assert cache.get_domain("1999.example")[0]
