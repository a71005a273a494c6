"""Actions on links in the list: changes of selected and of all matching links, return, duplicate, export."""

import csv
import io
import re
from functools import partial
from html import escape, unescape
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Connection, select

from tests.conftest import Person
from tests.support.dashboard_client import Browser, form_version, hidden_field
from tests.support.statements import counted_statements
from tests.support.visits import CHROME, DESTINATION, visit
from waypost.db.schema import links
from waypost.items.links import list_export


def _titles(page: Any) -> list[str]:
    return [unescape(title) for title in re.findall(r'class="name"[^>]*>(.*?)</a>', page.text)]


def test_bulk_actions_change_selected_links_and_deletion_needs_confirmation(ana: Person, dashboard: Browser) -> None:
    campaign = ana.add("campaign", name="Spring")
    channels = [ana.add("channel", name=name) for name in ("A", "B")]
    ids = [ana.add("url", url=DESTINATION, title=f"Link {n}") for n in range(3)]

    def bulk(action: str, selected: list[int]) -> Any:
        return dashboard.submit("/links/bulk", at="/links", action=action, id=selected)

    assert dashboard.flash_message(bulk("status-disabled", ids[:2])) == "2 links were updated."
    assert [ana.details("url", item)["status"] for item in ids] == ["disabled", "disabled", "public"]
    for action in (f"campaign-{campaign}", f"channel-{channels[0]}", f"channel-{channels[1]}"):
        bulk(action, ids[:2])
    link = ana.details("url", ids[0])
    assert (link["campaign"], sorted(link["channel"])) == (campaign, sorted(channels))
    bulk("campaign-0", ids[:1])
    assert ana.details("url", ids[0])["campaign"] is None
    assert "Select at least one link." in dashboard.flash_message(bulk("delete", []))
    assert "Select an action." in dashboard.flash_message(bulk("", ids))
    confirmation = bulk("delete", ids[:2])
    assert "Delete 2 links?" in confirmation.text
    assert ana.get("/urls")["data"]["result"] == 3
    form = {"token": hidden_field(confirmation, "token"), "id": ids[:2]}
    assert (
        dashboard.flash_message(dashboard.client.post("/dashboard/links/delete", data=form)) == "2 links were deleted."
    )
    assert ana.get("/urls")["data"]["result"] == 1


def test_action_on_all_matching_links_names_them_and_changes_exactly_those(
    ana: Person, ben: Person, dashboard: Browser
) -> None:
    campaign = ana.add("campaign", name="Spring <1>")
    ids = [ana.add("url", url=DESTINATION, title=f"Link {n}") for n in range(30)]
    other, foreign = (person.add("url", url=DESTINATION, title="Other") for person in (ana, ben))
    path = "/links/bulk?q=link&status=public"

    def confirm(action: str) -> tuple[str, Any]:
        page = dashboard.submit(path, at="/links", action=action, all="1", next="/dashboard/links?q=link")
        shown = [int(value) for value in hidden_field(page, "id").split(",")]
        assert sorted(shown) == ids
        target = "delete" if action == "delete" else "bulk"
        form = {name: hidden_field(page, name) for name in ("token", "next", "action")}
        return page.text, dashboard.client.post(f"/dashboard/links/{target}", data={**form, "id": shown})

    shown, response = confirm(f"campaign-{campaign}")
    assert "Move 30 links to a campaign?" in shown
    assert "Spring &lt;1&gt;" in shown
    assert response.headers["location"] == "/dashboard/links?q=link"
    assert dashboard.flash_message(response) == "30 links were updated."
    assert {ana.details("url", link)["campaign"] for link in ids} == {campaign}
    shown, response = confirm("delete")
    assert "Delete 30 links?" in shown
    assert dashboard.flash_message(response) == "30 links were deleted."
    assert [link["id"] for link in ana.get("/urls")["data"]["urls"]] == [other]
    assert ben.details("url", foreign)["title"] == "Other"
    nothing = dashboard.submit(path, at="/links", action="delete", all="1")
    assert "Select at least one link." in dashboard.flash_message(nothing)


