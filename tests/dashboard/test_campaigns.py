"""Dashboard pages of campaigns: editor, rotator, statistics, and access by other accounts."""

import re
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, form_version
from tests.support.form_errors import only_error
from tests.support.visits import new_link, visit


def _campaign(person: Person, **fields: Any) -> int:
    return person.add("campaign", **{"name": "Spring", "slug": "spring", **fields})


def test_campaign_is_created_changed_and_deleted(ana: Person, dashboard: Browser) -> None:
    fields = {"name": "Spring", "slug": "spring", "rotation": "ordered", "sticky": "on", "winner": "10"}
    created = dashboard.submit("/campaigns/new", **fields)
    spring = int(created.headers["location"].split("/")[3])
    details = ana.details("campaign", spring)
    assert [details[name] for name in ("name", "rotation", "sticky", "winner", "public")] == [
        *("Spring", "ordered", True, 10, False)
    ]
    assert details["rotator"].endswith("/r/spring")
    page = dashboard.get(f"/campaigns/{spring}")
    assert details["rotator"] in page.text
    address = details["list"].partition("://")[2]
    assert address in page.text
    assert details["list"] not in page.text, "a private list is no link: its page is 404"
    settings = f"/campaigns/{spring}/settings"
    form = {"name": "Summer", "slug": "", "winner": "", "public": "on", "indexable": "on"}
    saved = dashboard.submit(settings, **form, version="of another form")
    assert saved.status_code == 400
    assert "changed since you opened it" in saved.text
    assert dashboard.submit_for_message(settings, **form, version=form_version(saved, settings)) == "Saved."
    details = ana.details("campaign", spring)
    assert [details[name] for name in ("name", "rotation", "sticky", "winner", "public", "indexable", "rotator")] == [
        *("Summer", "ordered", False, None, True, True, False)
    ]
    assert "Summer" in dashboard.get(f"/campaigns/{spring}/delete").text
    assert "deleted" in dashboard.submit_for_message(f"/campaigns/{spring}/delete")
    assert ana.get("/campaigns")["data"]["result"] == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "<span>Name must"),
        ({"name": "x" * 10_000}, "<span>Name must"),
        ({"slug": "a b"}, "Alias cannot have"),
        ({"winner": "0"}, "Clicks until the rotation ends must"),
        ({"winner": "many"}, "Clicks until the rotation ends must"),
        ({"name": "Taken"}, "You already have a campaign with that name."),
    ],
)
def test_invalid_campaign_shows_error_at_field_and_keeps_entered_values(
    ana: Person, dashboard: Browser, fields: dict[str, str], message: str
) -> None:
    ana.post("/campaign/add", {"name": "Taken"})
    spring = _campaign(ana)
    settings = f"/campaigns/{spring}/settings"
    page = dashboard.get(settings)
    form = {"name": "Mine <b>", "slug": "spring", "winner": "", **fields}
    response = dashboard.submit(settings, **form, version=form_version(page, settings))
    assert response.status_code == 400
    assert message in response.text
    assert 'id="slug"' in response.text
    if "name" not in fields:
        assert 'value="Mine &lt;b&gt;"' in response.text
    assert ana.details("campaign", spring)["name"] == "Spring"


