"""The search of the list of links: pasted short URLs, hosts, words in any order, names of campaigns and channels."""

import re
from html import unescape
from urllib.parse import quote

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.visits import DESTINATION
from waypost.core.settings import Settings
from waypost.items.links import list_search

pytestmark = ON_BOTH_DATABASES


@pytest.fixture(params=[10_000, -1], ids=["test each link", "index"])
def few_links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Force both query plans with few links."""
    monkeypatch.setattr(list_search, "FEW_LINKS", request.param)


def _matches(dashboard: Browser, q: str, more: str = "") -> list[str]:
    page = dashboard.get(f"/links?q={quote(q)}{more}").text
    return sorted(unescape(title) for title in re.findall(r'class="name"[^>]*>(.*?)</a>', page))


@pytest.mark.usefixtures("few_links")
def test_search_matches_words_in_any_order_and_names_of_groups(ana: Person, ben: Person, dashboard: Browser) -> None:
    campaign, summer = (ana.add("campaign", name=name) for name in ("Black Friday ÄPFEL", "Summer"))
    channel = ana.add("channel", name="Podcast")
    ana.add("url", url=DESTINATION, title="Newsletter 42", custom="a-a", description="spring", campaign=campaign)
    ana.add("url", url=DESTINATION, title="Episode 42", custom="a-b", channel=[channel])
    ana.add("url", url=DESTINATION, title="Podcast teaser 7", custom="a-c", campaign=summer)
    ana.add("url", url=DESTINATION, title="Black shoes", custom="a-d")
    ben.add("campaign", name="Black Friday")
    ben.add("url", url=DESTINATION, title="Podcast 42 of Ben")
    expected = {
        "42 newsletter": ["Newsletter 42"],
        "spring  NEWS": ["Newsletter 42"],
        "Black Friday": ["Newsletter 42"],
        "black": ["Black shoes", "Newsletter 42"],
        "äpfel": ["Newsletter 42"],
        "podcast 42": ["Episode 42"],
        "podcast": ["Episode 42", "Podcast teaser 7"],
        "7 summer": ["Podcast teaser 7"],
        "friday podcast": [],
        "42": ["Episode 42", "Newsletter 42"],
        "newsletter teaser": [],
        "%": [],
        '"news" OR': [],
    }
    for order in ("", "&order=click"):
        assert {q: _matches(dashboard, q, order) for q in expected} == expected
    assert _matches(dashboard, "black", f"&campaign={campaign}") == ["Newsletter 42"]
    assert _matches(dashboard, "podcast", f"&channel={channel}") == ["Episode 42"]
    assert _matches(dashboard, "podcast", "&status=disabled") == []


@pytest.mark.usefixtures("few_links")
def test_search_matches_pasted_urls_and_hosts(ana: Person, ben: Person, dashboard: Browser, settings: Settings) -> None:
    ana.add("domain", domain="https://go.acme.example")
    ana.add("url", url="https://target.example/page", title="Own", custom="promo-12")
    ana.add("url", url="https://target.example/other", title="Branded", custom="promo-12", domain="go.acme.example")
    ana.add("url", url="https://third.example/", title="Longer", custom="promo-123")
    ana.add("url", url="https://third.example/", title="Umlaut", custom="größe", domain="go.acme.example")
    ben.add("url", url=DESTINATION, title="Ben", custom="promo-1")
    own = settings.own_host
    for prefix in (settings.base, own, f"{own}:18931", f"http://{own}", f"https://{own.upper()}"):
        assert _matches(dashboard, f"{prefix}/promo-123") == ["Longer"], prefix
        assert _matches(dashboard, f"{prefix}/promo-12") == ["Longer", "Own"], prefix
    assert _matches(dashboard, f"{own}/promo-12/") == _matches(dashboard, f"{own}/promo-12+") == ["Longer", "Own"]
    assert _matches(dashboard, "https://go.acme.example/promo-12") == ["Branded"]
    assert _matches(dashboard, "https://go.acme.example/gr%C3%B6%C3%9Fe") == ["Umlaut"]
    assert _matches(dashboard, "go.acme.example/größe") == ["Umlaut"]
    assert _matches(dashboard, "go.acme.example") == _matches(dashboard, "go.acme") == ["Branded", "Umlaut"]
    assert _matches(dashboard, "https://go.acme.example/") == ["Branded", "Umlaut"]
    assert _matches(dashboard, "go.acme.example größe") == ["Umlaut"]
    assert _matches(dashboard, own) == ["Longer", "Own"]
    assert _matches(dashboard, "http://target.example/page") == ["Own"]
    assert _matches(dashboard, f"http://{own}/promo-1", "&domain=go.acme.example") == []
    for odd in ("://", "http://", "/", "?", ":80", "http://[", "a" * 255, "b " * 127, "%zz", "\u202e"):
        assert dashboard.get(f"/links?q={quote(odd)}").status_code == 200
