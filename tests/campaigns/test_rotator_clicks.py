"""Clicks of rotators: counted for the link and the campaign, and against click limits (decision 51)."""

from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.rotators import add_links, new_campaign, rotated_to
from tests.support.visits import CURL, GOOGLEBOT, SLACK, click_totals, clicks, visit
from waypost.clicks.stats import verify
from waypost.db import schema
from waypost.db.database import Database

pytestmark = ON_BOTH_DATABASES


def test_rotator_visit_counts_for_link_and_campaign(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana)
    links = add_links(ana, campaign, "one", "two")
    visit(service, "one")
    for _ in range(4):
        rotated_to(service)
    assert sum(clicks(ana, link)[0] for link in links) == 5
    assert ana.details("campaign", campaign)["views"] == 4
    assert click_totals(ana, "") == {"clicks": 5, "uniqueClicks": len([link for link in links if clicks(ana, link)[0]])}


def test_click_totals_match_clicks_after_repair(service: AsgiClient, ana: Person, database: Database) -> None:
    campaign = new_campaign(ana, public=True)
    link = add_links(ana, campaign, "one")[0]
    for path in ("r/spring", "r/spring", f"u/ana/spring-{campaign}", "one"):
        visit(service, path)
    assert clicks(ana, link)[0] == 3
    assert database.read(verify.differences) == []
    times = schema.click_times
    database.write(lambda tx: tx.execute(update(times).values(clicks=times.c.clicks + 5)))
    database.write(lambda tx: verify.repair(tx, verify.differences(tx)))
    assert database.read(verify.differences) == []
    assert (click_totals(ana, f"/campaign/{campaign}")["clicks"], click_totals(ana, "")["clicks"]) == (3, 3)


def test_campaign_statistics_show_clicks_by_link(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana, rotation="ordered", public=True)
    one, two = add_links(ana, campaign, "one", "two")
    visit(service, "one")
    for _ in range(5):
        rotated_to(service)
    visit(service, f"u/ana/spring-{campaign}")
    report = ana.get(f"/campaign/{campaign}/stats")
    assert report["data"]["total"] | {"uniqueClicks": 0} == dict.fromkeys(report["data"]["total"], 0) | {"clicks": 6}
    assert report["data"]["dimensions"]["sources"] == {f"link {one}": 3, f"link {two}": 2, "list": 1}
    assert report["links"] == [
        {"id": link, "shorturl": f"{BASE}/{name}", "title": "", "clicks": n, "weight": 1, "quota": None, "given": 0}
        for link, name, n in ((one, "one", 3), (two, "two", 2))
    ]


def test_campaign_statistics_of_other_account_return_404(ana: Person, ben: Person) -> None:
    campaign = new_campaign(ana)
    refused(ben.call("GET", f"/campaign/{campaign}/stats"), 404)
    refused(ana.call("GET", f"/campaign/{campaign}/stats", params={"from": "x"}), 400, "from")


def test_removed_link_stays_in_campaign_statistics(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana)
    link = add_links(ana, campaign, "one")[0]
    rotated_to(service)
    ana.update("url", link, campaign=None)
    assert [(item["id"], item["clicks"]) for item in ana.get(f"/campaign/{campaign}/stats")["links"]] == [(link, 1)]


def test_click_limit_includes_direct_and_rotator_visits(service: AsgiClient, ana: Person) -> None:
    link = add_links(ana, new_campaign(ana), "one", clicklimit=4)[0]
    assert visit(service, "one").status_code == 302
    assert [rotated_to(service) for _ in range(3)] == ["one"] * 3
    assert (visit(service, "r/spring").status_code, visit(service, "one").status_code) == (404, 410)
    assert clicks(ana, link)[0] == 4


def test_uncounted_visits_do_not_change_limits(service: AsgiClient, ana: Person) -> None:
    campaign = new_campaign(ana, rotation="ordered", sticky=True, winner=3)
    one = add_links(ana, campaign, "one", clicklimit=1)[0]
    ana.post(f"/campaign/{campaign}/assign/{one}", {"quota": 1})
    for options in ({"method": "HEAD"}, {"agent": GOOGLEBOT}, {"agent": SLACK}, {"headers": {"Purpose": "prefetch"}}):
        response = visit(service, "r/spring", **options)
        assert (response.status_code, "set-cookie" in response.headers) == (302, False)
    assert rotated_to(service, agent=CURL) == "one"
    assert visit(service, "r/spring").status_code == 404
    expected = {"clicks": 1, "uniqueClicks": 1, "bots": 1, "previews": 1, "others": 2}
    assert click_totals(ana, f"/campaign/{campaign}") == click_totals(ana, f"/url/{one}") == expected
