"""Statistics of a campaign filtered by a link."""

import re

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


def test_link_in_campaign_statistics_filters_them(campaign: tuple[int, int, int], dashboard: Browser) -> None:
    spring, one, two = campaign
    page = dashboard.get(f"/campaigns/{spring}/stats?period=7&country=Unknown").text
    path = f"/dashboard/campaigns/{spring}/stats?period=7&amp;country=Unknown&amp;source=link+"
    for link, clicks in ((one, 3), (two, 2)):
        assert f'href="{path}{link}"' in page
        assert f'href="/dashboard/links/{link}/stats"' in page
        filtered = dashboard.get(f"/campaigns/{spring}/stats?period=7&source=link+{link}").text
        assert _clicks(filtered) == clicks
        assert f"Link: <bdi>{'one' if link == one else 'two'}</bdi>" in filtered
        assert f'href="/dashboard/campaigns/{spring}/stats?period=7"' in filtered
        assert "Source: " not in filtered


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
    assert "Link: <bdi>Deleted item</bdi>" in dashboard.get(f"/campaigns/{campaign[0]}/stats?source=link+99999").text
    assert "Source: <bdi>List page</bdi>" in dashboard.get(f"/campaigns/{campaign[0]}/stats?source=list").text
