"""The builder of bio pages with a stored block of a type that this version does not have, as after a downgrade."""

from typing import Any

from sqlalchemy import update

from tests.conftest import Person
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.html import Page
from waypost.db.schema import bios
from waypost.items.bios.blocks import TYPES
from waypost.items.bios.form import PARTS

_LATER = {"type": "hologram", "id": 987_654, "depth": {"near": 1, "far": [2, 3]}}
_TEXT = {"type": "text", "text": "Open on Saturdays."}


def _page_with_later_block(person: Person) -> int:
    bio = person.add("bio", name="Ana", alias="ana-later", blocks=[_TEXT])
    person.write(lambda tx: tx.execute(update(bios).where(bios.c.id == bio).values(blocks=[_LATER, _TEXT])))
    return bio


def _send(dashboard: Browser, bio: int, order: list[str], **fields: Any) -> Any:
    shown = dashboard.get(f"/bios/{bio}")
    name = Page(shown).one("input", name="b1.stored").attributes["value"]
    blocks = {"b1.type": "hologram", "b1.id": "987654", "b1.stored": name, "b2.type": "text", "b2.text": _TEXT["text"]}
    values = {"name": "Ana", "alias": "ana-later", "base": "default", "mode": "", "order": order}
    sent = {**values, **blocks, "version": hidden_field(shown, "version"), **fields}
    return dashboard.submit(f"/bios/{bio}", at=f"/bios/{bio}", **sent)


def _stored(person: Person, bio: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = person.details("bio", bio)["blocks"]
    return [{name: value for name, value in block.items() if value} for block in blocks]


def test_every_type_has_parts() -> None:
    assert PARTS.keys() == TYPES


def test_block_of_a_later_version_is_saved_as_it_is_and_not_shown(ana: Person, dashboard: Browser) -> None:
    bio = _page_with_later_block(ana)
    later = {name: value for name, value in _LATER.items() if name != "id"}
    shown = dashboard.get(f"/bios/{bio}")
    assert "This version does not have this type of block." in shown.text
    assert dashboard.get(f"/bios/{bio}/phone").status_code == 200
    visited = ana.client.get("/ana-later")
    assert visited.status_code == 200
    assert "Open on Saturdays." in visited.text
    assert "hologram" not in visited.text
    assert dashboard.flash_message(_send(dashboard, bio, ["b1", "b2"], title="Potter")) == "Saved."
    assert _stored(ana, bio) == [later, _TEXT]
    assert dashboard.flash_message(_send(dashboard, bio, ["b1", "b2"], **{"b2.text": "Closed."})) == "Saved."
    assert _stored(ana, bio) == [later, {"type": "text", "text": "Closed."}]


def test_block_of_a_later_version_can_be_moved_and_deleted(ana: Person, dashboard: Browser) -> None:
    bio = _page_with_later_block(ana)
    moved = _send(dashboard, bio, ["b1", "b2"], do="down-0")
    assert Page(moved).one("input", name="b2.type").attributes["value"] == "hologram"
    assert dashboard.flash_message(_send(dashboard, bio, ["b2", "b1"])) == "Saved."
    assert [block["type"] for block in _stored(ana, bio)] == ["text", "hologram"]
    ana.write(lambda tx: tx.execute(update(bios).where(bios.c.id == bio).values(blocks=[_LATER, _TEXT])))
    assert dashboard.flash_message(_send(dashboard, bio, ["b2"])) == "Saved."
    assert _stored(ana, bio) == [_TEXT]


def test_form_with_an_error_keeps_a_block_of_a_later_version(ana: Person, dashboard: Browser) -> None:
    bio = _page_with_later_block(ana)
    refused = _send(dashboard, bio, ["b1", "b2"], name="")
    assert refused.status_code == 400
    assert Page(refused).one("input", name="b1.type").attributes["value"] == "hologram"
    assert Page(refused).one("input", name="b1.stored").attributes["value"]
