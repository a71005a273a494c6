"""The settable fields of a link and their conversion into columns: URLs validated, references resolved."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict
from urllib.parse import urlencode

from sqlalchemy import Connection

from waypost.core import clock
from waypost.core.errors import in_entry, invalid
from waypost.core.settings import Settings
from waypost.core.text_folding import folded
from waypost.core.uris import MAX_PARAMETERS, other_spellings
from waypost.db import crud
from waypost.db.schema import campaigns, overlays, splashes
from waypost.urls import blocklist, validation

Status = Literal["public", "private", "disabled"]


class Fields(TypedDict, total=False):
    """The settable fields, named as in decision 43. `None` means the field's default; `password` is a hash.

    `expiry` is a date or timestamp; `type` is `direct`, `frame`, `splash`, the id of a splash page or `overlay-<id>`.
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
    dropquery: bool | None


_COPIED = ("title", "description", "password", "clicklimit", "status", "metatitle", "metadescription")
_RULES = ("geotarget", "devicetarget", "languagetarget")
_SEARCH_FIELDS = ("title", "url", "alias", "description")
_INTERSTITIAL = re.compile(r"(overlay-)?([0-9]{1,15})\Z")
_SEPARATOR = "\x1f"  # no field contains it, so no search matches across two fields


def to_columns(tx: Connection, account: int, fields: Fields, settings: Settings) -> dict[str, Any]:
    """Convert the fields into columns, except alias, host and relations in other tables. Raises INVALID."""
    values: dict[str, Any] = {name: value for name, value in fields.items() if name in _COPIED}
    values |= _urls(tx, fields, settings)
    if "parameters" in fields:
        values["parameters"] = _parameters(fields["parameters"])
    if "dropquery" in fields:
        values["dropquery"] = bool(fields["dropquery"])
    if "expiry" in fields:
        values["expiry"] = clock.last_second(fields["expiry"]) if fields["expiry"] else None
    if "type" in fields:
        values |= _type(tx, account, fields["type"])
    if "campaign" in fields:
        if fields["campaign"] is not None:
            crud.require_reference(tx, campaigns, account, fields["campaign"], field="campaign", lock=True)
        values["campaign"] = fields["campaign"]
    return values


def url_hash(url: str) -> int:
    """Return the hash of a destination in the index that finds links to it: 63 bits."""
    return int.from_bytes(hashlib.sha256(url.encode()).digest()[:8]) >> 1


def search_text(values: Mapping[str, Any]) -> str:
    """Return the text that searches match: title, destination in both spellings of its host, alias and description."""
    texts = [values.get(name) or "" for name in _SEARCH_FIELDS]
    return folded(_SEPARATOR.join(texts + other_spellings(values.get("url") or "")))


def _urls(tx: Connection, fields: Fields, settings: Settings) -> dict[str, Any]:
    """Validate every URL: the destination, those of targeting rules and deep links, and the preview image."""
    values: dict[str, Any] = {}
    if "url" in fields:
        values["url"] = destination(tx, fields["url"], "url", settings)
        values["urlhash"] = url_hash(values["url"])
    if "expiryurl" in fields:
        url = fields["expiryurl"]
        values["expiryurl"] = destination(tx, url, "expiryurl", settings) if url else None
    if "metaimage" in fields:
        values["metaimage"] = (
            validation.web_url(fields["metaimage"], field="metaimage") if fields["metaimage"] else None
        )
        blocklist.refuse(tx, filter(None, [values["metaimage"]]), field="metaimage")
    for name, rules in fields.items():
        if name in _RULES:
            assert rules is None or isinstance(rules, list)
            values[name] = _rules(tx, name, rules or (), settings)
    if "deeplink" in fields:
        values["deeplink"] = {}
        for store, url in (fields["deeplink"] or {}).items():
            if url:
                with in_entry("deeplink", f".{store}"):
                    values["deeplink"][store] = destination(tx, url, "deeplink", settings)
    return values


def _rules(tx: Connection, name: str, rules: Sequence[Mapping[str, str]], settings: Settings) -> list[dict[str, str]]:
    """Return the rules of a field with their URLs trimmed. Raises INVALID on the field."""
    checked = []
    for number, rule in enumerate(rules):
        with in_entry(name, f"[{number}].link"):
            checked.append({**rule, "link": destination(tx, rule["link"], name, settings)})
    return checked


def destination(tx: Connection, url: str, field: str, settings: Settings) -> str:
    """Trim and validate a URL that visitors are redirected to. Raises INVALID on `field`."""
    accepted = validation.destination(url, field=field, schemes=settings.schemes)
    blocklist.refuse_destination(tx, accepted, field=field, settings=settings)
    return accepted


def _parameters(parameters: Sequence[Mapping[str, str | None]] | None) -> list[dict[str, str]]:
    """Return the parameters that have a name: a widely copied sample request has one without. Raises INVALID."""
    named = [
        {"name": parameter["name"] or "", "value": parameter.get("value") or ""}
        for parameter in parameters or ()
        if parameter.get("name")
    ]
    length = len(urlencode([(parameter["name"], parameter["value"]) for parameter in named]))
    if length > MAX_PARAMETERS:
        message = (
            f"parameters must have at most {MAX_PARAMETERS} bytes in total when they are percent-encoded;"
            f" they have {length}."
        )
        raise invalid("parameters", message)
    return named


def _type(tx: Connection, account: int, value: str | int | None) -> dict[str, Any]:
    """Convert `type` into the columns `type`, `splash` and `overlay`. Raises INVALID."""
    value = value.lower() if isinstance(value, str) else value
    columns = {"type": value or "direct", "splash": None, "overlay": None}
    if value in (None, "direct", "frame", "splash"):
        return columns
    match = _INTERSTITIAL.match(str(value))
    if match is None:
        raise invalid("type", "type must be direct, frame, splash, the id of a splash page, or overlay-<id>.")
    kind, table = ("overlay", overlays) if match[1] else ("splash", splashes)
    crud.require_reference(tx, table, account, int(match[2]), field="type", lock=True)
    return {**columns, "type": kind, kind: int(match[2])}
