"""Dashboard pages of a link: editor, statistics, dry run, and access by other accounts."""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest
from sqlalchemy import insert

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.databases import ON_SQLITE
from tests.support.visits import CHROME, visit
from waypost.db.database import Database
from waypost.db.schema import campaigns, channels
from waypost.items.moderation import blocklist

TARGET = "https://example.com/sale"


def _fields(page: Any) -> dict[str, Any]:
    """Return the fields that a browser would submit from the unchanged editor."""
    form = page.text.partition('class="editor"')[2].partition("</form>")[0]
    fields: dict[str, Any] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if "name" in attributes and (attributes.get("type") != "checkbox" or " checked" in tag):
            fields.setdefault(attributes["name"], []).append(unescape(attributes.get("value", "")))
    for name, text in re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL):
        fields[name] = unescape(text)
    for name, options in re.findall(r'<select[^>]*name="(\w+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        selected = re.findall(r'value="([^"]*)" selected', options)
        fields[name] = selected[0] if selected else re.findall(r'value="([^"]*)"', options)[0]
    return fields


_OPTIONS: Mapping[str, Any] = {
    "url": TARGET,
    "custom": "spring",
    "title": "Sale ☀",
    "description": "two\r\nlines",
    "status": "private",
    "expiry": "2999-12-31T23:59",
    "clicklimit": "100",
    "expiryurl": "https://example.com/over",
    "password": "secret",
    "type": "frame",
    "geotarget.location": ["Germany", "", "Spain"],
    "geotarget.link": ["https://example.com/de", "", "https://example.com/es"],
    "deeplink.apple": "https://apps.apple.com/app/1",
    "deeplink.google": "",
    "parameters.name": "utm_source",
    "parameters.value": "letter",
    "metatitle": "A card",
}


def test_link_with_all_options_is_created_and_saved_unchanged(ana: Person, dashboard: Browser) -> None:
    pixel = ana.add("pixel", type="gapixel", name="Shop", tag="G-1")
    channel = ana.add("channel", name="Letter")
    campaign = ana.add("campaign", name="Spring")
    form = {**_OPTIONS, "campaign": campaign, "channel": ["", channel], "pixels": ["", pixel]}
    response = dashboard.submit("/links/new", **form)
    assert response.status_code == 303
    shown = dashboard.client.get(response.headers["location"]).text
    assert "Your link is ready." in shown
    assert f'data-copy="{BASE}/spring"' in shown
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    details = ana.details("url", link)
    names = ("title", "campaign", "status", "clicklimit", "expiryurl", "type", "metatitle")
    assert {name: str(details[name]) for name in names} == {name: str(form[name]) for name in names}
    assert details["description"] == "two\nlines"
    assert (details["channel"], details["pixels"], details["password"]) == ([channel], [pixel], True)
    assert details["expiry"] == "2999-12-31 23:59:00"
    assert [row["location"] for row in details["geotarget"]] == ["Germany", "Spain"]
    assert details["deeplink"] == {"apple": "https://apps.apple.com/app/1"}
    assert details["parameters"] == [{"name": "utm_source", "value": "letter"}]
    fields = _fields(dashboard.get(f"/links/{link}"))
    dashboard.client.post(f"/dashboard/links/{link}", data=fields)
    assert ana.details("url", link) == details, "saving the unchanged form changes nothing"
    dashboard.client.post(f"/dashboard/links/{link}", data={**_fields(dashboard.get(f"/links/{link}")), "unlock": "on"})
    assert ana.details("url", link) == {**details, "password": False}


@pytest.mark.parametrize("cookie", ["America%2FNew_York", "America/New_York"])
def test_expiry_is_shown_and_entered_in_time_zone_of_viewer(ana: Person, dashboard: Browser, cookie: str) -> None:
    dashboard.client.cookies.set("waypost_zone", cookie, path="/dashboard")
    assert "Time zone: America/New_York." in dashboard.get("/links/new").text
    dashboard.submit("/links/new", url=TARGET, expiry="2999-06-30T12:00")
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    assert ana.details("url", link)["expiry"] == "2999-06-30 16:00:00"
    assert 'value="2999-06-30T12:00"' in dashboard.get(f"/links/{link}").text
    dashboard.client.cookies.set("waypost_zone", "../../etc/passwd", path="/dashboard")
    assert 'value="2999-06-30T16:00"' in dashboard.get(f"/links/{link}").text


