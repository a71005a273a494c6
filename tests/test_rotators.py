"""Rotators: one address that hands out the links of a campaign (decision 51)."""

from collections import Counter
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.inside import Inside
from tests.problems import refused
from tests.visiting import CURL, GOOGLEBOT, IPHONE, PAGE, SLACK, clicks, new_link, sums, visit
from waypost import schema
from waypost.clicks import verify
from waypost.db import Database


def _campaign(person: Person, **fields: Any) -> int:
    return int(person.post("/campaign/add", {"slug": "spring", **fields})["id"])


def _fill(person: Person, campaign: int, *names: str, **fields: Any) -> list[int]:
    """Links called so, each leading to its own name."""
    return [new_link(person, name, url=f"https://example.com/{name}", campaign=campaign, **fields) for name in names]


def _goes(service: Inside, **options: Any) -> str:
    """Where the rotator sends a visitor, without the site."""
    answer = visit(service, "r/spring", **options)
    assert (answer.status_code, answer.headers["cache-control"]) == (302, "private, no-store")
    return str(answer.headers["location"].removeprefix("https://example.com/"))


def test_a_rotator_leads_to_any_of_its_links(service: Inside, ana: Person) -> None:
    _fill(ana, _campaign(ana), "one", "two", "three")
    assert {_goes(service) for _ in range(60)} == {"one", "two", "three"}


def test_a_visit_counts_once_for_the_link_and_once_for_the_campaign(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana)
    links = _fill(ana, campaign, "one", "two")
    visit(service, "one")
    for _ in range(4):
        _goes(service)
    assert sum(clicks(ana, link)[0] for link in links) == 5
    assert ana.get(f"/campaign/{campaign}")["details"]["views"] == 4
    assert sums(ana, "") == {"clicks": 5, "uniqueClicks": len([link for link in links if clicks(ana, link)[0]])}


def test_the_sums_are_what_the_single_visits_add_up_to(service: Inside, ana: Person, database: Database) -> None:
    campaign = _campaign(ana, public=True)
    link = _fill(ana, campaign, "one")[0]
    for path in ("r/spring", "r/spring", f"u/ana/spring-{campaign}", "one"):
        visit(service, path)
    assert clicks(ana, link)[0] == 3
    assert database.read(verify.differences) == []
    times = schema.click_times
    database.write(lambda tx: tx.execute(update(times).values(clicks=times.c.clicks + 5)))
    database.write(lambda tx: verify.repair(tx, verify.differences(tx)))
    assert database.read(verify.differences) == []
    assert (sums(ana, f"/campaign/{campaign}")["clicks"], sums(ana, "")["clicks"]) == (3, 3)


def test_the_statistics_of_a_campaign_say_where_its_visitors_were_sent(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana, rotation="ordered", public=True)
    one, two = _fill(ana, campaign, "one", "two")
    visit(service, "one")
    for _ in range(5):
        _goes(service)
    visit(service, f"u/ana/spring-{campaign}")
    report = ana.get(f"/campaign/{campaign}/stats")
    assert report["data"]["total"] | {"uniqueClicks": 0} == dict.fromkeys(report["data"]["total"], 0) | {"clicks": 6}
    assert report["data"]["dimensions"]["sources"] == {f"link {one}": 3, f"link {two}": 2, "list": 1}
    assert report["links"] == [
        {"id": link, "shorturl": f"{BASE}/{name}", "title": "", "clicks": n, "weight": 1, "quota": None, "given": 0}
        for link, name, n in ((one, "one", 3), (two, "two", 2))
    ]


def test_statistics_of_a_campaign_are_its_owners(ana: Person, ben: Person) -> None:
    campaign = _campaign(ana)
    refused(ben.call("GET", f"/campaign/{campaign}/stats"), 404)
    refused(ana.call("GET", f"/campaign/{campaign}/stats", params={"from": "x"}), 400, "from")


def test_a_link_that_has_left_keeps_its_part_of_the_statistics(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana)
    link = _fill(ana, campaign, "one")[0]
    _goes(service)
    ana.put(f"/url/{link}/update", {"campaign": None})
    assert [(told["id"], told["clicks"]) for told in ana.get(f"/campaign/{campaign}/stats")["links"]] == [(link, 1)]