@pytest.mark.parametrize("action", ["status-disabled", "campaign-0", "channel-1", "delete"])
def test_bulk_action_skips_link_of_another_account(ana: Person, ben: Person, dashboard: Browser, action: str) -> None:
    ana.add("channel", name="Letter")
    own = ana.add("url", url=DESTINATION, title="Own")
    foreign = ben.add("url", url=DESTINATION, title="Foreign")
    before = ben.details("url", foreign)
    path = "/links/delete" if action == "delete" else "/links/bulk"
    response = dashboard.submit(path, at="/links", action=action, id=[own, foreign])
    verb = "deleted" if action == "delete" else "updated"
    message = f"The link was {verb}. 1 link was deleted already and was skipped."
    assert dashboard.flash_message(response) == message
    assert ben.details("url", foreign) == before


def test_bulk_action_needs_same_number_of_statements_for_any_number_of_links(ana: Person, dashboard: Browser) -> None:
    channel, campaign = ana.add("channel", name="Letter"), ana.add("campaign", name="Spring")
    ids = [ana.add("url", url=DESTINATION, custom=f"name-{n}") for n in range(24)]
    for action in ("status-disabled", f"campaign-{campaign}", f"channel-{channel}", "delete"):
        counts = []
        for selected in (ids[:2], ids[2:22]):
            with counted_statements("links", "aliases", "channel_items", "page_counters") as statements:
                path = "/links/delete" if action == "delete" else "/links/bulk"
                dashboard.flash_message(dashboard.submit(path, at="/links", action=action, id=selected))
            counts.append(len(statements))
        assert counts[0] == counts[1], (action, statements)
    assert visit(dashboard.client, "name-1", agent=CHROME).status_code == 404
    assert ana.get("/urls")["data"]["result"] == 2


def test_list_actions_and_saves_return_to_filter_and_page(ana: Person, dashboard: Browser) -> None:
    ids = [ana.add("url", url=DESTINATION, title=f"Link {n}") for n in range(30)]
    place = "/dashboard/links?q=link&page=2"
    listed = dashboard.client.get(place)
    assert hidden_field(listed, "next") == escape(place)
    editor = f"/dashboard/links/{ids[0]}?next={quote(place, safe='')}"
    assert f'href="{editor}"' in listed.text
    shown = dashboard.client.get(editor)
    assert f'class="back-link" href="{escape(place)}"' in shown.text
    assert f'href="/dashboard/links/{ids[0]}/delete?next={quote(place, safe="")}"' in shown.text
    version = form_version(shown, f"/links/{ids[0]}")
    saved = dashboard.submit(f"/links/{ids[0]}", next=place, title="Link zero", version=version)
    assert saved.headers["location"] == editor
    for action in ("status-disabled", ""):
        response = dashboard.submit("/links/bulk", at="/links", action=action, id=ids[:1], next=place)
        assert response.headers["location"] == place
    confirmation = dashboard.submit("/links/bulk", at="/links", action="delete", id=ids[:1], next=place)
    assert hidden_field(confirmation, "next") == escape(place)
    assert f'class="button secondary" href="{escape(place)}"' in confirmation.text
    deleted = dashboard.submit("/links/delete", at="/links", id=ids[:5], next=place)
    assert deleted.headers["location"] == place
    assert dashboard.client.get(place).headers["location"] == "/dashboard/links?q=link"  # the page is gone


@pytest.mark.parametrize(
    "sent",
    [
        "https://evil.example/dashboard/links?q=1",
        "//evil.example/dashboard/links?q=1",
        "/dashboard/links?q=1\r\nX: y",
        "/dashboard/../api?q=1",
        "/dashboard/files?q=1",
        "/dashboard/links?q=" + "1" * 1000,
    ],
)
def test_foreign_return_path_is_ignored(dashboard: Browser, sent: str) -> None:
    response = dashboard.submit("/links/bulk", at="/links", action="", id=[], next=sent)
    assert response.headers["location"] == "/dashboard/links"


