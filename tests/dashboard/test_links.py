"""The pages of a link: made, changed, twice at once, its statistics, its trial; and what must not be possible there."""

import re
from html import unescape
from typing import Any

import pytest
from sqlalchemy import insert

from tests.conftest import Person
from tests.support.dashboard_client import Browser, hidden, said
from tests.support.visits import CHROME, visit
from waypost.db.database import Database
from waypost.db.schema import campaigns, channels
from waypost.moderation import ops as abuse

ONLY_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
TARGET = "https://example.com/sale"


def _fields(page: Any) -> dict[str, Any]:
    """What a browser would send of the editor's form as it is."""
    form = page.text.partition('class="editor"')[2].partition("</form>")[0]
    fields: dict[str, Any] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        told = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if "name" in told and (told.get("type") != "checkbox" or " checked" in tag):
            fields.setdefault(told["name"], []).append(unescape(told.get("value", "")))
    for name, text in re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL):
        fields[name] = unescape(text)
    for name, options in re.findall(r'<select[^>]*name="(\w+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.findall(r'value="([^"]*)" selected', options)
        fields[name] = chosen[0] if chosen else re.findall(r'value="([^"]*)"', options)[0]
    return fields


def test_a_link_is_made_with_every_option_and_shown_as_it_is(ana: Person, inside: Browser) -> None:
    pixel = ana.post("/pixel/add", {"type": "gapixel", "name": "Shop", "tag": "G-1"})["id"]
    channel = ana.post("/channel/add", {"name": "Letter"})["id"]
    campaign = ana.post("/campaign/add", {"name": "Spring"})["id"]
    wanted = {
        "url": TARGET,
        "custom": "spring",
        "title": "Sale ☀",
        "description": "two\r\nlines",
        "campaign": campaign,
        "channel": ["", channel],
        "pixels": ["", pixel],
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
    done = inside.send("/links/new", **wanted)
    assert said(done, inside).startswith("Your link is ready. go.localhost:8000/spring")
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    told = ana.get(f"/url/{link}")["details"]
    same = ("title", "campaign", "status", "clicklimit", "expiryurl", "type", "metatitle")
    assert {name: str(told[name]) for name in same} == {name: str(wanted[name]) for name in same}
    assert told["description"] == "two\nlines"
    assert (told["channel"], told["pixels"], told["password"]) == ([channel], [pixel], True)
    assert told["expiry"] == "2999-12-31 23:59:00"
    assert [one["location"] for one in told["geotarget"]] == ["Germany", "Spain"]
    assert told["deeplink"] == {"apple": "https://apps.apple.com/app/1"}
    assert told["parameters"] == [{"name": "utm_source", "value": "letter"}]
    shown = _fields(inside.get(f"/links/{link}"))
    inside.client.post(f"/dashboard/links/{link}", data=shown)
    assert ana.get(f"/url/{link}")["details"] == told, "saving what is shown changes nothing"
    inside.client.post(f"/dashboard/links/{link}", data={**_fields(inside.get(f"/links/{link}")), "unlock": "on"})
    assert ana.get(f"/url/{link}")["details"] == {**told, "password": False}


def test_an_end_is_in_the_time_of_who_looks(ana: Person, inside: Browser) -> None:
    inside.client.cookies.set("waypost_zone", "America/New_York", path="/dashboard")
    inside.send("/links/new", url=TARGET, expiry="2999-06-30T12:00")
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    assert ana.get(f"/url/{link}")["details"]["expiry"] == "2999-06-30 16:00:00"
    assert 'value="2999-06-30T12:00"' in inside.get(f"/links/{link}").text
    inside.client.cookies.set("waypost_zone", "../../etc/passwd", path="/dashboard")
    assert 'value="2999-06-30T16:00"' in inside.get(f"/links/{link}").text


def test_a_link_that_has_ended_can_still_be_given_another_title(ana: Person, inside: Browser) -> None:
    link = ana.post("/url/add", {"url": TARGET})["id"]
    ana.write(lambda tx: tx.exec_driver_sql(f"UPDATE links SET expiry = 1000000 WHERE id = {link}"))
    fields = {**_fields(inside.get(f"/links/{link}")), "title": "Over"}
    assert said(inside.client.post(f"/dashboard/links/{link}", data=fields), inside).startswith("Saved.")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("url", "javascript:alert(1)", "Leads to must begin with http:// or https://."),
        ("url", "", "Leads to must begin with"),
        ("custom", "a b", "Short name must be 3 to 50 characters"),
        ("custom", "dashboard", "is a word this service uses itself"),
        ("title", "x" * 10_000, "Title must be at most 255 characters."),
        ("clicklimit", "many", "At most clicks must be a whole number"),
        ("clicklimit", "0", "At most clicks must be at least 1"),
        ("expiry", "2020-01-01T00:00", "Ends must not be in the past"),
        ("expiry", "soon", "Ends must be a date"),
        ("campaign", "999", "Campaign must be the id of a campaign in this account"),
        ("type", "overlay-9", "What visitors see first must be the id of an overlay"),
        ("status", "lost", "Status must be one of"),
        ("title", "a\x07b", "Title must not have control characters"),
    ],
)
@ONLY_SQLITE
def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(
    ana: Person, inside: Browser, field: str, value: str, words: str
) -> None:
    fields = {"url": TARGET, "title": "Kept", "description": "Kept too", field: value}
    answer = inside.send("/links/new", **fields)
    assert answer.status_code == 400
    fault = re.search(rf'id="{field}-fault".*?<span>(.*?)</span>', answer.text, re.DOTALL)
    assert fault is not None
    assert words in unescape(fault[1])
    assert re.search(rf'name="{field}"[^>]*aria-invalid="true"', answer.text)
    assert "Kept too" in answer.text
    if field == "title" and "\x07" not in value:
        assert value in answer.text
    assert ana.get("/urls")["data"]["result"] == 0


