"""The operator's pages against abuse: what visitors report, and what nothing may lead to."""

from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.routing import Router
from waypost.errors import Problem, invalid
from waypost.moderation import ops
from waypost.urls.alias_namespace import ROTATORS
from waypost.urls.blocklist import HOST, WORD
from waypost.urls.short_urls import origin

pages = Router(operator=True)
_REPORTS, _BLOCKS = "/dashboard/admin/reports", "/dashboard/admin/blocks"
_MOST_LINES = 1000


@pages.get("/dashboard/admin/reports")
def list_reports(context: PageContext) -> Response:
    closed = context.query("closed") == "1"
    page = context.read(lambda tx: ops.reports_page(tx, context.page_request(), closed=closed))
    return context.render("admin/reports.html", page=page, closed=closed, name=lambda one: _url(context, one))


@pages.get("/dashboard/admin/reports/{id:int}")
def show_report(context: PageContext, id: int) -> Response:
    return _report_page(context, id, Form({}))


@pages.post("/dashboard/admin/reports/{id:int}")
def decide(context: PageContext, id: int) -> Response:
    """Block a host or switch the link off, for all reports of the name; or let this one be."""
    form = context.form()
    decision = form.text("decision")

    def work(tx: Connection) -> str:
        report = ops.report_of(tx, id)
        if decision == "dismiss":
            ops.close(tx, id)
            return "The report is closed. Nothing else has changed."
        if decision == "block":
            told = f"{ops.block(tx, form.text('value'), kind=HOST).value} is blocked from now on."
        elif decision == "disable":
            ops.switch_off(tx, report)
            told = "The link is switched off."
        else:
            raise invalid("decision", "Choose what to do about it.")
        closed = ops.close_all(tx, report)
        return f"{told} {closed} reports of it are closed." if closed > 1 else told

    said = form.attempt(lambda: context.write(work))
    if said is None:
        return _report_page(context, id, form, status=400)
    return context.redirect(_REPORTS, said=said)


@pages.get("/dashboard/admin/blocks")
def list_blocks(context: PageContext) -> Response:
    return _blocks_page(context, Form({"kind": HOST, "values": ""}))


@pages.post("/dashboard/admin/blocks")
def add_blocks(context: PageContext) -> Response:
    """One or many, each on a line of its own; all of them or none."""
    form = context.form()

    def work(tx: Connection) -> int:
        lines = [line.strip() for line in str(form["values"]).splitlines() if line.strip()]
        if not 1 <= len(lines) <= _MOST_LINES:
            raise invalid("values", f"Write 1 to {_MOST_LINES} lines.")
        kind = WORD if form.text("kind") == WORD else HOST
        try:
            return len({ops.block(tx, line, kind=kind).value for line in lines})
        except Problem as problem:
            raise invalid("values", problem.message) from problem

    added = form.attempt(lambda: context.write(work))
    if added is None:
        return _blocks_page(context, form, status=400)
    return context.redirect(_BLOCKS, said=f"{added} are blocked from now on." if added > 1 else "Blocked from now on.")


@pages.post("/dashboard/admin/blocks/remove")
def remove_block(context: PageContext) -> Response:
    form = context.form()
    kind = WORD if form.text("kind") == WORD else HOST
    gone = context.write(lambda tx: ops.unblock(tx, form.text("value"), kind=kind))
    return context.redirect(_BLOCKS, said=f"{gone.value} is no longer blocked.")


def _report_page(context: PageContext, id: int, form: Form, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Report, ops.Subject | None]:
        report = ops.report_of(tx, id)
        return report, ops.subject(tx, report)

    report, subject = context.read(work)
    form.values.setdefault("value", _host(subject.url) if subject else "")
    told: dict[str, Any] = {"report": asdict(report), "subject": subject, "name": _url(context, report)}
    return context.render("admin/report.html", status=status, form=form, **told)


def _blocks_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    q = context.query("q")
    page = context.read(lambda tx: ops.blocks_page(tx, context.page_request(), q=q))
    return context.render("admin/blocks.html", status=status, form=form, page=page, q=q)


def _url(context: PageContext, report: ops.Report) -> str:
    """What was reported, as its visitors see it."""
    base = context.settings.base
    place = f"{base}{ROTATORS}" if report.host == ROTATORS else origin(base, report.host, None)
    return f"{place}/{report.alias}"


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
