"""The first page of the dashboard: what happened lately, and the quick way to a new link."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select, true
from starlette.responses import Response

from waypost.clicks.stats import raw_events, reports
from waypost.dashboard import statistics
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.routing import Router
from waypost.db.schema import bios, domains, files, link_checks, links, qrs
from waypost.urls.short_urls import short_url

pages = Router()
_TOP = 5
_RECENT = 8
_NAMED = {
    "link": ("links", links, links.c.title),
    "qr": ("qr", qrs, qrs.c.name),
    "file": ("files", files, files.c.name),
    "bio": ("bios", bios, bios.c.name),
}


@pages.get("/dashboard")
def overview(context: PageContext) -> Response:
    wanted = statistics.asked_span(context)

    def work(tx: Connection) -> tuple[reports.Report, Mapping[str, Any]]:
        report = reports.report(tx, "account", context.account, wanted)
        recent = [_visit(tx, row) for row in raw_events.latest(tx, context.account, _RECENT)]
        return report, {"top": _top(tx, context), "recent": recent, "broken": _broken(tx, context)}

    report, lately = context.read_after_ingest(work)
    return context.render("overview.html", form=Form({}), **lately, **statistics.shown(context, report, wanted))


def _broken(tx: Connection, context: PageContext) -> int:
    """How many links have a dead target (index looks_dead_account), where anybody looks."""
    mine = (link_checks.c.dead == true(), link_checks.c.account == context.account)
    found = select(func.count()).select_from(link_checks).where(*mine)
    return int(tx.execute(found).scalar_one()) if context.settings.dead_links_days else 0


def _top(tx: Connection, context: PageContext) -> list[Mapping[str, Any]]:
    """The links that were clicked most (index links_account_clicks)."""
    c = links.c
    chosen = (
        select(c.id, c.alias, c.host, c.title, c.url, c.clicks, domains.c.scheme)
        .outerjoin(domains, domains.c.host == c.host)
        .where(c.account == context.account, c.clicks > 0)
        .order_by(c.clicks.desc(), c.id.desc())
        .limit(_TOP)
    )
    base = context.settings.base
    rows = tx.execute(chosen).mappings()
    return [{**row, "short": short_url(base, row["host"], row["scheme"], row["alias"])} for row in rows]


def _visit(tx: Connection, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A visit with the name of what was visited; it may be gone since."""
    if row["kind"] not in _NAMED:
        return {**row, "name": "", "path": ""}
    path, table, name = _NAMED[row["kind"]]
    found = tx.execute(select(table.c.alias, name.label("name")).where(table.c.id == row["item"])).mappings().first()
    if found is None:
        return {**row, "name": "", "path": ""}
    return {**row, "name": found["name"] or found["alias"], "path": f"/dashboard/{path}/{row['item']}"}
