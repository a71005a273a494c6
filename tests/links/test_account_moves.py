"""Links that move to another account: what belongs to them moves along, and nothing of the old account does."""

import threading
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, text

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.html import Page
from tests.support.load import until
from tests.support.overlays import open_overlay, send_answers
from tests.support.threads import join
from tests.support.trash import move as move_to_trash
from tests.support.visits import ACCEPT_HTML, CURL, DESTINATION, clicks, new_link, visit
from waypost.admin import account_deletion
from waypost.core.settings import Settings
from waypost.db.crud import PageRequest
from waypost.db.database import Database
from waypost.db.schema import link_checks, links, shares, submissions, visitors
from waypost.items.accounts import ops as accounts
from waypost.items.links import account_moves, bulk_undo
from waypost.items.links.account_moves import MoveRequest
from waypost.items.links.bulk_undo import Replaced
from waypost.items.shares import ops as shared
from waypost.server.app import build
from waypost.trash import ops as trash
from waypost.visits.click_limits import has_clicks_left, take_click

pytestmark = ON_BOTH_DATABASES  # keys with the account
_WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")


def _move(ana: Person, ben: Person, settings: Settings, *ids: int) -> None:
    request = MoveRequest(ana.account, ben.account)
    fates = ana.write(lambda tx: account_moves.move(tx, request, ids, settings=settings))
    assert [fate.refusal for fate in fates] == [""] * len(ids)


def _items(person: Person, **parameters: Any) -> list[int]:
    return [link["id"] for link in person.get("/urls", **parameters)["data"]["urls"]]


def test_link_with_all_parts_moves_without_items_of_old_account(
    ana: Person, ben: Person, settings: Settings, database: Database
) -> None:
    overlay, link, page = open_overlay(ana, "contact")
    assert send_answers(ana, page, email="visitor@example.com", message="Hello").status_code == 200
    splash = ana.add("splash", name="Wait", title="Wait", message="Wait")
    waiting = new_link(ana, "waiting", type=str(splash))
    campaign, channel = ana.add("campaign", name="Spring", slug="spring"), ana.add("channel", name="News")
    ana.post(f"/campaign/{campaign}/assign/{link}", {"weight": 3})
    ana.post(f"/channel/{channel}/assign/links/{link}")
    share = ana.post("/share/add", {"type": "link", "itemid": link, "title": "Clicks"})
    check = {"account": ana.account, "link": link, "due": 1, "failures": 3, "dead": True}
    database.write(lambda tx: tx.execute(insert(link_checks).values(check)))
    _move(ana, ben, settings, link, waiting)

    for item in (link, waiting):
        details = ben.details("url", item)
        assert (details["type"], details["campaign"], details["channel"]) == ("direct", None, [])
        assert ana.call("GET", f"/url/{item}").status_code == ana.call("GET", f"/url/{item}/stats").status_code == 404
        assert ana.call("PUT", f"/url/{item}/update", {"status": "disabled"}).status_code == 404
    assert (_items(ana), sorted(_items(ben))) == ([], sorted([link, waiting]))
    assert _items(ben, q="waiting") == [waiting]
    assert _items(ana, q="waiting") == []
    assert [item["id"] for item in ben.get("/shares")["data"]["shares"]] == [share["id"]]
    assert visit(ana.client, share["url"], headers=ACCEPT_HTML).status_code == 200
    checks, shared = database.read(
        lambda tx: [tx.execute(select(each)).mappings().all() for each in (link_checks, shares)]
    )
    assert {row["account"] for row in (*checks, *shared)} == {ben.account}
    assert (checks[0]["failures"], checks[0]["dead"]) == (3, True)
    stored = database.read(lambda tx: tx.execute(select(submissions.c.account, submissions.c.link)).all())
    assert [tuple(row) for row in stored] == [(ana.account, None)]
    assert ana.get(f"/campaign/{campaign}")["details"]["name"] == "Spring"
    assert ana.get(f"/overlay/{overlay}")["details"]["type"] == "contact"


def test_moved_link_outlives_old_account_with_its_statistics(
    ana: Person, ben: Person, settings: Settings, database: Database
) -> None:
    link = new_link(ana, "spring")
    assert visit(ana.client, "spring", agent=CURL).status_code == 302
    assert clicks(ana, link) == (1, 1)
    _move(ana, ben, settings, link)
    database.write(lambda tx: accounts.set_admin(tx, ben.account, admin=True))
    account_deletion.delete_account(database, ana.account)
    assert visit(ben.client, "spring", agent=CURL).status_code == 302
    assert clicks(ben, link) == (2, 1)  # the visitor is known until the end of the day
    assert ben.get(f"/url/{link}/stats")["data"]["total"]["clicks"] == 2
    assert database.read(lambda tx: set(tx.execute(select(visitors.c.account)).scalars())) == {ana.account}


