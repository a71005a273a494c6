"""Scopes of endpoints: the campaign, channel or link whose events an endpoint gets."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from waypost.db.schema import channel_items, links
from waypost.db.statements import is_one_of

LINK, CAMPAIGN, CHANNEL = "link", "campaign", "channel"
_IN_CHANNELS = ("link", "bio", "qr")
"""The kinds of items that channels have, which are columns of `channel_items` too."""


@dataclass(frozen=True)
class Thing:
    """The thing of an event. `campaigns` are those that the event itself names, before and after a change."""

    account: int | None
    kind: str
    item: int | None
    campaigns: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Places:
    """The campaigns and channels of things, as they are now."""

    campaigns: Mapping[int, int]
    """By link."""
    channels: Mapping[tuple[str, int], set[int]]
    """By kind and id."""


def find_places(tx: Connection, endpoints: Sequence[Any], things: Collection[Thing]) -> Places:
    """Read the places of things, if an endpoint asks for them. One that was deleted is in no channel."""
    of_campaigns = {each.account for each in endpoints if each.campaign is not None}
    of_channels = {each.account for each in endpoints if each.channel is not None}
    campaigns: dict[int, int] = {}
    channels: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    if ids := _ids(things, LINK, of_campaigns):
        owned = (is_one_of(links.c.account, of_campaigns), is_one_of(links.c.id, ids))
        rows = tx.execute(select(links.c.id, links.c.campaign).where(*owned))
        campaigns.update((link, campaign) for link, campaign in rows if campaign is not None)
    for name in _IN_CHANNELS:
        column = channel_items.c[name]
        if ids := _ids(things, name, of_channels):
            owned = (is_one_of(channel_items.c.account, of_channels), is_one_of(column, ids))
            for item, channel in tx.execute(select(column, channel_items.c.channel).where(*owned)):
                channels[name, item].add(channel)
    return Places(campaigns, channels)


def _ids(things: Collection[Thing], kind: str, accounts: Collection[int]) -> Sequence[int]:
    ids = {thing.item for thing in things if thing.kind == kind and thing.account in accounts}
    return sorted(item for item in ids if item is not None)


def contains(endpoint: Any, thing: Thing, places: Places) -> bool:
    """Return whether a thing is the item of an endpoint, or belongs to it."""
    for kind in (LINK, CAMPAIGN, CHANNEL):
        if (scope := getattr(endpoint, kind)) is not None:
            is_itself = (thing.kind, thing.item) == (kind, scope)
            return is_itself or (thing.item is not None and scope in _around(kind, thing, places))
    return True


def _around(kind: str, thing: Thing, places: Places) -> Collection[int]:
    """Return the campaigns or channels of a thing."""
    item = thing.item or 0
    if kind == CHANNEL:
        return places.channels.get((thing.kind, item), set())
    if kind != CAMPAIGN or thing.kind != LINK:
        return ()
    return thing.campaigns | ({places.campaigns[item]} if item in places.campaigns else set())
