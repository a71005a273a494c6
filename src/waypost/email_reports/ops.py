"""Reports by e-mail in the database: creation, confirmation, unsubscription, and the time of the next one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Connection, delete, exists, false, insert, select, update

from waypost.auth import people
from waypost.core import clock
from waypost.core.errors import Kind, Problem, invalid
from waypost.core.languages import LANGUAGES
from waypost.core.text_folding import folded
from waypost.dashboard.i18n import find_zone
from waypost.db import account_rows, audit_log, crud, due_times
from waypost.db.schema import accounts, campaigns, email_reports, links
from waypost.db.signing import installation_signer, read_unverified
from waypost.items.accounts import ops as account_ops

Every = Literal["week", "month"]
Purpose = Literal["confirm", "unsubscribe"]
MAX_REPORTS = 50
CONFIRM_SECONDS = 7 * 86_400
"""A report that is not confirmed for so long is deleted."""
LEASE_SECONDS = 900
"""The time of a node for a report that is due, after which it is due again: also the pause after an error."""
MAX_DUE = 20
"""The number of reports that `find_due` returns at most."""
_MAX_PAUSE = 33 * 86_400
"""No report waits longer: a month, and the difference of two time zones."""
_MORNING = time(7)
_c = email_reports.c
_IS_ACTIVE = (_c.confirmed.is_not(None), _c.unsubscribed.is_(None))


@dataclass(frozen=True)
class EmailReport:
    """A report. `link` and `campaign` are None for one of the account; times are in seconds, UTC."""

    id: int
    account: int
    link: int | None
    campaign: int | None
    every: Every
    email: str
    email_key: str
    language: str
    timezone: str
    due: int
    confirmed: int | None
    unsubscribed: int | None
    created: int

    @property
    def key(self) -> tuple[str, int]:
        """The kind and id of the item, or of the account."""
        if self.link is not None:
            return "link", self.link
        return ("campaign", self.campaign) if self.campaign is not None else ("account", self.account)


def days_before(every: Every, day: date) -> tuple[date, date]:
    """Return the first and last day of the last whole week, Monday to Sunday, or month before a day."""
    if every == "week":
        monday = day - timedelta(days=day.weekday())
        return monday - timedelta(days=7), monday - timedelta(days=1)
    last = day.replace(day=1) - timedelta(days=1)
    return last.replace(day=1), last


def next_due(every: Every, zone: ZoneInfo, now: int) -> int:
    """Return the next Monday, or first day of a month, at 7 o'clock in a time zone."""
    day = clock.local(now, zone).date()
    candidates = (
        (day - timedelta(days=day.weekday()), day + timedelta(days=7 - day.weekday()))
        if every == "week"
        else (day.replace(day=1), (day.replace(day=1) + timedelta(days=32)).replace(day=1))
    )
    moments = (int(datetime.combine(each, _MORNING, zone).timestamp()) for each in candidates)
    return next(moment for moment in moments if moment > now)


def all_of(tx: Connection, account: int) -> Sequence[EmailReport]:
    """Return the reports of an account, newest first (index email_reports_account_id)."""
    query = crud.select_columns(email_reports, EmailReport).where(_c.account == account).order_by(_c.id.desc())
    return [EmailReport(**row) for row in tx.execute(query).mappings()]


def get_owned(tx: Connection, account: int, report: int) -> EmailReport:
    """One report."""
    return crud.get_owned(tx, email_reports, account, report, EmailReport)


def add(
    tx: Connection,
    account: int,
    *,
    email: str,
    every: Every,
    language: str,
    timezone: str,
    link: int | None = None,
    campaign: int | None = None,
) -> EmailReport:
    """Create a report. An address of an owner of the account is confirmed. Raises INVALID on a field, NOT_FOUND."""
    account_rows.lock(tx, account)
    address = account_ops.checked_email(email)
    key, now = folded(address), clock.now()
    if language not in LANGUAGES:
        raise invalid("language", "language must be one of the options. Select another one.")
    if clock.zone(timezone) is None:
        raise invalid("timezone", "timezone must be the name of a time zone, such as Europe/Berlin or UTC.")
    for table, item in ((links, link), (campaigns, campaign)):
        if item is not None:
            crud.require_owned(tx, table, account, item)
    is_own = people.is_email_of_owner(tx, account, key)
    _check_existing(all_of(tx, account), key, (every, link, campaign), is_own=is_own)
    described = {"link": link, "campaign": campaign, "every": every, "language": language}
    row = {
        **described,
        "account": account,
        "email": address,
        "email_key": key,
        "timezone": timezone,
        "due": next_due(every, find_zone(timezone), now),
        "confirmed": now if is_own else None,
        "created": now,
    }
    report = tx.execute(insert(email_reports).values(row).returning(_c.id)).scalar_one()
    audit_log.record(tx, account, "email_report.created", report, label=_label(address), after=described)
    return get_owned(tx, account, report)


