"""Links in the statistics of a campaign."""

import re
from html import unescape

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.rotators import add_links, new_campaign, rotated_to
from tests.support.visits import new_link, visit

pytestmark = ON_SQLITE


@pytest.fixture
def campaign(ana: Person, service: AsgiClient) -> tuple[int, int, int]:
    """A campaign and its links, to which its rotator sent three visitors and two."""
    spring = new_campaign(ana, rotation="ordered", public=True)
    one, two = add_links(ana, spring, "one", "two")
    for _ in range(5):
        rotated_to(service)
    visit(service, f"u/ana/spring-{spring}")
    return spring, one, two


def _clicks(page: str) -> int:
    tile = re.search(r"<dd>\s*(\d+)\s*</dd>", page)
    assert tile is not None
    return int(tile[1])


def test_link_in_campaign_statistics_leads_to_its_own(campaign: tuple[int, int, int], dashboard: Browser) -> None:
    spring, one, two = campaign
    page = dashboard.get(f"/campaigns/{spring}/stats?period=7&country=Unknown").text
    assert _clicks(page) == 5
    for link, clicks in ((one, 3), (two, 2)):
        path = re.search(rf'href="(/dashboard/links/{link}/stats[^"]*)"', page)
        assert path is not None
        assert _clicks(dashboard.get(unescape(path[1]).removeprefix("/dashboard")).text) == clicks


def test_campaign_statistics_of_forged_links_show_nothing(
    campaign: tuple[int, int, int], ben: Person, dashboard: Browser
) -> None:
    other = new_link(ben, "bens", title="A link of Ben")
    for source in (
        f"link {other}",
        "link 99999",
        "link " + "9" * 5000,
        "link x",
        "link ٣",
        "link",
        "list ",
        " 1",
        "x\0y",
    ):
        page = dashboard.get(f"/campaigns/{campaign[0]}/stats", params={"source": source})
        assert (page.status_code, "of Ben" in page.text) == (200, False), source
    assert "Source: <bdi>link 99999</bdi>" in dashboard.get(f"/campaigns/{campaign[0]}/stats?source=link+99999").text
    assert "Source: <bdi>List page</bdi>" in dashboard.get(f"/campaigns/{campaign[0]}/stats?source=list").text
