# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: campaigns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    pass


class NewCampaign(TypedDict, total=False):
    """A new campaign."""

    slug: str | None
    """Last part of the rotator's URL; null for no rotator."""
    public: bool | None
    """True if visitors can open the list page."""
    indexable: bool | None
    """True if search engines may index the list page, which must be public for that."""
    rotation: Literal["random", "weighted", "ordered"] | None
    """How the rotator selects a link."""
    sticky: bool | None
    """True if a visitor gets the same link each time."""
    winner: int | None
    """Clicks after which the most clicked link gets all further visits; null for never."""
    name: str | None
    """Name, unique among your campaigns."""


class Assignment(TypedDict, total=False):
    """The rotator settings of a link. The body is optional."""

    weight: int | None
    """Share of the visits, relative to other links, with `weighted`."""
    quota: int | None
    """Clicks after which the rotator skips the link; null for no limit."""


class CampaignChange(TypedDict, total=False):
    """The fields of a campaign. Absent ones keep their values; the name is required."""

    slug: str | None
    """Last part of the rotator's URL; null for no rotator."""
    public: bool | None
    """True if visitors can open the list page."""
    indexable: bool | None
    """True if search engines may index the list page, which must be public for that."""
    rotation: Literal["random", "weighted", "ordered"] | None
    """How the rotator selects a link."""
    sticky: bool | None
    """True if a visitor gets the same link each time."""
    winner: int | None
    """Clicks after which the most clicked link gets all further visits; null for never."""