@pytest.mark.parametrize(
    "fields",
    [{"password": "secret"}, {"status": "disabled"}, {"expiry": "2099-01-01"}, {"clicklimit": 1}],
    ids=lambda fields: next(iter(fields)),
)
@pytest.mark.parametrize("rotation", ["random", "weighted", "ordered"])
def test_links_that_lead_nowhere_are_skipped(
    fields: dict[str, Any], rotation: str, service: Inside, ana: Person
) -> None:
    campaign = _campaign(ana, rotation=rotation)
    _fill(ana, campaign, "good", expiryurl="https://example.com/over")
    bad = _fill(ana, campaign, "bad", **fields)[0]
    if "expiry" in fields:
        table = schema.links
        ana.write(lambda tx: tx.execute(update(table).where(table.c.id == bad).values(expiry=1_000_000)))
    if "clicklimit" in fields:
        visit(service, "bad")
    assert {_goes(service) for _ in range(12)} == {"good"}


def test_a_private_link_is_not_skipped(service: Inside, ana: Person) -> None:
    _fill(ana, _campaign(ana), "one", status="private")
    assert _goes(service) == "one"


def test_links_of_a_deleted_domain_are_skipped(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana)
    domain = ana.post("/domain/add", {"domain": "https://go.brand.example"})["id"]
    _fill(ana, campaign, "own")
    _fill(ana, campaign, "branded", domain="go.brand.example")
    assert {_goes(service) for _ in range(20)} == {"own", "branded"}
    ana.delete(f"/domain/{domain}/delete")
    assert {_goes(service) for _ in range(20)} == {"own"}


