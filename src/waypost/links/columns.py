"""What can be set on a link, and how it becomes columns: targets checked, references resolved."""

import re
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from sqlalchemy import Connection

from waypost import clock
from waypost.db import crud
from waypost.db.schema import campaigns, overlays, splashes
from waypost.errors import invalid
from waypost.settings import Settings
from waypost.urls import blocklist, validation

Status = Literal["public", "private", "disabled"]


class Fields(TypedDict, total=False):
    """What can be set, as decision 43 names it; `None` is the field's default, `password` is hashed already.

    `expiry` is a date or timestamp, `type` is `direct`, `frame`, `splash`, a splash page's id or `overlay-<id>`.
    """

    url: str
    custom: str | None
    domain: str | None
    title: str | None
    description: str | None
    password: str | None
    expiry: str | None
    clicklimit: int | None
    expiryurl: str | None
    type: str | int | None
    status: Status | None
    metatitle: str | None
    metadescription: str | None
    metaimage: str | None
    pixels: list[int] | None
    channel: int | list[int] | None
    campaign: int | None
    geotarget: list[dict[str, str]] | None
    devicetarget: list[dict[str, str]] | None
    languagetarget: list[dict[str, str]] | None
    deeplink: dict[str, str] | None
    parameters: list[dict[str, str]] | None


_PLAIN = ("title", "description", "password", "clicklimit", "status", "metatitle", "metadescription")
_TARGETED = ("geotarget", "devicetarget", "languagetarget")
_SEARCHED = ("title", "url", "alias", "description")
_PAGE = re.compile(r"(overlay-)?([0-9]{1,15})\Z")
_BETWEEN = "\x1f"  # stands in no field, so no search matches across two of them


def columns(tx: Connection, account: int, fields: Fields, settings: Settings) -> dict[str, Any]:
    """The columns that the fields mean, without alias, host and what stands in other tables. Raises INVALID."""
    values: dict[str, Any] = {name: value for name, value in fields.items() if name in _PLAIN}
    values |= _targets(tx, fields, settings)
    if "parameters" in fields:
        values["parameters"] = [
            {"name": element["name"], "value": element.get("value") or ""}
            for element in fields["parameters"] or ()
            if element.get("name")  # a sample that everybody copied has one without
        ]
    if "expiry" in fields:
        values["expiry"] = clock.last_second(fields["expiry"]) if fields["expiry"] else None
    if "type" in fields:
        values |= _type(tx, account, fields["type"])
    if "campaign" in fields:
        if fields["campaign"] is not None:
            crud.require_reference(tx, campaigns, account, fields["campaign"], field="campaign")
        values["campaign"] = fields["campaign"]
    return values


def searchable(values: Mapping[str, Any]) -> str:
    """The text in which `q` is looked for: title, target, alias and description without regard to case."""
    return _BETWEEN.join(values.get(name) or "" for name in _SEARCHED).casefold()


def _targets(tx: Connection, fields: Fields, settings: Settings) -> dict[str, Any]:
    """Every URL of the fields, checked: the target, and whatever else a visitor can be sent to."""
    values: dict[str, Any] = {}
    if "url" in fields:
        values["url"] = _target(tx, fields["url"], "url", settings)
    if "expiryurl" in fields:
        values["expiryurl"] = _target(tx, fields["expiryurl"], "expiryurl", settings) if fields["expiryurl"] else None
    if "metaimage" in fields:
        values["metaimage"] = (
            validation.web_url(fields["metaimage"], field="metaimage") if fields["metaimage"] else None
        )
        blocklist.refuse(tx, filter(None, [values["metaimage"]]), field="metaimage")
    for name, elements in fields.items():
        if name in _TARGETED:
            assert elements is None or isinstance(elements, list)
            values[name] = [
                {**element, "link": _target(tx, element["link"], name, settings)} for element in elements or ()
            ]
    if "deeplink" in fields:
        given = (fields["deeplink"] or {}).items()
        values["deeplink"] = {store: _target(tx, url, "deeplink", settings) for store, url in given if url}
    return values


def _target(tx: Connection, url: str, field: str, settings: Settings) -> str:
    checked = validation.target(url, field=field, settings=settings)
    validation.refuse_own(tx, checked, field=field, settings=settings)
    blocklist.refuse(tx, [checked], field=field)
    return checked


def _type(tx: Connection, account: int, value: str | int | None) -> dict[str, Any]:
    """`direct`, `frame`, `splash`, a splash page's id, or `overlay-<id>`, as three columns."""
    plain = {"type": value or "direct", "splash": None, "overlay": None}
    if value in (None, "direct", "frame", "splash"):
        return plain
    found = _PAGE.match(str(value))
    if found is None:
        raise invalid("type", "type must be direct, frame, splash, the id of a splash page, or overlay-<id>.")
    kind, table = ("overlay", overlays) if found[1] else ("splash", splashes)
    crud.require_reference(tx, table, account, int(found[2]), field="type")
    return {**plain, "type": kind, kind: int(found[2])}
