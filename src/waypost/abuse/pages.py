"""The operator's pages against abuse: what visitors report, and what nothing may lead to."""

from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.abuse import ops
from waypost.aliases.namespace import ROTATORS
from waypost.aliases.urls import origin
from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form
from waypost.dashboard.pages import Pages
from waypost.errors import Problem, invalid
from waypost.net.blocked import HOST, WORD

pages = Pages(operator=True)
_REPORTS, _BLOCKS = "/dashboard/admin/reports", "/dashboard/admin/blocks"
_MOST_LINES = 1000


@pages.get("/dashboard/admin/reports")
def list_reports(desk: Desk) -> Response:
    closed = desk.asked("closed") == "1"
    page = desk.read(lambda tx: ops.reports_page(tx, desk.window(), closed=closed))
    return desk.page("admin/reports.html", page=page, closed=closed, name=lambda one: _url(desk, one))


@pages.get("/dashboard/admin/reports/{id:int}")
def show_report(desk: Desk, id: int) -> Response:
    return _report_page(desk, id, Form({}))


@pages.post("/dashboard/admin/reports/{id:int}")
def decide(desk: Desk, id: int) -> Response:
    """Block a host or switch the link off, for all reports of the name; or let this one be."""
    form = desk.typed()
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

    said = form.attempt(lambda: desk.write(work))
    if said is None:
        return _report_page(desk, id, form, status=400)
    return desk.go(_REPORTS, said=said)


@pages.get("/dashboard/admin/blocks")
def list_blocks(desk: Desk) -> Response:
    return _blocks_page(desk, Form({"kind": HOST, "values": ""}))


@pages.post("/dashboard/admin/blocks")
def add_blocks(desk: Desk) -> Response:
    """One or many, each on a line of its own; all of them or none."""
    form = desk.typed()

    def work(tx: Connection) -> int:
        lines = [line.strip() for line in str(form["values"]).splitlines() if line.strip()]
        if not 1 <= len(lines) <= _MOST_LINES:
            raise invalid("values", f"Write 1 to {_MOST_LINES} lines.")
        kind = WORD if form.text("kind") == WORD else HOST
        try:
            return len({ops.block(tx, line, kind=kind).value for line in lines})
        except Problem as problem:
            raise invalid("values", problem.message) from problem

    added = form.attempt(lambda: desk.write(work))
    if added is None:
        return _blocks_page(desk, form, status=400)
    return desk.go(_BLOCKS, said=f"{added} are blocked from now on." if added > 1 else "Blocked from now on.")


@pages.post("/dashboard/admin/blocks/remove")
def remove_block(desk: Desk) -> Response:
    form = desk.typed()
    kind = WORD if form.text("kind") == WORD else HOST
    gone = desk.write(lambda tx: ops.unblock(tx, form.text("value"), kind=kind))
    return desk.go(_BLOCKS, said=f"{gone.value} is no longer blocked.")


def _report_page(desk: Desk, id: int, form: Form, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Report, ops.Subject | None]:
        report = ops.report_of(tx, id)
        return report, ops.subject(tx, report)

    report, subject = desk.read(work)
    form.values.setdefault("value", _host(subject.url) if subject else "")
    told: dict[str, Any] = {"report": asdict(report), "subject": subject, "name": _url(desk, report)}
    return desk.page("admin/report.html", status=status, form=form, **told)


def _blocks_page(desk: Desk, form: Form, *, status: int = 200) -> Response:
    q = desk.asked("q")
    page = desk.read(lambda tx: ops.blocks_page(tx, desk.window(), q=q))
    return desk.page("admin/blocks.html", status=status, form=form, page=page, q=q)


def _url(desk: Desk, report: ops.Report) -> str:
    """What was reported, as its visitors see it."""
    base = desk.settings.base
    place = f"{base}{ROTATORS}" if report.host == ROTATORS else origin(base, report.host, None)
    return f"{place}/{report.alias}"


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
