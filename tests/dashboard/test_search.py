"""Searches match items of all kinds by words in any order, short URLs, hosts and names of channels."""

import re

import pytest

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.files import new_file

pytestmark = ON_BOTH_DATABASES


def _numbers(page: str, folder: str) -> set[int]:
    """Return the ids of the items that a page links to."""
    return {int(number) for number in re.findall(rf'href="/dashboard/{folder}/(\d+)["?/]', page)}


def _results(dashboard: Browser, q: str, folder: str, at: str | None = None) -> set[int]:
    return _numbers(dashboard.get(f"/{at or folder}", params={"q": q}).text, folder)


@pytest.fixture
def code(ana: Person) -> int:
    """A code in addition to another one."""
    ana.add("qr", type="text", data="other", name="Winter")
    return ana.add(
        "qr", type="link", data="https://example.com", name="ÄRGER über Äpfel in der Waldstraße", custom="Poster-1"
    )


@pytest.mark.parametrize("at", ["qr", "search"])
@pytest.mark.parametrize(
    "q",
    [
        "äpfel ärger",
        "poster-1",
        "{base}/Poster-1",
        "{base}/qr/poster-1",
        "{base}/Post",
        "/poster-1?x=1",
        "strasse /post",
    ],
)
def test_codes_match_words_and_short_urls(ana: Person, dashboard: Browser, code: int, q: str, at: str) -> None:
    q = q.replace("{base}", BASE)
    assert _results(dashboard, q, "qr", at) == {code}
    assert _results(dashboard, f"{q} winter", "qr", at) == set()


def test_codes_and_bio_pages_match_the_names_of_their_channels(ana: Person, dashboard: Browser, code: int) -> None:
    bio = ana.add("bio", name="Spring", alias="spring")
    channel = ana.add("channel", name="Türen im Haus")
    for kind, item in (("qr", code), ("bio", bio)):
        ana.post(f"/channel/{channel}/assign/{kind}/{item}")
    assert _results(dashboard, "türen", "qr") == {code}
    assert _results(dashboard, "haus äpfel", "qr") == {code}
    assert _results(dashboard, "TÜREN", "bios", "search") == {bio}


@pytest.mark.parametrize("at", ["files", "search"])
def test_files_match_words_in_any_order_short_urls_and_hosts(ana: Person, dashboard: Browser, at: str) -> None:
    new_file(ana, "other.txt")
    file = new_file(ana, "annual_report.txt")
    for q in ("report ANNUAL", ana.details("file", file)["shorturl"], f"annual {BASE}/"):
        assert _results(dashboard, q, "files", at) == {file}, q
    assert _results(dashboard, "report other", "files", at) == set()


def test_bio_pages_and_campaigns_match_their_urls(ana: Person, dashboard: Browser) -> None:
    bio = ana.add("bio", name="Links of Ana", alias="ana-links")
    ana.add("campaign", name="Other", slug="other")
    campaign = ana.add("campaign", name="Spring", slug="spring-sale")
    base = BASE
    assert _results(dashboard, f"{base}/ana-links", "bios", "search") == {bio}
    for q in (f"{base}/r/spring-sale", f"{base}/u/ana/spring-sale-{campaign}", "spring-s"):
        assert _results(dashboard, q, "campaigns", "search") == {campaign}


def test_candidates_of_campaigns_and_channels_match_words(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url="https://example.com/other", title="Other")
    link = ana.add("url", url="https://example.com/a", title="Blue shoes", custom="shoes")
    campaign, channel = (ana.add(noun, name="Group") for noun in ("campaign", "channel"))
    code = ana.add("qr", type="text", data="x", name="Blue poster")
    for path in (f"/campaigns/{campaign}/add", f"/channels/{channel}/add"):
        for q in ("shoes blue", f"{BASE}/shoes"):
            page = dashboard.get(path, params={"q": q}).text
            assert re.findall(r'name="(?:link|id|item)" value="(?:links-|qr-)?(\d+)"', page) == [str(link)], path
    page = dashboard.get(f"/channels/{channel}/add", params={"q": "poster BLUE", "type": "qr"}).text
    assert re.findall(r'name="(?:link|id|item)" value="(?:links-|qr-)?(\d+)"', page) == [str(code)]


@pytest.mark.parametrize(
    "q",
    [
        "autumn,",
        "(autumn)",
        '"Autumn',
        "„Mugs“ & autumn",
        "mugs?",
        "www.go.localhost:8000/mugs",
        "autumn - mugs",
        "…autumn!",
    ],
)
def test_punctuation_around_words_is_ignored(ana: Person, dashboard: Browser, q: str) -> None:
    link = ana.add("url", url="https://example.com/a", title="Autumn - mugs", custom="mugs")
    ana.add("url", url="https://example.com/b", title="Winter")
    assert _results(dashboard, q, "links") == {link}
    assert _results(dashboard, q, "links", "search") == {link}
