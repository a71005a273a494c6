"""The statistics of a campaign: the sum of its links, and the part of the clicks that came through its rotator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from waypost.clicks.ingest.aggregate import ALL_DAYS, link_of
from waypost.clicks.stats import filtered_report, reports, subjects
from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.clicks.stats.subjects import ItemGroup, Subject
from waypost.dashboard.i18n import gettext
from waypost.dashboard.periods import Period
from waypost.dashboard.statistics import Loaded
from waypost.db.schema import click_labels, links
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


@dataclass(frozen=True)
class Totals:
    """The number of links of a campaign, the sum of their clicks, and the clicks through the rotator, of all time."""

    links: int = 0
    clicks: int = 0
    rotated: int = 0


def totals(tx: Connection, account: int, ids: Sequence[int]) -> Mapping[int, Totals]:
    """Return the totals of campaigns by two statements (index links_campaign, primary key of click_labels)."""
    if not ids:
        return {}
    c = links.c
    sums = select(c.campaign, func.count(), func.sum(c.clicks)).where(c.account == account, c.campaign.in_(ids))
    by_links = {campaign: (count, int(n)) for campaign, count, n in tx.execute(sums.group_by(c.campaign))}
    label = click_labels.c
    of_campaigns = (label.account == account, label.kind == _KIND, label.item.in_(ids), label.day == ALL_DAYS)
    of_rotator = (label.dimension == "source", label.label != _LIST_PAGE)
    query = select(label.item, func.sum(label.n)).where(*of_campaigns, *of_rotator).group_by(label.item)
    rotated = {campaign: int(n) for campaign, n in tx.execute(query)}
    return {campaign: Totals(*by_links.get(campaign, (0, 0)), rotated.get(campaign, 0)) for campaign in ids}


def clicks_by_link(tx: Connection, account: int, campaign: int, period: Period) -> Mapping[int, int]:
    """Return the clicks of each clicked link of a campaign in a period, by two statements."""
    members = subjects.find_members(tx, account, ItemGroup(campaign=campaign))
    subject = Subject(account, _KIND, campaign, members)
    return {link: n for (_, link), n in reports.clicks_by_item(tx, subject, *period.span.seconds()).items()}


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
