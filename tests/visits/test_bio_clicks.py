"""Click counting of bio pages and their blocks, and the destinations of blocks (decisions 45 and 47)."""

from functools import partial
from typing import Any

from sqlalchemy import Connection, select, update

from tests.conftest import BASE, Person
from tests.support.bios import BLOCKS, MASTODON, SHOP, clicks_of, follow, new_bio, open_bio
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.visits import (
    ACCEPT_HTML,
    ANDROID,
    CHROME,
    CURL,
    FIREFOX,
    GOOGLEBOT,
    IPHONE,
    SLACK,
    click_totals,
    new_link,
    visit,
)
from waypost.core.settings import Settings
from waypost.db.schema import bio_blocks, bios

pytestmark = ON_BOTH_DATABASES  # counts of blocks


def test_bio_page_visit_is_counted_once(ana: Person, ben: Person) -> None:
    bio = new_bio(ana)
    for agent in (CHROME, CHROME, FIREFOX, GOOGLEBOT, SLACK):
        open_bio(ana, agent=agent)
    visit(ana.client, "ana-costa", agent=CURL)
    open_bio(ana, method="HEAD")
    open_bio(ana, headers={"Sec-Purpose": "prefetch"})
    visit(ana.client, "ana-costa+")
    open_bio(ana, "ana-costa+")
    counted = {"clicks": 4, "uniqueClicks": 3}
    body = ana.get(f"/bio/{bio}")
    assert {name: body["data"][name] for name in counted} == counted
    assert (body["details"]["clicks"], body["details"]["uniqueclicks"]) == (4, 3)
    assert click_totals(ana, f"/bio/{bio}") == {**counted, "bots": 1, "previews": 1, "others": 2}
    assert ben.call("GET", f"/bio/{bio}/stats").status_code == 404
    assert ben.call("GET", f"/bio/{bio}").status_code == 404
    assert click_totals(ben, "") == {}


def test_each_clickable_block_has_its_own_count(ana: Person) -> None:
    bio = new_bio(ana)
    for agent in (CHROME, CHROME, FIREFOX, GOOGLEBOT):
        assert follow(ana, bio, "Shop", agent=agent).headers["location"] == SHOP
    follow(ana, bio, "Shop", method="HEAD")
    assert follow(ana, bio, "mastodon").headers["location"] == MASTODON
    assert follow(ana, bio, BLOCKS[4]["image"]).headers["location"] == "https://example.com/gallery"
    follow(ana, bio, "Ana Costa")
    once = (1, 1)
    assert clicks_of(ana, bio) == {"Shop": (3, 2), "mastodon": once, BLOCKS[4]["image"]: once, "Ana Costa": once}
    assert click_totals(ana, f"/bio/{bio}") == {}  # the page itself was not opened
    report = ana.get("/stats")["data"]
    assert (report["total"]["clicks"], report["dimensions"]["sources"]) == (6, {"bio": 6})


def test_block_keeps_clicks_after_page_change(ana: Person) -> None:
    bio = new_bio(ana)
    old = {block["title"]: block["id"] for block in ana.get(f"/bio/{bio}")["blocks"]}
    for title in ("Shop", "Blog", "Blog"):
        follow(ana, bio, title)
    news = {"type": "link", "title": "News", "url": "https://example.com/news"}
    moved = {**BLOCKS[0], "url": "https://example.com/new-shop"}
    renamed = {**BLOCKS[1], "title": "Diary"}
    ana.update("bio", bio, blocks=[news, renamed, BLOCKS[2], moved])
    assert clicks_of(ana, bio) == {"Diary": (2, 1), "Shop": (1, 1)}
    new = {block["title"]: block["id"] for block in ana.get(f"/bio/{bio}")["blocks"]}
    assert (new["Diary"], new["Shop"]) == (old["Blog"], old["Shop"])
    assert new["News"] > max(old.values())
    assert visit(ana.client, f"ana-costa/{old['mastodon']}").status_code == 404  # it is gone
    assert follow(ana, bio, "Shop").headers["location"] == "https://example.com/new-shop"
    ana.update("bio", bio, title="Ana")
    assert clicks_of(ana, bio) == {"Diary": (2, 1), "Shop": (2, 1)}


