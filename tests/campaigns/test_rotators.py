"""Rotators: which link of a campaign a visitor is redirected to (decision 51)."""

from collections import Counter
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.rotators import add_links, new_campaign, rotated_to
from tests.support.visits import ACCEPT_HTML, ACCEPT_JSON, IPHONE, clicks, new_link, visit
from waypost.db import schema
from waypost.items.campaigns import rotator


def test_rotator_redirects_to_each_link(service: AsgiClient, ana: Person) -> None:
    add_links(ana, new_campaign(ana), "one", "two", "three")
    assert {rotated_to(service) for _ in range(60)} == {"one", "two", "three"}


@pytest.mark.parametrize(
    "fields",
    [{"password": "secret"}, {"status": "disabled"}, {"expiry": "2099-01-01"}, {"clicklimit": 1}],
    ids=lambda fields: next(iter(fields)),
)
@pytest.mark.parametrize("rotation", ["random", "weighted", "ordered"])
def test_unusable_links_are_skipped(fields: dict[str, Any], rotation: str, service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana, rotation=rotation)
    add_links(ana, campaign, "good", expiryurl="https://example.com/over")
    unusable = add_links(ana, campaign, "bad", **fields)[0]
    if "expiry" in fields:
        table = schema.links
        ana.write(lambda tx: tx.execute(update(table).where(table.c.id == unusable).values(expiry=1_000_000)))
    if "clicklimit" in fields:
        visit(service, "bad")
    assert {rotated_to(service) for _ in range(12)} == {"good"}


def test_private_link_is_not_skipped(service: AsgiClient, ana: Person) -> None:
    add_links(ana, new_campaign(ana), "one", status="private")
    assert rotated_to(service) == "one"


def test_rotator_skips_links_of_deleted_domain(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana)
    domain = ana.add("domain", domain="https://go.brand.example")
    add_links(ana, campaign, "own")
    add_links(ana, campaign, "branded", domain="go.brand.example")
    assert {rotated_to(service) for _ in range(20)} == {"own", "branded"}
    ana.remove("domain", domain)
    assert {rotated_to(service) for _ in range(20)} == {"own"}


