"""Campaigns in the API: names, slugs, and assigned links (decisions 24 to 29)."""

from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from waypost.db import schema
from waypost.urls import alias_rules

TAKEN_NAME = "You already have a campaign with that name."
TAKEN_SLUG = "That alias is taken. Please choose another one."


def _campaign(person: Person, **fields: Any) -> int:
    return person.add("campaign", **fields)


def _link(person: Person, **fields: Any) -> int:
    return person.add("url", **{"url": "https://example.com/", **fields})


def test_campaign_is_returned_in_the_same_shape_by_every_endpoint(ana: Person) -> None:
    response = ana.call("POST", "/campaign/add", {"name": "Spring", "slug": "spring", "public": True})
    assert response.status_code == 201
    created = response.json()
    item = created["id"]
    expected = {
        "id": item,
        **dict.fromkeys(("name", "domain", "campaign"), "Spring"),
        "public": True,
        "rotator": f"{BASE}/r/spring",
        "list": f"{BASE}/u/ana/spring-{item}",
        "views": 0,
    }
    assert created == {"error": 0, **expected}
    more = {"indexable": False, "rotation": "random", "sticky": False, "winner": None, "winnerlink": None}
    assert ana.details("campaign", item) == {**expected, **more}
    assert ana.get("/campaigns")["data"]["campaigns"] == [expected]
    assert ana.update("campaign", item, name="Spring") == {"error": 0, **expected}


def test_campaign_without_slug_has_no_rotator_and_is_not_public(ana: Person) -> None:
    created = ana.post("/campaign/add", {"name": "Spring"})
    assert (created["rotator"], created["public"], created["list"]) == (
        False,
        False,
        f"{BASE}/u/ana/list-{created['id']}",
    )


def test_campaign_without_name_is_named_by_its_id(ana: Person) -> None:
    for body in (None, {}, {"name": None}, {"name": None, "slug": None, "public": None}):
        created = ana.post("/campaign/add", body)
        assert created["name"] == created["domain"] == created["campaign"] == f"Campaign {created['id']}"


@ON_BOTH_DATABASES
def test_default_name_is_numbered_when_taken(ana: Person) -> None:
    first = _campaign(ana)
    for number in range(first + 1, first + 6):
        ana.update("campaign", first, name=f"Campaign {number}")
        created = ana.post("/campaign/add", {})
        names = [campaign["name"] for campaign in ana.get("/campaigns")["data"]["campaigns"]]
        assert len(set(names)) == len(names)
        assert created["id"] == number
        assert created["name"].startswith(f"Campaign {number}")
        assert created["name"] != f"Campaign {number}"


def test_name_is_trimmed_and_otherwise_kept(ana: Person) -> None:
    for name, stored in (("  Spring ", "Spring"), ("a  b", "a  b"), ("\u2003Été\u00a0", "Été"), ("<b>'\"", "<b>'\"")):
        assert ana.post("/campaign/add", {"name": name})["name"] == stored


def test_name_is_unique_in_account(ana: Person, ben: Person) -> None:
    _campaign(ana, name="Spring")
    for name in ("Spring", " Spring ", "spring", "SPRING"):
        assert refused(ana.call("POST", "/campaign/add", {"name": name}), 400, "name") == TAKEN_NAME
    other = _campaign(ana, name="Spring 2")
    assert refused(ana.call("PUT", f"/campaign/{other}/update", {"name": "Spring"}), 400, "name") == TAKEN_NAME
    assert ana.details("campaign", other)["name"] == "Spring 2"
    assert ana.update("campaign", other, name="spring 2")["name"] == "spring 2"
    _campaign(ben, name="Spring")
    assert len(ana.get("/campaigns")["data"]["campaigns"]) == 2


def test_rejected_campaign_does_not_claim_slug(ana: Person, ben: Person) -> None:
    _campaign(ana, name="Spring")
    refused(ana.call("POST", "/campaign/add", {"name": "Spring", "slug": "summer"}), 400, "name")
    assert ben.post("/campaign/add", {"slug": "summer"})["rotator"] == f"{BASE}/r/summer"


def test_update_without_name_is_rejected(ana: Person) -> None:
    campaign = _campaign(ana, name="Spring")
    for body in ({}, {"slug": "spring"}, {"name": None}, {"name": " "}):
        refused(ana.call("PUT", f"/campaign/{campaign}/update", body), 400, "name")
    assert ana.details("campaign", campaign)["rotator"] is False


@ON_SQLITE
def test_slug_follows_alias_rules(ana: Person) -> None:
    campaign = _campaign(ana, name="Spring")
    reserved = sorted(word for word in alias_rules.RESERVED if len(word) >= 3)
    invalid_slugs = ["a", "ab", "x" * 51, "a b", " abc", "a/b", "a.b", "ünï", *reserved, "API", "Login"]
    answers = {slug: ana.call("POST", "/campaign/add", {"slug": slug}) for slug in invalid_slugs}
    assert {
        slug: (response.status_code, response.json().get("field")) for slug, response in answers.items()
    } == dict.fromkeys(invalid_slugs, (400, "slug"))
    refused(ana.call("PUT", f"/campaign/{campaign}/update", {"name": "Spring", "slug": "a b"}), 400, "slug")
    for slug in ("abc", "A_b-9", "x" * 50):
        assert ana.post("/campaign/add", {"slug": slug})["rotator"] == f"{BASE}/r/{slug}"


