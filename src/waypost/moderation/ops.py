"""The blocklist, and reports of visitors."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from sqlalchemy import Connection, delete, func, insert, literal, select, true, update

from waypost import clock
from waypost.db import change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.database import upsert
from waypost.db.schema import accounts, aliases, blocklist_entries, links, reports
from waypost.errors import Kind, Problem, invalid
from waypost.http.rate_limit import REPORTS_PER_HOUR
from waypost.urls import alias_namespace, blocklist
from waypost.urls.validation import ascii_host

Reason = Literal["phishing", "malware", "spam", "illegal", "other"]
_SHORTEST_WORD = 3
_HOUR = 3600
"""Reports that are taken from one network in an hour."""
_MOST_OPEN = 20  # per alias


@dataclass(frozen=True)
class Block:
    """A host, with everything below it, or a word; since when, in seconds, UTC."""

    kind: str
    value: str
    created: int


@dataclass(frozen=True)
class Report:
    """A report of an alias; `closed` is the time it was closed. Times are Unix seconds."""

    id: int
    host: str
    alias: str
    reason: str
    comment: str
    created: int
    closed: int | None


@dataclass(frozen=True)
class Subject:
    """The item of a reported alias and its account; `url` is a link's destination, `off` means disabled."""

    kind: str
    account: int
    username: str
    url: str
    off: bool


def block(tx: Connection, value: str, *, kind: str) -> Block:
    """Block a host or a word, also for existing items. Raises INVALID on `value`."""
    row = Block(kind, _plain(value, kind), clock.now())
    tx.execute(upsert(tx, blocklist_entries).values(vars(row)).on_conflict_do_nothing())
    change_log.record(tx, alias_namespace.OWN)  # every answer that is remembered may lead there
    return row


def unblock(tx: Connection, value: str, *, kind: str) -> Block:
    """Take a host or a word off the list. Raises NOT_FOUND."""
    plain = _plain(value, kind)
    gone = (
        delete(blocklist_entries)
        .where(blocklist_entries.c.kind == kind, blocklist_entries.c.value == plain)
        .returning(blocklist_entries.c.created)
    )
    created = tx.execute(gone).scalar_one_or_none()
    if created is None:
        raise Problem(Kind.NOT_FOUND, f"The {kind} {plain} is not blocked.")
    change_log.record(tx, alias_namespace.OWN)
    return Block(kind, plain, created)


def blocks_of(tx: Connection) -> list[Block]:
    """The whole list: hosts before words, by name."""
    query = select(blocklist_entries.c.kind, blocklist_entries.c.value, blocklist_entries.c.created).order_by(
        blocklist_entries.c.kind, blocklist_entries.c.value
    )
    return [Block(**row) for row in tx.execute(query).mappings()]


def blocks_page(tx: Connection, window: PageRequest, *, q: str = "") -> Page[Block]:
    """A page of the list, newest first; with `q`, of what has it."""
    c = blocklist_entries.c
    meets = c.value.contains(q.casefold(), autoescape=True) if q else true()
    result = int(tx.execute(select(func.count()).select_from(blocklist_entries).where(meets)).scalar_one())
    order = (c.created.desc(), c.kind, c.value)
    selected = (
        crud.select_columns(blocklist_entries, Block)
        .where(meets)
        .order_by(*order)
        .limit(window.limit)
        .offset(window.offset)
    )
    outcome = tx.execute(selected).mappings() if window.offset < result else ()
    return Page([Block(**row) for row in outcome], result, window)


def report(tx: Connection, *, host: str, alias: str, reason: Reason, comment: str, reporter: bytes) -> bool:
    """Keep a report; False when that network has sent enough for an hour, however many it sends at once.

    A name with many reports is accepted but not stored again.
    """
    if tx.dialect.name == "postgresql":  # where two statements that count do not wait for each other
        tx.execute(select(func.pg_advisory_xact_lock(int.from_bytes(reporter[:8], signed=True))))
    now = clock.now()
    c = reports.c
    query = select(func.count()).where(c.reporter == reporter, c.created > now - _HOUR).scalar_subquery()
    same = select(func.count()).where(c.host == host, c.alias == alias, c.closed.is_(None)).scalar_subquery()
    row = {"host": host, "alias": alias, "reason": reason, "comment": comment, "reporter": reporter, "created": now}
    values = select(*(literal(value, c[name].type) for name, value in row.items()))
    new = insert(reports).from_select(list(row), values.where(query < REPORTS_PER_HOUR, same < _MOST_OPEN))
    if tx.execute(new.returning(c.id)).first() is not None:
        return True
    return bool(tx.execute(select(query)).scalar_one() < REPORTS_PER_HOUR)


