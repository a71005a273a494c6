"""Rotators: one address that hands out the links of a campaign, and to whom it gives which (decision 51)."""

from collections import Counter
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.asgi_client import Inside
from tests.support.rotators import fill, goes, new_campaign
from tests.support.visits import IPHONE, PAGE, clicks, new_link, visit
from waypost.db import schema


def test_a_rotator_leads_to_any_of_its_links(service: Inside, ana: Person) -> None:
    fill(ana, new_campaign(ana), "one", "two", "three")
    assert {goes(service) for _ in range(60)} == {"one", "two", "three"}


@pytest.mark.parametrize(
    "fields",
    [{"password": "secret"}, {"status": "disabled"}, {"expiry": "2099-01-01"}, {"clicklimit": 1}],
    ids=lambda fields: next(iter(fields)),
)
@pytest.mark.parametrize("rotation", ["random", "weighted", "ordered"])
def test_links_that_lead_nowhere_are_skipped(
    fields: dict[str, Any], rotation: str, service: Inside, ana: Person
) -> None:
    campaign = new_campaign(ana, rotation=rotation)
    fill(ana, campaign, "good", expiryurl="https://example.com/over")
    bad = fill(ana, campaign, "bad", **fields)[0]
    if "expiry" in fields:
        table = schema.links
        ana.write(lambda tx: tx.execute(update(table).where(table.c.id == bad).values(expiry=1_000_000)))
    if "clicklimit" in fields:
        visit(service, "bad")
    assert {goes(service) for _ in range(12)} == {"good"}


def test_a_private_link_is_not_skipped(service: Inside, ana: Person) -> None:
    fill(ana, new_campaign(ana), "one", status="private")
    assert goes(service) == "one"


def test_links_of_a_deleted_domain_are_skipped(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana)
    domain = ana.post("/domain/add", {"domain": "https://go.brand.example"})["id"]
    fill(ana, campaign, "own")
    fill(ana, campaign, "branded", domain="go.brand.example")
    assert {goes(service) for _ in range(20)} == {"own", "branded"}
    ana.delete(f"/domain/{domain}/delete")
    assert {goes(service) for _ in range(20)} == {"own"}


