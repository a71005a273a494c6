"""The page of the audit log: all changes, the history of one thing, and the versions of links."""

from operator import itemgetter
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.audit import changes, checkpoints, log, names, versions
from waypost.audit.log import ORIGINS, AuditFilter
from waypost.core import clock
from waypost.core.errors import not_found
from waypost.dashboard import downloads, forms, list_periods
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import format_day, gettext
from waypost.dashboard.list_periods import ListPeriod
from waypost.dashboard.routing import Router
from waypost.http import file_names

pages = Router()
_PATH = "/dashboard/audit"
_PER_PAGE = 50


@pages.get(_PATH)
def show_audit_log(context: PageContext) -> Response:
    """Show the events of the account; to administrators with `scope=installation`, those of the installation."""
    period, account = list_periods.requested(context), _account(context)
    audit_filter = _requested(context, period)
    if context.query("format") == "csv":
        parts = (gettext("Audit log"), format_day(clock.local(clock.now(), context.time_zone).date()))
        return downloads.csv_file(", ".join(parts), log.export(context.database, account, audit_filter, "csv"))
    if context.query("format") == "checkpoint" and account is None:
        return _checkpoint(context)
    before = context.query_id("before")

    def work(tx: Connection) -> dict[str, Any]:
        page = log.page(tx, account, audit_filter, limit=_PER_PAGE, before=before)
        items = names.existing_items(tx, account, page.entries)
        authors = names.authors(tx, account, page.entries)
        people = {str(names.author(entry)): authors[entry.id] for entry in page.entries if entry.id in authors}
        if audit_filter.author is not None and not people:
            people[str(audit_filter.author)] = str(audit_filter.author)
        has_checkpoint = account is None and checkpoints.latest(tx) is not None
        shown = {"page": page, "items": items, "authors": authors, "people": sorted(people.items(), key=itemgetter(1))}
        return {**shown, "has_checkpoint": has_checkpoint}

    values = {**context.read(work), **_texts(audit_filter, account)}
    return context.render("audit/list.html", before=before, days=context.settings.audit_days, period=period, **values)


@pages.post("/dashboard/audit/links/{id:int}/restore")
def restore_version(context: PageContext, id: int) -> Response:
    """Give a link the values that it had before an event."""
    event = forms.parse_id(context.form().text("event"))
    if event is None:
        raise not_found("version")
    settings = context.settings
    context.write(lambda tx: versions.restore(tx, context.account, id, event, settings=settings))
    return context.redirect(f"{_PATH}?kind=link&item={id}", message="The earlier version was restored.")


def _checkpoint(context: PageContext) -> Response:
    """Return the latest checkpoint of the log as a file."""
    note = context.read(checkpoints.latest)
    if note is None:
        raise not_found("checkpoint")
    headers = {"Content-Disposition": file_names.attachment(f"audit-{clock.day(clock.now())}", "txt")}
    return Response(note, headers=headers, media_type="text/plain; charset=utf-8")


def _requested(context: PageContext, period: ListPeriod) -> AuditFilter:
    """Return the filter of the query. Unknown values are ignored, like those of other lists."""
    kind, origin = context.query("kind"), context.query("origin")
    return AuditFilter(
        kind=kind if kind in names.KINDS else "",
        item=context.query_id("item"),
        origin=origin if origin in ORIGINS else "",
        key=context.query("key", max_length=16),
        first=period.since,
        last=None if period.until is None else period.until - 1,
        q=context.query("q").strip(),
        author=context.query_id("author"),
    )


def _account(context: PageContext) -> int | None:
    is_of_installation = context.user.owner and context.query("scope") == "installation"
    return None if is_of_installation else context.account


def _texts(audit_filter: AuditFilter, account: int | None) -> dict[str, Any]:
    return {
        "filter": audit_filter,
        "is_of_installation": account is None,
        "kinds": names.KINDS,
        "presets": list_periods.PRESETS,
        "what": names.what,
        "name_of_thing": names.name_of_thing,
        "changes_of": changes.of,
        "origins": names.ORIGINS,
    }
