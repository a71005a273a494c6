"""Undo of an import: links are deleted or changed back, and statistics are as before."""

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from tests.conftest import Person
from tests.support.imports import SHOP, plan, run
from waypost.clicks.stats import verify
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db.schema import click_labels, click_times, import_clicks, links
from waypost.items.links import account_moves
from waypost.items.links.account_moves import MoveRequest
from waypost.transfer.imports import apply, planner, plans, undo
from waypost.transfer.imports.file_source import open_file
from waypost.transfer.imports.planner import Options

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
DUMP = f"""
INSERT INTO `yourls_log` VALUES
(1,'2012-03-05 00:00:00','a','direct','{FIREFOX}','','DE'),(2,'2012-04-05 00:00:00','a','direct','{FIREFOX}','','FR');
INSERT INTO `yourls_url` VALUES ('a','{SHOP}','T','2012-03-04 05:06:07','',42);
""".strip()


def _rows(person: Person, *tables: Any) -> list[Any]:
    return [sorted(person.database.read(lambda tx, t=t: tx.execute(select(t)).all()), key=repr) for t in tables]  # type: ignore[misc]


def _import_dump(person: Person, settings: Settings, folder: Path) -> None:
    path = folder / "dump.sql"
    path.write_text(DUMP)
    with open_file(path, {}, ZoneInfo("UTC")) as source:
        planner.make(person.database, settings, person.account, source, Options())
    apply.apply(person.database, person.account, settings)


def test_undo_removes_links_channels_and_clicks(ana: Person, settings: Settings, tmp_path: Path) -> None:
    before = _rows(ana, links)
    _import_dump(ana, settings, tmp_path)
    assert any(row.clicks for row in _rows(ana, click_times)[0])
    assert ana.database.write(verify.differences) == []
    undo.undo(ana.database, ana.account)
    assert _rows(ana, links) == before
    assert not any(row.clicks for row in _rows(ana, click_times)[0])
    assert not any(row.n for row in _rows(ana, click_labels)[0])
    assert _rows(ana, import_clicks) == [[]]
    assert ana.get("/stats")["data"]["total"]["clicks"] == 0
    _import_dump(ana, settings, tmp_path)
    assert ana.get("/urls")["data"]["urls"][0]["clicks"] == 42


def test_undo_deletes_new_channels_unless_they_are_in_use(ana: Person, settings: Settings) -> None:
    run(ana, settings, f'alias,url,tags\none,{SHOP},"mail,print"')
    own = ana.add("url", url=SHOP)
    channel = next(item["id"] for item in ana.get("/channels")["data"]["channels"] if item["name"] == "print")
    ana.update("url", own, channel=[channel])
    undo.undo(ana.database, ana.account)
    assert [item["name"] for item in ana.get("/channels")["data"]["channels"]] == ["print"]


def test_undo_restores_replaced_link_and_next_import_replaces_it_again(ana: Person, settings: Settings) -> None:
    link = ana.add("url", url=SHOP, custom="spring", title="Mine", password="secret")
    before = _rows(ana, links)
    file = f"alias,url,title\nspring,{SHOP}/new,Theirs"
    replacing = Options(conflicts="replace")
    run(ana, settings, file, replacing)
    assert ana.details("url", link)["title"] == "Theirs"
    preview = undo.preview(ana.database, ana.account)
    assert (preview.deleted, preview.restored) == (0, 1)
    undo.undo(ana.database, ana.account)
    assert _rows(ana, links) == before
    assert plan(ana, settings, file, replacing) == [("changed", "spring")]


def test_edited_import_is_not_undone(ana: Person, settings: Settings) -> None:
    run(ana, settings, f"alias,url\none,{SHOP}\ntwo,{SHOP}/2")
    ana.update("url", ana.get("/urls")["data"]["urls"][0]["id"], title="Mine")
    with pytest.raises(Problem, match="two") as raised:
        undo.undo(ana.database, ana.account)
    assert raised.value.kind is Kind.IMPORT_STATE
    assert ana.get("/urls")["data"]["result"] == 2