def test_duplicate_has_every_setting_and_a_new_alias(ana: Person, ben: Person, dashboard: Browser) -> None:
    ana.add("domain", domain="https://go.brand.example")
    fields: dict[str, Any] = {
        "url": DESTINATION,
        "title": "Original",
        "password": "secret",
        "expiry": "2999-12-31",
        "clicklimit": 3,
        "campaign": ana.add("campaign", name="Spring"),
        "channel": [ana.add("channel", name="Letter")],
        "pixels": [ana.add("pixel", name="Shop", type="analyticspixel", tag="G-1")],
        "type": str(ana.add("splash", name="Wait", title="Wait")),
        "geotarget": [{"location": "Germany", "link": DESTINATION}],
        "parameters": [{"name": "utm_source", "value": "a"}],
        "deeplink": {"apple": "https://apps.apple.com/a"},
        "domain": "go.brand.example",
        "status": "private",
    }
    link = ana.add("url", **fields, custom="original")
    response = dashboard.submit(f"/links/{link}/duplicate", at="/links")
    copy = int(response.headers["location"].rsplit("/", 1)[1])
    assert "duplicated" in dashboard.flash_message(response)
    stored, copied = (ana.database.read(partial(_row, link=item)) for item in (link, copy))
    differing = {name for name in stored if stored[name] != copied[name]}
    assert {"id", "alias"} <= differing <= {"id", "alias", "search", "created"}
    assert [ana.details("url", item)["channel"] for item in (link, copy)] == [fields["channel"]] * 2
    foreign = ben.add("url", url=DESTINATION)
    assert dashboard.submit(f"/links/{foreign}/duplicate", at="/links").status_code == 404


def _row(tx: Connection, link: int) -> dict[str, Any]:
    return dict(tx.execute(select(links).where(links.c.id == link)).mappings().one())


def test_export_contains_exactly_the_matching_links(
    ana: Person, ben: Person, dashboard: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_export, "_BATCH", 7)
    campaign, channel = ana.add("campaign", name="=Spring"), ana.add("channel", name="Letter")
    for n in range(20):
        ana.add("url", url=DESTINATION, title=f"Link {n}", campaign=campaign, channel=[channel])
    ana.add("url", url=DESTINATION, title="Other", status="disabled", clicklimit=5, expiry="2999-12-31")
    ben.add("url", url=DESTINATION, title="Link of Ben")

    def export(query: str) -> list[dict[str, str]]:
        response = dashboard.get(f"/links/export{query}")
        assert response.headers["content-type"] == "text/csv; charset=utf-8"
        return list(csv.DictReader(io.StringIO(response.text.removeprefix("\ufeff"))))

    titles = [f"Link {n}" for n in range(19, -1, -1)]
    assert [row["title"] for row in export("")] == ["Other", *titles]
    assert [row["title"] for row in export("?order=click&page=2&status=public")] == titles
    for query in ("?q=link", f"?channel={channel}", "?q=spring", f"?q=1+link&campaign={campaign}"):
        assert [row["title"] for row in export(query)] == [
            title for title in titles if "1" in title or "q=1" not in query
        ]
    (row,) = export("?status=disabled")
    assert (row["clicklimit"], row["expiry"], row["clicks"]) == ("5", "2999-12-31 23:59:59", "0")
    assert row["shorturl"].startswith("http")
    assert export("?q=link")[0]["campaign"] == "'=Spring"
    assert export("?q=no-such-link") == []
    page = dashboard.get("/links?q=link&status=public").text
    assert 'href="/dashboard/links/export?q=link&amp;status=public"' in page