def test_block_of_another_page_returns_404(ana: Person, ben: Person) -> None:
    bio, foreign = new_bio(ana), new_bio(ben, "ben-costa")
    block = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    for path in (
        f"ben-costa/{block}",
        "ana-costa/0",
        "ana-costa/-1",
        "ana-costa/" + "9" * 5000,
        "ana-costa/x",
        "x/1",
    ):
        assert visit(ana.client, path).status_code == 404
    ana.remove("bio", bio)
    left = ana.database.read(lambda tx: tx.execute(select(bio_blocks.c.bio).distinct()).scalars().all())
    assert left == [foreign]
    assert visit(ana.client, f"ana-costa/{block}").status_code == 404


def test_block_url_accepts_own_short_link_and_rejects_blocks(ana: Person) -> None:
    link = new_link(ana, "spring")
    bio = new_bio(ana, blocks=[{"type": "link", "title": "Sale", "url": f"{BASE}/spring"}])
    response = follow(ana, bio, "Sale")
    assert response.headers["location"] == f"{BASE}/spring"
    visit(ana.client, response.headers["location"])
    assert (ana.get(f"/url/{link}")["data"]["clicks"], clicks_of(ana, bio)) == (1, {"Sale": (1, 1)})
    for url in (f"{BASE}/ana-costa/1", f"{BASE}/ana-costa/%31", f"{BASE.upper()}/x/2/"):
        body = {"blocks": [{"type": "link", "title": "x", "url": url}]}
        assert ana.call("PUT", f"/bio/{bio}/update", body).status_code == 400
    elsewhere = [{"type": "link", "title": "x", "url": "https://example.com/ana/1"}]
    ana.update("bio", bio, blocks=elsewhere)


def test_vcard_block_downloads_contact_file(ana: Person) -> None:
    bio = new_bio(ana)
    for path in ("ana-costa/vcard", f"ana-costa/{ana.get(f'/bio/{bio}')['blocks'][-1]['id']}"):
        card = visit(ana.client, path, agent=ANDROID)
        assert card.headers["content-type"] == "text/vcard; charset=utf-8"
        assert card.headers["content-disposition"].startswith('attachment; filename="Ana Costa.vcf"')
        assert "FN:Ana Costa\r\nORG:Costa & Co\r\nEMAIL;TYPE=INTERNET:ana@example.com\r\n" in card.text
    assert visit(ana.client, "ana-costa/vcard", agent=IPHONE).headers["content-disposition"].startswith("inline")
    assert clicks_of(ana, bio) == {"Ana Costa": (3, 2)}


@ON_SQLITE
def test_vcard_with_unusual_values_is_valid(ana: Person) -> None:
    hostile = {"lname": "A;B,C\\D", "street": "1;2", "city": "\u202eX"}
    for message, line in (
        ({}, "FN:My page"),
        (hostile, "FN:A\\;B\\,C\\\\D"),
        ({"org": "x" * 200}, "FN:xxx"),
    ):
        bio = new_bio(ana, f"card-{len(message)}", blocks=[{"type": "vcard", **message}])
        card = visit(ana.client, f"card-{len(message)}/vcard").text
        assert line in card
        assert "TEL" not in card
        assert "EMAIL" not in card
        assert card.startswith("BEGIN:VCARD\r\n")
        assert card.endswith("END:VCARD\r\n")
        assert all(len(folded.encode()) <= 75 for folded in card.split("\r\n"))
        assert open_bio(ana, f"card-{len(message)}").status_code == 200
        ana.remove("bio", bio)
    new_bio(ana, blocks=[])
    assert visit(ana.client, "ana-costa/vcard").status_code == 404


@ON_SQLITE
def test_block_with_forbidden_app_scheme_is_not_opened(ana: Person, settings: Settings) -> None:
    bio = new_bio(ana, blocks=[{"type": "link", "title": "Write", "url": "https://example.com/"}])
    block = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    for url in ("javascript:alert(1)", "sms:+4912345", "data:text/html,x"):
        blocks = [{"type": "link", "title": "Write", "url": url, "id": block}]
        ana.write(partial(_set_blocks, blocks=blocks))
        ana.update("bio", bio, title=url[:8])  # invalidate the cached page
        response = visit(ana.client, f"ana-costa/{block}", headers=ACCEPT_HTML)
        assert (response.status_code, "location" in response.headers) == (403, False)
        assert url not in open_bio(ana).text


def _set_blocks(tx: Connection, blocks: list[dict[str, Any]]) -> None:
    tx.execute(update(bios).values(blocks=blocks))