@pytest.mark.parametrize(
    "change",
    [
        {"geotarget": [{"location": "DE", "link": "https://example.de/"}]},
        {"devicetarget": [{"device": "iPhone", "link": "https://example.com/iphone"}]},
        {"languagetarget": [{"language": "de", "link": "https://example.com/de"}]},
        {"parameters": [{"name": "a", "value": "b"}]},
        {"deeplink": {"apple": "https://apps.apple.com/app/id1", "google": ""}},
        {"type": "frame"},
        {"type": "splash"},
        {"type": "overlay-1"},
        {"metatitle": "Mine"},
        {"expiry": "2999-01-01"},
        {"expiryurl": "https://example.com/over"},
        {"clicklimit": 5},
        {"password": "secret"},
        {"status": "private"},
        {"campaign": 1},
        {"channel": [1, 2]},
        {"pixels": [1]},
    ],
    ids=str,
)
def test_every_field_of_a_link_counts_as_edit(ana: Person, settings: Settings, change: dict[str, Any]) -> None:
    run(ana, settings, f"alias,url,tags\none,{SHOP},mail")
    ana.add("channel", name="Print")
    ana.add("campaign", name="Spring")
    ana.add("pixel", type="analyticspixel", name="P", tag="G-ABC1234567")
    ana.add("overlay", type="message", name="O", message="Hello")
    assert undo.preview(ana.database, ana.account).edited == ()
    ana.update("url", ana.get("/urls")["data"]["urls"][0]["id"], **change)
    assert undo.preview(ana.database, ana.account).edited == ("one",)


def test_deleted_link_does_not_prevent_undo(ana: Person, settings: Settings) -> None:
    run(ana, settings, f"alias,url\none,{SHOP}\ntwo,{SHOP}/2")
    ana.remove("url", ana.get("/urls")["data"]["urls"][0]["id"])
    assert undo.undo(ana.database, ana.account).deleted == 1
    assert ana.get("/urls")["data"]["result"] == 0


def test_link_moves_with_imported_clicks_and_its_import_is_not_undone(
    ana: Person, ben: Person, settings: Settings, tmp_path: Path
) -> None:
    _import_dump(ana, settings, tmp_path)
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    request = MoveRequest(ana.account, ben.account)

    def move() -> None:
        ana.database.write(lambda tx: account_moves.move(tx, request, [link], settings=settings))

    plan = ana.database.read(lambda tx: plans.current(tx, ana.account)).id
    for state in ("applying", "undoing"):
        ana.database.write(lambda tx: plans.set_state(tx, ana.account, plan, state))  # noqa: B023
        with pytest.raises(Problem, match="An import of the old account is not finished"):
            move()
    ana.database.write(lambda tx: plans.set_state(tx, ana.account, plan, "applied"))
    move()
    times, labels = _rows(ben, click_times, click_labels)
    assert {row.account for row in (*times, *labels)} == {ben.account}
    assert sum(row.clicks for row in times if row.kind == "account") == 2
    assert ben.get("/urls")["data"]["urls"][0]["clicks"] == 42
    assert ana.database.write(verify.differences) == []
    with pytest.raises(Problem, match="1 items were edited since the import: a"):
        undo.undo(ana.database, ana.account)
    with pytest.raises(Problem, match="edited since the import"):  # it moved after the preview
        undo.run(ana.database, ana.account, plan, lambda: None)
    assert _rows(ben, click_times, click_labels) == [times, labels]
    assert ana.database.read(lambda tx: plans.current(tx, ana.account)).state == "applied"


def test_interrupted_undo_resumes(ana: Person, settings: Settings) -> None:
    run(ana, settings, "alias,url\n" + "\n".join(f"link-{n},{SHOP}/{n}" for n in range(1200)))

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        undo.undo(ana.database, ana.account, interrupt)
    assert 0 < ana.get("/urls")["data"]["result"] < 1200
    with pytest.raises(Problem):
        apply.apply(ana.database, ana.account, settings)
    undo.undo(ana.database, ana.account)
    assert ana.get("/urls")["data"]["result"] == 0
    assert ana.database.read(lambda tx: plans.current(tx, ana.account)).state == "undone"


def test_plan_that_was_not_applied_is_not_undone(ana: Person, settings: Settings) -> None:
    plan(ana, settings, f"alias,url\none,{SHOP}")
    with pytest.raises(Problem, match="nothing to undo"):
        undo.undo(ana.database, ana.account)
