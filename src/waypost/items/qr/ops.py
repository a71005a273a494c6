"""QR codes: what they hold, how they look, and whom they belong to (decisions 30 to 36)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection, select, update

from waypost.core.errors import invalid, not_found
from waypost.core.settings import Settings
from waypost.db import audit_log, change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import qrs
from waypost.db.schema.nouns import NOUNS
from waypost.media.qrcode import layout, payloads, styles
from waypost.media.qrcode.payloads import Data, Type
from waypost.media.qrcode.styles import PLAIN, Eyes, Gradient, Level, Modules, Style
from waypost.search import items
from waypost.search.words import Word
from waypost.urls import alias_namespace, blocklist
from waypost.urls.short_urls import short_url


@dataclass(frozen=True)
class Listed:
    """A code as lists show it; `created` in seconds, UTC. `version` counts its changes."""

    id: int
    alias: str
    name: str
    type: Type
    dynamic: bool
    scans: int
    created: int
    version: int


@dataclass(frozen=True)
class Code(Listed):
    """A code with everything that is set on it but its logo."""

    data: Data
    foreground: str
    background: str
    gradient: Mapping[str, Any] | None
    modules: Modules
    eyes: Eyes
    level: Level
    margin: int
    caption: str
    uniquescans: int


class Fields(TypedDict, total=False):
    """The settable fields; `None` is the default. `logo` is a re-encoded PNG (waypost.items.qr.service)."""

    type: Type
    data: Data
    name: str | None
    dynamic: bool | None
    foreground: str | None
    background: str | None
    gradient: Mapping[str, Any] | None
    modules: Modules | None
    eyes: Eyes | None
    level: Level | None
    margin: int | None
    caption: str | None
    logo: bytes | None


@dataclass(frozen=True)
class Draft:
    """A code as it would be: to be drawn and proven before it is saved. `text` is what its picture holds."""

    alias: str
    values: Mapping[str, Any]
    text: str
    style: Style
    logo: bytes | None
    version: int = 1


def page(tx: Connection, account: int, window: PageRequest, *, words: Sequence[Word] = ()) -> Page[Listed]:
    """The account's codes, or those that match all words of a search."""
    if not words:
        return crud.page(tx, qrs, account, window, Listed)
    matches = items.matches(tx, NOUNS["qr"], words)
    return crud.filtered_page(tx, qrs, account, window, Listed, matches)


def get_owned(tx: Connection, account: int, code: int) -> Code:
    """One code."""
    return crud.get_owned(tx, qrs, account, code, Code)


def has_logo(tx: Connection, account: int, code: int) -> bool:
    """Return whether a code of the account has a logo."""
    is_owned = (qrs.c.id == code, qrs.c.account == account)
    return tx.execute(select(qrs.c.logo.is_not(None)).where(*is_owned)).scalar_one()


def get_logo(tx: Connection, account: int, code: int) -> bytes:
    """Return the logo of a code as PNG. Raises NOT_FOUND, also for a code without one."""
    query = select(qrs.c.logo).where(qrs.c.id == code, qrs.c.account == account)
    logo: bytes | None = tx.execute(query).scalar_one_or_none()
    if logo is None:
        raise not_found()
    return logo


def draft(tx: Connection, *, settings: Settings, custom: str | None = None, **fields: Unpack[Fields]) -> Draft:
    """A new code. Raises INVALID on the field at fault. `add` saves it."""
    alias = alias_namespace.pick(tx, alias_namespace.OWN, custom)
    dynamic = fields.get("dynamic")
    tracked = fields["type"] in payloads.TRACKED if dynamic is None else dynamic
    return _draft(tx, alias, {**fields, "dynamic": tracked}, fields.get("logo"), settings)


def draft_change(tx: Connection, account: int, code: int, *, settings: Settings, **fields: Unpack[Fields]) -> Draft:
    """A code as the given fields would change it. Raises INVALID as `draft`, NOT_FOUND. `change` saves it."""
    before = get_owned(tx, account, code)
    if fields.get("dynamic", before.dynamic) not in (before.dynamic, None):
        raise invalid("dynamic", "dynamic cannot be changed: codes that are printed already would stop working.")
    current = {name: getattr(before, name) for name in (*_EMPTY, "type", "data")}
    values = {**current, **fields, "dynamic": before.dynamic}
    logo = fields["logo"] if "logo" in fields else _logo(tx, account, code)
    return _draft(tx, before.alias, values, logo, settings, version=before.version)