def test_without_a_usable_link_it_leads_to_the_list_if_that_is_public(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring")
    assert visit(service, "r/spring").status_code == 404
    fill(ana, campaign, "one", password="secret")
    for headers, kind in (({}, "application/json"), (PAGE, "text/html; charset=utf-8")):
        answer = visit(service, "r/spring", headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (404, kind)
    ana.put(f"/campaign/{campaign}/update", {"name": "Spring", "public": True})
    assert visit(service, "r/spring").headers["location"] == f"{BASE}/u/ana/spring-{campaign}"
    assert ana.get(f"/campaign/{campaign}")["details"]["views"] == 0


def test_a_slug_that_nobody_has_leads_nowhere(service: Inside, ana: Person) -> None:
    fill(ana, new_campaign(ana, slug=None), "one")
    for path in ("r/spring", "r/list", "r/Spring", "r/x%00y", "r/" + "x" * 300, "r/%F0%9F%98%80", "r/"):
        assert visit(service, path).status_code == 404


def test_a_rotator_is_found_on_the_services_own_host_only(service: Inside, ana: Person) -> None:
    ana.post("/domain/add", {"domain": "https://go.brand.example"})
    campaign = new_campaign(ana, public=True)
    fill(ana, campaign, "one")
    for host in ("go.brand.example", "unknown.example"):
        for path in ("r/spring", f"u/ana/spring-{campaign}", "report"):
            assert visit(service, path, headers={"Host": host}).status_code == 404
    assert goes(service, headers={"X-Forwarded-Host": "go.brand.example"}) == "one"


def test_a_slug_given_up_leads_nowhere_at_once(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring")
    fill(ana, campaign, "one")
    goes(service)
    ana.put(f"/campaign/{campaign}/update", {"name": "Spring", "slug": "summer"})
    assert visit(service, "r/spring").status_code == 404
    assert visit(service, "r/summer").status_code == 302


def test_the_chosen_link_holds_what_it_would_hold_by_itself(service: Inside, ana: Person) -> None:
    fields = {
        "devicetarget": [{"device": "iphone", "link": "https://example.com/iphone"}],
        "languagetarget": [{"language": "de", "link": "https://example.com/de"}],
        "parameters": [{"name": "from", "value": "spring"}],
    }
    fill(ana, new_campaign(ana), "one", **fields)
    assert goes(service, agent=IPHONE) == "iphone?from=spring"
    assert goes(service, headers={"Accept-Language": "de"}) == "de?from=spring"
    assert visit(service, "r/spring?x=1").headers["location"] == "https://example.com/one?from=spring&x=1"


def test_in_turn_is_in_turn(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana, rotation="ordered")
    fill(ana, campaign, "one", "two", "three")
    assert [goes(service) for _ in range(7)] == ["one", "two", "three", "one", "two", "three", "one"]
    ana.put("/url/2/update", {"status": "disabled"})
    assert [goes(service) for _ in range(3)] == ["three", "one", "three"]


def test_weights_are_kept_to(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana, rotation="weighted")
    one, two, three = fill(ana, campaign, "one", "two", "three")
    for link, weight in ((one, 9), (two, 1), (three, 0)):
        ana.post(f"/campaign/{campaign}/assign/{link}", {"weight": weight})
    seen = Counter(goes(service) for _ in range(300))
    assert seen["three"] == 0
    assert 225 < seen["one"] < 299
    ana.post(f"/campaign/{campaign}/assign/{three}", {"weight": None})
    assert ana.get(f"/campaign/{campaign}/stats")["links"][2]["weight"] == 1


def test_a_quota_is_used_up_and_no_more(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana)
    one, two = fill(ana, campaign, "one", "two")
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": 3})
    ana.post(f"/campaign/{campaign}/assign/{two}", {"quota": 5})
    visit(service, "one")  # a quota is the rotator's alone
    assert Counter(goes(service) for _ in range(8)) == {"one": 3, "two": 5}
    assert visit(service, "r/spring").status_code == 404
    assert visit(service, "one").status_code == 302
    assert [place["given"] for place in ana.get(f"/campaign/{campaign}/stats")["links"]] == [3, 5]
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": 4})
    assert (goes(service), visit(service, "r/spring").status_code) == ("one", 404)
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": None})
    assert {goes(service) for _ in range(9)} == {"one"}


def test_a_limited_link_is_not_drawn_less_often_than_others(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana)
    fill(ana, campaign, "free")
    fill(ana, campaign, "limited", clicklimit=1_000_000)
    assert 65 < Counter(goes(service) for _ in range(200))["limited"] < 135


@pytest.mark.parametrize("rotation", ["random", "weighted", "ordered"])
def test_a_sticky_rotator_keeps_a_visitor_at_one_link(rotation: str, service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana, rotation=rotation, sticky=True)
    fill(ana, campaign, "one", "two", "three")
    answer = visit(service, "r/spring")
    first = answer.headers["location"]
    assert answer.headers["set-cookie"].split("; ")[1:] == [
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


def test_a_visitor_whose_link_is_gone_gets_another_one(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana, rotation="ordered", sticky=True)
    one, _two = fill(ana, campaign, "one", "two")
    assert [goes(service), goes(service)] == ["one", "one"]
    ana.put(f"/url/{one}/update", {"status": "disabled"})
    assert [goes(service), goes(service)] == ["two", "two"]


@pytest.mark.parametrize("cookie", ["x", "999999", "-1", "1" * 400, "²", "0", ""])
def test_a_cookie_of_somebodys_own_making_chooses_nothing_else(cookie: str, service: Inside, ana: Person) -> None:
    other = new_link(ana, "elsewhere")
    fill(ana, new_campaign(ana, sticky=True), "one")
    for value in (cookie, str(other)):
        assert goes(service, headers={"Cookie": f"wp_turn={value}".encode()}) == "one"


def test_after_so_many_clicks_the_link_that_is_clicked_most_gets_all(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring", rotation="ordered", winner=4)
    _one, two = fill(ana, campaign, "one", "two")
    for _ in range(3):
        visit(service, "two")
    assert [goes(service) for _ in range(4)] == ["one", "two", "one", "two"]
    assert clicks(ana, two)[0] == 5
    assert {goes(service) for _ in range(6)} == {"two"}
    details = ana.get(f"/campaign/{campaign}")["details"]
    assert (details["winner"], details["winnerlink"]) == (4, two)
    ana.put(f"/url/{two}/update", {"status": "disabled"})
    assert goes(service) == "one"
    ana.put(f"/url/{two}/update", {"status": "public"})
    ana.put("/campaign/1/update", {"name": "Spring", "winner": None})
    assert {goes(service) for _ in range(4)} == {"one", "two"}
    assert ana.get(f"/campaign/{campaign}")["details"]["winnerlink"] is None
