"""CTA overlays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from sqlalchemy import Connection, and_, update

from waypost.core.errors import invalid
from waypost.db import change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import links, overlays
from waypost.urls import blocklist, validation

Type = Literal["message", "contact", "poll", "newsletter", "coupon", "image"]
Position = Literal["top-left", "top-center", "top-right", "bottom-left", "bottom-center", "bottom-right", "center"]
# Additional fields of each overlay type (decision 40), and the required ones.
EXTRAS: Mapping[str, frozenset[str]] = {
    "message": frozenset(),
    "contact": frozenset({"button", "thanks"}),
    "poll": frozenset({"options"}),
    "newsletter": frozenset({"button", "thanks"}),
    "coupon": frozenset({"code"}),
    "image": frozenset({"image"}),
}
_NEEDED = {"poll": "options", "coupon": "code", "image": "image"}


@dataclass(frozen=True)
class Overlay:
    """An overlay; `delay` is in seconds, colours are `#RRGGBB`, what its type does not have is empty."""

    id: int
    name: str
    type: Type
    message: str
    label: str
    link: str
    position: Position
    color: str
    background: str
    delay: int
    button: str
    thanks: str
    options: list[str]
    code: str
    image: str
    webhook: str
    created: int


class Fields(TypedDict, total=False):
    """The settable fields; `None` is the default of a field."""

    name: str
    type: Type
    message: str | None
    label: str | None
    link: str | None
    position: Position | None
    color: str | None
    background: str | None
    delay: int | None
    button: str | None
    thanks: str | None
    options: list[str] | None
    code: str | None
    image: str | None
    webhook: str | None


def page(tx: Connection, account: int, window: PageRequest) -> Page[Overlay]:
    """The account's overlays."""
    return crud.page(tx, overlays, account, window, Overlay)


def get_owned(tx: Connection, account: int, overlay: int) -> Overlay:
    """One overlay."""
    return crud.get_owned(tx, overlays, account, overlay, Overlay)


def add(tx: Connection, account: int, **fields: Unpack[Fields]) -> Overlay:
    """Create an overlay. Raises INVALID on a URL, or on what its type needs and lacks."""
    return get_owned(tx, account, crud.add(tx, overlays, account, new_columns(tx, fields)))


def new_columns(tx: Connection, fields: Fields) -> dict[str, Any]:
    """Return the columns of a new overlay. Raises INVALID as `add`."""
    values = _checked(tx, fields["type"], fields)
    _refuse_incomplete(fields["type"], values)
    return values


def change(tx: Connection, account: int, overlay: int, **fields: Unpack[Fields]) -> None:
    """Set the given fields. Raises INVALID on a URL, or on what its type then needs and lacks."""
    crud.lock_row(tx, overlays, account, overlay)
    before = get_owned(tx, account, overlay)
    kind = fields.get("type", before.type)
    values = _checked(tx, kind, fields)
    _refuse_incomplete(kind, {**vars(before), **values})
    change_log.record_links(tx, (links.c.account == account) & (links.c.overlay == overlay))
    crud.change(tx, overlays, account, overlay, values)


def remove(tx: Connection, account: int, overlay: int) -> None:
    """Delete an overlay; its links redirect directly."""
    crud.lock_row(tx, overlays, account, overlay)
    own_items = and_(links.c.overlay == overlay, links.c.account == account)
    change_log.record_links(tx, own_items)
    tx.execute(update(links).where(own_items).values(type="direct", overlay=None))
    crud.remove(tx, overlays, account, overlay)


def uses(tx: Connection, account: int, ids: Sequence[int]) -> Mapping[int, int]:
    """Return the number of links per overlay; unused overlays are missing (index links_overlay)."""
    return crud.count_by(tx, account, links.c.overlay, ids)


def _checked(tx: Connection, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    urls = {
        name: validation.web_url(fields[name], field=name) for name in ("link", "image", "webhook") if fields.get(name)
    }
    for name, url in urls.items():
        blocklist.refuse(tx, [url], field=name)
    of_other_types = frozenset().union(*EXTRAS.values()) - EXTRAS[kind]
    return {**fields, **urls, **dict.fromkeys(of_other_types)}


def _refuse_incomplete(kind: str, values: Mapping[str, Any]) -> None:
    needed = _NEEDED.get(kind)
    if needed and not values.get(needed):
        raise invalid(needed, f"{needed} is required for an overlay of type {kind}.")
