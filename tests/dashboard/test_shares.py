"""Share links in the dashboard: created on the page of statistics, listed, changed and revoked."""

import re
from html import unescape

import pytest

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser, form_version
from tests.support.visits import new_link

_EMPTY = {"title": "", "slug": "", "password": "", "days": "", "firstday": "", "lastday": "", "expiry": ""}


def test_share_link_is_created_changed_and_revoked(ana: Person, dashboard: Browser) -> None:
    spring = new_link(ana, "spring", title="Spring <sale>")
    path = f"/shares/link/{spring}"
    assert f'href="/dashboard{path}"' in dashboard.get(f"/links/{spring}/stats").text
    assert "Not shared yet" in dashboard.get(path).text
    created = dashboard.submit_for_message(path, **{**_EMPTY, "title": "For <you>", "days": "30"})
    assert created.startswith("Your share link is ready.")
    (share,) = ana.get("/shares")["data"]["shares"]
    assert (share["title"], share["days"], share["itemid"]) == ("For <you>", 30, spring)
    page = dashboard.get(path).text
    assert share["url"] in page
    assert "For &lt;you&gt;" in page
    assert "Last 30 days" in page
    editor = f"/shares/{share['id']}"
    form = {**_EMPTY, "slug": "spring-sale", "firstday": "2026-11-01", "password": "tulip"}
    stale = dashboard.submit(editor, **form, version="of another form")
    assert stale.status_code == 400
    assert "changed since you opened it" in stale.text
    saved = dashboard.submit_for_message(editor, **form, version=form_version(stale, editor))
    assert saved.startswith("Saved.")
    details = ana.get(f"/share/{share['id']}")["details"]
    assert [details[name] for name in ("url", "days", "firstday", "haspassword", "title")] == [
        *(f"{BASE}/stats/spring-sale-{share['id']}", None, "2026-11-01", True, "")
    ]
    assert "Since 1 Nov 2026" in dashboard.get(path).text
    listed = dashboard.get("/shares").text
    assert f"/stats/spring-sale-{share['id']}" in listed
    assert "Spring &lt;sale&gt;" in listed
    unlocked = {**form, "password": "", "unlock": "on", "version": form_version(dashboard.get(editor), editor)}
    dashboard.submit(editor, **unlocked)
    assert not ana.get(f"/share/{share['id']}")["details"]["haspassword"]
    assert "Revoke this share link?" in dashboard.get(f"{editor}/delete").text
    assert "revoked" in dashboard.submit_for_message(f"{editor}/delete")
    assert ana.get("/shares")["data"]["result"] == 0


def test_days_are_those_of_the_browser_that_created_it(ana: Person, dashboard: Browser) -> None:
    spring = new_link(ana, "spring")
    dashboard.client.cookies.set("waypost_zone", "Europe/Berlin")
    dashboard.submit(f"/shares/link/{spring}", **_EMPTY)
    (share,) = ana.get("/shares")["data"]["shares"]
    assert share["timezone"] == "Europe/Berlin"
    dashboard.client.cookies.set("waypost_zone", "America/New_York")
    dashboard.submit(f"/shares/{share['id']}", **{**_EMPTY, "title": "x"})
    assert ana.get(f"/share/{share['id']}")["details"]["timezone"] == "Europe/Berlin"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"slug": "a b"}, 'Public address cannot have " "'),
        ({"days": "many"}, "Only the last … days must"),
        ({"days": "0"}, "Only the last … days must"),
        ({"days": "3", "firstday": "2026-11-01"}, "Only the last … days cannot"),
        ({"firstday": "x"}, "First day must"),
        ({"firstday": "2026-11-02", "lastday": "2026-11-01"}, "First day must not be after"),
        ({"expiry": "2020-01-01T00:00"}, "Expires must not be in the past"),
        ({"title": "x" * 300}, "Title must"),
    ],
)
def test_invalid_form_shows_error_at_field_and_keeps_values(
    ana: Person, dashboard: Browser, fields: dict[str, str], message: str
) -> None:
    path = f"/shares/link/{new_link(ana, 'spring')}"
    response = dashboard.submit(path, **{**_EMPTY, "password": "tulip", **fields})
    assert response.status_code == 400
    assert message in re.sub(r"<[^>]+>", "", unescape(response.text))
    for name, value in fields.items():
        assert f'value="{value}"' in response.text, name
    assert ana.get("/shares")["data"]["result"] == 0


