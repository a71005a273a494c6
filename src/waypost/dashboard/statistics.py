"""The statistics page of an item or account: the report of a period, as a page and as CSV, with or without a filter."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.clicks.geo import countries
from waypost.clicks.ingest.aggregate import PLACES
from waypost.clicks.stats import filtered_report, reports, subjects
from waypost.clicks.stats.filtered_report import MAX_ITEMS, FilteredReport
from waypost.clicks.stats.reports import Report, Span, Times, VisitCounts, clicks_by_hour_of_week
from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.clicks.stats.subjects import ACCOUNT, ItemGroup, Subject
from waypost.core import csv_export
from waypost.core.settings import Settings
from waypost.dashboard import downloads, localized_names, periods, statistics_filter
from waypost.dashboard.annotations import Annotation, annotations
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import format_day, gettext, gettext_noop
from waypost.dashboard.periods import DAY_PRESET, Period
from waypost.dashboard.statistics_filter import ITEM, LABEL_TITLES, Choice
from waypost.dashboard.templating import manifest
from waypost.dashboard.visited_item_names import Item, Key, find_items
from waypost.db.schema.nouns import NOUNS

_LEVELS = (1, 5, 15, 30)
"""Shares in per cent at which a color of the map begins; the first color is below."""
_HEAT_LEVELS = 5


class Shape(NamedTuple):
    """A country on the map: its code, name, clicks and their share in per cent, and the number of its color."""

    code: str
    name: str
    clicks: int
    share: float
    level: int


class Hour(NamedTuple):
    """An hour of a weekday: its clicks, and the number of its color, 0 without clicks."""

    clicks: int
    level: int


def world_map(clicks: Mapping[str, int]) -> list[Shape]:
    """Return the countries with clicks that are on the map, by the clicks of each country."""
    on_map, total = set(manifest()["world"]["codes"]), sum(clicks.values())
    shapes = []
    for name, n in clicks.items():
        code, share = countries.code_of(name), 100 * n / total
        if code in on_map:
            shapes.append(Shape(code, name, n, share, 1 + sum(share >= level for level in _LEVELS)))
    return shapes


def heat_map(times: Times, span: Span) -> list[tuple[int, list[Hour]]]:
    """Return each weekday, 0 for Monday, in the order of the span's weeks, and its 24 hours; nothing without clicks."""
    hours = clicks_by_hour_of_week(times, span.zone)
    most = max(map(max, hours))
    if not most:
        return []
    weekdays = [(span.first_weekday + number) % len(hours) for number in range(len(hours))]
    return [(day, [Hour(n, -(-n * _HEAT_LEVELS // most)) for n in hours[day]]) for day in weekdays]


_DIMENSION_TITLES = {
    "countries": ("country", "Countries"),
    "referrers": ("referrer", "Referrers"),
    "devices": ("device", "Devices"),
    "browsers": ("browser", "Browsers"),
    "os": ("os", "Operating systems"),
    "languages": ("language", "Languages"),
    "sources": ("source", "Sources"),
    "region": ("region", gettext_noop("Regions")),
    "city": ("city", gettext_noop("Cities")),
}
"""By name in the report, or of a place: the dimension of visits, and the title of its list."""
_CARDS = {
    gettext_noop("Places"): ("countries", "languages"),
    gettext_noop("Origin"): ("referrers", "sources"),
    gettext_noop("Devices"): ("devices", "browsers", "os"),
}
_CARDS_WITH_PLACES = {
    **_CARDS,
    "Places": ("countries", "region", "city"),
    "Origin": ("referrers", "sources", "languages"),
}
"""The lists of each card."""
_UTM_TITLES = {
    "utm_source": gettext_noop("UTM source"),
    "utm_medium": gettext_noop("Medium"),
    "utm_campaign": gettext_noop("Campaign"),
}
_COUNT_TITLES = {"file": "Downloads", "qr": "Scans", "bio": "Visits", "campaign": "Visits", "missing": "Visits"}
"""Titles of the counted visits by kind of item."""
_CSV_TITLES = {**_DIMENSION_TITLES, "networks": ("network", "Social networks")}
_HEADINGS = {
    "uniqueClicks": "Visitors",
    "bots": "Bots",
    "previews": "Link previews",
    "others": "Other requests",
    "late": "Visits after expiry",
}
"""Headings of the other counts in CSV files."""
_MAX_TITLE = 50  # of a file name, so that period and filter have room
SHARED_KINDS = ("link", "qr", "bio", "campaign", ACCOUNT)
"""Kinds of items whose statistics can be shared (waypost.items.shares), and the account."""
_SOURCES = {"link": "Short link", "qr": "QR code", "bio": "Bio page", "list": "List page"}
_OTHER_LABELS = ("Unknown", "Direct", "Other", "Desktop", "Mobile", "Tablet", "Console", "Watch")
"""Labels of visits that are translated, here so that `make messages` finds them."""
_NO_GROUP = ItemGroup()
_NAMES = {"country": localized_names.country_name, "language": localized_names.language_name}


class Comparison(NamedTuple):
    """The visits of the period before: the total, the clicks of each point, and of each item of a group.

    Of a running period, the points that are still to come are missing.
    """

    total: VisitCounts
    clicks: list[int]
    items: Mapping[Key, int] = MappingProxyType({})


@dataclass(frozen=True)
class Loaded:
    """The statistics of a period. `since` is the second since which single visits are kept, None if none are.

    `clicks_by_item` are those of a group; those of an account are counted from single visits; empty for an item.
    `items` are names. `imported` are clicks of the period, `baseline` those that were imported without a time
    (`with_baseline`). `group_names` are those of the query, `choices` what it can select. `utm` are clicks by UTM
    parameter and value, `places` visitors by region and city, if they are counted.
    """

    subject: Subject
    group: ItemGroup
    visit_filter: VisitFilter
    is_filtered: bool
    since: int | None
    report: Report
    times: Times
    comparison: Comparison
    imported: int
    clicks_by_item: Mapping[Key, int]
    items: Mapping[Key, Item]
    annotations: list[Annotation]
    group_names: Mapping[str, str] = field(default_factory=dict)
    choices: Sequence[Choice] = ()
    baseline: int = 0
    utm: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    places: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def counted(self) -> str:
        """The title of the counted visits. A group has items of several kinds."""
        return "Clicks" if self.group.is_set else _COUNT_TITLES.get(self.subject.kind, "Clicks")

    @property
    def chips(self) -> list[statistics_filter.Chip]:
        """The parts of the filter."""
        key = statistics_filter.item_key(self.visit_filter, self.subject.kind, self.group)
        return statistics_filter.chips(self.visit_filter, key, self.items, self.group_names)


def page(
    context: PageContext,
    kind: str,
    item: int,
    *,
    title: str,
    back: str,
    back_label: str = "",
    template: str = "statistics.html",
    apart: str = "",
    short: str = "",
    loaded: Loaded | None = None,
    **more: Any,
) -> Response:
    """Return the statistics page of an item. The caller has checked that it belongs to the account.

    `back` is the item's page, called `back_label`, or like its kind. `template` extends statistics.html and shows the
    dimension `apart` itself. `short` is the item's short URL, if it has one. `loaded` is the result of
    `load_requested`, if the caller needed it.
    """
    period = periods.requested(context)
    loaded = loaded or load_requested(context, kind, item, period)
    if context.query("format") == "csv":
        return csv_response(loaded, title)
    shown = report_context(loaded, period, apart)
    return context.render(
        template,
        title=title,
        back=back,
        back_label=back_label or (NOUNS[kind].label if kind in NOUNS else ""),
        shares=f"/dashboard/shares/{kind}/{item}" if _is_shareable(loaded, kind) else "",
        mail_report=_mail_report(context, loaded, kind, item),
        short=short,
        **{**shown, **more},
    )


def _is_shareable(loaded: Loaded, kind: str) -> bool:
    """Return whether the shared page would have the same visits: it has no part of an account."""
    return kind in SHARED_KINDS and not (kind == ACCOUNT and loaded.group.is_set)


def _mail_report(context: PageContext, loaded: Loaded, kind: str, item: int) -> str:
    """Return the page with the form of a report by e-mail; "" if it cannot be sent."""
    if not context.mailer.can_send or kind not in ("link", "campaign", ACCOUNT) or not _is_shareable(loaded, kind):
        return ""
    return "/dashboard/reports/new" + ("" if kind == ACCOUNT else f"?about={kind}-{item}")


def load_requested(context: PageContext, kind: str, item: int, period: Period) -> Loaded:
    """Return the statistics that the query asks for, with every click that was answered before the request."""
    group = statistics_filter.requested_group(context, kind, item)
    visit_filter = statistics_filter.requested(context, kind, item, group)
    days = context.settings.events_days

    def work(tx: Connection) -> Loaded:
        loaded = load(tx, context.account, kind, item, period, visit_filter, events_days=days, group=group)
        loaded = with_places(tx, with_baseline(tx, loaded), period.span, context.settings)
        if kind != ACCOUNT and not group.is_set:
            return loaded
        names = statistics_filter.find_group_names(tx, context.account, group, kind)
        choices = statistics_filter.find_group_choices(tx, context.account, group, kind)
        utm = subjects.count_utm(tx, context.account, loaded.clicks_by_item)
        return replace(loaded, group_names=names, choices=choices, utm=utm)

    return context.read_after_ingest(work)


def with_baseline(tx: Connection, loaded: Loaded) -> Loaded:
    """Return the statistics with the clicks that were imported without a time; a filter matches none of them."""
    return loaded if loaded.is_filtered else replace(loaded, baseline=reports.untimed_clicks(tx, loaded.subject))


def with_places(tx: Connection, loaded: Loaded, span: Span, settings: Settings) -> Loaded:
    """Return the statistics with regions and cities, if they are counted. Single visits, for a filter, have none."""
    if settings.geo_detail == "off" or loaded.is_filtered:
        return loaded
    return replace(loaded, places=reports.visitors_by_place(tx, loaded.subject, span))


def load(
    tx: Connection,
    account: int,
    kind: str,
    item: int,
    period: Period,
    visit_filter: VisitFilter,
    *,
    events_days: int,
    group: ItemGroup = _NO_GROUP,
) -> Loaded:
    """Return the statistics of an item, of the account as the item of kind `account`, or of a group.

    With a filter, they are counted from single visits; otherwise from totals, which have no limit in time.
    """
    span = period.span
    members = subjects.find_members(tx, account, group) if group.is_set else None
    subject, visit_filter = Subject(account, kind, item, members), replace(visit_filter, members=members)
    key = statistics_filter.item_key(visit_filter, kind, group)
    since = filtered_report.kept_since(tx, events_days)
    is_filtered = bool(visit_filter.labels or key) and since is not None
    if since is not None and (is_filtered or period.preset == DAY_PRESET):
        counts = filtered_report.read(tx, account, visit_filter, span, since)
    else:
        counts = _from_totals(tx, subject, span, since)
    clicks_by_item = counts.items if kind == ACCOUNT or group.is_set else {}
    return Loaded(
        subject,
        group,
        visit_filter,
        is_filtered,
        since,
        counts.report,
        counts.times,
        _compare_filtered(tx, account, visit_filter, period, since) if is_filtered else compare(tx, subject, period),
        reports.imported_clicks(tx, subject, span),
        clicks_by_item,
        find_items(tx, account, {*islice(clicks_by_item, MAX_ITEMS), *([key] if key else [])}),
        _annotations(tx, subject, span),
    )


def _from_totals(tx: Connection, subject: Subject, span: Span, since: int | None) -> FilteredReport:
    """Return the report of a span without a filter. Clicks by item are those of a group or an account."""
    report, times = reports.with_times(tx, subject, span)
    clicks_by_item: Mapping[Key, int] = {}
    if subject.members is not None:
        clicks_by_item = reports.clicks_by_item(tx, subject, *span.seconds())
    elif subject.kind == ACCOUNT and since is not None:
        clicks_by_item = filtered_report.clicks_by_item(tx, subject.account, span, since)
    return FilteredReport(report, times, clicks_by_item)


def _annotations(tx: Connection, subject: Subject, span: Span) -> list[Annotation]:
    """Return the events of an item, an account or a campaign."""
    if subject.kind == ACCOUNT and subject.members is not None:
        return []
    return annotations(tx, subject.account, subject.kind, subject.item, span)


def compare(tx: Connection, subject: Subject, period: Period) -> Comparison:
    """Return the visits of the period before; nothing if they may not be shown."""
    if not period.has_previous:
        return Comparison(VisitCounts(), [])
    first, after = period.previous_seconds()
    total, series = reports.over_time(tx, subject, period.previous, after)
    items = reports.clicks_by_item(tx, subject, first, after) if subject.members is not None else {}
    return Comparison(total, _until(series, period.previous, after), items)


def _compare_filtered(
    tx: Connection, account: int, visit_filter: VisitFilter, period: Period, since: int | None
) -> Comparison:
    """Return the visits of the period before; nothing if they are not kept any more."""
    if since is None or _is_previous_cut(period, since) or not period.has_previous:
        return Comparison(VisitCounts(), [])
    _, after = period.previous_seconds()
    counts = filtered_report.counts_until(tx, account, visit_filter, period.previous, after)
    total, series = reports.summarize(period.previous, counts.times)
    return Comparison(total, _until(series, period.previous, after), counts.items)


def _is_previous_cut(period: Period, since: int) -> bool:
    """Return whether single visits of the period before are not kept any more, `since` being the first second."""
    return period.previous_seconds()[0] < since


def _until(series: Sequence[reports.Point], span: reports.Span, after: int) -> list[int]:
    """Return the clicks of the points that begin before the second `after`; the others have no counts to compare."""
    return [point.clicks for point in series[: reports.point_starts(span)(after - 1) + 1]]


def report_context(loaded: Loaded, period: Period, apart: str = "") -> dict[str, Any]:
    """Return the template context of the report, for parts/statistics_body.html and parts/statistics_lists.html.

    The cards have no list of the dimension `apart`.
    """
    report = loaded.report
    query = urlencode(statistics_filter.visits_query(loaded.visit_filter))
    visits_path = "/dashboard/visits" + (f"?{query}" if query else "")
    return {
        "report": report,
        "comparison": loaded.comparison,
        "period": period,
        "presets": periods.PRESETS,
        "intervals": periods.INTERVAL_LABELS,
        "comparisons": periods.COMPARISONS,
        "cards": _cards(loaded, apart),
        "counted": loaded.counted,
        "visits_path": "" if loaded.group.is_set else visits_path,
        "label_text": label_text,
        "imported": loaded.imported,
        "baseline": loaded.baseline,
        "is_filtered": loaded.is_filtered,
        "has_visit_filter": bool(loaded.visit_filter.labels) or any(chip.parameter == ITEM for chip in loaded.chips),
        "can_filter": loaded.since is not None,
        "chips": loaded.chips,
        **_filter_context(loaded, period),
        "since": loaded.since,
        "is_cut": loaded.since is not None and period.span.seconds()[0] < loaded.since,
        "world_map": world_map(report.dimensions["countries"]),
        "heat_map": heat_map(loaded.times, period.span),
        "visited": visited_items(loaded),
        "is_visited_cut": not loaded.group.is_set or loaded.is_filtered,
        "annotations": loaded.annotations,
        "parts_of_clicks": (),
        "are_items_apart": False,
    }


def _filter_context(loaded: Loaded, period: Period) -> dict[str, Any]:
    """Return the choices of the filter, the selected ones, and whether visits of the comparison are missing."""
    group = statistics_filter.selected_group(loaded.group, loaded.subject.kind)
    return {
        "choices": [*loaded.choices, *_label_choices(loaded)],
        "selected": {**group, **loaded.visit_filter.labels},
        "is_comparison_cut": loaded.is_filtered and period.has_previous and _is_previous_cut(period, loaded.since or 0),
    }


def _label_choices(loaded: Loaded) -> list[Choice]:
    """Return the labels of the report as choices of its filter; nothing if no single visits are kept."""
    choices = []
    for key, (dimension, _) in _DIMENSION_TITLES.items():
        labels = [*loaded.report.dimensions.get(key, ()), loaded.visit_filter.labels.get(dimension)]
        options = [(label, label_text(dimension, label)) for label in dict.fromkeys(labels) if label]
        if loaded.since is not None and dimension in LABEL_TITLES and options:
            choices.append(Choice(dimension, LABEL_TITLES[dimension], options))
    return choices


def visited_items(loaded: Loaded) -> dict[str, Any]:
    """Return the list of the most visited items: rows of key, item, clicks, and clicks in the period before."""
    clicks, earlier = loaded.clicks_by_item, loaded.comparison.items
    rows = [(key, loaded.items[key], n, earlier.get(key, 0)) for key, n in islice(clicks.items(), MAX_ITEMS)]
    listed = sum(row[2] for row in rows)
    whole = max(listed, loaded.report.total.clicks) if len(rows) >= MAX_ITEMS else listed
    return {"rows": rows, "sum": whole, "others": whole - listed, "most": max(clicks.values(), default=0)}


def _cards(loaded: Loaded, apart: str) -> list[dict[str, Any]]:
    """Return the cards with lists of labels. Those of UTM parameters are counted by item, like the visited items."""
    cards, clicks, counts = [], loaded.report.total.clicks, {**loaded.report.dimensions, **loaded.places}
    for name, keys in (_CARDS_WITH_PLACES if loaded.places else _CARDS).items():
        lists = [
            _breakdown(key, title, dimension, counts[key], 0 if key in PLACES else clicks)
            for key, (dimension, title) in ((key, _DIMENSION_TITLES[key]) for key in keys if key != apart)
            if counts.get(key)
        ]
        cards.append({"name": name, "lists": lists, "is_by_item": False})
    utm = [_breakdown(name, _UTM_TITLES[name], name, counts, 0) for name, counts in loaded.utm.items() if counts]
    cards.append({"name": "UTM parameters", "lists": utm, "is_by_item": True})
    return [card for card in cards if card["lists"]]


def _breakdown(key: str, name: str, dimension: str, counts: Mapping[str, int], clicks: int) -> dict[str, Any]:
    """Return a list of labels. `sum` includes the clicks of labels that a report leaves out, which are the `others`."""
    listed = sum(counts.values())
    whole = max(listed, clicks) if len(counts) >= reports.MAX_LABELS and dimension != "country" else listed
    rows = list(counts.items())
    shown = {"key": key, "name": name, "dimension": dimension, "rows": rows, "sum": whole, "others": whole - listed}
    return {**shown, "is_place": dimension in PLACES}


def label_text(dimension: str, label: str) -> str:
    """Return the text for a label of a dimension in the viewer's language."""
    if not dimension or dimension in subjects.UTM:
        return label
    if dimension in _NAMES:
        return _NAMES[dimension](label)
    if dimension == "source":
        return gettext(_SOURCES.get(label, label))
    return gettext(label) if label in _OTHER_LABELS else label


def csv_response(loaded: Loaded, title: str) -> Response:
    """Return the report as CSV in the reader's language, named after the item, the period and the filter."""
    report = loaded.report
    counts = {"clicks": loaded.counted, **_HEADINGS}

    def rows() -> Iterator[list[Any]]:
        yield [gettext("Table"), gettext("Name"), *map(gettext, counts.values())]
        for point in report.series:
            interval = gettext(periods.INTERVAL_LABELS[report.interval])
            yield [interval, point.at, *(getattr(point, name) for name in counts)]
        if loaded.group.is_set:
            for _, item, clicks, _ in visited_items(loaded)["rows"]:
                yield [gettext("Items"), item.name or gettext("Deleted item"), clicks]
        for name, counts_of_utm in loaded.utm.items():
            for value, count in counts_of_utm.items():
                yield [gettext(statistics_filter.GROUP_TITLES[name]), value, count]
        for part, labels in {**report.dimensions, **loaded.places}.items():
            dimension, heading = _CSV_TITLES[part]
            for label, count in labels.items():
                yield [gettext(heading), label_text(dimension, label), count]

    days = [date.fromisoformat(day) for day in (report.start, report.end)]
    period = " - ".join(dict.fromkeys(format_day(day) for day in days))
    chips = loaded.chips if loaded.is_filtered or loaded.group_names else []
    parts = [label_text(chip.dimension, chip.label) for chip in chips]
    return downloads.csv_file(", ".join([title[:_MAX_TITLE].strip(), period, *parts]), [csv_export.lines(rows())])
