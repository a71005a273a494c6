"""Small parts of the pages of links: QR code of a new link, mark of the host, dead ends that redirect."""

import re

import pytest

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser
from tests.support.visits import new_link


def test_qr_code_of_new_link_is_shown_before_it_is_saved(ana: Person, dashboard: Browser) -> None:
    ana.add("domain", domain="https://go.brand.example")

    def draft(custom: str, domain: str = "") -> str:
        return str(dashboard.submit("/links/qr", at="/links/new", custom=custom, domain=domain).text)

    for page, url in ((draft("spring"), "/spring<"), (draft("a/b", "go.brand.example"), "go.brand.example/a/b<")):
        assert url in page
        assert 'src="data:image/svg+xml;base64,' in page
    sample = draft("")
    assert "This is a sample. Type an alias" in sample
    assert 'alt="Sample of a QR code"' in sample
    assert ana.get("/urls")["data"]["result"] == 0


@pytest.mark.parametrize(
    ("custom", "domain", "error"),
    [
        ("a b", "", "Alias cannot have"),
        ("taken", "", "That alias is taken."),
        ("spring", "theirs.example", "Domain must be one of your branded domains"),
    ],
)
def test_alias_that_a_link_cannot_have_is_reported_in_place_of_qr_code(
    ana: Person, ben: Person, dashboard: Browser, custom: str, domain: str, error: str
) -> None:
    ben.add("domain", domain="https://theirs.example")
    new_link(ben, "taken")
    page = dashboard.submit("/links/qr", at="/links/new", custom=custom, domain=domain).text
    assert error in page
    assert 'alt="Sample of a QR code"' in page
    assert "QR code of this link" not in page


def test_new_link_starts_on_domain_of_newest_link(ana: Person, ben: Person, dashboard: Browser) -> None:
    for owner, host in ((ana, "go.brand.example"), (ana, "go.other.example"), (ben, "theirs.example")):
        owner.add("domain", domain=f"https://{host}")

    def selected() -> str:
        page = dashboard.get("/links/new").text
        hosts = set(re.findall(r'<option value="([a-z.:0-9]+\.example)" selected', page))
        return ",".join(hosts)

    assert selected() == ""
    ana.add("url", url="https://shop.example/", domain="https://go.brand.example")
    ben.add("url", url="https://shop.example/", domain="https://theirs.example")
    assert selected() == "go.brand.example"
    own = ana.add("url", url="https://shop.example/")
    assert selected() == ""
    ana.remove("url", own)
    assert 'value="go.other.example" selected' in dashboard.get("/links/new?domain=go.other.example").text


def test_link_from_overview_is_on_domain_of_newest_link(ana: Person, dashboard: Browser) -> None:
    ana.add("domain", domain="https://go.brand.example")
    dashboard.submit("/links/new", at="", url="https://shop.example/", quick="create")
    ana.add("url", url="https://shop.example/one", domain="https://go.brand.example")
    dashboard.submit("/links/new", at="", url="https://shop.example/two", quick="create")
    dashboard.submit("/links/new", at="", url="https://shop.example/three", quick="create", domain="")
    hosts = [link["shorturl"].rsplit("/", 1)[0] for link in ana.get("/urls")["data"]["urls"]]
    assert hosts == [BASE, "https://go.brand.example", "https://go.brand.example", BASE]


def test_host_has_same_mark_in_every_row_below_the_icon_from_this_service(ana: Person, dashboard: Browser) -> None:
    for url in ("https://www.shop.example/a", "http://SHOP.example/b", "https://ähm.example/"):
        ana.add("url", url=url)
    mark = r'<span class="host-mark (hue-\d+)" aria-hidden="true">(.)<img src="/dashboard/favicon[^>]*></span>'
    marks = re.findall(mark, dashboard.get("/links").text)
    assert [letter for _, letter in marks] == ["Ä", "S", "S"]
    assert marks[1] == marks[2]


def test_pages_without_anything_to_do_redirect(ana: Person, dashboard: Browser) -> None:
    assert dashboard.flash_message(dashboard.get("/trash/empty")) == "The trash is empty."
    assert dashboard.get("/register").headers["location"] == "/dashboard"