def test_without_a_usable_link_it_leads_to_the_list_if_that_is_public(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana, name="Spring")
    assert visit(service, "r/spring").status_code == 404
    _fill(ana, campaign, "one", password="secret")
    for headers, kind in (({}, "application/json"), (PAGE, "text/html; charset=utf-8")):
        answer = visit(service, "r/spring", headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (404, kind)
    ana.put(f"/campaign/{campaign}/update", {"name": "Spring", "public": True})
    assert visit(service, "r/spring").headers["location"] == f"{BASE}/u/ana/spring-{campaign}"
    assert ana.get(f"/campaign/{campaign}")["details"]["views"] == 0


def test_a_slug_that_nobody_has_leads_nowhere(service: Inside, ana: Person) -> None:
    _fill(ana, _campaign(ana, slug=None), "one")
    for path in ("r/spring", "r/list", "r/Spring", "r/x%00y", "r/" + "x" * 300, "r/%F0%9F%98%80", "r/"):
        assert visit(service, path).status_code == 404


def test_a_rotator_is_found_on_the_services_own_host_only(service: Inside, ana: Person) -> None:
    ana.post("/domain/add", {"domain": "https://go.brand.example"})
    campaign = _campaign(ana, public=True)
    _fill(ana, campaign, "one")
    for host in ("go.brand.example", "unknown.example"):
        for path in ("r/spring", f"u/ana/spring-{campaign}", "report"):
            assert visit(service, path, headers={"Host": host}).status_code == 404
    assert _goes(service, headers={"X-Forwarded-Host": "go.brand.example"}) == "one"


def test_a_slug_given_up_leads_nowhere_at_once(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana, name="Spring")
    _fill(ana, campaign, "one")
    _goes(service)
    ana.put(f"/campaign/{campaign}/update", {"name": "Spring", "slug": "summer"})
    assert visit(service, "r/spring").status_code == 404
    assert visit(service, "r/summer").status_code == 302


def test_the_chosen_link_holds_what_it_would_hold_by_itself(service: Inside, ana: Person) -> None:
    fields = {
        "devicetarget": [{"device": "iphone", "link": "https://example.com/iphone"}],
        "languagetarget": [{"language": "de", "link": "https://example.com/de"}],
        "parameters": [{"name": "from", "value": "spring"}],
    }
    _fill(ana, _campaign(ana), "one", **fields)
    assert _goes(service, agent=IPHONE) == "iphone?from=spring"
    assert _goes(service, headers={"Accept-Language": "de"}) == "de?from=spring"
    assert visit(service, "r/spring?x=1").headers["location"] == "https://example.com/one?from=spring&x=1"


def test_in_turn_is_in_turn(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana, rotation="ordered")
    _fill(ana, campaign, "one", "two", "three")
    assert [_goes(service) for _ in range(7)] == ["one", "two", "three", "one", "two", "three", "one"]
    ana.put("/url/2/update", {"status": "disabled"})
    assert [_goes(service) for _ in range(3)] == ["three", "one", "three"]


def test_weights_are_kept_to(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana, rotation="weighted")
    one, two, three = _fill(ana, campaign, "one", "two", "three")
    for link, weight in ((one, 9), (two, 1), (three, 0)):
        ana.post(f"/campaign/{campaign}/assign/{link}", {"weight": weight})
    seen = Counter(_goes(service) for _ in range(300))
    assert seen["three"] == 0
    assert 225 < seen["one"] < 299
    ana.post(f"/campaign/{campaign}/assign/{three}", {"weight": None})
    assert ana.get(f"/campaign/{campaign}/stats")["links"][2]["weight"] == 1


def test_a_quota_is_used_up_and_no_more(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana)
    one, two = _fill(ana, campaign, "one", "two")
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": 3})
    ana.post(f"/campaign/{campaign}/assign/{two}", {"quota": 5})
    visit(service, "one")  # a quota is the rotator's alone
    assert Counter(_goes(service) for _ in range(8)) == {"one": 3, "two": 5}
    assert visit(service, "r/spring").status_code == 404
    assert visit(service, "one").status_code == 302
    assert [place["given"] for place in ana.get(f"/campaign/{campaign}/stats")["links"]] == [3, 5]
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": 4})
    assert (_goes(service), visit(service, "r/spring").status_code) == ("one", 404)
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": None})
    assert {_goes(service) for _ in range(9)} == {"one"}


def test_a_limited_link_is_not_drawn_less_often_than_others(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana)
    _fill(ana, campaign, "free")
    _fill(ana, campaign, "limited", clicklimit=1_000_000)
    assert 65 < Counter(_goes(service) for _ in range(200))["limited"] < 135


def test_a_click_limit_counts_direct_visits_and_those_by_the_rotator(service: Inside, ana: Person) -> None:
    link = _fill(ana, _campaign(ana), "one", clicklimit=4)[0]
    assert visit(service, "one").status_code == 302
    assert [_goes(service) for _ in range(3)] == ["one"] * 3
    assert (visit(service, "r/spring").status_code, visit(service, "one").status_code) == (404, 410)
    assert clicks(ana, link)[0] == 4


def test_who_does_not_count_takes_nothing(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana, rotation="ordered", sticky=True, winner=3)
    one = _fill(ana, campaign, "one", clicklimit=1)[0]
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": 1})
    for options in ({"method": "HEAD"}, {"agent": GOOGLEBOT}, {"agent": SLACK}, {"headers": {"Purpose": "prefetch"}}):
        answer = visit(service, "r/spring", **options)
        assert (answer.status_code, "set-cookie" in answer.headers) == (302, False)
    assert _goes(service, agent=CURL) == "one"
    assert visit(service, "r/spring").status_code == 404
    expected = {"clicks": 1, "uniqueClicks": 1, "bots": 1, "previews": 1, "others": 2}
    assert sums(ana, f"/campaign/{campaign}") == sums(ana, f"/url/{one}") == expected


@pytest.mark.parametrize("rotation", ["random", "weighted", "ordered"])
def test_a_sticky_rotator_keeps_a_visitor_at_one_link(rotation: str, service: Inside, ana: Person) -> None:
    campaign = _campaign(ana, rotation=rotation, sticky=True)
    _fill(ana, campaign, "one", "two", "three")
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
    campaign = _campaign(ana, rotation="ordered", sticky=True)
    one, _two = _fill(ana, campaign, "one", "two")
    assert [_goes(service), _goes(service)] == ["one", "one"]
    ana.put(f"/url/{one}/update", {"status": "disabled"})
    assert [_goes(service), _goes(service)] == ["two", "two"]


@pytest.mark.parametrize("cookie", ["x", "999999", "-1", "1" * 400, "²", "0", ""])
def test_a_cookie_of_somebodys_own_making_chooses_nothing_else(cookie: str, service: Inside, ana: Person) -> None:
    other = new_link(ana, "elsewhere")
    _fill(ana, _campaign(ana, sticky=True), "one")
    for value in (cookie, str(other)):
        assert _goes(service, headers={"Cookie": f"wp_turn={value}".encode()}) == "one"


def test_after_so_many_clicks_the_link_that_is_clicked_most_gets_all(service: Inside, ana: Person) -> None:
    campaign = _campaign(ana, name="Spring", rotation="ordered", winner=4)
    _one, two = _fill(ana, campaign, "one", "two")
    for _ in range(3):
        visit(service, "two")
    assert [_goes(service) for _ in range(4)] == ["one", "two", "one", "two"]
    assert clicks(ana, two)[0] == 5
    assert {_goes(service) for _ in range(6)} == {"two"}
    details = ana.get(f"/campaign/{campaign}")["details"]
    assert (details["winner"], details["winnerlink"]) == (4, two)
    ana.put(f"/url/{two}/update", {"status": "disabled"})
    assert _goes(service) == "one"
    ana.put(f"/url/{two}/update", {"status": "public"})
    ana.put("/campaign/1/update", {"name": "Spring", "winner": None})
    assert {_goes(service) for _ in range(4)} == {"one", "two"}
    assert ana.get(f"/campaign/{campaign}")["details"]["winnerlink"] is None


def test_how_a_rotator_goes_is_set_and_shown_and_cleared(ana: Person) -> None:
    campaign = _campaign(ana, name="Spring", rotation="weighted", sticky=True, winner=5)

    def shown() -> dict[str, Any]:
        details = ana.get(f"/campaign/{campaign}")["details"]
        return {name: details[name] for name in ("rotation", "sticky", "winner", "winnerlink")}

    assert shown() == {"rotation": "weighted", "sticky": True, "winner": 5, "winnerlink": None}
    ana.put(f"/campaign/{campaign}/update", {"name": "Summer"})
    assert shown()["rotation"] == "weighted"
    ana.put(f"/campaign/{campaign}/update", {"name": "Spring", "rotation": None, "sticky": None, "winner": None})
    assert shown() == {"rotation": "random", "sticky": False, "winner": None, "winnerlink": None}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("rotation", ("", "RANDOM", "turn", 1, True, [])),
        ("sticky", ("yes", 1, [])),
        ("winner", (0, -1, "5", 1.5, True, 2**60)),
    ],
)
def test_what_makes_no_sense_for_a_rotator_is_refused(field: str, values: tuple[Any, ...], ana: Person) -> None:
    campaign = _campaign(ana, name="Spring")
    for value in values:
        refused(ana.call("PUT", f"/campaign/{campaign}/update", {"name": "Spring", field: value}), 400, field)
        refused(ana.call("POST", "/campaign/add", {field: value}), 400, field)


def test_what_makes_no_sense_for_a_link_in_its_campaign_is_refused(ana: Person) -> None:
    campaign = _campaign(ana)
    link = _fill(ana, campaign, "one")[0]
    wrong = {"weight": (-1, 1001, "5", 1.5, True), "quota": (0, -1, "5", 1.5, True)}
    for field, values in wrong.items():
        for value in values:
            refused(ana.call("POST", f"/campaign/{campaign}/assign/{link}", {field: value}), 400, field)


def test_what_was_set_for_a_link_stays_when_it_is_assigned_again(ana: Person) -> None:
    campaign = _campaign(ana)
    link = _fill(ana, campaign, "one")[0]
    ana.post(f"/campaign/{campaign}/assign/{link}", {"weight": 7})
    ana.post(f"/campaign/{campaign}/assign/{link}", {"quota": 8})
    ana.post(f"/campaign/{campaign}/assign/{link}")
    place = ana.get(f"/campaign/{campaign}/stats")["links"][0]
    assert (place["weight"], place["quota"]) == (7, 8)
