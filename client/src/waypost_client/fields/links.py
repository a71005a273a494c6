# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Required


class GeoRule(TypedDict, total=False):
    """A destination for visitors of a country."""

    location: Required[str]
    """English name or code of the country."""
    link: Required[str]
    """Destination of these visitors."""


class DeviceRule(TypedDict, total=False):
    """A destination for visitors with a device."""

    device: Required[str]
    """A device, system or type, such as iPhone or Windows."""
    link: Required[str]
    """Destination of these visitors."""


class LanguageRule(TypedDict, total=False):
    """A destination for visitors with a language."""

    language: Required[str]
    """Code of the language: `pt` is for every Portuguese, `pt-BR` for that of Brazil only."""
    link: Required[str]
    """Destination of these visitors."""


class Deeplink(TypedDict, total=False):
    """Destinations of phones, such as an app or its page in a store."""

    apple: str | None
    """Destination of iPhones."""
    google: str | None
    """Destination of Android phones."""


class Parameter(TypedDict, total=False):
    """A parameter that is added to the destination."""

    name: str | None
    """Name; a parameter without one is dropped."""
    value: str | None
    """Value."""


class NewLink(TypedDict, total=False):
    """A new link: only its destination is required."""

    custom: str | None
    """Alias instead of a random one, unique on its host."""
    domain: str | None
    """One of your branded domains; the service's own host by default."""
    title: str | None
    """Title in lists, in the dashboard and on interstitials."""
    description: str | None
    """Private note. No visitor sees it: `metadescription` is for them."""
    password: str | None
    """Password that visitors must enter. `null` removes it."""
    expiry: str | None
    """Last day in UTC, `YYYY-MM-DD`, or last second, `YYYY-MM-DD HH:MM:SS` in UTC or with an offset such as
    `+02:00`. `null` removes the expiry.
    """
    clicklimit: int | None
    """Clicks after which the link is expired; null for no limit."""
    expiryurl: str | None
    """Destination of visitors after the expiry or the limit; without one they get 410."""
    type: str | int | None
    """`direct`; `frame`: the destination in a frame; `splash`: a page with the link's title and
    `metadescription` first; the id of a splash page; or `overlay-` and the id of an overlay.
    """
    status: Literal["public", "private", "disabled"] | None
    """`public`; `private`: not on list pages of campaigns; `disabled`: visitors get 403."""
    metatitle: str | None
    """Title of the link's preview in chats and networks."""
    metadescription: str | None
    """Description for visitors, on the default splash page and in link previews."""
    metaimage: str | None
    """URL of the preview's image."""
    pixels: Sequence[int] | None
    """Ids of the tracking pixels that start before the destination."""
    channel: int | Sequence[int] | None
    """Id of a channel, or a list of ids."""
    campaign: int | None
    """Id of the link's campaign; null without one."""
    geotarget: Sequence[GeoRule] | None
    """Destinations by country; the first match is used."""
    devicetarget: Sequence[DeviceRule] | None
    """Destinations by device, after those by country."""
    languagetarget: Sequence[LanguageRule] | None
    """Destinations by language, after all others."""
    deeplink: Deeplink | None
    """Destinations of phones, after those by device."""
    parameters: Sequence[Parameter] | None
    """Parameters that are added to the destination."""
    dropquery: bool | None
    """True: the destination does not get the parameters of the visited URL."""


class LinkChange(TypedDict, total=False):
    """The fields of a link. Absent ones keep their values."""

    url: str
    """Destination."""
    custom: str | None
    """Alias instead of a random one, unique on its host."""
    domain: str | None
    """One of your branded domains; the service's own host by default."""
    title: str | None
    """Title in lists, in the dashboard and on interstitials."""
    description: str | None
    """Private note. No visitor sees it: `metadescription` is for them."""
    password: str | None
    """Password that visitors must enter. `null` removes it."""
    expiry: str | None
    """Last day in UTC, `YYYY-MM-DD`, or last second, `YYYY-MM-DD HH:MM:SS` in UTC or with an offset such as
    `+02:00`. `null` removes the expiry.
    """
    clicklimit: int | None
    """Clicks after which the link is expired; null for no limit."""
    expiryurl: str | None
    """Destination of visitors after the expiry or the limit; without one they get 410."""
    type: str | int | None
    """`direct`; `frame`: the destination in a frame; `splash`: a page with the link's title and
    `metadescription` first; the id of a splash page; or `overlay-` and the id of an overlay.
    """
    status: Literal["public", "private", "disabled"] | None
    """`public`; `private`: not on list pages of campaigns; `disabled`: visitors get 403."""
    metatitle: str | None
    """Title of the link's preview in chats and networks."""
    metadescription: str | None
    """Description for visitors, on the default splash page and in link previews."""
    metaimage: str | None
    """URL of the preview's image."""
    pixels: Sequence[int] | None
    """Ids of the tracking pixels that start before the destination."""
    channel: int | Sequence[int] | None
    """Id of a channel, or a list of ids."""
    campaign: int | None
    """Id of the link's campaign; null without one."""
    geotarget: Sequence[GeoRule] | None
    """Destinations by country; the first match is used."""
    devicetarget: Sequence[DeviceRule] | None
    """Destinations by device, after those by country."""
    languagetarget: Sequence[LanguageRule] | None
    """Destinations by language, after all others."""
    deeplink: Deeplink | None
    """Destinations of phones, after those by device."""
    parameters: Sequence[Parameter] | None
    """Parameters that are added to the destination."""
    dropquery: bool | None
    """True: the destination does not get the parameters of the visited URL."""