def test_empty_slug_removes_rotator(ana: Person) -> None:
    for number, empty in enumerate((None, "")):
        campaign = _campaign(ana, name=f"Spring {number}", slug="spring")
        changed = ana.update("campaign", campaign, name=f"Spring {number}", slug=empty)
        assert (changed["rotator"], changed["list"]) == (False, f"{BASE}/u/ana/list-{campaign}")
        assert ana.details("campaign", campaign)["rotator"] is False
        assert ana.post("/campaign/add", {"name": f"Other {number}", "slug": empty})["rotator"] is False


def test_update_without_slug_keeps_slug(ana: Person) -> None:
    campaign = _campaign(ana, name="Spring", slug="spring", public=True)
    changed = ana.update("campaign", campaign, name="Summer")
    assert (changed["rotator"], changed["public"]) == (f"{BASE}/r/spring", True)
    assert ana.update("campaign", campaign, name="Summer", public=None)["public"] is False


@ON_BOTH_DATABASES
def test_slug_is_unique_across_accounts(ana: Person, ben: Person) -> None:
    _campaign(ana, slug="spring")
    for person in (ana, ben):
        response = person.call("POST", "/campaign/add", {"name": "Mine", "slug": "spring"})
        assert refused(response, 400, "slug") == TAKEN_SLUG
        assert response.json()["code"] == "taken"
    other = _campaign(ben, name="His", slug="Spring")
    response = ben.call("PUT", f"/campaign/{other}/update", {"name": "Renamed", "slug": "spring"})
    assert refused(response, 400, "slug") == TAKEN_SLUG
    assert (ben.details("campaign", other)["name"], ben.details("campaign", other)["rotator"]) == (
        "His",
        f"{BASE}/r/Spring",
    )


def test_slug_can_equal_alias_of_link(ana: Person, ben: Person) -> None:
    _link(ben, custom="spring")
    assert ana.post("/campaign/add", {"slug": "spring"})["rotator"] == f"{BASE}/r/spring"


@pytest.mark.parametrize("how", ["changed", "removed", "deleted"])
def test_previous_slug_stays_reserved_for_account(how: str, ana: Person, ben: Person) -> None:
    campaign = _campaign(ana, name="Old", slug="spring")
    if how == "deleted":
        ana.remove("campaign", campaign)
    else:
        slug = "summer" if how == "changed" else None
        ana.update("campaign", campaign, name="Old", slug=slug)
    assert refused(ben.call("POST", "/campaign/add", {"slug": "spring"}), 400, "slug") == TAKEN_SLUG
    again = ana.post("/campaign/add", {"name": "New", "slug": "spring"})
    assert (again["rotator"], again["views"]) == (f"{BASE}/r/spring", 0)
    assert refused(ana.call("POST", "/campaign/add", {"slug": "spring"}), 400, "slug") == TAKEN_SLUG


def test_campaign_can_reuse_its_previous_slug(ana: Person) -> None:
    campaign = _campaign(ana, name="Spring", slug="spring")
    for slug in ("summer", "spring", "spring", None, "summer"):
        changed = ana.update("campaign", campaign, name="Spring", slug=slug)
        assert changed["rotator"] == (f"{BASE}/r/{slug}" if slug else False)


@ON_BOTH_DATABASES
def test_campaign_views_equal_counted_visits(ana: Person) -> None:
    campaign = _campaign(ana)
    table = schema.campaigns
    ana.write(lambda tx: tx.execute(update(table).where(table.c.id == campaign).values(views=7)))
    assert ana.details("campaign", campaign)["views"] == ana.get("/campaigns")["data"]["campaigns"][0]["views"] == 7


def test_assigning_link_moves_it_from_its_campaign(ana: Person) -> None:
    first, second, link = _campaign(ana), _campaign(ana), _link(ana)
    assert ana.details("url", link)["campaign"] is None
    for campaign in (first, first, second):
        assert ana.post(f"/campaign/{campaign}/assign/{link}")["message"] == "Link successfully added to the campaign."
        assert ana.details("url", link)["campaign"] == campaign
    assert ana.get("/urls")["data"]["urls"][0]["campaign"] == second


def test_assigning_link_or_campaign_of_another_account_is_not_found(ana: Person, ben: Person) -> None:
    own, foreign = (_campaign(ana), _link(ana)), (_campaign(ben), _link(ben))
    messages = {
        (campaign, link): refused(ana.call("POST", f"/campaign/{campaign}/assign/{link}"), 404)
        for campaign, link in (
            (foreign[0], own[1]),
            (999999, own[1]),
            (own[0], foreign[1]),
            (own[0], 999999),
            ("x", "y"),
        )
    }
    assert messages[foreign[0], own[1]] == messages[999999, own[1]]
    assert messages[own[0], foreign[1]] == messages[own[0], 999999]
    assert ana.details("url", own[1])["campaign"] is None
    assert ben.details("url", foreign[1])["campaign"] is None


def test_deleting_campaign_keeps_its_links(ana: Person) -> None:
    campaign, other = _campaign(ana), _campaign(ana)
    link, other_link = _link(ana, campaign=campaign), _link(ana, campaign=other)
    assert ana.remove("campaign", campaign)["message"]
    refused(ana.call("GET", f"/campaign/{campaign}"), 404)
    assert ana.details("url", link)["campaign"] is None
    assert ana.details("url", other_link)["campaign"] == other