def test_items_and_shares_of_other_accounts_are_not_found(ana: Person, ben: Person, browser: Browser) -> None:
    items = {"link": new_link(ana, "spring"), "campaign": ana.add("campaign", name="Spring")}
    share = ana.post("/share/add", {"type": "link", "itemid": items["link"]})["id"]
    browser.sign_in("ben")
    own = f"/shares/link/{new_link(ben, 'own')}"
    paths = [f"/shares/{share}", f"/shares/{share}/delete", *(f"/shares/{kind}/{n}" for kind, n in items.items())]
    for path in (*paths, "/shares/file/1", f"/shares/account/{ana.account}", "/shares/link/999999999999999"):
        assert browser.get(path).status_code == 404, path
        assert browser.submit(path, at=own, **_EMPTY).status_code == 404, path
    assert ana.get("/shares")["data"]["result"] == 1
    assert "/stats/" not in browser.get("/shares").text


def test_visitor_without_session_cannot_manage_shares(ana: Person, browser: Browser) -> None:
    spring = new_link(ana, "spring")
    for path in ("/shares", f"/shares/link/{spring}", "/shares/1"):
        assert "/dashboard/signin" in browser.get(path).headers["location"]


def test_only_pages_of_shareable_items_offer_it(ana: Person, dashboard: Browser) -> None:
    file = ana.call("POST", "/files/upload/a.txt", content=b"a").json()["id"]
    campaign = ana.add("campaign", name="Spring")
    assert f'href="/dashboard/shares/account/{ana.account}"' in dashboard.get("/statistics").text
    assert "/dashboard/shares/" not in dashboard.get(f"/statistics?campaign={campaign}").text, "a part of the account"
    assert "/dashboard/shares/" not in dashboard.get(f"/files/{file}/stats").text


def test_share_button_creates_one_address_without_limits(ana: Person, dashboard: Browser) -> None:
    spring = new_link(ana, "spring")
    page = f"/links/{spring}/stats"
    path = f"/shares/link/{spring}/address"
    ana.post("/share/add", {"type": "link", "itemid": spring, "days": 7})
    for is_new in (True, False):
        assert dashboard.submit(path, at=page).headers["location"] == f"/dashboard/shares/link/{spring}"
        assert ("data-undo" in dashboard.get(f"/shares/link/{spring}").text) == is_new, (
            "an address that is in use stays"
        )
    shares = ana.get("/shares")["data"]["shares"]
    assert [(share["days"], share["slug"], share["haspassword"], share["expiry"]) for share in shares] == [
        *((None, "", False, ""), (7, "", False, ""))
    ]
    assert shares[0]["url"] in dashboard.get(f"/shares/link/{spring}").text
    ana.delete(f"/share/{shares[0]['id']}/delete")
    dashboard.submit(path, at=page)
    assert len(ana.get("/shares")["data"]["shares"]) == 2, "a revoked address is not used again"


def test_statistics_of_another_account_cannot_be_shared(ana: Person, ben: Person, dashboard: Browser) -> None:
    own, foreign = new_link(ana, "own"), new_link(ben, "foreign")
    for path in (f"/shares/link/{foreign}/address", f"/shares/account/{ben.account}/address"):
        assert dashboard.submit(path, at=f"/links/{own}/stats").status_code == 404
    assert ben.get("/shares")["data"]["result"] == 0


def test_statistics_of_the_account_are_shared_listed_changed_and_revoked(ana: Person, dashboard: Browser) -> None:
    spring, path = new_link(ana, "spring"), f"/shares/account/{ana.account}"
    ana.post("/share/add", {"type": "link", "itemid": spring})
    for _ in range(2):
        assert dashboard.submit(f"{path}/address", at="/statistics").headers["location"] == f"/dashboard{path}"
    (share,) = ana.get("/shares", type="account", itemid=ana.account)["data"]["shares"]
    page = dashboard.get(path).text
    assert share["url"] in page
    assert 'href="/dashboard/statistics"' in page
    assert page.count('class="share-address"') == 1, "the share link of an item is on its page"
    assert "Whole account" in dashboard.get("/shares").text
    editor = f"/shares/{share['id']}"
    form = {**_EMPTY, "days": "7", "version": form_version(dashboard.get(editor), editor)}
    assert dashboard.submit(editor, **form).headers["location"] == f"/dashboard{path}"
    assert ana.get(f"/share/{share['id']}")["details"]["days"] == 7
    assert dashboard.submit(f"{editor}/delete").headers["location"] == f"/dashboard{path}"
    assert ana.get("/shares", type="account")["data"]["result"] == 0
