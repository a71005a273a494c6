"""A later import of the same source: what changed there is taken over, and no link is opened."""

from typing import Any

import pytest
from sqlalchemy import select

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.imports import SHOP, plan, planned_rows, run
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db.schema import channel_items, links
from waypost.transfer.imports import apply, plan_removal, planner, plans, undo
from waypost.transfer.imports.planner import Options
from waypost.transfer.imports.source_row import Record

_HASH = "$2b$12$abcdefghijkl"
_REPLACING = Options(conflicts="replace")


def _aliases(person: Person) -> dict[str, str]:
    return {item["alias"]: item["longurl"] for item in person.get("/urls")["data"]["urls"]}


def test_renamed_link_keeps_its_old_name_and_gets_the_new_one(ana: Person, settings: Settings) -> None:
    run(ana, settings, f"id,alias,url\n1,old,{SHOP}")
    renamed = f"id,alias,url\n1,newer,{SHOP}"
    (row,) = planned_rows(ana, settings, renamed)
    assert (row.fate, row.alias, row.reason) == (
        "create",
        "newer",
        "Renamed in the source: the link of the old name stays.",
    )
    apply.apply(ana.database, ana.account, settings)
    assert _aliases(ana) == {"old": SHOP, "newer": SHOP}
    assert plan(ana, settings, renamed) == [("there", "newer")]


def test_link_renamed_here_is_not_created_again(ana: Person, settings: Settings) -> None:
    run(ana, settings, f"id,alias,url\n1,old,{SHOP}")
    ana.update("url", ana.get("/urls")["data"]["urls"][0]["id"], custom="mine")
    assert plan(ana, settings, f"id,alias,url\n1,old,{SHOP}") == [("there", "old")]


@pytest.mark.parametrize(("password", "status"), [(_HASH, 403), ("in plain text", 401)])
def test_password_that_the_source_got_later_closes_the_link(
    ana: Person, service: AsgiClient, settings: Settings, password: str, status: int
) -> None:
    run(ana, settings, f"alias,url\nspring,{SHOP}")
    run(ana, settings, f"alias,url,password\nspring,{SHOP},{password}")
    assert service.get("/spring").status_code == status


def test_own_password_of_a_changed_link_stays(ana: Person, service: AsgiClient, settings: Settings) -> None:
    run(ana, settings, f"alias,url\nspring,{SHOP}")
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    ana.update("url", link, password="mine")
    run(ana, settings, f"alias,url,password\nspring,{SHOP}/2,{_HASH}")
    assert service.get("/spring").status_code == 401
    assert service.post("/spring", data={"password": "mine"}).status_code in (302, 303)


def test_replaced_link_loses_its_own_rules_until_undo(ana: Person, settings: Settings) -> None:
    rules = {"geotarget": [{"location": "DE", "link": "https://example.de/"}], "expiryurl": "https://example.com/over"}
    link = ana.add("url", url=SHOP, custom="spring", **rules)
    before = ana.database.read(lambda tx: tx.execute(select(links)).all())
    run(ana, settings, f"alias,url\nspring,{SHOP}/new", _REPLACING)
    details = ana.details("url", link)
    assert (details["longurl"], details["geotarget"], details["expiryurl"]) == (f"{SHOP}/new", [], "")
    undo.undo(ana.database, ana.account)
    assert ana.database.read(lambda tx: tx.execute(select(links)).all()) == before


def test_undo_takes_changed_links_back_to_their_channels_and_campaign(ana: Person, settings: Settings) -> None:
    own, campaign = ana.add("channel", name="own"), ana.add("campaign", name="Mine")
    link = ana.add("url", url=SHOP, custom="spring", channel=[own], campaign=campaign)
    _replace(ana, settings, Record(1, url=f"{SHOP}/new", alias="spring", tags=["own", "print"], folder="Theirs"))
    assert _memberships(ana, link)[1] not in (None, campaign)
    assert len(_memberships(ana, link)[0]) == 2
    undo.undo(ana.database, ana.account)
    assert _memberships(ana, link) == ([own], campaign)
    assert [item["name"] for item in ana.get("/channels")["data"]["channels"]] == ["own"]


def test_campaign_that_was_changed_since_prevents_undo(ana: Person, settings: Settings) -> None:
    link = ana.add("url", url=SHOP, custom="spring")
    _replace(ana, settings, Record(1, url=f"{SHOP}/new", alias="spring", folder="Theirs"))
    assert undo.preview(ana.database, ana.account).edited == ()
    ana.update("url", link, campaign=ana.add("campaign", name="Mine"))
    assert undo.preview(ana.database, ana.account).edited == ("spring",)


class _Records(list[Record]):
    """A source of records."""

    name = "records"

    def __init__(self, *records: Record) -> None:
        super().__init__(records)
        self.ignored: list[str] = []


def _replace(person: Person, settings: Settings, record: Record) -> None:
    planner.make(person.database, settings, person.account, _Records(record), _REPLACING)
    apply.apply(person.database, person.account, settings)


def _memberships(person: Person, link: int) -> tuple[list[int], Any]:
    def work(tx: Any) -> tuple[list[int], Any]:
        items = tx.execute(select(channel_items.c.channel).where(channel_items.c.link == link)).scalars().all()
        return list(items), tx.execute(select(links.c.campaign).where(links.c.id == link)).scalar_one()

    return person.database.read(work)


def _apply_in_part(person: Person, settings: Settings) -> None:
    """Apply a part of a plan of 600 rows, as a process that was killed."""
    rows = "\n".join(f"link-{n},{SHOP}/{n},{n}" for n in range(600))
    plan(person, settings, f"alias,url,clicks\n{rows}")
    made = person.database.read(lambda tx: plans.current(tx, person.account))
    person.database.write(lambda tx: apply.apply_batch(tx, person.account, made.id, settings, 500))


def test_incomplete_import_is_resumed_undone_or_discarded_before_the_next(ana: Person, settings: Settings) -> None:
    _apply_in_part(ana, settings)
    with pytest.raises(Problem, match="Resume it, undo it, or discard it") as raised:
        plan(ana, settings, f"alias,url\none,{SHOP}")
    assert raised.value.kind is Kind.IMPORT_STATE
    apply.apply(ana.database, ana.account, settings)
    assert ana.get("/urls")["data"]["result"] == 600
    assert plan(ana, settings, f"alias,url\none,{SHOP}") == [("create", "one")]


def test_import_in_part_applied_is_undone(ana: Person, settings: Settings) -> None:
    _apply_in_part(ana, settings)
    assert undo.preview(ana.database, ana.account).deleted == 500
    undo.undo(ana.database, ana.account)
    assert ana.get("/urls")["data"]["result"] == 0
    with pytest.raises(Problem, match="no preview that can be imported"):
        apply.apply(ana.database, ana.account, settings)


def test_discarded_incomplete_import_keeps_its_links(ana: Person, settings: Settings) -> None:
    _apply_in_part(ana, settings)
    plan_removal.discard(ana.database, ana.account)
    assert ana.get("/urls")["data"]["result"] == 500
    assert plan(ana, settings, f"alias,url\none,{SHOP}") == [("create", "one")]


def test_running_import_is_not_undone(ana: Person, settings: Settings) -> None:
    _apply_in_part(ana, settings)
    made = ana.database.read(lambda tx: plans.current(tx, ana.account))
    with plans.busy(ana.database, ana.account, made.id), pytest.raises(Problem, match="is running"):
        undo.undo(ana.database, ana.account)
