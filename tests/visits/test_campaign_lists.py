"""Public list pages of campaigns (decisions 27 and 51)."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from sqlalchemy import insert

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.visits import ACCEPT_HTML, ACCEPT_JSON, GOOGLEBOT, SLACK, click_totals, new_link, visit
from waypost.db import schema

pytestmark = ON_BOTH_DATABASES  # searches and pages of a list
OVERRIDE = "\u202e"


def _campaign(person: Person, *, slug: str | None = "spring", public: bool = True, name: str = "Spring") -> int:
    return person.add("campaign", slug=slug, public=public, name=name)


def _list_data(service: AsgiClient, campaign: int, query: str = "", slug: str = "spring") -> dict[str, Any]:
    response = visit(service, f"u/ana/{slug}-{campaign}{query}", headers=ACCEPT_JSON)
    assert response.status_code == 200
    data: dict[str, Any] = response.json()["data"]
    return data


def _titles(service: AsgiClient, campaign: int, query: str = "") -> list[str]:
    return [link["title"] for link in _list_data(service, campaign, query)["links"]]


def _create_links(person: Person, campaign: int, count: int) -> None:
    """Insert many links directly, faster than through the API."""
    empty_texts = dict.fromkeys(("host", "description", "expiryurl", "metatitle", "metadescription", "metaimage"), "")
    rows = [
        {
            **empty_texts,
            "account": person.account,
            "alias": f"many-{n}",
            "url": f"https://example.com/{n}",
            "title": f"Number {n}",
            "search": f"number {n}",
            "campaign": campaign,
            "created": n,
        }
        for n in range(count)
    ]
    person.write(lambda tx: tx.execute(insert(schema.links), rows))


class _Outline(HTMLParser):
    """Collect the resources, scripts and links of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def links(self) -> list[str]:
        return [str(message["href"]) for tag, message in self.tags if tag == "a"]


@pytest.mark.parametrize("slug", ["spring", None])
def test_list_url_from_api_works(service: AsgiClient, ana: Person, slug: str | None) -> None:
    created = ana.post("/campaign/add", {"slug": slug, "public": True})
    assert visit(service, created["list"].removeprefix(f"{BASE}/"), headers=ACCEPT_HTML).status_code == 200


def test_list_shows_newest_links_first_with_title_or_site(service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana)
    new_link(ana, "one", url="https://www.example.com/a", campaign=campaign, title="The first")
    new_link(ana, "two", url="https://www.bücher.example/b", campaign=campaign)
    list_data = _list_data(service, campaign)
    assert list_data == {
        "name": "Spring",
        "list": f"{BASE}/u/ana/spring-{campaign}",
        "rotator": f"{BASE}/r/spring",
        "result": 2,
        "perpage": 25,
        "currentpage": 1,
        "nextpage": None,
        "maxpage": 1,
        "links": [
            {"shorturl": f"{BASE}/two", "title": "xn--bcher-kva.example", "site": "xn--bcher-kva.example"},
            {"shorturl": f"{BASE}/one", "title": "The first", "site": "example.com"},
        ],
    }
    page = visit(service, f"u/ana/spring-{campaign}", headers=ACCEPT_HTML)
    assert _Outline(page.text).links() == [f"{BASE}/two", f"{BASE}/one"]


def test_private_list_is_visible_to_owner_only(service: AsgiClient, ana: Person, ben: Person) -> None:
    path = f"u/ana/spring-{_campaign(ana, public=False)}"
    own_key, foreign_key = ({"Authorization": f"Bearer {person.key}"} for person in (ana, ben))
    assert visit(service, path).status_code == visit(service, path, headers=foreign_key).status_code == 404
    assert visit(service, path, headers={"Authorization": "Bearer wrong"}).status_code == 404
    assert visit(service, path, headers=own_key).status_code == 200
    missing = visit(service, "u/ana/spring-999", headers=ACCEPT_HTML)
    assert visit(service, path, headers=ACCEPT_HTML).text == missing.text


