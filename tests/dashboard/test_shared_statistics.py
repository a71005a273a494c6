"""Pages of shared statistics: what visitors see, and what they do not."""

import re
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import insert, update

from tests.conftest import BASE, Person
from tests.support import trash
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, new_browser
from tests.support.databases import ON_SQLITE
from tests.support.visits import FIREFOX, IPHONE, clicks, new_link, visit
from waypost.admin import account_deletion
from waypost.auth import attempt_limits
from waypost.clicks.ingest.aggregate import DAY
from waypost.core import clock
from waypost.dashboard import page_services
from waypost.db.database import Database
from waypost.db.schema import accounts, click_times, shares
from waypost.items.shares.ops import Share

_TOKEN = re.compile(r'name="token" value="([^"]+)"')


@pytest.fixture
def spring(ana: Person, service: AsgiClient) -> int:
    """Ana's link `spring` with two clicks of Firefox and one of Safari."""
    link = new_link(ana, "spring", title="Client X, overpriced")
    for agent, referrer in ((FIREFOX, "https://news.example/"), (FIREFOX, ""), (IPHONE, "")):
        visit(service, "spring", agent=agent, headers={"Referer": referrer})
    assert clicks(ana, link)[0] == 3
    return link


@pytest.fixture
def visitor(service: AsgiClient) -> AsgiClient:
    """A browser without a session."""
    return new_browser(service).client


def _share(person: Person, item: int, type: str = "link", **fields: Any) -> str:
    """Share an item; return the path of the page."""
    url: str = person.post("/share/add", {"type": type, "itemid": item, **fields})["url"]
    return url.removeprefix(BASE)


def _id(person: Person, path: str) -> int:
    listed = person.get("/shares")["data"]["shares"]
    return int(next(share["id"] for share in listed if share["url"] == BASE + path))


def _tiles(page: str) -> tuple[int, ...]:
    """Return clicks and visitors of the page."""
    return tuple(int(n) for n in re.findall(r"<dd>\s*(\d+)\s*</dd>", page)[:2])


def _days(page: str) -> tuple[str, str]:
    first, last = re.findall(r'type="date"\s+name="(?:from|to)"\s+value="([^"]+)"', page)
    return first, last


