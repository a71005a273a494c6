"""The pages of campaigns: what the dashboard makes of them, and what another account gets to see of it."""

import re
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.dashboard_client import Browser, hidden, said, version
from tests.support.visits import new_link, visit


def _campaign(person: Person, **fields: Any) -> int:
    return int(person.post("/campaign/add", {"name": "Spring", "slug": "spring", **fields})["id"])


def _told(person: Person, campaign: int) -> dict[str, Any]:
    told: dict[str, Any] = person.get(f"/campaign/{campaign}")["details"]
    return told


def test_a_campaign_is_made_changed_and_deleted(ana: Person, inside: Browser) -> None:
    fields = {"name": "Spring", "slug": "spring", "rotation": "ordered", "sticky": "on", "winner": "10"}
    made = inside.send("/campaigns/new", **fields)
    spring = int(made.headers["location"].split("/")[3])
    told = _told(ana, spring)
    assert [told[name] for name in ("name", "rotation", "sticky", "winner", "public")] == [
        *("Spring", "ordered", True, 10, False)
    ]
    assert told["rotator"].endswith("/r/spring")
    page = inside.get(f"/campaigns/{spring}")
    assert told["rotator"] in page.text
    assert told["list"] in page.text
    form = {"name": "Summer", "slug": "", "rotation": "weighted", "winner": "", "public": "on"}
    saved = inside.send(f"/campaigns/{spring}", **form, version=hidden(page, "version"))
    assert saved.status_code == 400, "that was the version of the links"
    assert "changed since you opened it" in saved.text
    again = inside.send(f"/campaigns/{spring}", **form, version=version(saved, f"/campaigns/{spring}"))
    assert said(again, inside) == "Saved."
    told = _told(ana, spring)
    assert [told[name] for name in ("name", "rotation", "sticky", "winner", "public", "rotator")] == [
        *("Summer", "weighted", False, None, True, False)
    ]
    assert "Summer" in inside.get(f"/campaigns/{spring}/delete").text
    assert "deleted" in said(inside.send(f"/campaigns/{spring}/delete"), inside)
    assert ana.get("/campaigns")["data"]["result"] == 0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "<span>Name must"),
        ({"name": "x" * 10_000}, "<span>Name must"),
        ({"slug": "a b"}, "Its address must"),
        ({"winner": "0"}, "A winner after so many clicks must"),
        ({"winner": "many"}, "A winner after so many clicks must"),
        ({"rotation": "backwards"}, "Which link a visitor gets must"),
        ({"name": "Taken"}, "You already have a campaign with that name."),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_what_was_typed_stays(
    ana: Person, inside: Browser, fields: dict[str, str], words: str
) -> None:
    ana.post("/campaign/add", {"name": "Taken"})
    spring = _campaign(ana)
    page = inside.get(f"/campaigns/{spring}")
    form = {"name": "Mine <b>", "slug": "spring", "rotation": "random", "winner": "", **fields}
    answer = inside.send(f"/campaigns/{spring}", **form, version=version(page, f"/campaigns/{spring}"))
    assert answer.status_code == 400
    assert words in answer.text
    assert 'role="alert"' not in answer.text
    if "name" not in fields:
        assert 'value="Mine &lt;b&gt;"' in answer.text
    assert _told(ana, spring)["name"] == "Spring"


