"""The first page of the dashboard: what happened lately, and the quick way to a new link."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select, true
from starlette.responses import Response

from waypost.aliases.urls import short_url
from waypost.clicks import events, stats
from waypost.dashboard import statistics
from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form
from waypost.dashboard.pages import Pages
from waypost.schema import bios, domains, files, links, looks, qrs

pages = Pages()
_TOP = 5
_RECENT = 8
_NAMED = {
    "link": ("links", links, links.c.title),
    "qr": ("qr", qrs, qrs.c.name),
    "file": ("files", files, files.c.name),
    "bio": ("bios", bios, bios.c.name),
}


@pages.get("/dashboard")
def overview(desk: Desk) -> Response:
    wanted = statistics.asked_span(desk)

    def work(tx: Connection) -> tuple[stats.Report, Mapping[str, Any]]:
        report = stats.report(tx, "account", desk.account, wanted)
        recent = [_visit(tx, row) for row in events.latest(tx, desk.account, _RECENT)]
        return report, {"top": _top(tx, desk), "recent": recent, "broken": _broken(tx, desk)}

    report, lately = desk.read_counts(work)
    return desk.page("overview.html", form=Form({}), **lately, **statistics.shown(desk, report, wanted))


def _broken(tx: Connection, desk: Desk) -> int:
    """How many links have a dead target (index looks_dead_account), where anybody looks."""
    mine = (looks.c.dead == true(), looks.c.account == desk.account)
    found = select(func.count()).select_from(looks).where(*mine)
    return int(tx.execute(found).scalar_one()) if desk.settings.dead_links_days else 0


def _top(tx: Connection, desk: Desk) -> list[Mapping[str, Any]]:
    """The links that were clicked most (index links_account_clicks)."""
    c = links.c
    chosen = (
        select(c.id, c.alias, c.host, c.title, c.url, c.clicks, domains.c.scheme)
        .outerjoin(domains, domains.c.host == c.host)
        .where(c.account == desk.account, c.clicks > 0)
        .order_by(c.clicks.desc(), c.id.desc())
        .limit(_TOP)
    )
    base = desk.settings.base
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