@ONLY_SQLITE
def test_words_of_others_are_only_words(ana: Person, inside: Browser) -> None:
    evil = "\"><img src=x onerror=alert(1)>'{{7*7}}"
    answer = inside.send("/links/new", url=evil, custom=evil, title=evil, description=evil, metaimage=evil)
    assert "<img src=x" not in answer.text
    ana.post("/url/add", {"url": TARGET, "title": evil, "description": evil})
    ana.post("/campaign/add", {"name": evil})
    for path in ("/links", f"/links?q={evil}", "/links/1", "/links/1/stats", "/links/1/delete", "", "/links/new"):
        page = inside.get(path)
        assert page.status_code == 200
        assert "<img src=x" not in page.text


def test_the_second_of_two_tabs_is_told(ana: Person, inside: Browser) -> None:
    link = ana.post("/url/add", {"url": TARGET, "title": "Before"})["id"]
    first, second = (_fields(inside.get(f"/links/{link}")) for _ in range(2))
    path = f"/dashboard/links/{link}"
    for _ in range(2):  # a button pressed twice is no second tab
        assert inside.client.post(path, data={**first, "title": "From the first"}).status_code == 303
    told = inside.client.post(path, data={**second, "title": "From the second"})
    assert told.status_code == 400
    assert "changed since you opened it" in told.text
    assert 'value="From the second"' in told.text
    assert ana.get(f"/url/{link}")["details"]["title"] == "From the first"
    again = {**second, "title": "From the second", "version": hidden(told, "version")}
    assert inside.client.post(path, data=again).status_code == 303
    assert ana.get(f"/url/{link}")["details"]["title"] == "From the second"


@ONLY_SQLITE
def test_a_form_keeps_what_is_chosen_however_much_there_is_to_choose(ana: Person, inside: Browser) -> None:
    first, shelf = (
        ana.post("/campaign/add", {"name": "The first"})["id"],
        ana.post("/channel/add", {"name": "Top"})["id"],
    )
    link = ana.post("/url/add", {"url": TARGET, "campaign": first, "channel": shelf})["id"]
    for table in (campaigns, channels):
        many = [{"account": ana.account, "name": f"Number {n}", "created": 0} for n in range(250)]
        ana.write(lambda tx, table=table, many=many: tx.execute(insert(table), many))  # type: ignore[misc]  # at once
    fields = {**_fields(inside.get(f"/links/{link}")), "title": "Renamed"}
    assert said(inside.client.post(f"/dashboard/links/{link}", data=fields), inside).startswith("Saved.")
    now = ana.get(f"/url/{link}")["details"]
    assert (now["campaign"], now["channel"], now["title"]) == (first, [shelf], "Renamed")
    assert re.search(rf'<option value="{first}" selected>', inside.get(f"/links?campaign={first}").text)