def _add_clicks(person: Person, link: int, days_ago: int, number: int) -> None:
    at = (clock.now() // DAY - days_ago) * DAY
    row = {"account": person.account, "kind": "link", "item": link, "at": at, "clicks": number, "uniques": number}
    row |= {"bots": 0, "previews": 0, "others": 0, "late": 0}
    person.write(lambda tx: tx.execute(insert(click_times).values(row)))


def test_secret_page_shows_the_statistics_of_its_item_only(ana: Person, visitor: AsgiClient, spring: int) -> None:
    response = visitor.get(_share(ana, spring))
    page = response.text
    assert (response.status_code, _tiles(page)) == (200, (3, 2))
    assert "news.example" in page
    assert f'href="{BASE}/spring"' in page
    assert response.headers["x-robots-tag"].startswith("noindex")
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cache-control"] == "private, no-store"
    assert '<meta name="robots" content="noindex">' in page
    assert "Client X" not in page, "the title is for the owner"
    assert "ana" not in re.sub(r"<[^>]+>", " ", page).split()
    assert "Link created" not in page, "events tell what the account did"
    links = set(re.findall(r'href="(/[^"?]*)', page))
    assert all(path.startswith(("/stats/", "/dashboard/static/")) for path in links), links


@pytest.mark.parametrize("kind", ["qr", "bio", "campaign"])
def test_other_items_can_be_shared(ana: Person, visitor: AsgiClient, kind: str) -> None:
    fields = {"qr": {"type": "link", "data": "https://example.com/"}, "bio": {"name": "Me"}}
    item = ana.add(kind, **fields.get(kind, {"name": "Spring", "slug": "spring-deals"}))
    page = visitor.get(_share(ana, item, kind))
    assert page.status_code == 200
    assert page.text.count("Nothing was counted in this period.") == 1
    assert ("Spring" in page.text) == (kind == "campaign")


def test_page_of_a_campaign_has_the_sum_of_its_links_without_them(
    ana: Person, visitor: AsgiClient, spring: int, service: AsgiClient
) -> None:
    campaign = ana.add("campaign", name="Deals", slug="deals")
    other = new_link(ana, "autumn", title="Client Y", url="https://target.example/?utm_source=secret-source")
    for link in (spring, other):
        ana.post(f"/campaign/{campaign}/assign/{link}")
    visit(service, "autumn", agent=IPHONE)
    assert clicks(ana, other)[0] == 1
    path = _share(ana, campaign, "campaign")
    page = visitor.get(path).text
    assert _tiles(page) == (4, 3)
    assert "<dt>Clicks</dt>" in page
    selected = visitor.get(f"{path}?visited=link-{other}&channel=1").text
    assert _tiles(selected) == (4, 3), "no link can be selected"
    csv = visitor.get(f"{path}?format=csv").text
    for text in (page, selected, csv):
        for private in ("Client", "/autumn", "/spring", "target.example", "example.com", "secret-source", "created"):
            assert private not in text, private
    assert _tiles(visitor.get(f"{path}?browser=Firefox").text) == (2, 1)


def test_page_of_an_account_has_no_items(ana: Person, visitor: AsgiClient, spring: int, service: AsgiClient) -> None:
    autumn = new_link(ana, "autumn", title="Client Y")
    visit(service, "autumn", agent=IPHONE)
    assert clicks(ana, autumn)[0] == 1
    path = _share(ana, ana.account, "account")
    page = visitor.get(path).text
    assert _tiles(page) == (4, 3)
    assert "news.example" in page
    for private in ("Client X", "Client Y", "/autumn", "/spring", "spring", "Most visited", "Link created"):
        assert private not in page, private
    assert "ana" not in re.sub(r"<[^>]+>", " ", page).split()
    links = set(re.findall(r'href="(/[^"?]*)', page))
    assert all(link.startswith(("/stats/", "/dashboard/static/")) for link in links), links
    assert _tiles(visitor.get(f"{path}?browser=Firefox").text) == (2, 1)
    selected = visitor.get(f"{path}?visited=link-{spring}&campaign=1").text
    assert (_tiles(selected), "Client X" in selected) == ((4, 3), False), "no item can be selected"
    csv = visitor.get(f"{path}?format=csv")
    assert "Client" not in csv.text
    assert "Statistics" in csv.headers["content-disposition"]


def test_public_address_needs_its_slug(ana: Person, visitor: AsgiClient, spring: int) -> None:
    path = _share(ana, spring, slug="spring-sale", title="Spring <sale>")
    assert path == f"/stats/spring-sale-{_id(ana, path)}"
    assert '<h1 id="page-title">Spring &lt;sale&gt;</h1>' in visitor.get(path).text
    token = ana.database.read(lambda tx: tx.execute(shares.select()).mappings().one())["token"]
    for wrong in (f"/stats/{token}", f"/stats/other-{_id(ana, path)}", "/stats/spring-sale-9999", "/stats/spring-sale"):
        assert visitor.get(wrong).status_code == 404, wrong


def test_filters_are_followed_by_clicking(ana: Person, visitor: AsgiClient, spring: int) -> None:
    path = _share(ana, spring)
    assert f'href="{path}?browser=Firefox"' in visitor.get(path).text
    assert _tiles(visitor.get(f"{path}?browser=Firefox").text) == (2, 1)
    assert _tiles(visitor.get(f"{path}?browser=Safari").text) == (1, 1)
    # Parameters of the pages of an account have no effect.
    assert _tiles(visitor.get(f"{path}?visited=link-99&item=7&kind=account").text) == (3, 2)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({"days": 5}, (4, 0)), ({"firstday": -8, "lastday": -6}, (8, 6)), ({"firstday": -3}, (3, 0)), ({}, (20, 0))],
)
def test_query_cannot_exceed_the_span(
    ana: Person, visitor: AsgiClient, spring: int, fields: dict[str, int], expected: tuple[int, int]
) -> None:
    for days_ago in range(1, 21):
        _add_clicks(ana, spring, days_ago, 10)
    today = clock.local(clock.now(), ZoneInfo("UTC")).date()

    def day(ago: int) -> str:
        return (today - timedelta(days=ago)).isoformat()

    span: dict[str, Any] = {name: n if name == "days" else day(-n) for name, n in fields.items()}
    path = _share(ana, spring, **span, slug="spring-sale")
    whole = visitor.get(path).text
    assert _days(whole) == (day(expected[0]), day(expected[1]))
    number = _tiles(whole)[0]
    assert number == 10 * (expected[0] - max(1, expected[1]) + 1) + (3 if expected[1] == 0 else 0)
    visitor.cookies.set("waypost_zone", "Pacific%2FKiritimati")
    for query in (
        *("period=90", "period=all", "period=year", "days=365", "from=2000-01-01&to=2199-12-31", "from=2000-01-01"),
        *("period=24h", "period=yesterday", "to=2199-12-31", "interval=month&period=all"),
    ):
        page = visitor.get(f"{path}?{query}").text
        first, last = _days(page)
        assert day(expected[0]) <= first <= last <= day(expected[1]), query
        assert _tiles(page)[0] <= number, query
        before = sum(map(int, re.findall(r"<td>(\d+)</td>\s*</tr>", page)))
        assert before + _tiles(page)[0] <= number, query
    outside = visitor.get(f"{path}?from=2001-01-01&to=2001-01-31").text
    assert "These days are not in the period that is shared." in outside


