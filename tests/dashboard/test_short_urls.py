"""Short URLs on dashboard pages have the port of the service, and the scheme and host of branded domains."""

import pytest

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser
from tests.support.visits import new_link

_OWN = BASE.partition("://")[2]


def _page(dashboard: Browser, path: str) -> str:
    """Return a page whose addresses are in one piece."""
    text: str = dashboard.get(path).text
    return text.replace("<wbr>", "").replace("</span><span>", "")


@pytest.mark.parametrize("noun", ["campaign", "channel"])
def test_candidates_are_listed_with_their_short_urls(ana: Person, dashboard: Browser, noun: str) -> None:
    ana.add("domain", domain="http://brand.example")
    new_link(ana, "spring")
    new_link(ana, "autumn", domain="http://brand.example")
    page = _page(dashboard, f"/{noun}s/{ana.add(noun, name='Seasons')}/add")
    assert f">{_OWN}/spring<" in page
    assert ">brand.example/autumn<" in page


def test_bio_pages_and_qr_codes_are_listed_with_their_short_urls(ana: Person, dashboard: Browser) -> None:
    ana.add("bio", name="Ana", alias="about-ana")
    ana.add("qr", type="text", data="Tulips", name="Tulips")
    path = f"/channels/{ana.add('channel', name='Seasons')}/add"
    assert f">{_OWN}/about-ana<" in _page(dashboard, f"{path}?type=bio")
    assert f">{_OWN}/" in _page(dashboard, f"{path}?type=qr")


def test_lines_of_a_long_address_break_before_its_dots_and_slashes(ana: Person, dashboard: Browser) -> None:
    ana.add("domain", domain="http://links.brand.example")
    new_link(ana, "spring", domain="http://links.brand.example")
    assert ">links<wbr>.brand<wbr>.example</span><span><wbr>/spring<" in dashboard.get("/links").text


def test_choice_of_domains_shows_the_port_of_the_service(ana: Person, dashboard: Browser) -> None:
    assert f"<span>{_OWN}</span>" in dashboard.get("/links/new").text
    ana.add("domain", domain="http://brand.example")
    new_link(ana, "spring")
    for path in ("/links/new", "/links", "/files/new"):
        assert f">{_OWN}</option>" in dashboard.get(path).text, path