def reports_of(tx: Connection, *, closed: bool = False) -> list[Report]:
    """Return open reports, oldest first; with `closed`, all reports."""
    c = reports.c
    query = select(c.id, c.host, c.alias, c.reason, c.comment, c.created, c.closed).order_by(c.id)
    return [Report(**row) for row in tx.execute(query if closed else query.where(c.closed.is_(None))).mappings()]


def open_reports(tx: Connection) -> int:
    """Return the number of open reports."""
    return int(tx.execute(select(func.count()).where(reports.c.closed.is_(None))).scalar_one())


def reports_page(tx: Connection, window: PageRequest, *, closed: bool = False) -> Page[Report]:
    """A page of the reports that wait, oldest first; with `closed`, of those that are decided, newest first."""
    c = reports.c
    meets = c.closed.is_not(None) if closed else c.closed.is_(None)
    result = int(tx.execute(select(func.count()).where(meets)).scalar_one())
    order = (c.closed.desc(), c.id.desc()) if closed else (c.id,)
    selected = (
        crud.select_columns(reports, Report).where(meets).order_by(*order).limit(window.limit).offset(window.offset)
    )
    outcome = tx.execute(selected).mappings() if window.offset < result else ()
    return Page([Report(**row) for row in outcome], result, window)


def subject(tx: Connection, report: Report) -> Subject | None:
    """Return the current item of the reported alias; None if there is none."""
    held = (aliases.c.host == report.host, aliases.c.alias == report.alias)
    named = select(aliases.c.kind, aliases.c.item, accounts.c.id.label("account"), accounts.c.username)
    row = tx.execute(named.join(accounts, accounts.c.id == aliases.c.account).where(*held)).first()
    if row is None or row.kind is None:
        return None
    link = select(links.c.url, links.c.status).where(links.c.id == row.item)
    target = tx.execute(link).first() if row.kind == "link" else None
    url, off = (target.url, target.status == "disabled") if target else ("", False)
    return Subject(row.kind, row.account, row.username, url, off)


def report_of(tx: Connection, report: int) -> Report:
    """One report. Raises NOT_FOUND."""
    row = tx.execute(crud.select_columns(reports, Report).where(reports.c.id == report)).mappings().first()
    if row is None:
        raise _no_report(report)
    return Report(**row)


def switch_off(tx: Connection, report: Report) -> None:
    """Disable the reported link of any account. Raises INVALID on `decision` if it is not a link."""
    held = select(aliases.c.item).where(
        aliases.c.host == report.host, aliases.c.alias == report.alias, aliases.c.kind == "link"
    )
    done = tx.execute(update(links).where(links.c.id == held.scalar_subquery()).values(status="disabled"))
    if done.rowcount == 0:
        raise invalid("decision", "This name is no link any more, so there is nothing to switch off.")
    change_log.record(tx, report.host, report.alias)


def close_all(tx: Connection, report: Report) -> int:
    """Close all reports of an alias; return how many were open."""
    c = reports.c
    waiting = (c.host == report.host, c.alias == report.alias, c.closed.is_(None))
    return tx.execute(update(reports).where(*waiting).values(closed=clock.now())).rowcount


def close(tx: Connection, report: int) -> None:
    """Close a report. Raises NOT_FOUND."""
    if tx.execute(update(reports).where(reports.c.id == report).values(closed=clock.now())).rowcount == 0:
        raise _no_report(report)


def _no_report(report: int) -> Problem:
    return Problem(Kind.NOT_FOUND, f"There is no report {report}.")


def _plain(value: str, kind: str) -> str:
    """Normalize a host (from a URL or a name, in IDNA form) or a word. Raises INVALID."""
    if kind == blocklist.WORD:
        plain = blocklist.normalize_word(value)
        if len(plain) < _SHORTEST_WORD:
            raise invalid("value", f"A word must have at least {_SHORTEST_WORD} letters, or it would block too much.")
        return plain
    try:
        parts = urlsplit(value.strip() if "://" in value else f"//{value.strip()}")
        host = ascii_host((parts.hostname or "").removeprefix("*."))
    except ValueError:
        host = None
    if host is None:
        raise invalid("value", f"{value} is not a host name, such as bad.example.")
    return host
