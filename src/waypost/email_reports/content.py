"""The content of reports by e-mail, and of the e-mail that asks their recipients to confirm."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, select

from waypost.clicks.stats.reports import Span
from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.clicks.stats.subjects import ItemGroup
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.dashboard import statistics
from waypost.dashboard.i18n import (
    current_language,
    find_zone,
    format_day,
    format_number,
    format_percent,
    gettext,
    gettext_noop,
    text_in,
)
from waypost.dashboard.mails import Button, Installation, compose, written_in
from waypost.dashboard.periods import Period
from waypost.db.schema import accounts, campaigns, links
from waypost.email_reports import ops
from waypost.email_reports.ops import EmailReport, Purpose
from waypost.http.mail import Email
from waypost.items.accounts.ops import get as get_account
from waypost.media.branding import store as brands
from waypost.urls.short_urls import short_url

_ROWS, _BAR_PIXELS, _DAYS = 5, 96, 2 * 86_400
_DAYS_TEXT = gettext_noop("%(first)s to %(last)s")
_SUBJECTS = {
    "week": gettext_noop("Weekly report: %(name)s, %(first)s to %(last)s"),
    "month": gettext_noop("Monthly report: %(name)s, %(first)s to %(last)s"),
}
_TITLES = {"countries": gettext_noop("Countries"), "referrers": gettext_noop("Referrers")}
_DIMENSIONS = {"countries": "country", "referrers": "referrer"}


class Total(NamedTuple):
    """A number of the period, the one of the period before, and the change as text, "" if there is none."""

    name: str
    number: int
    before: int
    change: str


class Bar(NamedTuple):
    """A day of the chart: its height in pixels."""

    day: str
    clicks: int
    height: int


class Ranking(NamedTuple):
    """The most frequent labels with their clicks, and the share of the first one in per cent."""

    title: str
    rows: Sequence[tuple[str, int, int]]


def confirmation(tx: Connection, settings: Settings, report: EmailReport) -> Email:
    """Return the e-mail that asks a recipient to confirm a report."""
    sender = Installation(settings, brands.of_installation(tx))
    names = {"username": get_account(tx, report.account).username, "service": sender.service_name}
    with written_in(report.language):
        text = _plain(
            gettext_noop("%(username)s wants to send you reports of statistics by e-mail, with %(service)s."), **names
        )
        more = gettext(
            "Confirm within 7 days to get them. If you do not know the sender, ignore this e-mail, or unsubscribe."
        )
        return compose(
            sender,
            report.email,
            _plain(gettext_noop("Reports from %(service)s: please confirm"), **names),
            [text, more, Button(gettext("Confirm"), _url(tx, settings, "confirm", report))],
            life=_DAYS,
            footer=gettext("After you unsubscribe, this account cannot send you reports any more."),
            unsubscribe=_url(tx, settings, "unsubscribe", report),
        )


def report_email(tx: Connection, settings: Settings, report: EmailReport, *, to: str = "") -> Email | None:
    """Return the report of the last whole week or month; None if its item was deleted.

    `to` is another recipient, for a test: without the link that unsubscribes the recipient of the report.
    """
    name = _name(tx, settings, report)
    if name is None:
        return None
    zone = find_zone(report.timezone)
    period = _period(report, zone)
    kind, item = report.key
    group = ItemGroup(campaign=item) if kind == "campaign" else ItemGroup()
    loaded = statistics.load(
        tx, report.account, kind, item, period, VisitFilter(), events_days=settings.events_days, group=group
    )
    sender = Installation(settings, brands.of_installation(tx))
    with written_in(report.language):
        first, last = format_day(period.span.start), format_day(period.span.end)
        values = _values(loaded, name, _plain(_DAYS_TEXT, first=first, last=last))
        values["rankings"] = [*_top_links(tx, settings, loaded, report), *values["rankings"]]
        return compose(
            sender,
            to or report.email,
            _plain(_SUBJECTS[report.every], name=name, first=first, last=last),
            [],
            life=_DAYS,
            footer=_footer(tx, sender, report),
            unsubscribe="" if to else _url(tx, settings, "unsubscribe", report),
            template="mail/report.html",
            text=_text(values),
            **values,
        )


def _url(tx: Connection, settings: Settings, purpose: Purpose, report: EmailReport) -> str:
    return f"{settings.dashboard}/dashboard/reports/{purpose}?pass={ops.token(tx, purpose, report)}"


def _footer(tx: Connection, sender: Installation, report: EmailReport) -> str:
    names = {"service": sender.service_name, "username": get_account(tx, report.account).username}
    text = gettext_noop("You get this report from the %(service)s account %(username)s, with the days of %(zone)s.")
    return _plain(text, **names, zone=report.timezone)


def _plain(message: str, **values: str) -> str:
    """Return the text in the language of the e-mail; values are not escaped."""
    return text_in(current_language.get(), message, **values)


def _period(report: EmailReport, zone: ZoneInfo) -> Period:
    first, last = ops.days_before(report.every, clock.local(clock.now(), zone).date())
    return Period(Span(first, last, "day", zone))


def _values(loaded: statistics.Loaded, name: str, days: str) -> dict[str, Any]:
    """Return the values of the template."""
    now, before = loaded.report.total, loaded.comparison.total
    most = max((point.clicks for point in loaded.report.series), default=0)
    bars = [
        Bar(format_day(date.fromisoformat(point.at[:10])), point.clicks, -(-point.clicks * _BAR_PIXELS // max(most, 1)))
        for point in loaded.report.series
    ]
    counts = loaded.report.dimensions
    return {
        "name": name,
        "days": days,
        "totals": [
            _total(gettext("Clicks"), now.clicks, before.clicks),
            _total(gettext("Visitors"), now.uniqueClicks, before.uniqueClicks),
        ],
        "bars": bars,
        "most": most,
        "rankings": [
            _ranking(
                gettext(title), {statistics.label_text(_DIMENSIONS[key], label): n for label, n in counts[key].items()}
            )
            for key, title in _TITLES.items()
            if counts[key]
        ],
    }


def _total(name: str, number: int, before: int) -> Total:
    if not before:
        return Total(name, number, before, "")
    percent = round(100 * (number - before) / before)
    sign = "+" if percent > 0 else "\u2212" if percent < 0 else "±"
    return Total(name, number, before, f"{sign}{format_percent(format_number(abs(percent)))}")


def _ranking(title: str, counts: Mapping[str, int]) -> Ranking:
    rows = list(counts.items())[:_ROWS]
    most = max(n for _, n in rows)
    return Ranking(title, [(label, n, max(1, 100 * n // most)) for label, n in rows])


def _top_links(tx: Connection, settings: Settings, loaded: statistics.Loaded, report: EmailReport) -> Sequence[Ranking]:
    """Return the most clicked links by their short URLs: titles are notes of the owner."""
    clicks = {item: n for (kind, item), n in loaded.clicks_by_item.items() if kind == "link"}
    most = dict(list(clicks.items())[:_ROWS])
    if report.link is not None or not most:
        return []
    c = links.c
    query = select(c.id, c.host, c.alias).where(c.account == report.account, c.id.in_(most))
    names = {
        link: short_url(settings.base, host, None, alias).partition("://")[2] for link, host, alias in tx.execute(query)
    }
    counts = {names[item]: n for item, n in most.items() if item in names}
    return [_ranking(gettext("Links"), counts)] if counts else []


def _name(tx: Connection, settings: Settings, report: EmailReport) -> str | None:
    """Return the name of the item, or the username; None for a deleted item."""
    if report.link is not None:
        c = links.c
        query = select(c.host, c.alias).where(c.id == report.link, c.account == report.account)
        link = tx.execute(query).first()
        return None if link is None else short_url(settings.base, link.host, None, link.alias).partition("://")[2]
    if report.campaign is not None:
        owned = (campaigns.c.id == report.campaign, campaigns.c.account == report.account)
        return tx.execute(select(campaigns.c.name).where(*owned)).scalar()
    return tx.execute(select(accounts.c.username).where(accounts.c.id == report.account)).scalar()


def _text(values: Mapping[str, Any]) -> str:
    """Return the report as text."""
    lines = [values["name"], values["days"], ""]
    for total in values["totals"]:
        change = f" ({total.change})" if total.change else ""
        lines.append(f"{total.name}: {format_number(total.number)}{change}")
    for ranking in values["rankings"]:
        lines += ["", ranking.title, *(f"  {format_number(n):>8}  {label}" for label, n, _ in ranking.rows)]
    return "\n".join(lines)