def test_alias_that_ends_on_a_domain_stays_with_its_owner(
    ana: Person, ben: Person, settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_moves, "_AT_ONCE", 2)
    ana.add("domain", domain="https://ana.example")
    for alias in ("solo", "menu", "api", "a/b"):
        new_link(ana, alias, domain="https://ana.example")
    new_link(ana, "Menu", domain="https://ana.example")
    request = MoveRequest(ana.account, ben.account, domain=settings.base)
    ids = _items(ana)
    planned = database.read(lambda tx: account_moves.fates(tx, request, ids, settings=settings))
    moved = ana.write(lambda tx: account_moves.move(tx, request, ids, settings=settings))
    assert planned == moved
    assert {fate.alias: fate.refusal for fate in moved} == {
        "solo": "",
        "menu": "",
        "Menu": "",
        "api": "alias is reserved by this service. Choose another one.",
        "a/b": 'alias cannot have "/". Use only A-Z, a-z, 0-9, _ and -.',
    }
    assert len(_items(ben)) == 3
    new_link(ana, "solo", domain="https://ana.example")  # her own domain


def test_links_that_would_get_one_address_move_one_by_one(ana: Person, ben: Person, settings: Settings) -> None:
    for host in ("a.example", "b.example"):
        ana.add("domain", domain=f"https://{host}")
        new_link(ana, "menu", domain=f"https://{host}")
    request = MoveRequest(ana.account, ben.account, domain=settings.base)
    ids = sorted(_items(ana))
    fates = ana.write(lambda tx: account_moves.move(tx, request, ids, settings=settings))
    assert [fate.refusal for fate in fates] == ["", "Another of these links gets that alias."]
    assert (len(_items(ana)), len(_items(ben))) == (1, 1)


def test_share_that_is_revoked_during_a_move_stays_revoked(
    ana: Person, ben: Person, settings: Settings, database: Database
) -> None:
    link = new_link(ana, "spring")
    share = ana.post("/share/add", {"type": "link", "itemid": link})
    begun = threading.Event()

    def revoke(tx: Connection) -> None:
        shared.remove(tx, ana.account, share["id"])
        begun.set()
        until(lambda: database.is_sqlite or database.read(lambda tx: tx.execute(_WAITING).scalar()))

    thread = threading.Thread(target=lambda: database.write(revoke))
    thread.start()
    assert begun.wait(60)
    _move(ana, ben, settings, link)
    join(thread)
    assert ben.get("/shares")["data"]["result"] == 0


def test_click_limit_is_taken_by_visits_that_know_the_old_account(
    ana: Person, ben: Person, settings: Settings, database: Database
) -> None:
    link = new_link(ana, "limited", clicklimit=3)
    _move(ana, ben, settings, link)
    taken = [database.write(lambda tx: take_click(tx, account, link)) for account in (ana.account, ben.account) * 2]  # noqa: B023
    assert taken == [True, True, True, False]
    assert not database.read(lambda tx: has_clicks_left(tx, ana.account, link))
    used = database.read(lambda tx: tx.execute(select(links.c.taken).where(links.c.id == link)).scalar())
    assert used == 3


def test_consent_page_that_was_open_leads_to_destination(ana: Person, ben: Person, settings: Settings) -> None:
    pixel = ana.add("pixel", type="fbpixel", name="Ads", tag="123456789012345")
    link = new_link(ana, "spring", pixels=[pixel])
    asking = Settings(**{**settings.model_dump(), "pixel_consent": "on"})
    with closing(Database(asking.database)) as database, AsgiClient(build(asking, database)) as client:
        page = Page(visit(client, "spring", headers=ACCEPT_HTML))
        _move(ana, ben, settings, link)
        answered = visit(client, f"{page.script_data['consent'][1:]}yes", headers=ACCEPT_HTML)
    assert (answered.status_code, answered.headers["location"]) == (302, DESTINATION)


def test_undo_and_trash_of_old_account_do_not_reach_the_link(
    ana: Person, ben: Person, settings: Settings, database: Database
) -> None:
    campaign = ana.add("campaign", name="Spring")
    link = new_link(ana, "spring", campaign=campaign)
    move_to_trash(database, ana, "campaign", campaign)
    ana.update("url", link, status="disabled")
    replaced = Replaced("status", "disabled", [[link, "public"]])
    batch = database.write(lambda tx: bulk_undo.store(tx, ana.account, replaced))
    _move(ana, ben, settings, link)
    undone = database.write(lambda tx: bulk_undo.undo(tx, ana.account, batch, settings=settings))
    assert (undone.restored, undone.kept) == (0, 1)
    (entry,) = database.read(lambda tx: [item.id for item in trash.page(tx, ana.account, PageRequest()).items])
    database.write(lambda tx: trash.restore(tx, ana.account, [entry]))
    details = ben.details("url", link)
    assert (details["status"], details["campaign"]) == ("disabled", None)
