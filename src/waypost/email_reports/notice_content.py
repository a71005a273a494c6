"""The content of notices by e-mail."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, select

from waypost.core import clock
from waypost.core.languages import SOURCE_LANGUAGE
from waypost.core.settings import Settings
from waypost.dashboard.i18n import (
    current_language,
    find_zone,
    format_number,
    format_time,
    gettext,
    gettext_noop,
    text_in,
)
from waypost.dashboard.mails import Button, Installation, Lines, compose, written_in
from waypost.db.schema import links
from waypost.email_reports import notices
from waypost.email_reports.notices import Item, Kind, Recipient
from waypost.http.mail import Email
from waypost.media.branding import store as brands
from waypost.urls.short_urls import short_url

_MAX_LINES = 20
_LIFE = 2 * 86_400


class _Link(NamedTuple):
    name: str
    taken: int
    limit: int | None


Names = Mapping[int, _Link]
Line = Callable[[Item, Names, ZoneInfo], str | None]


def _dead(item: Item, names: Names, _zone: ZoneInfo) -> str | None:
    link = names.get(item.item or 0)
    return link and _text("%(label)s: %(value)s", label=link.name, value=str(item.content["url"]))


def _limit(item: Item, names: Names, _zone: ZoneInfo) -> str | None:
    link = names.get(item.item or 0)
    if link is None or link.limit is None:
        return None
    text = gettext_noop("%(name)s: %(number)s of %(limit)s clicks")
    return _text(
        text, name=link.name, number=format_number(min(link.taken, link.limit)), limit=format_number(link.limit)
    )


def _surge(item: Item, names: Names, zone: ZoneInfo) -> str | None:
    link = names.get(item.item or 0)
    if item.item is not None and link is None:
        return None
    name = gettext("Whole account") if link is None else link.name
    text = gettext_noop("%(name)s: %(number)s clicks in the hour from %(time)s, usually %(usual)s")
    clicks, usual = (format_number(item.content[key]) for key in ("clicks", "usual"))
    time = format_time(clock.local(item.content["hour"], zone))
    return _text(text, name=name, number=clicks, usual=usual, time=time)


def _domain(item: Item, _names: Names, _zone: ZoneInfo) -> str | None:
    return _text(_PROBLEMS[item.content["problem"]], host=item.content["label"])


def _backup(item: Item, _names: Names, zone: ZoneInfo) -> str | None:
    time = format_time(clock.local(item.content["at"], zone))
    return _text("%(label)s: %(value)s", label=time, value=item.content["reason"])


class _Notice(NamedTuple):
    """The texts of a kind, untranslated, its page, and the function that writes a line."""

    label: str
    intro: str
    button: str
    page: str
    line: Line


_PROBLEMS = {
    "unreachable": gettext_noop(
        "%(host)s cannot be reached any more: it has no address in the DNS, or no server there."
    ),
    "elsewhere": gettext_noop("%(host)s does not point at this server any more."),
    "certificate": gettext_noop("The certificate of %(host)s is not valid."),
    "expiring": gettext_noop("The certificate of %(host)s expires within 7 days."),
}
_NOTICES: Mapping[Kind, _Notice] = {
    "dead": _Notice(
        gettext_noop("Links whose destination does not work"),
        gettext_noop("The destinations of these links have not worked for two days:"),
        gettext_noop("Links"),
        "/dashboard/links?status=dead",
        _dead,
    ),
    "limit": _Notice(
        gettext_noop("Links near their click limit"),
        gettext_noop("These links have used 80 percent of their click limit:"),
        gettext_noop("Links"),
        "/dashboard/links",
        _limit,
    ),
    "surge": _Notice(
        gettext_noop("Unusually many clicks in an hour"),
        gettext_noop("There were more than five times the usual clicks in an hour:"),
        gettext_noop("Statistics"),
        "/dashboard/statistics",
        _surge,
    ),
    "domain": _Notice(
        gettext_noop("Problems of domains and certificates"),
        gettext_noop("Links of these domains may not work:"),
        gettext_noop("Domains"),
        "/dashboard/domains",
        _domain,
    ),
    "backup": _Notice(
        gettext_noop("Failed backups"),
        gettext_noop("The backup could not be completed:"),
        gettext_noop("Health"),
        "/dashboard/admin/health",
        _backup,
    ),
}


LABELS: Mapping[Kind, str] = {kind: notice.label for kind, notice in _NOTICES.items()}
"""The names of the kinds, untranslated."""
_SAMPLE_LINK = 1
_SAMPLES: Mapping[Kind, Item] = {
    "dead": Item(_SAMPLE_LINK, {"url": "https://shop.example.com/sale"}),
    "limit": Item(_SAMPLE_LINK, {}),
    "surge": Item(_SAMPLE_LINK, {"clicks": 1200, "usual": 40}),
    "domain": Item(None, {"problem": "expiring", "label": "go.example.com"}),
    "backup": Item(None, {"reason": "No space left on device"}),
}


def email(tx: Connection, settings: Settings, to: Recipient, kind: Kind, items: Sequence[Item]) -> Email | None:
    """Return a notice in the language and time zone of its recipient; None if nothing is left to say."""
    names = _names(tx, settings, to.account, [each.item for each in items if each.item is not None])
    url = f"{settings.dashboard}/dashboard/reports/notices/unsubscribe?pass={notices.token(tx, to, kind)}"
    return _compose(tx, settings, to, kind, items, names, unsubscribe=url)


def sample(tx: Connection, settings: Settings, to: Recipient, kind: Kind) -> Email | None:
    """Return a notice about an example. It has no link that unsubscribes."""
    name = short_url(settings.base, "", None, "sale").partition("://")[2]
    names = {_SAMPLE_LINK: _Link(name, taken=4000, limit=5000)}
    now = clock.now()
    item = _SAMPLES[kind]
    items = [Item(item.item, {"hour": now - now % 3600 - 3600, "at": now, **item.content})]
    return _compose(tx, settings, to, kind, items, names)


def _compose(
    tx: Connection,
    settings: Settings,
    to: Recipient,
    kind: Kind,
    items: Sequence[Item],
    names: Names,
    *,
    unsubscribe: str = "",
) -> Email | None:
    notice, sender = _NOTICES[kind], Installation(settings, brands.of_installation(tx))
    zone = find_zone(to.timezone)
    with written_in(to.language or SOURCE_LANGUAGE):
        lines = [
            line for each in {each.item: each for each in items}.values() if (line := notice.line(each, names, zone))
        ]
        if not lines:
            return None
        if len(lines) > _MAX_LINES:
            rest = format_number(len(lines) - _MAX_LINES)
            lines = [*lines[:_MAX_LINES], gettext("and %(number)s more", number=rest)]
        footer = gettext_noop("You get this notice for the %(service)s account %(username)s.")
        return compose(
            sender,
            to.email,
            _text("%(label)s: %(value)s", label=sender.service_name, value=gettext(notice.label)),
            [gettext(notice.intro), Lines(lines), Button(gettext(notice.button), f"{settings.dashboard}{notice.page}")],
            life=_LIFE,
            footer=_text(footer, service=sender.service_name, username=to.username),
            unsubscribe=unsubscribe,
        )


def _names(tx: Connection, settings: Settings, account: int, ids: Sequence[int]) -> Mapping[int, _Link]:
    """Return the short URLs and limits of links that still exist."""
    c = links.c
    query = select(c.id, c.host, c.alias, c.taken, c.clicklimit).where(c.account == account, c.id.in_(ids))
    rows = tx.execute(query).all() if ids else ()
    return {
        row.id: _Link(
            short_url(settings.base, row.host, None, row.alias).partition("://")[2], row.taken, row.clicklimit
        )
        for row in rows
    }


def _text(message: str, **values: str) -> str:
    """Return the text in the language of the e-mail; values are not escaped."""
    return text_in(current_language.get(), message, **values)
