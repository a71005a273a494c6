"""Administration pages: abuse reports, and blocked hosts and words."""

from dataclasses import asdict

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.core.errors import Problem, invalid
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.routing import Router
from waypost.items.moderation import blocklist, reports
from waypost.urls.blocklist import HOST, WORD
from waypost.urls.url_parts import display_host

pages = Router(admin_only=True)
_REPORTS, _BLOCKS = "/dashboard/admin/reports", "/dashboard/admin/blocks"
_MAX_LINES = 1000


@pages.get("/dashboard/admin/reports")
def list_reports(context: PageContext) -> Response:
    closed, q = context.query("closed") == "1", context.query("q")
    page = context.read(lambda tx: reports.page(tx, context.page_request(), closed=closed, q=q))
    return context.render(
        "admin/reports.html", page=page, closed=closed, q=q, name=lambda report: report.url(context.settings.base)
    )


@pages.get("/dashboard/admin/reports/{id:int}")
def show_report(context: PageContext, id: int) -> Response:
    return _report_page(context, id, Form({}))


@pages.post("/dashboard/admin/reports/{id:int}")
def decide(context: PageContext, id: int) -> Response:
    """Block a host or disable the link, which closes all reports of the alias; or dismiss this report."""
    form = context.form()
    decision = form.text("decision")

    def work(tx: Connection) -> str:
        report = reports.get(tx, id)
        if decision == "dismiss":
            reports.close(tx, id)
            return "The report was closed. Nothing else was changed."
        if decision == "block":
            value = blocklist.block(tx, form.text("value"), kind=HOST).value
            closed = reports.close_all(tx, report)
            return f"{value} was blocked. {closed} reports were closed." if closed > 1 else f"{value} was blocked."
        if decision == "disable":
            reports.disable_link(tx, report)
            closed = reports.close_all(tx, report)
            return f"The link was disabled. {closed} reports were closed." if closed > 1 else "The link was disabled."
        raise invalid("decision", "Select an action.")

    message = form.attempt(lambda: context.write(work))
    if message is None:
        return _report_page(context, id, form, status=400)
    return context.redirect(_REPORTS, message=message)


@pages.get("/dashboard/admin/blocks")
def list_blocks(context: PageContext) -> Response:
    return _blocks_page(context, Form({"kind": HOST, "values": ""}))


@pages.post("/dashboard/admin/blocks", resumable=True)
def add_blocks(context: PageContext) -> Response:
    """Block hosts or words, one per line; all or none."""
    form = context.form()

    def work(tx: Connection) -> int:
        lines = [line.strip() for line in str(form["values"]).splitlines() if line.strip()]
        if not 1 <= len(lines) <= _MAX_LINES:
            raise invalid("values", f"Enter 1 to {_MAX_LINES} lines.")
        kind = WORD if form.text("kind") == WORD else HOST
        try:
            return len({blocklist.block(tx, line, kind=kind).value for line in lines})
        except Problem as problem:
            raise invalid("values", problem.message) from problem

    added = form.attempt(lambda: context.write(work))
    if added is None:
        return _blocks_page(context, form, status=400)
    return context.redirect(
        _BLOCKS, message=f"{added} entries were blocked." if added > 1 else "The entry was blocked."
    )


@pages.post("/dashboard/admin/blocks/remove")
def remove_block(context: PageContext) -> Response:
    form = context.form()
    kind = WORD if form.text("kind") == WORD else HOST
    removed = context.write(lambda tx: blocklist.unblock(tx, form.text("value"), kind=kind))
    return context.redirect(_BLOCKS, message=f"{removed.value} is no longer blocked.")


def _report_page(context: PageContext, id: int, form: Form, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[reports.Report, reports.Subject | None]:
        report = reports.get(tx, id)
        return report, reports.subject(tx, report)

    report, subject = context.read(work)
    form.values.setdefault("value", display_host(subject.url) if subject else "")
    name = report.url(context.settings.base)
    return context.render(
        "admin/report.html", status=status, form=form, report=asdict(report), subject=subject, name=name
    )


def _blocks_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    q = context.query("q")
    page = context.read(lambda tx: blocklist.page(tx, context.page_request(), q=q))
    return context.render("admin/blocks.html", status=status, form=form, page=page, q=q)
