"""The functions of each noun that imports, agents and the deletion of accounts call. `db.schema.nouns` has the data.

It loads the modules of all nouns, and nouns do not import it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection

from waypost.api.context import RequestContext
from waypost.api.request_body import Body
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.crud import PageRequest
from waypost.items.bios import api as bios_api
from waypost.items.bios import ops as bios
from waypost.items.bios.schemas import BioChange
from waypost.items.campaigns import api as campaigns_api
from waypost.items.campaigns import ops as campaigns
from waypost.items.channels import api as channels_api
from waypost.items.channels import ops as channels
from waypost.items.domains import api as domains_api
from waypost.items.domains import ops as domains
from waypost.items.files import api as files_api
from waypost.items.files import ops as files
from waypost.items.files.schemas import FileChange
from waypost.items.links import api as links_api
from waypost.items.links import bulk
from waypost.items.links import ops as links
from waypost.items.links.schemas import LinkChange
from waypost.items.overlays import api as overlays_api
from waypost.items.overlays import ops as overlays
from waypost.items.pixels import api as pixels_api
from waypost.items.pixels import ops as pixels
from waypost.items.qr import api as qr_api
from waypost.items.qr import ops as qr_codes
from waypost.items.qr.schemas import NewCode
from waypost.items.splash import api as splash_api
from waypost.items.splash import ops as splash_pages
from waypost.items.utm import api as utm_api
from waypost.items.utm import ops as utm_templates

AddNew = Callable[[Connection, int, Settings, Mapping[str, Any]], int]
CheckNew = Callable[[Connection, int, Settings, Mapping[str, Any]], object]
"""Called with a transaction, the account, the settings and the fields of a new item."""


@dataclass(frozen=True, kw_only=True)
class NounFunctions:
    """`list_items` is the endpoint of the API's list, `model` the body of the API for an item of an archive.

    `add` creates one and returns its id; imports have steps of their own for the kinds without it. `uses` are columns
    that refer to it: the undo of an import keeps an item in use. `check_new` raises what the creation of an item raises
    although its model is valid.
    """

    remove: Callable[[Connection, int, int], object]
    list_items: Callable[[RequestContext, PageRequest], Any]
    model: type[Body]
    add: AddNew | None = None
    check_new: CheckNew | None = None
    uses: tuple[ColumnElement[Any], ...] = ()
    remove_together: Callable[[Connection, int, Sequence[int]], object] | None = None

    def remove_many(self, tx: Connection, account: int, ids: Sequence[int]) -> None:
        """Delete items. Raises NOT_FOUND if one of them does not exist."""
        if self.remove_together is not None:
            self.remove_together(tx, account, ids)
            return
        for item in ids:
            self.remove(tx, account, item)


def _by(add: Callable[..., Any]) -> AddNew:
    """Return the creation of an item by an operation that takes its fields and needs no settings."""
    return lambda tx, account, _settings, fields: int(add(tx, account, **fields).id)


def _add_domain(tx: Connection, account: int, settings: Settings, fields: Mapping[str, Any]) -> int:
    return domains.add(tx, account, settings=settings, **fields).id


def _check_domain(tx: Connection, _account: int, settings: Settings, fields: Mapping[str, Any]) -> None:
    domains.check_new(tx, settings=settings, **fields)


def _check_pixel(_tx: Connection, _account: int, _settings: Settings, fields: Mapping[str, Any]) -> None:
    pixels.new_columns(**fields)


def _check_splash_page(tx: Connection, _account: int, _settings: Settings, fields: Mapping[str, Any]) -> None:
    splash_pages.checked(tx, fields)


def _check_overlay(tx: Connection, _account: int, _settings: Settings, fields: Mapping[str, Any]) -> None:
    overlays.new_columns(tx, cast(overlays.Fields, fields))


def _check_campaign(tx: Connection, account: int, _settings: Settings, fields: Mapping[str, Any]) -> None:
    campaigns.check_slug_of_new(tx, account, fields.get("slug"))


FUNCTIONS: Mapping[str, NounFunctions] = {
    "link": NounFunctions(
        remove=links.remove,
        remove_together=bulk.remove,
        list_items=links_api.list_links,
        model=LinkChange,
    ),
    "file": NounFunctions(remove=files.remove, list_items=files_api.list_files, model=FileChange),
    "qr": NounFunctions(remove=qr_codes.remove, list_items=qr_api.list_qr_codes, model=NewCode),
    "bio": NounFunctions(remove=bios.remove, list_items=bios_api.list_bio_pages, model=BioChange),
    "campaign": NounFunctions(
        remove=campaigns.remove,
        list_items=campaigns_api.list_campaigns,
        model=campaigns_api.NewCampaign,
        add=_by(campaigns.add),
        check_new=_check_campaign,
        uses=(schema.links.c.campaign,),
    ),
    "channel": NounFunctions(
        remove=channels.remove,
        list_items=channels_api.list_channels,
        model=channels_api.NewChannel,
        add=_by(channels.add),
        uses=(schema.channel_items.c.channel,),
    ),
    "splash": NounFunctions(
        remove=splash_pages.remove,
        list_items=splash_api.list_splash_pages,
        model=splash_api.NewSplash,
        add=_by(splash_pages.add),
        check_new=_check_splash_page,
        uses=(schema.links.c.splash,),
    ),
    "overlay": NounFunctions(
        remove=overlays.remove,
        list_items=overlays_api.list_overlays,
        model=overlays_api.NewOverlay,
        add=_by(overlays.add),
        check_new=_check_overlay,
        uses=(schema.links.c.overlay,),
    ),
    "pixel": NounFunctions(
        remove=pixels.remove,
        list_items=pixels_api.list_pixels,
        model=pixels_api.NewPixel,
        add=_by(pixels.add),
        check_new=_check_pixel,
        uses=(schema.link_pixels.c.pixel,),
    ),
    "utm": NounFunctions(
        remove=utm_templates.remove,
        list_items=utm_api.list_utm_templates,
        model=utm_api.NewTemplate,
        add=_by(utm_templates.add),
    ),
    "domain": NounFunctions(
        remove=domains.remove,
        list_items=domains_api.list_domains,
        model=domains_api.NewDomain,
        add=_add_domain,
        check_new=_check_domain,
    ),
}
"""By kind, as `NOUNS`."""