def test_expired_link_can_be_renamed(ana: Person, dashboard: Browser) -> None:
    link = ana.add("url", url=TARGET)
    ana.write(lambda tx: tx.exec_driver_sql(f"UPDATE links SET expiry = 1000000 WHERE id = {link}"))
    fields = {**_fields(dashboard.get(f"/links/{link}")), "title": "Over"}
    assert dashboard.flash_message(dashboard.client.post(f"/dashboard/links/{link}", data=fields)).startswith("Saved.")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("url", "javascript:alert(1)", "Destination URL must begin with http:// or https://."),
        ("url", "", "Enter an address."),
        ("custom", "a b", 'Alias cannot have " ". Use only'),
        ("custom", "dashboard", "is reserved by this service"),
        ("title", "x" * 10_000, "Title must be at most 255 characters."),
        ("clicklimit", "many", "Click limit must be a whole number"),
        ("clicklimit", "0", "Click limit must be at least 1"),
        ("expiry", "2020-01-01T00:00", "Expires must not be in the past"),
        ("expiry", "soon", "Expires must be a date"),
        ("campaign", "999", "Campaign must be one of the options. Select another one."),
        ("type", "overlay-9", "Type must be one of the options. Select another one."),
        ("status", "lost", "Status must be one of the options. Select another one."),
        ("title", "a\x07b", "Title must not have control characters"),
    ],
)
@ON_SQLITE
def test_invalid_link_shows_error_at_field_and_keeps_entered_values(
    ana: Person, dashboard: Browser, field: str, value: str, message: str
) -> None:
    fields = {"url": TARGET, "title": "Kept", "description": "Kept too", field: value}
    response = dashboard.submit("/links/new", **fields)
    assert response.status_code == 400
    error = re.search(rf'id="{field}-error".*?<span>(.*?)</span>', response.text, re.DOTALL)
    assert error is not None
    assert message in unescape(error[1])
    assert re.search(rf'name="{field}"[^>]*aria-invalid="true"', response.text)
    assert "Kept too" in response.text
    if field == "title" and "\x07" not in value:
        assert value in response.text
    assert ana.get("/urls")["data"]["result"] == 0


@ON_SQLITE
def test_link_values_with_markup_are_escaped(ana: Person, dashboard: Browser) -> None:
    evil = "\"><img src=x onerror=alert(1)>'{{7*7}}"
    response = dashboard.submit("/links/new", url=evil, custom=evil, title=evil, description=evil, metaimage=evil)
    assert "<img src=x" not in response.text
    ana.post("/url/add", {"url": TARGET, "title": evil, "description": evil})
    ana.post("/campaign/add", {"name": evil})
    for path in ("/links", f"/links?q={evil}", "/links/1", "/links/1/stats", "/links/1/delete", "", "/links/new"):
        page = dashboard.get(path)
        assert page.status_code == 200
        assert "<img src=x" not in page.text


def test_stale_link_form_is_rejected(ana: Person, dashboard: Browser) -> None:
    link = ana.add("url", url=TARGET, title="Before")
    first, second = (_fields(dashboard.get(f"/links/{link}")) for _ in range(2))
    path = f"/dashboard/links/{link}"
    for _ in range(2):  # a double submit is not a conflict
        assert dashboard.client.post(path, data={**first, "title": "From the first"}).status_code == 303
    rejected = dashboard.client.post(path, data={**second, "title": "From the second"})
    assert rejected.status_code == 400
    assert "changed since you opened it" in rejected.text
    assert 'value="From the second"' in rejected.text
    assert ana.details("url", link)["title"] == "From the first"
    again = {**second, "title": "From the second", "version": hidden_field(rejected, "version")}
    assert dashboard.client.post(path, data=again).status_code == 303
    assert ana.details("url", link)["title"] == "From the second"


@ON_SQLITE
def test_link_form_keeps_selected_options_beyond_option_limit(ana: Person, dashboard: Browser) -> None:
    first, channel = (
        ana.add("campaign", name="The first"),
        ana.add("channel", name="Top"),
    )
    link = ana.add("url", url=TARGET, campaign=first, channel=channel)
    for table in (campaigns, channels):
        many = [{"account": ana.account, "name": f"Number {n}", "created": 0} for n in range(250)]
        ana.write(lambda tx, table=table, many=many: tx.execute(insert(table), many))  # type: ignore[misc]  # called immediately
    fields = {**_fields(dashboard.get(f"/links/{link}")), "title": "Renamed"}
    assert dashboard.flash_message(dashboard.client.post(f"/dashboard/links/{link}", data=fields)).startswith("Saved.")
    details = ana.details("url", link)
    assert (details["campaign"], details["channel"], details["title"]) == (first, [channel], "Renamed")
    assert re.search(rf'<option value="{first}" selected>', dashboard.get(f"/links?campaign={first}").text)


