"""Earlier versions of links: the state before an event, from the values that events have replaced since."""

from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import Connection, select

from waypost.core.errors import not_found
from waypost.core.settings import Settings
from waypost.db import crud
from waypost.db.audit_log import is_shortened
from waypost.db.schema import audit, links
from waypost.items.links import ops
from waypost.items.links.columns import Fields

_c = audit.c
_SAME = (
    *("url", "title", "description", "status", "clicklimit", "expiryurl", "campaign", "dropquery"),
    *("metatitle", "metadescription", "metaimage"),
    *("geotarget", "devicetarget", "languagetarget", "deeplink", "parameters"),
)
"""The fields of a link whose values are those of its columns."""
_INTERSTITIAL = ("type", "splash", "overlay")


def restore(tx: Connection, account: int, link: int, event: int, *, settings: Settings) -> ops.Address:
    """Give a link the values that it had before an event.

    Its password stays as it is, because it is not in the log, and so do its channels and pixels. Raises NOT_FOUND if
    there is no such change of the link, and what a change of the link raises.
    """
    replaced = _replaced_since(tx, account, link, event)
    stored = select(*(links.c[name] for name in _INTERSTITIAL)).where(links.c.id == link, links.c.account == account)
    fields = _fields(replaced, dict(tx.execute(stored).mappings().one()), settings)
    return ops.change(tx, account, link, settings=settings, **fields)


def _replaced_since(tx: Connection, account: int, link: int, event: int) -> Mapping[str, Any]:
    """Return the values before an event of those columns that it or a later one has changed.

    Raises NOT_FOUND, also for an edit from before the log, which has no values.
    """
    crud.require_owned(tx, links, account, link)
    is_change = (_c.account == account, _c.kind == "link", _c.item == link, _c.name == "link.updated", _c.id >= event)
    rows = tx.execute(select(_c.id, _c.before).where(*is_change).order_by(_c.id.desc())).all()
    if not rows or rows[-1].id != event or not rows[-1].before:
        raise not_found("version")
    values: dict[str, Any] = {}
    for row in rows:
        values |= row.before or {}
    if any(is_shortened(value) for value in values.values()):
        raise not_found("version")
    return values


def _fields(replaced: Mapping[str, Any], stored: Mapping[str, Any], settings: Settings) -> Fields:
    """Return the fields of a change that sets these columns."""
    fields: dict[str, Any] = {name: replaced[name] for name in _SAME if name in replaced}
    if "expiry" in replaced:
        fields["expiry"] = None if replaced["expiry"] is None else str(replaced["expiry"])
    if "alias" in replaced:
        fields["custom"] = replaced["alias"]
    if "host" in replaced:
        fields["domain"] = replaced["host"] or settings.own_host
    if any(name in replaced for name in _INTERSTITIAL):
        fields["type"] = _type({**stored, **replaced})
    return cast(Fields, fields)


def _type(values: Mapping[str, Any]) -> str:
    kind, item = str(values["type"]), values.get(values["type"])
    if not item:
        return "direct" if kind == "overlay" else kind
    return f"overlay-{item}" if kind == "overlay" else str(item)
