# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from waypost_client.models.shared import StatisticsBlock
from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Link(Record):
    """A short link in a list."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    alias: str = ""
    """The part of the short URL after the host."""
    shorturl: str = ""
    """Short URL."""
    longurl: str = ""
    """Destination."""
    title: str = ""
    """Title in lists, in the dashboard and on interstitials."""
    description: str = ""
    """Private note. No visitor sees it: `metadescription` is for them."""
    clicks: int = 0
    """Visits by people, without bots and link previews."""
    uniqueclicks: int = 0
    """Distinct visitors, counted per day."""
    domain: str = ""
    """Scheme and host of the short URL."""
    campaign: int | None = None
    """Id of the link's campaign; null without one."""
    channel: tuple[int, ...] = ()
    """Ids of the link's channels."""
    date: str = ""
    """Time of creation, in UTC."""


@dataclass(frozen=True, kw_only=True)
class LinkDetails(Record):
    """A short link with all its settings."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    alias: str = ""
    """The part of the short URL after the host."""
    shorturl: str = ""
    """Short URL."""
    longurl: str = ""
    """Destination."""
    title: str = ""
    """Title in lists, in the dashboard and on interstitials."""
    description: str = ""
    """Private note. No visitor sees it: `metadescription` is for them."""
    clicks: int = 0
    """Visits by people, without bots and link previews."""
    uniqueclicks: int = 0
    """Distinct visitors, counted per day."""
    domain: str = ""
    """Scheme and host of the short URL."""
    campaign: int | None = None
    """Id of the link's campaign; null without one."""
    channel: tuple[int, ...] = ()
    """Ids of the link's channels."""
    date: str = ""
    """Time of creation, in UTC."""
    status: str = ""
    """`public`; `private`: not on list pages of campaigns; `disabled`: visitors get 403."""
    type: str = ""
    """`direct`; `frame`: the destination in a frame; `splash`: a page with the link's title and
    `metadescription` first; the id of a splash page; or `overlay-` and the id of an overlay.
    """
    password: bool = False
    """True if visitors must enter a password."""
    importedclicks: int = 0
    """Those of `clicks` that an import brought along."""
    expiry: str = ""
    """Last second before the item expires, in UTC; empty if it does not expire."""
    clicklimit: int | None = None
    """Clicks after which the link is expired; null for no limit."""
    expiryurl: str = ""
    """Destination of visitors after the expiry or the limit; without one they get 410."""
    metatitle: str = ""
    """Title of the link's preview in chats and networks."""
    metadescription: str = ""
    """Description for visitors, on the default splash page and in link previews."""
    metaimage: str = ""
    """URL of the preview's image."""
    geotarget: tuple[Mapping[str, str], ...] = ()
    """Destinations by country."""
    devicetarget: tuple[Mapping[str, str], ...] = ()
    """Destinations by device."""
    languagetarget: tuple[Mapping[str, str], ...] = ()
    """Destinations by language."""
    deeplink: Mapping[str, str] = field(default_factory=dict[str, str])
    """Destinations of iPhones (`apple`) and Android phones (`google`)."""
    parameters: tuple[Mapping[str, str], ...] = ()
    """Parameters that are added to the destination."""
    dropquery: bool = False
    """True: the destination does not get the parameters of the visited URL."""
    pixels: tuple[int, ...] = ()
    """Ids of the tracking pixels that start before the destination."""


@dataclass(frozen=True, kw_only=True)
class LinkDone(Record):
    """The response of create."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    shorturl: str = ""
    """Short URL."""
    short: str = ""
    """Short URL."""


@dataclass(frozen=True, kw_only=True)
class LinkUpdated(Record):
    """The response of update."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    shorturl: str = ""
    """Short URL."""
    short: str = ""
    """Short URL."""
    message: str = ""
    """Result in one sentence."""


@dataclass(frozen=True, kw_only=True)
class LinkAnswer(Record):
    """A link with its statistics."""

    details: LinkDetails = field(default_factory=LinkDetails)
    """The link."""
    data: StatisticsBlock = field(default_factory=StatisticsBlock)
    """Its statistics."""
