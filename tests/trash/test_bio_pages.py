"""Bio pages in the trash: pictures, block ids and clicks come back, and pictures are deleted when it is purged."""

import time_machine
from sqlalchemy import func, select

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.bios import clicks_of, follow, new_bio_with_all_parts, open_bio, picture_url, state_of
from tests.support.dashboard_client import Browser
from tests.support.trash import delete_in_dashboard, entries, move, restore_in_dashboard
from tests.support.visits import CHROME, FIREFOX, visit
from waypost.clicks.ingest.ingester import Ingester
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import bio_pictures, trash

DAY = 86_400


def _pictures(database: Database) -> int:
    count = select(func.count()).select_from(bio_pictures)
    return database.read(lambda tx: int(tx.execute(count).scalar_one()))


def test_restored_page_has_its_pictures_blocks_and_clicks(
    ana: Person, dashboard: Browser, database: Database, service: AsgiClient
) -> None:
    bio = new_bio_with_all_parts(ana)
    for agent in (CHROME, CHROME, FIREFOX):
        follow(ana, bio, "Shop", agent=agent)
    before, pictures = state_of(ana, bio)
    assert (len(set(pictures.values())), clicks_of(ana, bio)) == (4, {"Shop": (3, 2)})

    assert delete_in_dashboard(dashboard, "bio", bio).status_code == 303
    ids = [block["id"] for block in before["blocks"]]
    for path in ("ana-costa", *pictures, *(f"ana-costa/{block}" for block in ids)):
        assert visit(service, path).status_code == 404, path
    assert _pictures(database) == 0
    other = new_bio_with_all_parts(ana, "another")  # takes no id of a deleted picture or block

    restore_in_dashboard(dashboard, *entries(database, ana))
    assert state_of(ana, bio) == (before, pictures)
    assert _pictures(database) == 8
    assert not pictures.keys() & state_of(ana, other)[1].keys()
    assert not {*ids} & {block["id"] for block in ana.get(f"/bio/{other}")["blocks"]}
    follow(ana, bio, "Shop")
    assert clicks_of(ana, bio) == {"Shop": (4, 2)}
    ana.update("bio", bio, avatar=before["details"]["avatar"], blocks=before["details"]["blocks"])
    after, same_pictures = state_of(ana, bio)
    assert (after["details"], same_pictures) == (before["details"], pictures)
    shown = open_bio(ana).text
    assert "<form" in shown
    assert "Sale" in shown
    ana.update("bio", bio, avatar=picture_url("#778899"))
    assert visit(service, before["details"]["avatar"]).status_code == 404


def test_restored_page_is_without_form_that_was_deleted(ana: Person, dashboard: Browser, database: Database) -> None:
    bio = new_bio_with_all_parts(ana)
    before = state_of(ana, bio)
    (overlay,) = (block["overlay"] for block in ana.details("bio", bio)["blocks"] if block["type"] == "form")
    move(database, ana, "bio", bio)
    move(database, ana, "overlay", overlay)
    in_trash, form = entries(database, ana)
    restore_in_dashboard(dashboard, in_trash)
    assert state_of(ana, bio) == before
    assert "<form" not in open_bio(ana).text
    restore_in_dashboard(dashboard, form)
    assert "<form" in open_bio(ana).text


def test_pictures_are_deleted_for_good_after_30_days(
    ana: Person, service: AsgiClient, database: Database, settings: Settings
) -> None:
    bio = new_bio_with_all_parts(ana)
    _, pictures = state_of(ana, bio)
    move(database, ana, "bio", bio)
    content = database.read(lambda tx: tx.execute(select(trash.c.content)).scalar_one())
    assert len(content["parts"]["bio_pictures"]) == 4
    ingester = Ingester(settings, database)
    with time_machine.travel(clock.now() + 30 * DAY - 60, tick=True) as traveler:
        ingester.delete_expired()
        assert len(entries(database, ana)) == 1
        traveler.shift(120)
        ingester.delete_expired()
        assert (entries(database, ana), _pictures(database)) == ([], 0)
    for url in pictures:
        assert visit(service, url).status_code == 404, url