def test_password_opens_the_page_until_it_changes(ana: Person, visitor: AsgiClient, spring: int) -> None:
    path = _share(ana, spring, password="tulip")
    locked = visitor.get(f"{path}?browser=Firefox")
    assert (locked.status_code, locked.headers["x-robots-tag"][:7]) == (401, "noindex")
    assert "spring" not in locked.text
    match = _TOKEN.search(locked.text)
    assert match
    for wrong in ("", "rose", "x" * 5000):
        response = visitor.post(path, data={"token": match[1], "password": wrong})
        assert (response.status_code, "Wrong password." in response.text) == (401, True)
    assert visitor.post(path, data={"password": "tulip"}).status_code == 403, "without a CSRF token"
    opened = visitor.post(path, data={"token": match[1], "password": "tulip"})
    assert (opened.status_code, opened.headers["location"]) == (303, path)
    assert "HttpOnly" in opened.headers["set-cookie"]
    assert _tiles(visitor.get(path).text) == (3, 2)
    other = _share(ana, spring, password="tulip")
    visitor.cookies.set("waypost_stats", visitor.cookies["waypost_stats"], path=other)
    assert visitor.get(other).status_code == 401, "the cookie is that of one share link"
    ana.put(f"/share/{_id(ana, path)}/update", {"password": "rose"})
    assert visitor.get(path).status_code == 401


def test_wrong_passwords_are_limited(ana: Person, visitor: AsgiClient, spring: int) -> None:
    path = _share(ana, spring, password="tulip")
    match = _TOKEN.search(visitor.get(path).text)
    assert match
    for _ in range(10):
        assert visitor.post(path, data={"token": match[1], "password": "rose"}).status_code == 401
    response = visitor.post(path, data={"token": match[1], "password": "tulip"})
    assert (response.status_code, "Too many attempts" in response.text) == (429, True)
    assert response.headers["retry-after"]


def test_revoked_expired_and_unknown_pages_are_alike(ana: Person, visitor: AsgiClient, spring: int) -> None:
    revoked, expired = _share(ana, spring), _share(ana, spring, expiry="2999-12-31")
    assert visitor.get(revoked).status_code == visitor.get(expired).status_code == 200
    ana.delete(f"/share/{_id(ana, revoked)}/delete")
    is_expired = shares.c.id == _id(ana, expired)
    ana.write(lambda tx: tx.execute(update(shares).where(is_expired).values(expiry=clock.now() - 1)))
    pages = [visitor.get(path) for path in (revoked, expired, "/stats/" + "x" * 32, "/stats/a-1", "/stats/" + "é" * 90)]
    assert {page.status_code for page in pages} == {404}
    assert len({page.text for page in pages}) == 1
    assert "/dashboard/links" not in pages[0].text


