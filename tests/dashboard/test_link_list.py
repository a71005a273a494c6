"""The link list of the dashboard: search, order, filters, pages, and bulk actions."""

import re
from html import unescape
from typing import Any

from sqlalchemy import insert

from tests.conftest import Person
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.databases import ON_SQLITE
from tests.support.visits import CHROME, DESTINATION, visit
from waypost.db.schema import links


def _titles(page: Any) -> list[str]:
    return [unescape(title) for title in re.findall(r'class="name"[^>]*>(.*?)</a>', page.text)]


def test_list_supports_search_order_filters_and_pages(ana: Person, dashboard: Browser) -> None:
    campaign = ana.add("campaign", name="Spring")
    channel = ana.add("channel", name="Letter")
    for n in range(30):
        fields: dict[str, Any] = {"campaign": campaign} if n < 3 else {"channel": channel} if n < 5 else {}
        fields |= {"status": "disabled"} if n == 4 else {}
        ana.post("/url/add", {"url": DESTINATION, "title": f"Link {n}", "custom": f"name-{n}", **fields})
    visit(dashboard.client, "name-7", agent=CHROME)
    assert _titles(dashboard.get("/links"))[0] == "Link 29"
    assert _titles(dashboard.get("/links?page=2")) == [f"Link {n}" for n in range(4, -1, -1)]
    assert "1\u201325 of 30" in dashboard.get("/links").text
    assert _titles(dashboard.get("/links?order=click"))[0] == "Link 7"
    assert _titles(dashboard.get("/links?q=link+1&order=date"))[-1] == "Link 1"
    assert _titles(dashboard.get(f"/links?campaign={campaign}")) == ["Link 2", "Link 1", "Link 0"]
    assert _titles(dashboard.get(f"/links?campaign={campaign}&q=1")) == ["Link 1"]
    assert _titles(dashboard.get(f"/links?channel={channel}")) == ["Link 4", "Link 3"]
    assert _titles(dashboard.get(f"/links?channel={channel}&status=disabled&order=click")) == ["Link 4"]
    assert "No links found" in dashboard.get("/links?q=nothing-like-this").text
    assert "No links found" in dashboard.get("/links?campaign=999").text


@ON_SQLITE
def test_search_with_many_matches_shows_first_thousand(ana: Person, dashboard: Browser) -> None:
    rows = [
        {
            "account": ana.account,
            "alias": f"n{n}",
            "url": DESTINATION,
            "title": f"Link {n}",
            "search": f"link {n}",
            "clicks": n % 7,
        }
        for n in range(1050)
    ]
    ana.write(lambda tx: tx.execute(insert(links), [{**row, "created": 0} for row in rows]))
    first = dashboard.get("/links?q=link")
    assert "25 of more than 1\u202f000" in first.text
    assert _titles(first)[:2] == ["Link 1049", "Link 1048"]
    last = dashboard.get("/links?q=link&page=40")
    assert _titles(last)[-1] == "Link 50"
    assert 'rel="next"' not in last.text
    assert _titles(dashboard.get("/links?q=link&page=41")) == []
    assert _titles(dashboard.get("/links?q=link&order=click"))[:2] == _most_clicked(1050)
    assert "1\u201311 of 11" in dashboard.get("/links?q=link+104").text


def _most_clicked(count: int) -> list[str]:
    """Return the titles of the two most clicked links, the newest first among equals."""
    ranked = sorted(range(count), key=lambda n: (n % 7, n), reverse=True)
    return [f"Link {n}" for n in ranked[:2]]


def test_bulk_actions_change_selected_links_and_deletion_needs_confirmation(ana: Person, dashboard: Browser) -> None:
    campaign = ana.add("campaign", name="Spring")
    channels = [ana.add("channel", name=name) for name in ("A", "B")]
    ids = [ana.add("url", url=DESTINATION, title=f"Link {n}") for n in range(3)]

    def bulk(action: str, selected: list[int]) -> Any:
        return dashboard.submit("/links/bulk", at="/links", action=action, id=selected)

    assert dashboard.flash_message(bulk("status-disabled", ids[:2])) == "2 links were updated."
    assert [ana.details("url", item)["status"] for item in ids] == ["disabled", "disabled", "public"]
    for action in (f"campaign-{campaign}", f"channel-{channels[0]}", f"channel-{channels[1]}"):
        bulk(action, ids[:2])
    link = ana.details("url", ids[0])
    assert (link["campaign"], sorted(link["channel"])) == (campaign, sorted(channels))
    bulk("campaign-0", ids[:1])
    assert ana.details("url", ids[0])["campaign"] is None
    assert "Select at least one link." in dashboard.flash_message(bulk("delete", []))
    assert "Select an action." in dashboard.flash_message(bulk("", ids))
    confirmation = bulk("delete", ids[:2])
    assert "Delete 2 links?" in confirmation.text
    assert ana.get("/urls")["data"]["result"] == 3
    form = {"token": hidden_field(confirmation, "token"), "id": ids[:2]}
    assert (
        dashboard.flash_message(dashboard.client.post("/dashboard/links/delete", data=form)) == "2 links were deleted."
    )
    assert ana.get("/urls")["data"]["result"] == 1
