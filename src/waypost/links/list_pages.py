"""The dashboard's list of links: search, filters, bulk actions."""

from collections.abc import Callable, Sequence
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response, StreamingResponse

from waypost.dashboard import trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import parse_id
from waypost.dashboard.i18n import ngettext
from waypost.dashboard.routing import Router
from waypost.db.crud import PageRequest
from waypost.links import (
    bulk_changes,
    duplicates,
    form_options,
    list_export,
    list_query,
    list_states,
    ops,
    quick_search,
)
from waypost.links.columns import Status

pages = Router()
MAX_SELECTED = 1000
"""Links that one action changes, as in a bulk request of the API (decision 79)."""
_LIST = "/dashboard/links"
_OPTIONS = (*form_options.COLLECTIONS, "domains")


@pages.get("/dashboard/links")
def list_links(context: PageContext) -> Response:
    query = list_query.parse(context)
    link_filter = query.link_filter

    def work(tx: Connection) -> tuple[Any, Any, list_states.ListDetails]:
        selected: dict[str, list[int | str]] = {
            "campaigns": [link_filter.campaign or 0],
            "channels": [link_filter.channel or 0],
            "domains": [link_filter.host or ""],
        }
        options = form_options.load(tx, context.account, names=_OPTIONS, selected=selected)
        page = query.page(tx, context, context.page_request())
        with_dead = bool(context.settings.dead_links_days)
        return page, options, list_states.read(tx, context.account, page.items, with_dead=with_dead)

    page, options, details = context.read_after_ingest(work)
    return context.render_list(
        "links/list.html",
        page,
        limit=quick_search.MAX_MATCHES if query.q else 0,
        choices=options,
        details=details,
        query=query,
        own_host=context.settings.own_host,
        max_selected=MAX_SELECTED,
        short_url=context.short_url,
    )


@pages.get("/dashboard/links/export")
def export_links(context: PageContext) -> Response:
    """Return all links that match the list's query as CSV."""
    context.wait_for_ingest()
    lines = list_export.lines(context, list_query.parse(context))
    headers = {"Content-Disposition": 'attachment; filename="links.csv"'}
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


@pages.post("/dashboard/links/{id:int}/duplicate")
def duplicate_link(context: PageContext, id: int) -> Response:
    copy = context.write(lambda tx: duplicates.duplicate(tx, context.account, id, settings=context.settings))
    return context.redirect(
        f"{_LIST}/{copy.id}", message="The link was duplicated. This is the copy.", copy_text=context.short_url(copy)
    )


@pages.get("/dashboard/links/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    links = context.read(lambda tx: [ops.get_owned(tx, context.account, id)])
    return _confirmation(context, links, "delete")


@pages.post("/dashboard/links/delete")
def delete_links(context: PageContext) -> Response:
    ids, (singular, plural) = context.selected_ids(), ("The link was deleted.", "%(count)s links were deleted.")
    return trash.delete(context, "link", ids, bulk_changes.remove, singular=singular, plural=plural)


@pages.post("/dashboard/links/bulk")
def apply_bulk_action(context: PageContext) -> Response:
    """Set a status, campaign or channel of the selected links.

    Asks for confirmation before links are deleted, and before all links that match the list's query are changed.
    """
    action, ids = context.form().text("action"), context.selected_ids()
    change = _change(context.account, action)
    if context.form().text("all"):
        links: Sequence[ops.Link] = _matching(context)
    else:
        links = context.read(lambda tx: ops.get_owned_many(tx, context.account, ids)) if action == "delete" else ()
    if not ids and not links:
        return context.redirect(_LIST, message="Select at least one link.", tone="bad")
    if change is None and action != "delete":
        return context.redirect(_LIST, message="Select an action.", tone="bad")
    if change is None or links:
        return _confirmation(context, links, action)
    context.write(lambda tx: change(tx, ids))
    return context.redirect(_LIST, message=ngettext("The link was updated.", "%(count)s links were updated.", len(ids)))


def _change(account: int, action: str) -> Callable[[Connection, Sequence[int]], None] | None:
    """Return the change that an action such as `status-disabled`, `campaign-0` or `channel-7` names."""
    name, _, target = action.partition("-")
    group = parse_id(target)
    status = next((value for value in get_args(Status) if value == target), None)
    if name == "status" and status:
        return lambda tx, ids: bulk_changes.set_status(tx, account, ids, status)
    if name == "campaign" and group is not None:
        return lambda tx, ids: bulk_changes.set_campaign(tx, account, ids, group or None)
    if name == "channel" and group is not None:
        return lambda tx, ids: bulk_changes.add_channel(tx, account, ids, group)
    return None


def _matching(context: PageContext) -> Sequence[ops.Link]:
    """Return the first links that match the query of the list that the form is on."""
    query, first = list_query.parse(context), PageRequest(limit=MAX_SELECTED)
    return context.read_after_ingest(lambda tx: query.page(tx, context, first)).items


def _confirmation(context: PageContext, links: Sequence[ops.Link], action: str) -> Response:
    kind, _, target = action.partition("-")
    group, name = parse_id(target), ""
    if group and kind in list_states.GROUPS:
        name = context.read(lambda tx: list_states.group_name(tx, context.account, kind, group))
    return context.render("links/confirm.html", links=links, action=action, group=name, short_url=context.short_url)
