"""The statistics of a campaign: the sum of its links, and the part of the clicks that came through its rotator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from waypost.clicks.ingest.aggregate import link_of
from waypost.clicks.stats import filtered_report, reports
from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.dashboard.i18n import gettext
from waypost.dashboard.periods import Period
from waypost.dashboard.statistics import Loaded
from waypost.items.campaigns import ops
from waypost.items.campaigns.ops import Campaign, CampaignLink

_KIND = "campaign"
_LIST_PAGE = "list"


@dataclass(frozen=True)
class Row:
    """A link: its clicks, those of the period before, those through the rotator, and their expected share, 0 to 1."""

    link: CampaignLink
    clicks: int
    earlier: int
    rotated: int
    expected: float


def read(tx: Connection, account: int, campaign: Campaign, loaded: Loaded, period: Period) -> Mapping[str, Any]:
    """Return the template context of the table by link, most clicks first, and of the tiles.

    A filter of source is one of the link, such as its QR code: the clicks through the rotator are not known then.
    """
    links = [link for link in ops.links_of(tx, account, campaign.id) if _is_shown(link, loaded)]
    has_rotator = bool(campaign.slug) and "source" not in loaded.visit_filter.labels
    sources = _sources(tx, account, campaign, loaded, period)
    rotated = {link: n for label, n in sources.items() if (link := link_of(label)) is not None}
    winner = ops.get_winner(tx, account, campaign.id)
    shares = expected_shares(campaign.rotation, links)
    rows = [
        Row(
            link,
            loaded.clicks_by_item.get(("link", link.id), 0),
            loaded.comparison.items.get(("link", link.id), 0),
            rotated.get(link.id, 0),
            share,
        )
        for link, share in zip(links, shares, strict=True)
    ]
    parts = [(gettext("Through the rotator"), sum(rotated.values()))] if has_rotator else []
    parts += [(gettext("List page"), sources[_LIST_PAGE])] if sources.get(_LIST_PAGE) else []
    return {
        "rows": sorted(rows, key=lambda row: (-row.clicks, -row.rotated)),
        "rotated": sum(row.rotated for row in rows),
        "has_rotator": has_rotator,
        "winner": winner,
        "has_expected": has_rotator and winner is None and len(links) > 1 and not _is_partial(loaded),
        "parts_of_clicks": parts,
    }


def expected_shares(rotation: ops.Rotation, links: Sequence[CampaignLink]) -> list[float]:
    """Return the share of the visitors that each link gets by its weight; the same for all links without weights."""
    weights = [link.weight if rotation == "weighted" else 1 for link in links]
    total = sum(weights)
    return [weight / total if total else 0.0 for weight in weights]


def _is_partial(loaded: Loaded) -> bool:
    """Return whether the page is about a part of the campaign's links."""
    return bool(loaded.group_names) or loaded.visit_filter.item is not None


def _is_shown(link: CampaignLink, loaded: Loaded) -> bool:
    members = loaded.subject.members or {}
    return link.id in members.get("link", ()) and loaded.visit_filter.item in (None, link.id)


def _sources(tx: Connection, account: int, campaign: Campaign, loaded: Loaded, period: Period) -> Mapping[str, int]:
    """Return the visits of the campaign's own addresses by link of the rotator, and of its list page."""
    if not loaded.is_filtered or loaded.since is None:
        return reports.label_counts(tx, account, _KIND, campaign.id, "source", period.span)
    visit_filter = VisitFilter(_KIND, campaign.id, labels=loaded.visit_filter.labels)
    counts = filtered_report.count_span(tx, account, visit_filter, period.span, loaded.since)
    return counts.labels["source"]