def test_links_are_searched_added_weighted_and_removed(ana: Person, ben: Person, dashboard: Browser) -> None:
    spring = _campaign(ana, rotation="weighted")
    links = [new_link(ana, f"landing-{n}", title=f"Landing {n}") for n in range(3)]
    foreign_link = new_link(ben, "theirs", title="Landing of Ben")
    results = dashboard.get(f"/campaigns/{spring}/add?q=lANDING").text
    assert [f"Landing {n}" in results for n in range(3)] == [True] * 3
    assert "Landing of Ben" not in results
    assert "No links found" in dashboard.get(f"/campaigns/{spring}/add?q=%25").text
    add = f"/campaigns/{spring}/add"
    assert dashboard.submit(add, id=[links[0], foreign_link]).status_code == 404
    assert ana.details("url", links[0])["campaign"] is None, "all or nothing"
    assert "Select at least one link." in dashboard.submit_for_message(add)
    assert dashboard.submit_for_message(add, id=links) == "3 links were added."
    assert "All of your links are in this campaign" in dashboard.get(add).text
    page = dashboard.get(f"/campaigns/{spring}")
    rows = {"place.id": links, "place.weight": ["3", "1", "0"], "place.quota": ["", "2", ""]}
    save = f"/campaigns/{spring}/links"
    at = f"/campaigns/{spring}"
    assert dashboard.submit_for_message(save, at=at, **rows, version=form_version(page, save)) == "Saved."
    stored = {link["id"]: (link["weight"], link["quota"]) for link in ana.get(f"/campaign/{spring}/stats")["links"]}
    assert stored == {links[0]: (3, None), links[1]: (1, 2), links[2]: (0, None)}
    changed_rows = {**rows, "place.weight": ["4", "1", "0"]}
    stale = dashboard.submit(save, at=at, **changed_rows, version=form_version(page, save))
    assert "changed since you opened it" in stale.text
    for field, value in (
        ("place.weight", ["3", "2000", "0"]),
        ("place.quota", ["", "-1", ""]),
        ("place.weight", ["3", "heavy", "0"]),
    ):
        rejected = dashboard.submit(save, at=at, **{**rows, field: value}, version=form_version(stale, save))
        assert rejected.status_code == 400
        error = only_error(rejected.text)
        assert error
        assert error[0] == f"place.{links[1]}.{field.removeprefix('place.')}"
        assert f'value="{value[1]}"' in rejected.text, "the entered value is kept"
    assert (
        dashboard.submit_for_message(f"/campaigns/{spring}/remove", at=at, id=[links[1], foreign_link])
        == "The link was removed."
    )
    assert [link["id"] for link in ana.get(f"/campaign/{spring}/stats")["links"]] == [links[0], links[2]]


def test_links_of_another_campaign_have_its_name(ana: Person, dashboard: Browser) -> None:
    spring = _campaign(ana)
    new_link(ana, "landing")
    assert "Campaign:" not in dashboard.get(f"/campaigns/{spring}/add").text
    ana.add("url", url="https://target.example/", campaign=ana.add("campaign", name="Autumn <1>"))
    assert "Campaign: <bdi>Autumn &lt;1&gt;</bdi>" in dashboard.get(f"/campaigns/{spring}/add").text


def test_weighted_rotation_enables_weights(ana: Person, dashboard: Browser) -> None:
    spring = _campaign(ana)
    link = new_link(ana, "landing")
    ana.post(f"/campaign/{spring}/assign/{link}", {"weight": 3})
    path, save = f"/campaigns/{spring}", f"/campaigns/{spring}/links"
    pages = [dashboard.get(f"{path}{part}").text for part in ("", "/settings")]
    assert [page.count('name="rotation"') for page in pages] == [1, 0], "the rotation is set in one place"
    visible, hidden = rf'<input id="place.{link}.weight"[^>]*>', r'<input type="hidden" name="place.weight"[^>]*>'
    for rotation, is_enabled in (("random", False), ("weighted", True), ("ordered", False)):
        page = dashboard.get(path)
        rows = {"place.id": link, "place.weight": "3", "place.quota": "", "rotation": rotation}
        assert dashboard.submit_for_message(save, at=path, **rows, version=form_version(page, save)) == "Saved."
        page = dashboard.get(path)
        assert ["disabled" in re.findall(field, page.text)[0] for field in (visible, hidden)] == [
            not is_enabled,
            is_enabled,
        ]
        assert ana.details("campaign", spring)["rotation"] == rotation
        assert ana.get(f"/campaign/{spring}/stats")["links"][0]["weight"] == 3
    rejected = dashboard.submit(save, at=path, **{**rows, "rotation": "backwards"}, version=form_version(page, save))
    assert rejected.status_code == 400
    assert "Rotation must" in rejected.text


def test_campaign_without_name_is_rejected_with_its_values(dashboard: Browser) -> None:
    rejected = dashboard.submit("/campaigns/new", name=" ", slug="spring", rotation="random")
    assert rejected.status_code == 400
    assert "<span>Name must" in rejected.text
    assert 'value="spring"' in rejected.text


