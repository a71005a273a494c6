"""What visits by a rotator are counted as: for the link, for its campaign, and against a limit (decision 51)."""

from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.asgi_client import Inside
from tests.support.assertions import refused
from tests.support.rotators import fill, goes, new_campaign
from tests.support.visits import CURL, GOOGLEBOT, SLACK, clicks, sums, visit
from waypost.clicks.stats import verify
from waypost.db import schema
from waypost.db.database import Database


def test_a_visit_counts_once_for_the_link_and_once_for_the_campaign(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana)
    links = fill(ana, campaign, "one", "two")
    visit(service, "one")
    for _ in range(4):
        goes(service)
    assert sum(clicks(ana, link)[0] for link in links) == 5
    assert ana.get(f"/campaign/{campaign}")["details"]["views"] == 4
    assert sums(ana, "") == {"clicks": 5, "uniqueClicks": len([link for link in links if clicks(ana, link)[0]])}


def test_the_sums_are_what_the_single_visits_add_up_to(service: Inside, ana: Person, database: Database) -> None:
    campaign = new_campaign(ana, public=True)
    link = fill(ana, campaign, "one")[0]
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
    campaign = new_campaign(ana, rotation="ordered", public=True)
    one, two = fill(ana, campaign, "one", "two")
    visit(service, "one")
    for _ in range(5):
        goes(service)
    visit(service, f"u/ana/spring-{campaign}")
    report = ana.get(f"/campaign/{campaign}/stats")
    assert report["data"]["total"] | {"uniqueClicks": 0} == dict.fromkeys(report["data"]["total"], 0) | {"clicks": 6}
    assert report["data"]["dimensions"]["sources"] == {f"link {one}": 3, f"link {two}": 2, "list": 1}
    assert report["links"] == [
        {"id": link, "shorturl": f"{BASE}/{name}", "title": "", "clicks": n, "weight": 1, "quota": None, "given": 0}
        for link, name, n in ((one, "one", 3), (two, "two", 2))
    ]


def test_statistics_of_a_campaign_are_its_owners(ana: Person, ben: Person) -> None:
    campaign = new_campaign(ana)
    refused(ben.call("GET", f"/campaign/{campaign}/stats"), 404)
    refused(ana.call("GET", f"/campaign/{campaign}/stats", params={"from": "x"}), 400, "from")


def test_a_link_that_has_left_keeps_its_part_of_the_statistics(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana)
    link = fill(ana, campaign, "one")[0]
    goes(service)
    ana.put(f"/url/{link}/update", {"campaign": None})
    assert [(told["id"], told["clicks"]) for told in ana.get(f"/campaign/{campaign}/stats")["links"]] == [(link, 1)]


def test_a_click_limit_counts_direct_visits_and_those_by_the_rotator(service: Inside, ana: Person) -> None:
    link = fill(ana, new_campaign(ana), "one", clicklimit=4)[0]
    assert visit(service, "one").status_code == 302
    assert [goes(service) for _ in range(3)] == ["one"] * 3
    assert (visit(service, "r/spring").status_code, visit(service, "one").status_code) == (404, 410)
    assert clicks(ana, link)[0] == 4


def test_who_does_not_count_takes_nothing(service: Inside, ana: Person) -> None:
    campaign = new_campaign(ana, rotation="ordered", sticky=True, winner=3)
    one = fill(ana, campaign, "one", clicklimit=1)[0]
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": 1})
    for options in ({"method": "HEAD"}, {"agent": GOOGLEBOT}, {"agent": SLACK}, {"headers": {"Purpose": "prefetch"}}):
        answer = visit(service, "r/spring", **options)
        assert (answer.status_code, "set-cookie" in answer.headers) == (302, False)
    assert goes(service, agent=CURL) == "one"
    assert visit(service, "r/spring").status_code == 404
    expected = {"clicks": 1, "uniqueClicks": 1, "bots": 1, "previews": 1, "others": 2}
    assert sums(ana, f"/campaign/{campaign}") == sums(ana, f"/url/{one}") == expected
