"""Downloads of an account's data in the dashboard."""

from starlette.responses import Response, StreamingResponse

from waypost.core import clock
from waypost.core.actor import acting
from waypost.core.errors import Problem, not_found
from waypost.dashboard.context import PageContext, too_many_attempts
from waypost.dashboard.i18n import gettext
from waypost.dashboard.routing import Router
from waypost.http import file_names
from waypost.transfer.exports import link_csv, runner
from waypost.transfer.exports.archive import Source

pages = Router()
_ACCOUNT = "/dashboard/account"


@pages.post("/dashboard/account/export")
def export_everything(context: PageContext) -> Response:
    """Return the archive of the account. An error is shown on the account page, where the button is."""
    try:
        if wait := context.rate_limiter.acquire("export", subject=str(context.account), network=""):
            raise too_many_attempts(wait)
        context.wait_for_ingest()
        source = Source(context.database, context.resources.cleaner.store, context.settings, context.account)
        today = clock.local(clock.now(), context.time_zone).date()
        with acting(context.actor):
            return runner.download(source, name=f"{context.user.username}-{today}")
    except Problem as problem:
        return context.redirect(_ACCOUNT, message=problem.message, tone="bad")


@pages.get("/dashboard/account/links/{service}", snapshot=False)
def export_links(context: PageContext, service: str) -> Response:
    """Return all links as CSV with the columns of another service."""
    columns_of = next((known for known in link_csv.SERVICES if known == service), None)
    if columns_of is None:
        raise not_found("export")
    context.wait_for_ingest()
    lines = link_csv.lines(context.database, context.settings, context.account, columns_of)
    name = gettext("Links, %(service)s", service=columns_of.capitalize())
    headers = {"Content-Disposition": file_names.attachment(name, "csv")}
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)
