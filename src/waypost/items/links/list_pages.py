"""The dashboard's list of links: search, filters, export, duplicates. Actions on many links are in `bulk_pages`."""

from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import list_periods, preferences
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Shape
from waypost.dashboard.preferences import COLUMNS_COOKIE, LINK_COLUMNS
from waypost.dashboard.routing import Router
from waypost.items.links import list_export, list_search, list_state, ops, views
from waypost.items.links.form import COLLECTIONS, load_options

pages = Router()
_LIST = "/dashboard/links"
_OPTIONS = (*COLLECTIONS, "domains")


@pages.get("/dashboard/links")
def list_links(context: PageContext) -> Response:
    query = list_state.parse(context)
    link_filter = query.link_filter

    def work(tx: Connection) -> tuple[Any, Any, list_state.ListDetails, views.Views]:
        selected: dict[str, list[int | str]] = {
            "campaigns": [link_filter.campaign or 0],
            "channels": [link_filter.channel or 0],
            "domains": [link_filter.host or ""],
        }
        options = load_options(tx, context.account, names=_OPTIONS, selected=selected)
        page = query.page(tx, context, context.page_request())
        with_dead = bool(context.settings.dead_links_days)
        details = list_state.read(tx, context.account, page.items, with_dead=with_dead)
        return page, options, details, views.read(tx, context)

    page, options, details, saved_views = context.read_after_ingest(work)
    return context.render_list(
        "links/list.html",
        page,
        limit=list_search.MAX_MATCHES if query.q else 0,
        choices=options,
        details=details,
        views=saved_views,
        hidden=views.hidden_columns(context),
        kept={views.COLUMNS: context.query(views.COLUMNS)},
        query=query,
        presets=list_periods.PRESETS,
        own_host=context.settings.own_host,
        max_selected=list_state.MAX_SELECTED,
        short_url=context.short_url,
    )


@pages.post("/dashboard/links/columns")
def choose_columns(context: PageContext) -> Response:
    """Set the columns of the list in this browser. The cookie has the hidden ones, so that new columns are shown."""
    shown = context.form(Shape(lists=("column",)))["column"]
    hidden = ".".join(name for name in LINK_COLUMNS if name not in shown)
    return preferences.store(context, COLUMNS_COOKIE, hidden, replaced=views.COLUMNS)


@pages.get("/dashboard/links/export", snapshot=False)
def export_links(context: PageContext) -> Response:
    """Return all links that match the list's query as CSV."""
    context.wait_for_ingest()
    return list_export.response(list_export.lines(context, list_state.parse(context)))


@pages.post("/dashboard/links/{id:int}/duplicate")
def duplicate_link(context: PageContext, id: int) -> Response:
    copy = context.write(lambda tx: ops.duplicate(tx, context.account, id, settings=context.settings))
    return context.redirect(
        f"{_LIST}/{copy.id}", message="The link was duplicated. This is the copy.", copy_text=context.short_url(copy)
    )
