"""The kinds of items in an archive: how each is validated, found, created and deleted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Table, exists, select

from waypost.api.request_body import Body
from waypost.bios import ops as bios
from waypost.bios.schemas import BioChange
from waypost.campaigns import ops as campaigns
from waypost.campaigns.api import NewCampaign
from waypost.channels import ops as channels
from waypost.channels.api import NewChannel
from waypost.db import schema, unique_names
from waypost.domains import ops as domains
from waypost.domains.api import NewDomain
from waypost.files import ops as files
from waypost.files.schemas import FileChange
from waypost.imports.archives.source import Shape
from waypost.links import ops as links
from waypost.links.schemas import LinkChange
from waypost.overlays import ops as overlays
from waypost.overlays.api import NewOverlay
from waypost.pixels import ops as pixels
from waypost.pixels.api import NewPixel
from waypost.qr import ops as qr_codes
from waypost.qr.schemas import NewCode
from waypost.settings import Settings
from waypost.splash import ops as splash_pages
from waypost.splash.api import NewSplash
from waypost.utm import ops as utm_templates
from waypost.utm.api import NewTemplate

_LINK_FIELDS = (
    *("expiryurl", "metatitle", "metadescription", "metaimage"),
    *("geotarget", "devicetarget", "languagetarget", "deeplink", "parameters", "dropquery"),
)
Check = Callable[[Connection, int, Settings, Mapping[str, Any]], object]
"""Called with a transaction, the account, the settings and the fields of a new item."""


@dataclass(frozen=True)
class Noun:
    """A noun in an archive. `model` is the body of the API; `totals` are columns of counters, the first one of visits.

    `same` are the columns that make two items equal. `uses` are columns that refer to it: undo keeps one in use.
    `check` raises what the creation of an item raises although its model is valid.
    """

    table: Table
    model: type[Body]
    remove: Callable[[Connection, int, int], object]
    totals: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    uses: tuple[ColumnElement[Any], ...] = ()
    check: Check | None = None


def _check_domain(tx: Connection, _account: int, settings: Settings, fields: Mapping[str, Any]) -> None:
    domains.new_columns(tx, settings=settings, **fields)


def _check_pixel(_tx: Connection, _account: int, _settings: Settings, fields: Mapping[str, Any]) -> None:
    pixels.new_columns(**fields)


def _check_splash_page(tx: Connection, _account: int, _settings: Settings, fields: Mapping[str, Any]) -> None:
    splash_pages.checked(tx, fields)


def _check_overlay(tx: Connection, _account: int, _settings: Settings, fields: Mapping[str, Any]) -> None:
    overlays.new_columns(tx, cast(overlays.Fields, fields))


def _check_campaign(tx: Connection, account: int, _settings: Settings, fields: Mapping[str, Any]) -> None:
    campaigns.check_slug_of_new(tx, account, fields.get("slug"))


_channel_items, _links = schema.channel_items.c, schema.links.c
KINDS: Mapping[str, Noun] = {
    "domain": Noun(schema.domains, NewDomain, domains.remove, check=_check_domain, same=("host",)),
    "pixel": Noun(
        schema.pixels,
        NewPixel,
        pixels.remove,
        check=_check_pixel,
        same=("type", "name", "tag"),
        uses=(schema.link_pixels.c.pixel,),
    ),
    "utm": Noun(schema.utm_templates, NewTemplate, utm_templates.remove, same=("name",)),
    "splash": Noun(
        schema.splashes,
        NewSplash,
        splash_pages.remove,
        check=_check_splash_page,
        same=("name", "title", "message", "counter", "skip", "link", "banner", "logo"),
        uses=(_links.splash,),
    ),
    "overlay": Noun(
        schema.overlays,
        NewOverlay,
        overlays.remove,
        check=_check_overlay,
        same=("name", "type", "message", "label", "link", "position", "delay", "button", "code", "image", "webhook"),
        uses=(_links.overlay,),
    ),
    "channel": Noun(schema.channels, NewChannel, channels.remove, same=("name",), uses=(_channel_items.channel,)),
    "campaign": Noun(
        schema.campaigns,
        NewCampaign,
        campaigns.remove,
        ("views",),
        check=_check_campaign,
        same=("name",),
        uses=(_links.campaign,),
    ),
    "link": Noun(schema.links, LinkChange, links.remove, ("clicks", "uniqueclicks", "importedclicks", "taken")),
    "bio": Noun(schema.bios, BioChange, bios.remove, ("clicks", "uniqueclicks")),
    "qr": Noun(schema.qrs, NewCode, qr_codes.remove, ("scans", "uniquescans")),
    "file": Noun(schema.files, FileChange, files.remove, ("downloads", "uniquedownloads", "taken")),
}
FOUNDATIONS = frozenset({"domain", "pixel", "utm", "splash", "overlay", "channel", "campaign"})
"""The kinds that links refer to, and UTM templates. They have no alias."""


def shapes() -> Mapping[str, Shape]:
    """Return what the reader of an archive needs to know of each kind: it runs in a process without these modules."""
    return {
        kind: {"totals": noun.totals, "fields": _LINK_FIELDS if kind == "link" else list(noun.model.model_fields)}
        for kind, noun in KINDS.items()
    }


def equal_item(tx: Connection, account: int, kind: str, columns: Mapping[str, Any]) -> int | None:
    """Return the account's item that is like a new one with these columns."""
    table = KINDS[kind].table
    if is_named_once(kind):
        return unique_names.find(tx, table, columns["name"], table.c.account == account)
    values = {name: columns.get(name) for name in KINDS[kind].same}
    is_same = [table.c[name] == (_default(table, name) if value is None else value) for name, value in values.items()]
    query = select(table.c.id).where(table.c.account == account, *is_same).order_by(table.c.id)
    return tx.execute(query.limit(1)).scalar()


def is_named_once(kind: str) -> bool:
    """Return whether an account has only one item of the kind with a name."""
    return "name_key" in KINDS[kind].table.c


def is_used(tx: Connection, account: int, kind: str, item: int) -> bool:
    """Return whether another item refers to this one, or a domain has aliases."""
    if kind == "domain":
        return bool(domains.uses(tx, account, domains.get_owned(tx, account, item).host))
    uses = KINDS[kind].uses
    return any(tx.execute(select(exists().where(column == item))).scalar_one() for column in uses)


def _default(table: Table, name: str) -> Any:
    return getattr(table.c[name].default, "arg", None)