def test_list_contains_only_usable_links(service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana)
    kinds: list[dict[str, Any]] = [{}, {"password": "x"}, {"status": "disabled"}, {"clicklimit": 1}]
    for number, fields in enumerate(kinds):
        new_link(ana, f"link-{number}", campaign=campaign, title=str(number), **fields)
    visit(service, "link-3")
    assert _titles(service, campaign) == ["0"]
    visit(service, "link-0")
    ana.remove("campaign", campaign)
    assert visit(service, f"u/ana/spring-{campaign}").status_code == 404


def test_outdated_list_slug_redirects_to_current_one(service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana)
    for old in (f"winter-{campaign}", f"list-{campaign}", f"a-b-{campaign}"):
        response = visit(service, f"u/ana/{old}?q=x&page=2")
        assert (response.status_code, response.headers["location"]) == (
            302,
            f"{BASE}/u/ana/spring-{campaign}?q=x&page=2",
        )
        assert response.headers["cache-control"] == "private, no-store"
    assert visit(service, f"u/ANA/spring-{campaign}").headers["location"] == f"{BASE}/u/ana/spring-{campaign}"


def test_wrong_list_address_returns_404(service: AsgiClient, ana: Person, ben: Person) -> None:
    public, hidden = _campaign(ana), _campaign(ana, slug="hidden", public=False, name="Hidden")
    names = (f"ben/spring-{public}", f"ana/x-{hidden}", "ana/spring", "ana/spring-", f"ana/-{public}", "ana/spring-0")
    for name in (
        *names,
        f"ana/spring-{'9' * 40}",
        f"ana/spring-{public}/x",
        "ana/spring-²",
        "ana",
        f"ana/spring-0{public}",
    ):
        assert visit(service, f"u/{name}").status_code == 404, name


def test_long_list_is_paginated(service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana)
    _create_links(ana, campaign, 60)
    first, last = _list_data(service, campaign), _list_data(service, campaign, "?page=3")
    assert (first["result"], first["nextpage"], first["maxpage"]) == (60, 2, 3)
    assert [link["title"] for link in first["links"]] == [f"Number {n}" for n in range(59, 34, -1)]
    assert [link["title"] for link in last["links"]] == [f"Number {n}" for n in range(9, -1, -1)]
    assert last["nextpage"] is None
    beyond = _list_data(service, campaign, "?page=9")
    assert (beyond["links"], beyond["nextpage"]) == ([], None)
    page = visit(service, f"u/ana/spring-{campaign}?page=2", headers=ACCEPT_HTML).text
    assert [link for link in _Outline(page).links() if "/u/" in link] == [
        f"{BASE}/u/ana/spring-{campaign}",
        f"{BASE}/u/ana/spring-{campaign}?page=3",
    ]
    for odd in ("0", "-1", "x", "²", "9" * 30, ""):
        assert _list_data(service, campaign, f"?page={odd}")["currentpage"] == 1


def test_list_search_matches_visible_text(service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana)
    new_link(ana, "one", url="https://shop.example/", campaign=campaign, title="Été à Paris", description="secret")
    new_link(ana, "two", url="https://example.com/paris?hidden", campaign=campaign, title="100% wool")
    new_link(ana, "paris-3", url="https://example.com/", campaign=campaign, title="Third")
    for q, item in (
        ("PARIS", ["Third", "Été à Paris"]),
        ("été", ["Été à Paris"]),
        ("shop.exa", ["Été à Paris"]),
        ("100%25", ["100% wool"]),
        ("_", []),
        ("secret", []),
        ("hidden", []),
        ("%00", []),
        ("%20", ["Third", "100% wool", "Été à Paris"]),
    ):
        assert _titles(service, campaign, f"?q={q}") == item, q
    page = visit(service, f"u/ana/spring-{campaign}?q=%22%3E%3Cb%3E", headers=ACCEPT_HTML).text
    assert "<b>" not in page
    assert 'value="&#34;&gt;&lt;b&gt;"' in page