def test_pages_of_campaign_are_tabs_with_25_links_a_page_and_top_10_in_statistics(
    ana: Person, dashboard: Browser
) -> None:
    spring = _campaign(ana, rotation="weighted")
    for n in range(27):
        ana.post(f"/campaign/{spring}/assign/{new_link(ana, f'landing-{n}')}")
    for path, current in (("", "Links"), ("/settings", "Settings"), ("/stats", "Statistics")):
        page = dashboard.get(f"/campaigns/{spring}{path}").text
        assert re.findall(r'aria-current="page">(Links|Settings|Statistics)<', page) == [current]
    assert dashboard.get(f"/campaigns/{spring}").text.count('name="place.id"') == 25
    last = f"/campaigns/{spring}?page=2"
    page = dashboard.get(last)
    ids = re.findall(r'name="place.id" value="(\d+)"', page.text)
    assert len(ids) == 2
    assert 'name="winner"' not in page.text
    save = f"/campaigns/{spring}/links?page=2"
    rows = {"place.id": ids, "place.weight": ["7", "1"], "place.quota": ["", ""]}
    version = re.findall(r'name="version" value="([^"]*)"', page.text)[0]
    saved = dashboard.submit(save, at=last, **rows, version=version)
    assert saved.headers["location"].endswith("?page=2#links"), "saving keeps the page"
    weights = {link["id"]: link["weight"] for link in ana.get(f"/campaign/{spring}/stats")["links"]}
    assert weights[int(ids[0])] == 7
    statistics = dashboard.get(f"/campaigns/{spring}/stats").text
    shown, more = statistics.split("Show all 27")
    assert [part.count('<a href="/dashboard/links/') for part in (shown, more)] == [10, 17]


def test_campaign_statistics_show_clicks_by_link(ana: Person, dashboard: Browser, service: AsgiClient) -> None:
    spring = _campaign(ana, rotation="ordered")
    for n in range(2):
        ana.post(f"/campaign/{spring}/assign/{new_link(ana, f'landing-{n}', title=f'Landing {n}')}")
    for _ in range(3):
        assert visit(service, "r/spring").status_code == 302
    page = dashboard.get(f"/campaigns/{spring}/stats").text
    table = page[page.index('class="by-link"') :]
    table = table[: table.index("</table>")]
    on_phones = r'(?:<div class="on-phones muted">[^<]*(?:<span>[^<]*</span>)?\s*</div>\s*)*'
    cells = rf'<th scope="row">\s*<a [^>]*>(.*?)</a>\s*{on_phones}</th>\s*<td class="num">(\d+) <small>'
    rows = re.findall(cells, table)
    assert rows == [("Landing 0", "2"), ("Landing 1", "1")]
    export = dashboard.get(f"/campaigns/{spring}/stats?format=csv")
    assert export.headers["content-type"].startswith("text/csv")


def test_campaign_pages_of_another_account_return_404(ana: Person, ben: Person, dashboard: Browser) -> None:
    foreign_campaign = _campaign(ben)
    for page in ("", "/add", "/stats", "/delete"):
        assert dashboard.get(f"/campaigns/{foreign_campaign}{page}").status_code == 404
    for form in ("", "/add", "/remove", "/links", "/delete"):
        response = dashboard.submit(
            f"/campaigns/{foreign_campaign}{form}", at="/campaigns/new", id=1, name="Mine", rotation="random"
        )
        assert response.status_code == 404, form
    assert ben.details("campaign", foreign_campaign)["name"] == "Spring"
    assert "Spring" not in dashboard.get("/campaigns").text
    assert "Your first campaign" in dashboard.get("/campaigns").text


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "حملة الربيع", "x" * 255])
def test_campaign_names_are_escaped(ana: Person, dashboard: Browser, name: str) -> None:
    spring = ana.add("campaign", name=name)
    for page in (
        f"/campaigns/{spring}",
        f"/campaigns/{spring}/settings",
        f"/campaigns/{spring}/stats",
        f"/campaigns/{spring}/delete",
        "/campaigns",
    ):
        response = dashboard.get(page)
        assert response.status_code == 200
        assert "<script>alert" not in response.text
