# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class MessageResponse(Record):
    """The response to an action."""

    message: str = ""
    """Result in one sentence."""


@dataclass(frozen=True, kw_only=True)
class VisitCounts(Record):
    """Visits by outcome."""

    clicks: int = 0
    """Visits by people, without bots and link previews."""
    uniqueClicks: int = 0
    """Distinct visitors, counted per day."""
    bots: int = 0
    """Visits by crawlers."""
    previews: int = 0
    """Link previews of chats and social networks."""
    others: int = 0
    """HEAD requests and prefetches."""
    late: int = 0
    """Visits after the expiry or the limit."""


@dataclass(frozen=True, kw_only=True)
class Point(Record):
    """The visits from `at` until the next point."""

    clicks: int = 0
    """Visits by people, without bots and link previews."""
    uniqueClicks: int = 0
    """Distinct visitors, counted per day."""
    bots: int = 0
    """Visits by crawlers."""
    previews: int = 0
    """Link previews of chats and social networks."""
    others: int = 0
    """HEAD requests and prefetches."""
    late: int = 0
    """Visits after the expiry or the limit."""
    at: str = ""
    """Start of the point, in the requested time zone."""


@dataclass(frozen=True, kw_only=True)
class CreatedResponse(Record):
    """The response to a create request that returns only the id."""

    id: int = 0
    """Id of the item in paths and in other requests."""


@dataclass(frozen=True, kw_only=True)
class StatisticsBlock(Record):
    """Statistics of an item over its whole life. Counts by label are strings."""

    clicks: int = 0
    """Visits by people, without bots and link previews."""
    uniqueClicks: int = 0
    """Distinct visitors, counted per day."""
    topCountries: Mapping[str, str] = field(default_factory=dict[str, str])
    """Clicks by country."""
    topReferrers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Clicks by site that visitors came from."""
    topBrowsers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Clicks by browser."""
    topOs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Clicks by operating system."""
    socialCount: Mapping[str, int] = field(default_factory=dict[str, int])
    """Clicks from Facebook (`social_a`), X (`social_b`) and Instagram (`social_c`)."""


@dataclass(frozen=True, kw_only=True)
class Report(Record):
    """The visits of a span: total, over time, and by label of each dimension."""

    start: str = ""
    """First day."""
    end: str = ""
    """Last day."""
    interval: str = ""
    """Length of the points over time."""
    timezone: str = ""
    """Time zone of the days and points."""
    total: VisitCounts = field(default_factory=VisitCounts)
    """All visits of the span."""
    series: tuple[Point, ...] = ()
    """The visits over time, also points without visits."""
    dimensions: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """Clicks by label of each dimension, in the same days as the total: all `countries`, and at most 50
    `referrers`, `browsers`, `os`, `devices`, `languages`, `sources` and `networks`.
    """
