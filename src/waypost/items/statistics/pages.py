"""The dashboard's overview page: recent statistics, and a form to create a link."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection, func, select, true
from starlette.responses import Response

from waypost.clicks.stats import stored_visits
from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.clicks.stats.subjects import ACCOUNT
from waypost.dashboard import periods, preferences, statistics
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.i18n import gettext
from waypost.dashboard.periods import ALL, Period
from waypost.dashboard.preferences import CHECKLISTS, CHECKLISTS_COOKIE
from waypost.dashboard.routing import Router
from waypost.dashboard.statistics import Loaded
from waypost.dashboard.visited_item_names import find_items
from waypost.db.schema import domains, link_checks, links
from waypost.items.statistics import onboarding
from waypost.urls.short_urls import short_url

pages = Router()
_ROWS = 6  # of the two lists: the most clicked links and the latest visits


@pages.get("/dashboard")
def overview(context: PageContext) -> Response:
    period = periods.requested(context)

    def work(tx: Connection) -> tuple[Loaded, Mapping[str, Any]]:
        days = context.settings.events_days
        loaded = statistics.load(tx, context.account, ACCOUNT, context.account, period, VisitFilter(), events_days=days)
        recent = stored_visits.latest(tx, context.account, _ROWS)
        items = find_items(tx, context.account, ((visit["kind"], visit["item"]) for visit in recent))
        sections = {"top": _top_links(tx, context, loaded, period), "recent": recent, "items": items}
        sections |= {"broken": _dead_links(tx, context), "checklists": _checklists(tx, context)}
        return loaded, sections

    loaded, sections = context.read_after_ingest(work)
    shown = statistics.report_context(loaded, period)
    shown["is_all_time"] = _is_all_time(loaded, period)
    return context.render("overview.html", form=Form({}), **sections, **shown)


@pages.get("/dashboard/statistics")
def show_statistics(context: PageContext) -> Response:
    has_link = context.read(lambda tx: onboarding.has_link(tx, context.account))
    title = gettext("Statistics")
    return statistics.page(context, ACCOUNT, context.account, title=title, back="", is_without_link=not has_link)


@pages.post("/dashboard/checklists")
def dismiss_checklist(context: PageContext) -> Response:
    """Hide a checklist in this browser."""
    dismissed = {*context.preferences.dismissed_checklists, context.form().text("name")}
    return preferences.store(context, CHECKLISTS_COOKIE, ".".join(name for name in CHECKLISTS if name in dismissed))


def _checklists(tx: Connection, context: PageContext) -> Mapping[str, Sequence[onboarding.Step]]:
    """Return the checklists that were not dismissed, by name; nothing for an account that uses waypost already."""
    lists = {"user": onboarding.steps_of_user(tx, context.account)}
    if onboarding.is_done(lists["user"]):
        return {}
    if context.user.owner:
        lists["administrator"] = onboarding.steps_of_administrator(tx, context.settings)
    dismissed = context.preferences.dismissed_checklists
    return {name: steps for name, steps in lists.items() if name not in dismissed and not onboarding.is_done(steps)}


def _dead_links(tx: Connection, context: PageContext) -> int:
    """Return the number of dead links (index looks_dead_account). 0 if dead-link checks are off."""
    owned_by = (link_checks.c.dead == true(), link_checks.c.account == context.account)
    query = select(func.count()).select_from(link_checks).where(*owned_by)
    return int(tx.execute(query).scalar_one()) if context.settings.dead_links_days else 0


def _is_all_time(loaded: Loaded, period: Period) -> bool:
    """Return whether the top links are those of all time: also if no single visits are kept, which a period needs."""
    return loaded.since is None or period.preset == ALL


def _top_links(tx: Connection, context: PageContext, loaded: Loaded, period: Period) -> list[Mapping[str, Any]]:
    """Return the links with the most clicks in the period, or of all time (index links_account_clicks)."""
    c = links.c
    query = (
        select(c.id, c.alias, c.host, c.title, c.url, c.clicks, domains.c.scheme)
        .outerjoin(domains, domains.c.host == c.host)
        .where(c.account == context.account)
    )
    if _is_all_time(loaded, period):
        top = tx.execute(query.where(c.clicks > 0).order_by(c.clicks.desc(), c.id.desc()).limit(_ROWS)).mappings()
        return [_with_short_url(link, context) for link in top]
    clicks = {
        item: n for (kind, item), n in loaded.clicks_by_item.items() if kind == "link" and loaded.items[kind, item].path
    }
    most = dict(islice(clicks.items(), _ROWS))
    if not most:
        return []
    by_id = {link["id"]: link for link in tx.execute(query.where(c.id.in_(most))).mappings()}
    return [_with_short_url({**by_id[item], "clicks": n}, context) for item, n in most.items() if item in by_id]


def _with_short_url(link: Mapping[Any, Any], context: PageContext) -> Mapping[str, Any]:
    url = short_url(context.settings.base, link["host"], link["scheme"], link["alias"])
    return {**link, "short": url}