def test_list_search_results_are_paginated(service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana)
    _create_links(ana, campaign, 60)
    list_data = _list_data(service, campaign, "?q=NUMBER+1&page=1")
    assert (list_data["result"], list_data["maxpage"]) == (11, 1)
    page = visit(service, f"u/ana/spring-{campaign}?q=number&page=2", headers=ACCEPT_HTML).text
    assert f"{BASE}/u/ana/spring-{campaign}?q=number&page=3" in _Outline(page).links()


def test_list_view_counts_for_campaign_and_bots_separately(service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana)
    for options in ({}, {"headers": ACCEPT_HTML}, {"method": "HEAD"}, {"agent": GOOGLEBOT}, {"agent": SLACK}):
        assert visit(service, f"u/ana/spring-{campaign}", **options).status_code == 200
    visit(service, f"u/ana/spring-{campaign}", headers={"Authorization": f"Bearer {ana.key}"})
    assert ana.details("campaign", campaign)["views"] == 2
    expected = {"clicks": 2, "uniqueClicks": 1, "bots": 1, "previews": 1, "others": 1}
    assert click_totals(ana, f"/campaign/{campaign}") == expected
    assert click_totals(ana, "") == {}


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "</ul>"]
)
def test_list_texts_are_escaped(text: str, service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana, name=text)
    new_link(ana, "one", campaign=campaign, title=text)
    response = visit(service, f"u/ana/spring-{campaign}", headers=ACCEPT_HTML)
    tags = [tag for tag, _ in _Outline(response.text).tags]
    assert not {"script", "img"} & set(tags)
    assert tags.count("ul") == 1
    assert "49" not in re.sub(r"<style>.*?</style>", "", response.text, flags=re.DOTALL)
    assert not [name for _, message in _Outline(response.text).tags for name in message if name.startswith("on")]


def test_list_isolates_right_to_left_text(service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana)
    new_link(ana, "one", campaign=campaign, title=f"moc.evil{OVERRIDE}gnp.exe")
    new_link(ana, "two", campaign=campaign, title=OVERRIDE)
    page = visit(service, f"u/ana/spring-{campaign}", headers=ACCEPT_HTML).text
    assert "<bdi>moc.evilgnp.exe</bdi>" in page
    assert "<bdi>example.com</bdi>" in page


def test_list_page_loads_no_resources(service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana)
    new_link(ana, "one", url="https://elsewhere.example/", campaign=campaign)
    response = visit(service, f"u/ana/spring-{campaign}", headers=ACCEPT_HTML)
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    loading = [
        message
        for tag, message in _Outline(response.text).tags
        if "src" in message or (tag == "link" and not str(message["href"]).startswith("data:"))
    ]
    assert loading == []


def test_search_engines_may_index_only_public_lists_that_allow_it(service: AsgiClient, ana: Person) -> None:
    campaign = _campaign(ana)
    _create_links(ana, campaign, 30)

    def robots(query: str = "", **headers: str) -> tuple[bool, list[str]]:
        page = visit(service, f"u/ana/spring-{campaign}{query}", headers={**ACCEPT_HTML, **headers}).text
        canonical = [tag["href"] for name, tag in _Outline(page).tags if tag.get("rel") == "canonical"]
        return '<meta name="robots" content="noindex">' in page, [str(url) for url in canonical]

    assert robots() == (True, [])
    ana.update("campaign", campaign, name="Spring", indexable=True)
    address = f"{BASE}/u/ana/spring-{campaign}"
    assert robots() == (False, [address])
    assert robots("?page=2") == (False, [f"{address}?page=2"])
    assert robots("?page=3") == robots("?q=number") == robots("?q=nothing") == (True, [])
    ana.update("campaign", campaign, name="Spring", public=False)
    assert robots(authorization=f"Bearer {ana.key}") == (True, [])
    ana.update("campaign", campaign, name="Spring", public=True, indexable=None)
    assert robots() == (True, [])
