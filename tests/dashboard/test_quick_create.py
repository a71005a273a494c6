"""Quick create of a link whose destination the account already has, with the requests of scripts and without them."""

import html
import re

import pytest

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
_URL = "https://shop.example/boots?size=9"
_TOLD = "You already have a link to this destination:"
_PLACES = pytest.mark.parametrize("place", [{}, {"quick": "create"}, {"quick": "quick"}])


def _count(person: Person) -> int:
    return int(person.get("/urls")["data"]["result"])


@_PLACES
def test_existing_link_is_shown_instead_of_a_second_one(
    ana: Person, ben: Person, dashboard: Browser, place: dict[str, str]
) -> None:
    assert 'name="ask" value="on"' in dashboard.get("").text
    ben.add("url", url=_URL, custom="bens")
    link = ana.add("url", url=_URL, custom="boots")
    response = dashboard.submit("/links/new", at="", url=f" {_URL} ", ask="on", **place)
    assert (response.status_code, _TOLD in response.text, _count(ana)) == (200, True, 1)
    assert f'data-copy="{BASE}/boots"' in response.text
    assert f'href="/dashboard/links/{link}"' in response.text
    assert "Create another" in response.text
    assert f'value="{html.escape(_URL)}"' in response.text, "the form keeps its input"
    assert "bens" not in response.text


@_PLACES
def test_create_another_creates_a_second_link_once(ana: Person, dashboard: Browser, place: dict[str, str]) -> None:
    link = ana.add("url", url=_URL)
    response = dashboard.submit("/links/new", at="", url=_URL, ask="on", **place)
    button = re.search(r'name="another" value="(\d+)"', response.text)
    assert (button and button[1]) == (str(link) if place else None)
    answer = {"ask": "on", "another": str(link)} if place else {}  # the form for all options does not ask
    created = dashboard.submit("/links/new", at="", url=_URL, **answer, **place)
    assert (created.status_code, _TOLD in created.text, _count(ana)) == (200 if place else 303, False, 2)
    if place:
        assert _TOLD in dashboard.submit("/links/new", at="", url=_URL, **answer, **place).text, "the newest is another"


def test_form_for_all_options_leads_to_the_card_of_the_new_link(ana: Person, dashboard: Browser) -> None:
    campaign = ana.add("campaign", name="Spring")
    opener = f"/dashboard/campaigns/{campaign}"
    fields = {"url": _URL, "custom": "boots", "campaign": str(campaign), "next": opener}
    created = dashboard.submit("/links/new", at="", **fields)
    assert (created.status_code, created.headers["location"]) == (303, opener)
    shown = dashboard.client.get(opener).text
    card = shown[shown.index("data-arrived") : shown.index("</section>", shown.index("data-arrived"))]
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    assert f'data-copy="{BASE}/boots"' in card
    assert f'href="/dashboard/links/{link}"' in card
    another = re.search(r'href="(/dashboard/links/new[^"]+)"', card)
    assert another
    form = dashboard.client.get(html.unescape(another[1])).text
    assert (f'value="{campaign}" selected' in form, f'name="next" value="{opener}"' in form) == (True, True)
    assert all(text in card for text in ("data:image/svg", "wa.me", "QR code"))
    assert "data-arrived" not in dashboard.client.get(opener).text


def test_changed_destination_or_alias_creates_a_link_without_a_question(ana: Person, dashboard: Browser) -> None:
    link = ana.add("url", url=_URL)
    fields = {"ask": "on", "quick": "create"}
    moved = dashboard.submit("/links/new", at="", url=f"{_URL}#top", another=str(link), **fields)
    named = dashboard.submit("/links/new", at="", url=_URL, custom="winter", **fields)
    assert ("Your link is ready" in moved.text, "Your link is ready" in named.text, _count(ana)) == (True, True, 3)
    for another in ("x", "9" * 5000, "٣"):
        assert _TOLD in dashboard.submit("/links/new", at="", url=_URL, another=another, **fields).text
    assert dashboard.submit("/links/new", at="", url="nothing", **fields).status_code == 400


def test_template_is_part_of_the_compared_destination(ana: Person, dashboard: Browser) -> None:
    template = ana.add("utm", name="Mail", utm_source="mail")
    fields = {"url": _URL, "utm_template": str(template), "ask": "on", "quick": "create"}
    ana.add("url", url=_URL)
    assert "Your link is ready" in dashboard.submit("/links/new", at="", **fields).text
    assert _TOLD in dashboard.submit("/links/new", at="", **fields).text


def test_api_and_editor_create_links_to_the_same_destination(ana: Person, dashboard: Browser) -> None:
    for _ in range(2):
        ana.add("url", url=_URL)
        assert dashboard.submit("/links/new", url=_URL).status_code == 303
    assert _count(ana) == 4