@pytest.mark.parametrize("noun", ["url", "campaign"])
def test_page_of_deleted_item_is_gone_until_the_item_is_restored(
    ana: Person, dashboard: Browser, visitor: AsgiClient, database: Database, noun: str
) -> None:
    item = new_link(ana, "spring") if noun == "url" else ana.add("campaign", name="Spring")
    path = _share(ana, item, trash.NOUNS[noun])
    assert visitor.get(path).status_code == 200
    trash.delete_in_dashboard(dashboard, noun, item)
    assert visitor.get(path).status_code == 404
    trash.restore_in_dashboard(dashboard, *trash.entries(database, ana))
    assert visitor.get(path).status_code == 200
    ana.remove(noun, item)
    assert visitor.get(path).status_code == 404
    assert ana.get("/shares")["data"]["result"] == 0


def test_pages_of_suspended_and_deleted_accounts_are_gone(
    ana: Person, ben: Person, service: AsgiClient, visitor: AsgiClient
) -> None:
    path = _share(ben, new_link(ben, "spring"))
    assert visitor.get(path).status_code == 200
    is_ben = accounts.c.id == ben.account
    for suspended, status in ((True, 404), (False, 200)):
        ben.write(lambda tx: tx.execute(update(accounts).where(is_ben).values(suspended=suspended)))  # noqa: B023
        assert visitor.get(path).status_code == status
    account_deletion.delete_account(ben.database, ben.account)
    assert visitor.get(path).status_code == 404
    assert ben.database.read(lambda tx: tx.execute(shares.select()).all()) == []


def test_branded_domain_does_not_serve_the_page(ana: Person, service: AsgiClient, spring: int) -> None:
    ana.add("domain", domain="https://go.brand.example")
    path = _share(ana, spring)
    for headers in ({"Host": "go.brand.example"}, {"Host": "unknown.example"}):
        assert visit(service, path[1:], headers=headers).status_code == 404
    ana.add("url", url="https://example.com/", domain="go.brand.example", custom=path[1:])
    assert visit(service, path[1:], headers={"Host": "go.brand.example"}).status_code == 302


@ON_SQLITE
def test_search_for_the_first_visit_of_a_campaign_is_limited_too(
    ana: Person, visitor: AsgiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = {**attempt_limits.POLICIES, "shared statistics": (attempt_limits.Limit("statistics from {network}", 1),)}
    monkeypatch.setattr(attempt_limits, "POLICIES", policies)
    campaign = ana.add("campaign", name="Deals")
    assert visitor.get(_share(ana, campaign, "campaign")).status_code == 429
    assert visitor.get(_share(ana, campaign, "campaign", days=7)).status_code == 429, "the search was the only attempt"


@ON_SQLITE
def test_visitors_share_results_and_are_limited(
    ana: Person, visitor: AsgiClient, spring: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = {**attempt_limits.POLICIES, "shared statistics": (attempt_limits.Limit("statistics from {network}", 3),)}
    monkeypatch.setattr(attempt_limits, "POLICIES", policies)
    path, other = _share(ana, spring), _share(ana, spring)
    for _ in range(5):
        assert visitor.get(path).status_code == 200  # one of them is computed
    assert visitor.get(other).status_code == 200, "share links of an item have the same result"
    statuses = [visitor.get(f"{path}?browser=x{n}").status_code for n in range(4)]
    assert statuses == [200, 200, 429, 429]
    assert visitor.get(path).status_code == 200, "known results are not limited"
    monkeypatch.setattr(page_services, "LIFE_SECONDS", -1)
    limited = visitor.get(f"{path}?browser=y")
    assert (limited.status_code, "Too many" in limited.text) == (429, True)


@ON_SQLITE
def test_new_visits_appear_when_the_result_is_old(
    ana: Person, service: AsgiClient, visitor: AsgiClient, spring: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_services, "LIFE_SECONDS", -1)
    path = _share(ana, spring)
    assert _tiles(visitor.get(path).text) == (3, 2)
    visit(service, "spring", agent=FIREFOX)
    assert clicks(ana, spring)[0] == 4
    assert _tiles(visitor.get(path).text)[0] == 4


def test_address_of_a_share_is_secret_or_public() -> None:
    fields: dict[str, Any] = dict.fromkeys(Share.__dataclass_fields__)
    secret = Share(**{**fields, "id": 7, "slug": "", "token": "t0ken"})
    public = Share(**{**fields, "id": 7, "slug": "spring", "token": "t0ken"})
    assert (secret.path, public.path) == ("/stats/t0ken", "/stats/spring-7")
