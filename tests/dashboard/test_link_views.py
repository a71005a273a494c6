"""Saved views of the list of links."""

import re
from functools import partial
from html import unescape
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.visits import DESTINATION
from waypost.dashboard import presets
from waypost.dashboard.presets import MAX

pytestmark = ON_BOTH_DATABASES
COLUMNS = "columns=link.destination.tags.clicks.created"


def _tabs(page: Any) -> dict[str, str]:
    """Return the addresses of the tabs by their names; the current one begins with `*`."""
    nav = re.search(r'<nav class="tabs views[^>]*>(.*?)</nav>', page.text, re.DOTALL)
    links = re.findall(r'<a href="([^"]*)"([^>]*)>(.*?)</a>', nav[1] if nav else "", re.DOTALL)
    return {
        ("*" if "aria-current" in rest else "") + unescape(name.strip()): unescape(path) for path, rest, name in links
    }


def _save(dashboard: Browser, name: str, parameters: str) -> str:
    """Save the list with these parameters as a view; return the message."""
    query = unescape(hidden_field(dashboard.get(f"/links?{parameters}"), "query"))
    return dashboard.submit_for_message("/links/views", at="/links", name=name, query=query)


def test_view_keeps_filters_order_and_columns_as_plain_link(ana: Person, dashboard: Browser) -> None:
    campaign = ana.add("campaign", name="Spring")
    ana.add("url", url=DESTINATION, title="inside", campaign=campaign)
    ana.add("url", url=DESTINATION, title="outside")
    assert "Views" not in dashboard.get("/links").text
    dashboard.submit("/links/columns", at="/links", column=["destination", "clicks"])
    assert _save(dashboard, "Spring, best", f"campaign={campaign}&order=click&unknown=1") == "The view was saved."
    address = f"/dashboard/links?campaign={campaign}&order=click&columns=link.destination.clicks"
    assert _tabs(dashboard.get("/links")) == {"*All links": "/dashboard/links", "Spring, best": address}
    dashboard.submit("/links/columns", at="/links", column=["tags"])
    shown = dashboard.client.get(address)
    assert "*Spring, best" in _tabs(shown)
    assert ("inside" in shown.text, "outside" in shown.text) == (True, False)
    assert ('class="with-tags"' in shown.text, 'class="destination"' in shown.text) == (False, True)
    assert 'name="columns" value="link.destination.clicks"' in shown.text  # filters keep the columns
    assert "*Spring, best" not in _tabs(dashboard.get(f"/links?campaign={campaign}"))


def test_view_without_columns_is_possible(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION)
    dashboard.submit("/links/columns", at="/links", column="")
    _save(dashboard, "Names", "status=public")
    address = _tabs(dashboard.get("/links"))["Names"]
    assert address == "/dashboard/links?status=public&columns=link"
    dashboard.submit("/links/columns", at="/links", column=["clicks"])
    assert 'class="with-tags"' not in dashboard.client.get(address).text


def test_chosen_columns_replace_those_of_a_view(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION)
    referrer = {"Referer": "http://localhost/dashboard/links?status=public&columns=link.tags"}
    token = hidden_field(dashboard.get("/links"), "token")
    data = {"token": token, "column": ["clicks"]}
    response = dashboard.client.post("/dashboard/links/columns", data=data, headers=referrer)
    assert response.headers["location"] == "/dashboard/links?status=public"


def test_view_is_renamed_replaced_and_deleted(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION)
    _save(dashboard, "One", "status=public")
    _save(dashboard, "Two", "status=private")
    assert _save(dashboard, " one ", "status=disabled") == "The view was saved."  # the same name
    assert _tabs(dashboard.get("/links")) == {
        "*All links": "/dashboard/links",
        "one": f"/dashboard/links?status=disabled&{COLUMNS}",
        "Two": f"/dashboard/links?status=private&{COLUMNS}",
    }
    at = f"/links?status=private&{COLUMNS}"
    path = re.search(r'formaction="/dashboard(/links/views/\d+)"', dashboard.get(at).text)
    assert path is not None
    assert dashboard.submit_for_message(path[1], at=at, name="ONE") == "You already have a view with this name."
    assert "Name" in dashboard.submit_for_message(path[1], at=at, name=" ")
    assert dashboard.submit_for_message(path[1], at=at, name="Third <b>") == "The view was renamed."
    assert list(_tabs(dashboard.get("/links"))) == ["*All links", "one", "Third <b>"]
    assert dashboard.submit_for_message(f"{path[1]}/delete", at=at) == "The view was deleted."
    assert list(_tabs(dashboard.get("/links"))) == ["*All links", "one"]
    assert dashboard.submit(f"{path[1]}/delete", at="/links").status_code == 404


def test_number_of_views_is_limited(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION)
    for n in range(MAX):
        ana.write(partial(presets.save, account=ana.account, kind="links", name=f"View {n}", settings={"q": str(n)}))
    message = _save(dashboard, "One more", "status=private")
    assert message == "You have 50 views, which is the limit. Delete one first."
    assert _save(dashboard, "View 7", "status=private") == "The view was saved."
    assert len(_tabs(dashboard.get("/links"))) == MAX + 1


def test_views_belong_to_their_account(ana: Person, ben: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION)
    ben.add("url", url=DESTINATION)
    _save(dashboard, "Mine", "status=public")
    path = re.search(r"/links/views/\d+", dashboard.get(f"/links?status=public&{COLUMNS}").text)
    assert path is not None
    other = new_browser(dashboard.client)
    other.sign_in("ben")
    assert _tabs(other.get("/links")) == {}
    assert other.submit(path[0], at="/links", name="Taken over").status_code == 404
    assert other.submit(f"{path[0]}/delete", at="/links").status_code == 404
    assert "Mine" in _tabs(dashboard.get("/links"))


@pytest.mark.parametrize("query", ["", "%00&=&&", "q=" + "x" * 5000, "next=//evil.example"])
def test_unusual_queries_make_plain_views(ana: Person, dashboard: Browser, query: str) -> None:
    ana.add("url", url=DESTINATION)
    response = dashboard.submit("/links/views", at="/links", name="Odd", query=query)
    assert response.status_code == 303
    assert response.headers["location"].startswith("/dashboard/links")
    assert dashboard.client.get(response.headers["location"]).status_code == 200
