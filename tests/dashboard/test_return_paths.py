"""Links of all lists keep the position in the list; the error page without a session."""

from urllib.parse import quote

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.files import new_file


@pytest.mark.parametrize(
    ("page", "links"),
    [
        ("/files?q=a", ("/files/1/stats", "/files/1")),
        ("/qr?q=c", ("/qr/1/stats", "/qr/1")),
        ("/pixels?page=1", ("/pixels/1",)),
        ("/domains?page=1", ("/domains/1",)),
    ],
)
def test_every_link_of_a_list_keeps_the_position(
    ana: Person, dashboard: Browser, page: str, links: tuple[str, ...]
) -> None:
    _add_one_of_each(ana)
    text = dashboard.get(page).text
    for link in links:
        path = f"/dashboard{link}"
        assert f'href="{path}?next={quote(f"/dashboard{page}", safe="")}"' in text
        assert f'href="{path}"' not in text


@pytest.mark.parametrize("folder", ["pixels", "domains"])
def test_delete_and_cancel_of_an_editor_keep_the_position(ana: Person, dashboard: Browser, folder: str) -> None:
    _add_one_of_each(ana)
    place = f"/dashboard/{folder}?page=1"
    text = dashboard.get(f"/{folder}/1?next={quote(place, safe='')}").text
    assert f'href="/dashboard/{folder}/1/delete?next={quote(place, safe="")}"' in text
    assert text.count(f'href="{place}"') >= 2  # back and cancel


def test_new_link_from_campaign_returns_to_it_or_to_the_next_one(ana: Person, dashboard: Browser) -> None:
    campaign = f"/dashboard/campaigns/{ana.add('campaign', name='Spring')}"
    adding = dashboard.get(f"{campaign.removeprefix('/dashboard')}/add").text
    form = f"/links/new?campaign=1&amp;next={campaign}"
    assert f'href="/dashboard{form}"' in adding
    page = dashboard.get(form.replace("&amp;", "&")).text
    assert page.count(f'href="{campaign}"') >= 2  # back and cancel
    fields = {"url": "https://example.com/a", "campaign": "1", "next": campaign}
    assert dashboard.submit("/links/new", **fields).headers["location"] == campaign
    again = dashboard.submit("/links/new", **fields, again="1").headers["location"]
    following = dashboard.client.get(again).text
    assert 'value="1" selected' in following
    assert f'name="next" value="{campaign}"' in following
    assert ana.get("/urls")["data"]["result"] == 2


def test_new_link_from_elsewhere_returns_to_the_list(dashboard: Browser) -> None:
    fields = {"url": "https://example.com/a"}
    for at in ("/links/new?url=https://example.com/a", "/links/new"):
        assert dashboard.submit("/links/new", at, **fields).headers["location"] == "/dashboard/links"
    listed = "/dashboard/links?page=1"
    assert dashboard.submit("/links/new", **fields, next=listed).headers["location"] == listed
    away = dashboard.submit("/links/new", **fields, next="//evil.example/x")
    assert away.headers["location"] == "/dashboard/links"


def test_error_page_without_session_offers_to_sign_in(browser: Browser) -> None:
    text = browser.get("/nothing-is-here").text
    assert "Sign in" in text
    assert "Go to overview" not in text


def _add_one_of_each(ana: Person) -> None:
    new_file(ana, "a.txt")
    ana.add("qr", type="link", data="https://example.com", name="code")
    ana.add("pixel", type="analyticspixel", name="P", tag="G-ABC1234567")
    ana.add("domain", domain="https://go.example.com")