def test_nobody_reaches_the_links_of_another(ana: Person, ben: Person, inside: Browser) -> None:
    theirs = ben.post("/url/add", {"url": TARGET, "title": "Ben's own"})["id"]
    mine = ana.post("/url/add", {"url": TARGET})["id"]
    shelf = ben.post("/channel/add", {"name": "Ben's shelf"})["id"]
    for path in ("", "/stats", "/delete"):
        assert inside.get(f"/links/{theirs}{path}").status_code == 404
    assert inside.send(f"/links/{theirs}", at="/links", title="mine").status_code == 404
    assert inside.send("/links/delete", at="/links", id=[mine, theirs]).status_code == 404
    for action in ("status-disabled", "delete"):
        assert inside.send("/links/bulk", at="/links", action=action, id=[mine, theirs]).status_code == 404
    assert inside.send("/links/bulk", at="/links", action=f"channel-{shelf}", id=[mine]).status_code == 400
    assert ana.get(f"/url/{mine}")["details"]["status"] == "public"
    assert ben.get(f"/url/{theirs}")["details"]["title"] == "Ben's own"
    for path in ("/links", "/links?q=Ben", f"/links?channel={shelf}", "/links/new", ""):
        assert "Ben's" not in unescape(inside.get(path).text)


def test_statistics_show_every_click_and_as_a_sheet(ana: Person, inside: Browser) -> None:
    link = ana.post("/url/add", {"url": TARGET, "title": "=1+1", "custom": "spring"})["id"]
    for _ in range(3):
        visit(inside.client, "spring", agent=CHROME)
    visit(inside.client, "spring", agent="Googlebot/2.1")
    page = inside.get(f"/links/{link}/stats").text
    tiles = dict(re.findall(r"<dt>(\w+)</dt><dd>(\d+)</dd>", page))
    assert tiles == {"Clicks": "3", "Visitors": "1", "Robots": "1", "Previews": "0"}
    assert "Chrome" in page
    for query in ("?days=7", "?from=2026-01-01&to=2026-02-01&interval=week", "?interval=month&days=365"):
        assert inside.get(f"/links/{link}/stats{query}").status_code == 200
    assert "must be a day" in inside.get(f"/links/{link}/stats?from=soon").text
    sheet = inside.get(f"/links/{link}/stats?format=csv")
    assert sheet.headers["content-type"] == "text/csv; charset=utf-8"
    assert sheet.text.count("\r\n") > 30
    overview = inside.get("").text
    assert re.findall(r"<dt>Clicks</dt><dd>(\d+)</dd>", overview) == ["3"]
    assert overview.count(f'href="/dashboard/links/{link}"') == 3, "the latest visits"


@pytest.mark.parametrize(
    ("query", "goal"),
    [
        ("", TARGET),
        ("country=DE", "https://example.de/"),
        ("country=ES", TARGET),
        ("country=DE&device=iphone&language=fr", "https://example.de/"),
        ("device=iphone&language=fr", "https://phone.example/"),
        ("device=mac&language=fr", "https://example.fr/"),
        ("device=android", "https://play.google.com/store"),
        ("country=nowhere&device=toaster&language=%00", TARGET),
    ],
)
@ONLY_SQLITE
def test_what_a_described_visitor_would_get(ana: Person, inside: Browser, query: str, goal: str) -> None:
    link = ana.post(
        "/url/add",
        {
            "url": TARGET,
            "geotarget": [{"location": "Germany", "link": "https://example.de/"}],
            "devicetarget": [{"device": "iPhone", "link": "https://phone.example/"}],
            "languagetarget": [{"language": "fr", "link": "https://example.fr/"}],
            "deeplink": {"google": "https://play.google.com/store"},
        },
    )["id"]
    page = inside.get(f"/links/{link}/trial?{query}")
    assert re.findall(r'<p>To <a href="([^"]+)"', page.text) == [goal]
    assert ana.get(f"/url/{link}")["data"]["clicks"] == 0


def test_a_described_visitor_meets_what_a_real_one_meets(
    ana: Person, ben: Person, inside: Browser, database: Database
) -> None:
    link = ana.post("/url/add", {"url": TARGET, "custom": "spring", "clicklimit": 1})["id"]
    path = f"/links/{link}/trial"
    assert f'href="{TARGET}"' in inside.get(path).text
    assert f'href="{TARGET}"' in inside.get(path).text, "asking takes nothing from the limit"
    assert visit(inside.client, "spring", agent=CHROME).status_code == 302
    assert "the link has ended" in inside.get(path).text
    ana.call("PUT", f"/url/{link}/update", {"expiryurl": "https://after.example/"})
    assert 'href="https://after.example/"' in inside.get(path).text
    ana.call("PUT", f"/url/{link}/update", {"clicklimit": None, "password": "let me in"})
    assert "after the password" in inside.get(path).text
    database.write(lambda tx: abuse.block(tx, "example.com", kind="host"))
    assert "has blocked the target" in inside.get(path).text
    ana.call("PUT", f"/url/{link}/update", {"status": "disabled"})
    assert "switched off" in inside.get(path).text
    theirs = ben.post("/url/add", {"url": "https://ben.example/"})["id"]
    assert inside.get(f"/links/{theirs}/trial").status_code == 404
