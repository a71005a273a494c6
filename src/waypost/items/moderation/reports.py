"""Abuse reports of visitors, and the administrator's decisions about them."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from sqlalchemy import Connection, Select, func, insert, literal, or_, select, update

from waypost.auth.attempt_limits import REPORTS_PER_HOUR
from waypost.core import clock
from waypost.core.errors import Kind, Problem, invalid
from waypost.db import audit_log, change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import accounts, aliases, domains, links, reports
from waypost.urls import alias_namespace
from waypost.urls.alias_namespace import ROTATORS
from waypost.urls.short_urls import short_url

Reason = Literal["phishing", "malware", "spam", "illegal", "other"]
_HOUR = 3600
_MAX_OPEN_PER_ALIAS = 20


@dataclass(frozen=True)
class Report:
    """A report of an alias; `scheme` is that of its branded domain, if any. Times are Unix seconds."""

    id: int
    host: str
    scheme: str | None
    alias: str
    reason: str
    comment: str
    created: int
    closed: int | None

    def url(self, base: str) -> str:
        """Return the public URL that was reported."""
        if self.host == ROTATORS:
            return f"{base}{ROTATORS}/{self.alias}"
        return short_url(base, self.host, self.scheme, self.alias)


@dataclass(frozen=True)
class Subject:
    """The item of a reported alias and its account; `url` is a link's destination, `off` means disabled."""

    kind: str
    account: int
    username: str
    url: str
    off: bool


def add(
    tx: Connection,
    *,
    host: str,
    alias: str,
    reason: Reason,
    comment: str,
    reporter: bytes,
    limit: int = REPORTS_PER_HOUR,
) -> bool:
    """Store a report. Return False if the reporter's network has sent `limit` in an hour, even concurrently.

    A report of an alias with many open reports is accepted but not stored.
    """
    if tx.dialect.name == "postgresql":  # where two statements that count do not wait for each other
        tx.execute(select(func.pg_advisory_xact_lock(int.from_bytes(reporter[:8], signed=True))))
    now = clock.now()
    c = reports.c
    sent = select(func.count()).where(c.reporter == reporter, c.created > now - _HOUR).scalar_subquery()
    still_open = select(func.count()).where(c.host == host, c.alias == alias, c.closed.is_(None)).scalar_subquery()
    row = {"host": host, "alias": alias, "reason": reason, "comment": comment, "reporter": reporter, "created": now}
    values = select(*(literal(value, c[name].type) for name, value in row.items()))
    is_stored = (sent < limit, still_open < _MAX_OPEN_PER_ALIAS)
    statement = insert(reports).from_select(list(row), values.where(*is_stored)).returning(c.id)
    if tx.execute(statement).first() is not None:
        return True
    return bool(tx.execute(select(sent)).scalar_one() < limit)


def list_all(tx: Connection, *, closed: bool = False) -> list[Report]:
    """Return open reports, oldest first; with `closed`, all reports."""
    query = _select().order_by(reports.c.id)
    query = query if closed else query.where(reports.c.closed.is_(None))
    return [Report(**row) for row in tx.execute(query).mappings()]


def page(tx: Connection, window: PageRequest, *, closed: bool = False, q: str = "") -> Page[Report]:
    """Return a page of the open reports, oldest first; with `closed`, of the closed ones, latest first.

    With `q`, only those whose host, alias or comment contains it.
    """
    c = reports.c
    query = _select()
    if q:
        query = query.where(or_(*(column.icontains(q, autoescape=True) for column in (c.host, c.alias, c.comment))))
    if closed:
        query = query.where(c.closed.is_not(None)).order_by(c.closed.desc(), c.id.desc())
    else:
        query = query.where(c.closed.is_(None)).order_by(c.id)
    return crud.counted_page(tx, query, window, Report)


def get(tx: Connection, report: int) -> Report:
    """Return one report. Raises NOT_FOUND."""
    row = tx.execute(_select().where(reports.c.id == report)).mappings().first()
    if row is None:
        raise _no_report(report)
    return Report(**row)


def _select() -> Select[Any]:
    columns = (reports.c[field.name] for field in fields(Report) if field.name != "scheme")
    return select(*columns, domains.c.scheme).outerjoin(domains, domains.c.host == reports.c.host)


def subject(tx: Connection, report: Report) -> Subject | None:
    """Return the current item of the reported alias; None if there is none."""
    query = select(aliases.c.kind, aliases.c.item, accounts.c.id.label("account"), accounts.c.username)
    is_reported = (aliases.c.host == report.host, aliases.c.alias == report.alias)
    row = tx.execute(query.join(accounts, accounts.c.id == aliases.c.account).where(*is_reported)).first()
    if row is None or row.kind is None:
        return None
    is_link = (links.c.id == row.item, links.c.account == row.account)
    link = tx.execute(select(links.c.url, links.c.status).where(*is_link)).first() if row.kind == "link" else None
    url, off = (link.url, link.status == "disabled") if link else ("", False)
    return Subject(row.kind, row.account, row.username, url, off)


def disable_link(tx: Connection, report: Report) -> None:
    """Disable the reported link of any account. Raises INVALID on `decision` if it is not a link."""
    holder = alias_namespace.find(tx, report.host, report.alias)
    if holder is None or holder.kind != "link":
        raise invalid("decision", "This name is no link any more, so there is nothing to disable.")
    crud.change(tx, links, holder.account, holder.item, {"status": "disabled"})
    change_log.record(tx, report.host, report.alias)


def close_all(tx: Connection, report: Report) -> int:
    """Close all reports of an alias; return how many were open."""
    c = reports.c
    is_open = (c.host == report.host, c.alias == report.alias, c.closed.is_(None))
    closed = tx.execute(update(reports).where(*is_open).values(closed=clock.now())).rowcount
    audit_log.record(tx, None, "report.closed", report.id, label=f"{report.host}/{report.alias}".lstrip("/"))
    return closed


def close(tx: Connection, report: int) -> None:
    """Close a report. Raises NOT_FOUND."""
    if tx.execute(update(reports).where(reports.c.id == report).values(closed=clock.now())).rowcount == 0:
        raise _no_report(report)
    audit_log.record(tx, None, "report.closed", report)


def _no_report(report: int) -> Problem:
    return Problem(Kind.NOT_FOUND, f"There is no report {report}.")