def _label(address: str) -> str:
    """Return an address for the audit log and webhooks, which keep no addresses of strangers: `z…@example.com`."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"


def _check_existing(
    existing: Sequence[EmailReport], key: str, content: tuple[str, int | None, int | None], *, is_own: bool
) -> None:
    """Raise INVALID if a report cannot be added: too many, the same, or one that the recipient has ended."""
    if sum(not report.unsubscribed for report in existing) >= MAX_REPORTS:
        raise Problem(Kind.INVALID, f"This account has {MAX_REPORTS} reports already. Delete one first.")
    of_address = [report for report in existing if report.email_key == key]
    if not is_own and any(report.unsubscribed for report in of_address):
        raise invalid("email", "email unsubscribed from the reports of this account, and gets no other one.")
    if any((report.every, report.link, report.campaign) == content for report in of_address if not report.unsubscribed):
        raise invalid("email", "email gets this report already.")


def remove(tx: Connection, account: int, report: int) -> None:
    """Delete a report. Raises INVALID if another person has unsubscribed from it, NOT_FOUND."""
    stored = get_owned(tx, account, report)
    if stored.unsubscribed and not people.is_email_of_owner(tx, account, stored.email_key):
        message = "The recipient unsubscribed. The entry stays, so that the address gets no other report."
        raise Problem(Kind.INVALID, message)
    tx.execute(delete(email_reports).where(_c.id == report, _c.account == account))
    audit_log.record(tx, account, "email_report.deleted", report, label=_label(stored.email))


def token(tx: Connection, purpose: Purpose, report: EmailReport) -> str:
    """Return the token with which the recipient of a report confirms it, or unsubscribes."""
    values = (str(report.account), str(report.id))
    life = CONFIRM_SECONDS if purpose == "confirm" else None
    return installation_signer(tx).sign(f"{purpose} report", *values, life=life, bound=report.email)


def of_token(tx: Connection, purpose: Purpose, text: str) -> EmailReport:
    """Return the report of a token. Raises INVALID for one that is not valid any more."""
    values = read_unverified(text)
    if len(values) == 2 and all(value.isdecimal() and len(value) < 16 for value in values):
        try:
            report = get_owned(tx, int(values[0]), int(values[1]))
        except Problem:
            report = None
        if report and installation_signer(tx).unsign(f"{purpose} report", text, bound=report.email) is not None:
            return report
    raise Problem(Kind.INVALID, "This link has expired, or the report was deleted.")


def confirm(tx: Connection, text: str) -> EmailReport:
    """Send the report of a token from now on. Raises INVALID for one that is not valid, or was unsubscribed."""
    report = of_token(tx, "confirm", text)
    if report.unsubscribed:
        raise Problem(Kind.INVALID, "This link has expired, or the report was deleted.")
    now = clock.now()
    own = (_c.id == report.id, _c.account == report.account, _c.confirmed.is_(None))
    due = next_due(report.every, find_zone(report.timezone), now)
    if tx.execute(update(email_reports).where(*own).values(confirmed=now, due=due)).rowcount:
        audit_log.record(tx, report.account, "email_report.confirmed", report.id, label=_label(report.email))
    return report


def unsubscribe(tx: Connection, text: str) -> EmailReport:
    """End the report of a token, and all others of the account to this address. Raises INVALID if it is not valid."""
    report = of_token(tx, "unsubscribe", text)
    own = (_c.account == report.account, _c.email_key == report.email_key, _c.unsubscribed.is_(None))
    if tx.execute(update(email_reports).where(*own).values(unsubscribed=clock.now())).rowcount:
        audit_log.record(tx, report.account, "email_report.unsubscribed", report.id, label=_label(report.email))
    return report


def find_due(tx: Connection) -> Sequence[EmailReport]:
    """Return the reports whose time has come (index email_reports_due), of accounts that are not suspended."""
    query = crud.select_columns(email_reports, EmailReport).join(accounts, accounts.c.id == _c.account)
    is_active = (*_IS_ACTIVE, accounts.c.suspended == false())
    rows = tx.execute(query.where(_c.due <= clock.now(), *is_active).order_by(_c.due).limit(MAX_DUE)).mappings()
    return [EmailReport(**row) for row in rows]


def has_impossible(tx: Connection) -> bool:
    """Return whether `correct_impossible` has something to do (index email_reports_due)."""
    return due_times.has_impossible(tx, _c.due, _MAX_PAUSE, *_IS_ACTIVE)


def correct_impossible(tx: Connection) -> None:
    """Let reports be due whose time is of a clock that was ahead."""
    due_times.correct(tx, _c.due, _MAX_PAUSE, *_IS_ACTIVE)


def claim(tx: Connection, report: EmailReport) -> EmailReport | None:
    """Lease a report that is due; None if another process has it, or it has ended."""
    due = clock.now() + LEASE_SECONDS
    return replace(report, due=due) if _move(tx, report, due) else None


def take(tx: Connection, report: EmailReport) -> bool:
    """Set the time of the next report. Return False if the lease is over, or the report has ended."""
    return _move(tx, report, next_due(report.every, find_zone(report.timezone), clock.now()))


def _move(tx: Connection, report: EmailReport, due: int) -> bool:
    own = (_c.id == report.id, _c.account == report.account, _c.due == report.due, _c.unsubscribed.is_(None))
    return tx.execute(update(email_reports).where(*own).values(due=due)).rowcount == 1


def delete_unconfirmed(tx: Connection) -> None:
    """Delete reports whose recipient did not confirm in time."""
    tx.execute(delete(email_reports).where(*_is_old(clock.now())))


def has_old(tx: Connection) -> bool:
    """Return whether `delete_unconfirmed` has something to do."""
    return bool(tx.execute(select(exists().where(*_is_old(clock.now())))).scalar_one())


def _is_old(now: int) -> Sequence[ColumnElement[bool]]:
    """Return the condition of reports that were not confirmed in time (index email_reports_unconfirmed)."""
    return _c.confirmed.is_(None), _c.unsubscribed.is_(None), _c.created <= now - CONFIRM_SECONDS
