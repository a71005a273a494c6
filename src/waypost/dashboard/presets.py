"""Presets: settings that an account saved under a name of its own, such as a view of the list of links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from waypost.api.request_body import Body
from waypost.api.types import Name
from waypost.core.errors import invalid, not_found, taken
from waypost.core.text_folding import folded
from waypost.dashboard.i18n import gettext_noop
from waypost.db import account_rows, audit_log, crud
from waypost.db.database import upsert
from waypost.db.schema import presets

MAX = 50
"""Presets of a kind that an account can save."""
MAX_SETTING = 255
"""Settings that a preset has at most, and characters of each."""
Kind = Literal["links", "qr"]
"""`links`: a view of the list of links. `qr`: a style of QR codes."""
_TOO_MANY: Mapping[Kind, str] = {
    "links": gettext_noop("You have 50 views, which is the limit. Delete one first."),
    "qr": gettext_noop("You have 50 styles, which is the limit. Delete one first."),
}
_TAKEN: Mapping[Kind, str] = {
    "links": gettext_noop("You already have a view with this name."),
    "qr": gettext_noop("You already have a style with this name."),
}
_c = presets.c


class PresetName(Body):
    """The field with the name of a preset."""

    name: Name


@dataclass(frozen=True)
class Preset:
    """Settings under a name."""

    id: int
    name: str
    settings: Mapping[str, str]


def listed(tx: Connection, account: int, kind: Kind) -> Sequence[Preset]:
    """Return the presets of a kind by name (index presets_account_kind_name_key_unique)."""
    query = select(_c.id, _c.name, _c.settings).where(_c.account == account, _c.kind == kind)
    return [Preset(**row) for row in tx.execute(query.order_by(_c.name_key)).mappings()]


def get_owned(tx: Connection, account: int, kind: Kind, preset: int) -> Preset:
    """Return a preset. Raises NOT_FOUND."""
    is_owned = (_c.account == account, _c.kind == kind, _c.id == preset)
    row = tx.execute(select(_c.id, _c.name, _c.settings).where(*is_owned)).mappings().first()
    if row is None:
        raise not_found()
    return Preset(**row)


def save(tx: Connection, account: int, kind: Kind, name: str, settings: Mapping[str, str]) -> None:
    """Save settings under a name. They replace those of a preset with the same name. Raises INVALID above the limit."""
    account_rows.lock(tx, account)  # so that the limit is exact
    values = {"name": name, "name_key": folded(name), "settings": {**settings}}
    of_kind = (_c.account == account, _c.kind == kind)
    is_named = (*of_kind, _c.name_key == values["name_key"])
    stored = tx.execute(select(_c.name, _c.settings).where(*is_named)).first()
    if stored is not None and (stored.name, stored.settings) == (name, values["settings"]):
        return
    audit_log.record(tx, account, "preset.saved", label=name)
    if stored is not None:
        tx.execute(update(presets).where(*is_named).values(values))
        return
    if tx.execute(select(func.count()).select_from(presets).where(*of_kind)).scalar_one() >= MAX:
        raise invalid("name", _TOO_MANY[kind])
    tx.execute(insert(presets).values(account=account, kind=kind, **values))


def names(tx: Connection, account: int) -> set[tuple[str, str]]:
    """Return the kinds and the folded names of all presets of an account."""
    return {(row.kind, row.name_key) for row in tx.execute(select(_c.kind, _c.name_key).where(_c.account == account))}


def add_missing(tx: Connection, account: int, kind: Kind, name: str, settings: Mapping[str, str]) -> None:
    """Save settings under a name that is not used yet. Nothing is saved above the limit."""
    of_kind = (_c.account == account, _c.kind == kind)
    if tx.execute(select(func.count()).select_from(presets).where(*of_kind)).scalar_one() < MAX:
        values = {"account": account, "kind": kind, "name": name, "name_key": folded(name), "settings": {**settings}}
        tx.execute(upsert(tx, presets).on_conflict_do_nothing(), [values])


def remove_equal(tx: Connection, account: int, kind: Kind, name: str, settings: Mapping[str, str]) -> None:
    """Delete the preset with this name, unless its settings were changed."""
    is_named = (_c.account == account, _c.kind == kind, _c.name_key == folded(name))
    row = tx.execute(select(_c.id, _c.settings).where(*is_named)).first()
    if row is not None and row.settings == settings:
        tx.execute(delete(presets).where(_c.account == account, _c.id == row.id))


def rename(tx: Connection, account: int, kind: Kind, preset: int, name: str) -> None:
    """Set the name of a preset. Raises NOT_FOUND, and TAKEN on `name`."""
    if get_owned(tx, account, kind, preset).name == name:
        return
    is_owned = (_c.account == account, _c.kind == kind, _c.id == preset)
    with crud.translate_unique_violation(crud.name_errors(presets, taken("name", _TAKEN[kind]))):
        tx.execute(update(presets).where(*is_owned).values(name=name, name_key=folded(name)))
    audit_log.record(tx, account, "preset.saved", preset, label=name)


def remove(tx: Connection, account: int, kind: Kind, preset: int) -> None:
    """Delete a preset. Raises NOT_FOUND."""
    name = get_owned(tx, account, kind, preset).name
    audit_log.record(tx, account, "preset.deleted", preset, label=name)
    tx.execute(delete(presets).where(_c.account == account, _c.kind == kind, _c.id == preset))