def add(tx: Connection, account: int, new: Draft) -> int:
    """Save a new code; return its id. Raises TAKEN on `custom`."""
    code = crud.add(tx, qrs, account, {**new.values, "alias": new.alias})
    alias_namespace.claim(tx, account, "qr", code, host=alias_namespace.OWN, alias=new.alias)
    return code


def change(tx: Connection, account: int, code: int, new: Draft) -> bool:
    """Save a changed code. Return False if it was changed since the draft, which must then be repeated."""
    now = {**new.values, "version": new.version + 1}
    own_items = (qrs.c.id == code, qrs.c.account == account, qrs.c.version == new.version)
    query = select(*audit_log.columns_of(qrs), qrs.c.logo).where(*own_items).with_for_update()
    before = tx.execute(query).mappings().first()
    if before is None:
        get_owned(tx, account, code)
        return False
    tx.execute(update(qrs).where(*own_items).values(now))
    audit_log.item_updated(tx, qrs, account, code, before, now)
    change_log.record(tx, alias_namespace.OWN, new.alias)
    return True


def remove(tx: Connection, account: int, code: int) -> None:
    """Delete a code; its alias stays with the account, as a tombstone."""
    crud.lock_row(tx, qrs, account, code)
    alias_namespace.release(tx, host=alias_namespace.OWN, alias=get_owned(tx, account, code).alias)
    crud.remove(tx, qrs, account, code)


def saved(tx: Connection, account: int, code: int, settings: Settings) -> Draft | None:
    """Return the data to render a saved code; None if it does not exist."""
    query = crud.select_columns(qrs, Code).add_columns(qrs.c.logo)
    row = tx.execute(query.where(qrs.c.id == code, qrs.c.account == account)).first()
    if row is None:
        return None
    columns = row._asdict()
    return Draft(row.alias, {}, text_of(columns, settings), _style(columns), row.logo, row.version)


def text_of(code: Mapping[str, Any], settings: Settings) -> str:
    """Return the payload of the image: the short URL if tracked, otherwise the content (decision 31)."""
    if code["dynamic"]:
        return short_url(settings.base, "", None, code["alias"])
    return payloads.read(code["type"], code["data"], settings).text


def _draft(
    tx: Connection, alias: str, values: Mapping[str, Any], logo: bytes | None, settings: Settings, *, version: int = 1
) -> Draft:
    whole = {**_EMPTY, **{name: value for name, value in values.items() if value is not None}}
    whole["foreground"] = styles.color(whole["foreground"], field="foreground")
    whole["background"] = styles.color(whole["background"], field="background")
    if whole["gradient"] is not None:
        color = styles.color(whole["gradient"]["color"], field="gradient")
        whole["gradient"] = {**vars(Gradient(color)), **whole["gradient"], "color": color}
    whole["caption"] = whole["caption"].strip()
    if missing := layout.cannot_write(whole["caption"]):
        raise invalid("caption", f"caption has characters that cannot be drawn: {missing}")
    if whole["type"] == "app" and not whole["dynamic"]:
        raise invalid("dynamic", "dynamic must be true for an app: the store is selected at the scan.")
    content = payloads.read_new(whole["type"], whole["data"], settings)
    blocklist.refuse(tx, content.urls(), field="data")
    text = text_of({**whole, "alias": alias}, settings)
    if content.uri == short_url(settings.base, "", None, alias):
        raise invalid("data", "data must not be the address of this code itself: that is a redirect loop.")
    return Draft(alias, {**whole, "data": content.data, "logo": logo}, text, _style(whole), logo, version)


_STYLED = ("foreground", "background", "modules", "eyes", "level", "margin", "caption")
_EMPTY: dict[str, Any] = {**{name: getattr(PLAIN, name) for name in _STYLED}, "name": "", "gradient": None}


def _style(code: Mapping[str, Any]) -> Style:
    gradient = Gradient(**code["gradient"]) if code["gradient"] else None
    return Style(**{name: code[name] for name in _STYLED}, gradient=gradient)


def _logo(tx: Connection, account: int, code: int) -> bytes | None:
    is_owned = (qrs.c.id == code, qrs.c.account == account)
    logo: bytes | None = tx.execute(select(qrs.c.logo).where(*is_owned)).scalar_one()
    return logo
