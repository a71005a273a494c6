# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: campaigns."""

from __future__ import annotations

from dataclasses import dataclass, field

from waypost_client.models.shared import Report
from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Campaign(Record):
    """A campaign."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name, unique among your campaigns."""
    domain: str = ""
    """The name again, for clients that read it here."""
    campaign: str = ""
    """The name again, for clients that read it here."""
    public: bool = False
    """True if visitors can open the list page."""
    rotator: str | bool = ""
    """URL of the rotator; false without a slug."""
    list: str = ""
    """URL of the list page."""
    views: int = 0
    """Visits of the rotator and the list page."""


@dataclass(frozen=True, kw_only=True)
class CampaignSettings(Record):
    """A campaign with the settings of its rotator and of its list page."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name, unique among your campaigns."""
    domain: str = ""
    """The name again, for clients that read it here."""
    campaign: str = ""
    """The name again, for clients that read it here."""
    public: bool = False
    """True if visitors can open the list page."""
    rotator: str | bool = ""
    """URL of the rotator; false without a slug."""
    list: str = ""
    """URL of the list page."""
    views: int = 0
    """Visits of the rotator and the list page."""
    indexable: bool = False
    """True if search engines may index the list page, which must be public for that."""
    rotation: str = ""
    """How the rotator selects a link."""
    sticky: bool = False
    """True if a visitor gets the same link each time."""
    winner: int | None = None
    """Clicks after which the most clicked link gets all further visits; null for never."""
    winnerlink: int | None = None
    """Id of the link that has won; null before that."""


@dataclass(frozen=True, kw_only=True)
class CampaignLink(Record):
    """A link in a campaign."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    shorturl: str = ""
    """Short URL."""
    title: str = ""
    """Title of the link."""
    clicks: int = 0
    """Clicks that the rotator sent to the link in the span."""
    weight: int = 0
    """Share of the visits, relative to other links, with `weighted`."""
    quota: int | None = None
    """Clicks after which the rotator skips the link; null for no limit."""
    given: int = 0
    """Clicks that are counted against the quota."""


@dataclass(frozen=True, kw_only=True)
class CampaignDone(Record):
    """The response of create and update."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name, unique among your campaigns."""
    domain: str = ""
    """The name again, for clients that read it here."""
    campaign: str = ""
    """The name again, for clients that read it here."""
    public: bool = False
    """True if visitors can open the list page."""
    rotator: str | bool = ""
    """URL of the rotator; false without a slug."""
    list: str = ""
    """URL of the list page."""
    views: int = 0
    """Visits of the rotator and the list page."""


@dataclass(frozen=True, kw_only=True)
class CampaignReport(Record):
    """The visits of rotator and list page in a span, in total and by link."""

    data: Report = field(default_factory=Report)
    """The visits of the rotator and the list page."""
    links: tuple[CampaignLink, ...] = ()
    """The links, most clicked first; at most 1000."""