def test_link_pages_of_another_account_return_404(ana: Person, ben: Person, dashboard: Browser) -> None:
    foreign_link = ben.add("url", url=TARGET, title="Ben's own")
    own_link = ana.add("url", url=TARGET)
    channel = ben.add("channel", name="Ben's channel")
    for path in ("", "/stats", "/delete"):
        assert dashboard.get(f"/links/{foreign_link}{path}").status_code == 404
    assert dashboard.submit(f"/links/{foreign_link}", at="/links", title="mine").status_code == 404
    skipped = "1 link was deleted already and was skipped."
    assert dashboard.submit_for_message("/links/delete", at="/links", id=[foreign_link]) == skipped
    for action in ("status-disabled", "delete"):
        form = {"action": action, "id": [foreign_link]}
        assert dashboard.submit_for_message("/links/bulk", at="/links", **form) == skipped
    question = dashboard.submit("/links/bulk", at="/links", action="delete", id=[own_link, foreign_link])
    assert "Delete this link?" in question.text
    assert "Ben" not in question.text
    refused = dashboard.submit("/links/bulk", at="/links", action=f"channel-{channel}", id=[own_link])
    assert "No such channel in this account." in dashboard.flash_message(refused)
    assert ana.details("url", own_link)["status"] == "public"
    theirs = ben.details("url", foreign_link)
    assert (theirs["title"], theirs["status"]) == ("Ben's own", "public")
    for path in ("/links", "/links?q=Ben", f"/links?channel={channel}", "/links/new", ""):
        assert "Ben's" not in unescape(dashboard.get(path).text)


def test_link_statistics_show_clicks_and_export_csv(ana: Person, dashboard: Browser) -> None:
    link = ana.add("url", url=TARGET, title="=1+1", custom="spring")
    for _ in range(3):
        visit(dashboard.client, "spring", agent=CHROME)
    visit(dashboard.client, "spring", agent="Googlebot/2.1")
    page = dashboard.get(f"/links/{link}/stats").text
    tiles = dict(re.findall(r"<dt>(\w+)</dt><dd>(\d+)</dd>", page))
    assert tiles == {"Clicks": "3", "Visitors": "1", "Bots": "1", "Previews": "0"}
    assert "Chrome" in page
    for query in ("?days=7", "?from=2026-01-01&to=2026-02-01&interval=week", "?interval=month&days=365"):
        assert dashboard.get(f"/links/{link}/stats{query}").status_code == 200
    assert "must be a day" in dashboard.get(f"/links/{link}/stats?from=soon").text
    export = dashboard.get(f"/links/{link}/stats?format=csv")
    assert export.headers["content-type"] == "text/csv; charset=utf-8"
    assert export.text.count("\r\n") > 30
    overview = dashboard.get("").text
    assert re.findall(r"<dt>Clicks</dt><dd>(\d+)</dd>", overview) == ["3"]
    assert overview.count(f'href="/dashboard/links/{link}"') == 3, "the latest visits"


@pytest.mark.parametrize(
    ("query", "destination"),
    [
        ("", TARGET),
        ("country=DE", "https://example.de/"),
        ("country=ES", TARGET),
        ("country=DE&device=iphone&language=fr", "https://example.de/"),
        ("device=iphone&language=fr", "https://phone.example/"),
        ("device=mac&language=fr", "https://example.fr/"),
        ("device=android", "https://play.google.com/store"),
        ("language=fr-CA", "https://example.ca/"),
        ("language=fr-CH", "https://example.fr/"),
        ("country=nowhere&device=toaster&language=%00", TARGET),
    ],
)
@ON_SQLITE
def test_dry_run_shows_destination_for_visitor(ana: Person, dashboard: Browser, query: str, destination: str) -> None:
    link = ana.add(
        "url",
        url=TARGET,
        geotarget=[{"location": "Germany", "link": "https://example.de/"}],
        devicetarget=[{"device": "iPhone", "link": "https://phone.example/"}],
        languagetarget=[
            {"language": "fr", "link": "https://example.fr/"},
            {"language": "fr-CA", "link": "https://example.ca/"},
        ],
        deeplink={"google": "https://play.google.com/store"},
    )
    page = dashboard.get(f"/links/{link}/trial?{query}")
    assert re.findall(r'<p>Redirects to <a href="([^"]+)"', page.text) == [destination]
    assert ana.get(f"/url/{link}")["data"]["clicks"] == 0


def test_dry_run_matches_visits(ana: Person, ben: Person, dashboard: Browser, database: Database) -> None:
    link = ana.add("url", url=TARGET, custom="spring", clicklimit=1)
    path = f"/links/{link}/trial"
    assert f'href="{TARGET}"' in dashboard.get(path).text
    assert f'href="{TARGET}"' in dashboard.get(path).text, "a dry run does not count against the limit"
    assert visit(dashboard.client, "spring", agent=CHROME).status_code == 302
    assert "the link has reached its limit" in dashboard.get(path).text
    ana.call("PUT", f"/url/{link}/update", {"expiryurl": "https://after.example/"})
    assert 'href="https://after.example/"' in dashboard.get(path).text
    ana.call("PUT", f"/url/{link}/update", {"clicklimit": None, "password": "let me in"})
    assert "after the password" in dashboard.get(path).text
    database.write(lambda tx: blocklist.block(tx, "example.com", kind="host"))
    assert "has blocked the destination" in dashboard.get(path).text
    ana.call("PUT", f"/url/{link}/update", {"status": "disabled"})
    assert "the link is disabled" in dashboard.get(path).text
    foreign_link = ben.add("url", url="https://ben.example/")
    assert dashboard.get(f"/links/{foreign_link}/trial").status_code == 404