def test_rotator_without_usable_link_redirects_to_public_list(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring")
    assert visit(service, "r/spring").status_code == 404
    add_links(ana, campaign, "one", password="secret")
    for headers, kind in ((ACCEPT_JSON, "application/json"), (ACCEPT_HTML, "text/html; charset=utf-8")):
        response = visit(service, "r/spring", headers=headers)
        assert (response.status_code, response.headers["content-type"]) == (404, kind)
    ana.update("campaign", campaign, name="Spring", public=True)
    assert visit(service, "r/spring").headers["location"] == f"{BASE}/u/ana/spring-{campaign}"
    assert ana.details("campaign", campaign)["views"] == 0


def test_unknown_slug_returns_404(service: AsgiClient, ana: Person) -> None:
    add_links(ana, new_campaign(ana, slug=None), "one")
    for path in ("r/spring", "r/list", "r/Spring", "r/x%00y", "r/" + "x" * 300, "r/%F0%9F%98%80", "r/"):
        assert visit(service, path).status_code == 404


def test_rotator_on_branded_domain_returns_404(service: AsgiClient, ana: Person) -> None:
    ana.post("/domain/add", {"domain": "https://go.brand.example"})
    campaign = new_campaign(ana, public=True)
    add_links(ana, campaign, "one")
    for host in ("go.brand.example", "unknown.example"):
        for path in ("r/spring", f"u/ana/spring-{campaign}", "report"):
            assert visit(service, path, headers={"Host": host}).status_code == 404
    assert rotated_to(service, headers={"X-Forwarded-Host": "go.brand.example"}) == "one"


def test_old_slug_returns_404_immediately(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring")
    add_links(ana, campaign, "one")
    rotated_to(service)
    ana.update("campaign", campaign, name="Spring", slug="summer")
    assert visit(service, "r/spring").status_code == 404
    assert visit(service, "r/summer").status_code == 302


def test_rotator_applies_targeting_and_parameters_of_link(service: AsgiClient, ana: Person) -> None:
    fields = {
        "devicetarget": [{"device": "iphone", "link": "https://example.com/iphone"}],
        "languagetarget": [{"language": "de", "link": "https://example.com/de"}],
        "parameters": [{"name": "from", "value": "spring"}],
    }
    add_links(ana, new_campaign(ana), "one", **fields)
    assert rotated_to(service, agent=IPHONE) == "iphone?from=spring"
    assert rotated_to(service, headers={"Accept-Language": "de"}) == "de?from=spring"
    assert visit(service, "r/spring?x=1").headers["location"] == "https://example.com/one?from=spring&x=1"


def test_ordered_rotation_keeps_order(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana, rotation="ordered")
    add_links(ana, campaign, "one", "two", "three")
    assert [rotated_to(service) for _ in range(7)] == ["one", "two", "three", "one", "two", "three", "one"]
    ana.update("url", 2, status="disabled")
    assert [rotated_to(service) for _ in range(3)] == ["three", "one", "three"]


def test_weighted_rotation_follows_weights(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana, rotation="weighted")
    one, two, three = add_links(ana, campaign, "one", "two", "three")
    for link, weight in ((one, 9), (two, 1), (three, 0)):
        ana.post(f"/campaign/{campaign}/assign/{link}", {"weight": weight})
    counts = Counter(rotated_to(service) for _ in range(300))
    assert counts["three"] == 0
    assert 225 < counts["one"] < 299
    ana.post(f"/campaign/{campaign}/assign/{three}", {"weight": None})
    assert ana.get(f"/campaign/{campaign}/stats")["links"][2]["weight"] == 1


def test_quota_limits_rotator_clicks_exactly(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana)
    one, two = add_links(ana, campaign, "one", "two")
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": 3})
    ana.post(f"/campaign/{campaign}/assign/{two}", {"quota": 5})
    visit(service, "one")  # quotas do not count direct visits
    assert Counter(rotated_to(service) for _ in range(8)) == {"one": 3, "two": 5}
    assert visit(service, "r/spring").status_code == 404
    assert visit(service, "one").status_code == 302
    assert [item["given"] for item in ana.get(f"/campaign/{campaign}/stats")["links"]] == [3, 5]
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": 4})
    assert (rotated_to(service), visit(service, "r/spring").status_code) == ("one", 404)
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": None})
    assert {rotated_to(service) for _ in range(9)} == {"one"}


def test_limited_link_has_same_odds_as_others(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana)
    add_links(ana, campaign, "free")
    add_links(ana, campaign, "limited", clicklimit=1_000_000)
    assert 65 < Counter(rotated_to(service) for _ in range(200))["limited"] < 135


@pytest.mark.parametrize("rotation", ["random", "weighted", "ordered"])
def test_sticky_rotator_redirects_visitor_to_same_link(rotation: str, service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana, rotation=rotation, sticky=True)
    add_links(ana, campaign, "one", "two", "three")
    response = visit(service, "r/spring")
    first = response.headers["location"]
    assert response.headers["set-cookie"].split("; ")[1:] == [
        "HttpOnly",
        "Max-Age=2592000",
        "Path=/r/spring",
        "SameSite=lax",
    ]
    for _ in range(10):
        again = visit(service, "r/spring")
        assert (again.headers["location"], "set-cookie" in again.headers) == (first, False)
    service.cookies.clear()
    strangers = set()
    for _ in range(30):
        strangers.add(visit(service, "r/spring").headers["location"])
        service.cookies.clear()
    assert len(strangers) == 3


def test_sticky_visitor_of_disabled_link_gets_another_link(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana, rotation="ordered", sticky=True)
    one, _two = add_links(ana, campaign, "one", "two")
    assert [rotated_to(service), rotated_to(service)] == ["one", "one"]
    ana.update("url", one, status="disabled")
    assert [rotated_to(service), rotated_to(service)] == ["two", "two"]


@pytest.mark.parametrize("cookie", ["x", "999999", "-1", "1" * 400, "²", "0", ""])
def test_forged_sticky_cookie_cannot_select_foreign_link(cookie: str, service: AsgiClient, ana: Person) -> None:
    other = new_link(ana, "elsewhere")
    add_links(ana, new_campaign(ana, sticky=True), "one")
    for value in (cookie, str(other)):
        assert rotated_to(service, headers={"Cookie": f"wp_turn={value}".encode()}) == "one"


def test_most_clicked_link_gets_all_visits_after_threshold(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring", rotation="ordered", winner=4)
    _one, two = add_links(ana, campaign, "one", "two")
    for _ in range(3):
        visit(service, "two")
    assert [rotated_to(service) for _ in range(4)] == ["one", "two", "one", "two"]
    assert clicks(ana, two)[0] == 5
    assert {rotated_to(service) for _ in range(6)} == {"two"}
    details = ana.details("campaign", campaign)
    assert (details["winner"], details["winnerlink"]) == (4, two)
    ana.update("url", two, status="disabled")
    assert rotated_to(service) == "one"
    ana.update("url", two, status="public")
    ana.update("campaign", 1, name="Spring", winner=None)
    assert {rotated_to(service) for _ in range(4)} == {"one", "two"}
    assert ana.details("campaign", campaign)["winnerlink"] is None


def test_click_on_rotator_of_deleted_campaign_finds_no_link(ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring", rotation="ordered")
    add_links(ana, campaign, "one")
    present = ana.database.read(lambda tx: rotator.find_rotator(tx, "spring"))
    assert present is not None
    ana.delete(f"/campaign/{campaign}/delete")
    click = rotator.RotatorVisit(is_click=True, sticky_link=None, is_reachable=lambda _link: True, now=1)
    assert ana.write(lambda tx: rotator.take(tx, present, click)) is None