def test_links_are_found_put_in_weighed_and_taken_out(ana: Person, ben: Person, inside: Browser) -> None:
    spring = _campaign(ana, rotation="weighted")
    links = [new_link(ana, f"landing-{n}", title=f"Landing {n}") for n in range(3)]
    theirs = new_link(ben, "theirs", title="Landing of Ben")
    found = inside.get(f"/campaigns/{spring}/add?q=lANDING").text
    assert [f"Landing {n}" in found for n in range(3)] == [True] * 3
    assert "Landing of Ben" not in found
    assert "No link like that" in inside.get(f"/campaigns/{spring}/add?q=%25").text
    add = f"/campaigns/{spring}/add"
    assert inside.send(add, id=[links[0], theirs]).status_code == 404
    assert ana.get(f"/url/{links[0]}")["details"]["campaign"] is None, "all or nothing"
    assert "Tick the links" in said(inside.send(add), inside)
    assert said(inside.send(add, id=links), inside) == "3 links are in."
    assert "All of your links are in this campaign" in inside.get(add).text
    page = inside.get(f"/campaigns/{spring}")
    rows = {"place.id": links, "place.weight": ["3", "1", "0"], "place.quota": ["", "2", ""]}
    save = f"/campaigns/{spring}/links"
    at = f"/campaigns/{spring}"
    assert said(inside.send(save, at=at, **rows, version=version(page, save)), inside) == "Saved."
    told = {one["id"]: (one["weight"], one["quota"]) for one in ana.get(f"/campaign/{spring}/stats")["links"]}
    assert told == {links[0]: (3, None), links[1]: (1, 2), links[2]: (0, None)}
    late = {**rows, "place.weight": ["4", "1", "0"]}
    stale = inside.send(save, at=at, **late, version=version(page, save))
    assert "changed since you opened it" in stale.text
    for field, value, words in (
        ("place.weight", ["3", "2000", "0"], "Link 2 weight"),
        ("place.quota", ["", "-1", ""], "Link 2 quota"),
        ("place.weight", ["3", "heavy", "0"], "Link 2 weight"),
    ):
        wrong = inside.send(save, at=at, **{**rows, field: value}, version=version(stale, save))
        assert wrong.status_code == 400
        assert words in wrong.text
        assert f'value="{value[1]}"' in wrong.text, "what was typed stays"
    out = inside.send(f"/campaigns/{spring}/remove", at=at, id=[links[1], theirs])
    assert said(out, inside) == "The link is taken out."
    assert [one["id"] for one in ana.get(f"/campaign/{spring}/stats")["links"]] == [links[0], links[2]]


def test_statistics_say_where_the_rotator_led(ana: Person, inside: Browser, service: Inside) -> None:
    spring = _campaign(ana, rotation="ordered")
    for n in range(2):
        ana.post(f"/campaign/{spring}/assign/{new_link(ana, f'landing-{n}', title=f'Landing {n}')}")
    for _ in range(3):
        assert visit(service, "r/spring").status_code == 302
    page = inside.get(f"/campaigns/{spring}/stats").text
    rows = re.findall(r'<th scope="row"><a [^>]*>(.*?)</a></th><td class="n">(\d+)</td>', page)
    assert rows == [("Landing 0", "2"), ("Landing 1", "1")]
    sheet = inside.get(f"/campaigns/{spring}/stats?format=csv")
    assert sheet.headers["content-type"].startswith("text/csv")


def test_the_campaigns_of_others_are_not_there(ana: Person, ben: Person, inside: Browser) -> None:
    theirs = _campaign(ben)
    for page in ("", "/add", "/stats", "/delete"):
        assert inside.get(f"/campaigns/{theirs}{page}").status_code == 404
    for form in ("", "/add", "/remove", "/links", "/delete"):
        answer = inside.send(f"/campaigns/{theirs}{form}", at="/campaigns/new", id=1, name="Mine", rotation="random")
        assert answer.status_code == 404, form
    assert _told(ben, theirs)["name"] == "Spring"
    assert "Spring" not in inside.get("/campaigns").text
    assert "Your first campaign" in inside.get("/campaigns").text


def test_names_of_any_kind_are_harmless(ana: Person, inside: Browser) -> None:
    for name in ("<script>alert(1)</script>", "حملة الربيع", "x" * 255):
        spring = int(ana.post("/campaign/add", {"name": name})["id"])
        for page in (f"/campaigns/{spring}", f"/campaigns/{spring}/stats", f"/campaigns/{spring}/delete", "/campaigns"):
            answer = inside.get(page)
            assert answer.status_code == 200
            assert "<script>alert" not in answer.text
