"""Dashboard pages of reports by e-mail, and the pages with which recipients confirm and unsubscribe."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field
from sqlalchemy import Connection
from starlette.responses import Response

from waypost.api.request_body import Body
from waypost.api.types import Line
from waypost.auth import people
from waypost.core.errors import Kind, Problem
from waypost.core.languages import LANGUAGES
from waypost.core.text_folding import folded
from waypost.dashboard.context import PageContext, too_many_attempts
from waypost.dashboard.forms import Form, Shape
from waypost.dashboard.i18n import gettext
from waypost.dashboard.routing import Router
from waypost.dashboard.visited_item_names import Item, Key, find_items
from waypost.email_reports import content, notice_content, notices, ops
from waypost.email_reports.ops import EmailReport
from waypost.http import mail
from waypost.items.accounts import profile

pages = Router()
_LIST = "/dashboard/reports"
_CHOICE = Shape(lists=("notices",))
_HEADERS = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer"}


class NewReport(Body):
    """The form of a new report. `about` is the item, such as `link-7`; "" for the account."""

    email: Annotated[Line, Field(max_length=254)]
    every: Literal["week", "month"]
    language: Line
    timezone: Line
    about: Line = ""


class ChosenNotices(Body):
    """The form of the notices that an account gets."""

    notices: list[notices.Kind]


@pages.get("/dashboard/reports")
def list_reports(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[Key, Item]]:
        reports = ops.all_of(tx, context.account)
        return reports, find_items(tx, context.account, [report.key for report in reports])

    reports, items = context.read(work)
    owner = context.user.owner
    enabled = context.read(lambda tx: notices.enabled(tx, context.account, owner=owner))
    return context.render(
        "email_reports/list.html",
        reports=reports,
        items=items,
        own=folded(context.user.email),
        can_send=context.mailer.can_send,
        form=Form({"notices": list[str](enabled)}),
        kinds=[(kind, gettext(notice_content.LABELS[kind])) for kind in notices.offered(owner=owner)],
    )


@pages.post("/dashboard/reports/notices")
def choose_notices(context: PageContext) -> Response:
    """Set which notices the account gets."""
    _require_mail(context)

    def work(tx: Connection, fields: dict[str, Any]) -> bool:
        notices.choose(tx, context.account, fields["notices"] or (), owner=context.user.owner)
        return True

    form = context.form(_CHOICE)
    if context.submit(form, ChosenNotices, work, _CHOICE) is None:
        raise Problem(Kind.INVALID, next(iter(form.errors.values())))
    return context.redirect(_LIST, message="Saved.")


@pages.post("/dashboard/reports/notices/test")
def send_test_notice(context: PageContext) -> Response:
    """Send a sample of the first selected notice to the user."""
    _require_mail(context)
    if context.rate_limiter.acquire("test report", network="", subject=str(context.account)):
        return context.redirect(_LIST, message="Too many e-mails were sent. Please wait an hour.", tone="bad")

    selected = context.form(_CHOICE)["notices"]
    offered = notices.offered(owner=context.user.owner)
    kind = next((each for each in offered if each in selected), offered[0])

    def work(tx: Connection) -> None:
        email = notice_content.sample(tx, context.settings, notices.recipient(tx, context.account), kind)
        if email is not None:
            mail.enqueue(tx, context.settings, email, account=context.account)

    context.write(work)
    return context.redirect(_LIST, message=gettext("A test e-mail was sent to %(email)s.", email=context.user.email))


@pages.get("/dashboard/reports/notices/unsubscribe", public=True)
def show_notice_unsubscription(context: PageContext) -> Response:
    """Show the button that ends a kind of notice. Mail programs open links, so that changes nothing."""
    token = context.query("pass", max_length=2000)
    to, kind = context.database.read(lambda tx: notices.of_token(tx, token))
    return _public(context, "unsubscribe_notices", token, to.email, is_done=False, kind=kind)


@pages.post("/dashboard/reports/notices/unsubscribe", public=True, has_own_token=True)
def unsubscribe_from_notice(context: PageContext) -> Response:
    """End a kind of notice: by the button, or by a mail program (RFC 8058), whose URL has the token."""
    token = context.form().text("pass") or context.query("pass", max_length=2000)
    to, kind = context.write(lambda tx: notices.unsubscribe(tx, token), in_maintenance=True)
    return _public(context, "unsubscribe_notices", token, to.email, is_done=True, kind=kind)


@pages.get("/dashboard/reports/new")
def show_new_form(context: PageContext) -> Response:
    """Show the form; `about` in the query, such as `link-7`, selects an item."""
    language = context.read(lambda tx: people.language_of(tx, context.person)) or context.language
    values = {"email": context.user.email, "every": "week", "language": language, "timezone": context.time_zone.key}
    return _form_page(context, Form({**values, "about": context.query("about")}))


@pages.post("/dashboard/reports/new")
def create_report(context: PageContext) -> Response:
    """Create a report. Another address than the account's own gets an e-mail first, to confirm it."""
    form = context.form()
    _require_mail(context)
    address = folded(form.text("email"))
    if address != folded(context.user.email):
        _limit(context, address)

    def work(tx: Connection, fields: dict[str, Any]) -> EmailReport:
        key = _key(fields.pop("about", ""))
        report = ops.add(tx, context.account, **{**fields, **key})
        if report.confirmed is None:
            mail.enqueue(
                tx, context.settings, content.confirmation(tx, context.settings, report), account=report.account
            )
        return report

    report = context.submit(form, NewReport, work)
    if report is None:
        return _form_page(context, form, status=400)
    if report.confirmed is None:
        message = gettext(
            "An e-mail was sent to %(email)s. Reports are sent after it is confirmed.", email=report.email
        )
        return context.redirect(_LIST, message=message)
    return context.redirect(_LIST, message="Saved.")


@pages.post("/dashboard/reports/{id:int}/test")
def send_test(context: PageContext, id: int) -> Response:
    """Send the last report to the user, not to its recipient."""
    _require_mail(context)
    if context.rate_limiter.acquire("test report", network="", subject=str(context.account)):
        return context.redirect(_LIST, message="Too many e-mails were sent. Please wait an hour.", tone="bad")
    to = context.user.email

    report = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    email = context.read(lambda tx: content.report_email(tx, context.settings, report, to=to))
    if email is None:
        return context.redirect(_LIST, message="The item of this report was deleted.", tone="bad")
    context.write(lambda tx: mail.enqueue(tx, context.settings, email, account=context.account))
    return context.redirect(_LIST, message=gettext("A test e-mail was sent to %(email)s.", email=to))


@pages.get("/dashboard/reports/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    report = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.render("email_reports/delete.html", report=report)


@pages.post("/dashboard/reports/{id:int}/delete")
def delete_report(context: PageContext, id: int) -> Response:
    context.write(lambda tx: ops.remove(tx, context.account, id))
    return context.redirect(_LIST, message="The report was deleted.")


@pages.get("/dashboard/reports/confirm", public=True)
def show_confirmation(context: PageContext) -> Response:
    """Show the form that confirms a report. Mail programs open links, so that changes nothing."""
    token = context.query("pass", max_length=2000)
    report = context.database.read(lambda tx: ops.of_token(tx, "confirm", token))
    return _public(context, "confirm", token, report.email, is_done=bool(report.confirmed))


@pages.post("/dashboard/reports/confirm", public=True)
def confirm_report(context: PageContext) -> Response:
    token = context.form().text("pass")
    report = context.write(lambda tx: ops.confirm(tx, token))
    return _public(context, "confirm", token, report.email, is_done=True)


@pages.get("/dashboard/reports/unsubscribe", public=True)
def show_unsubscription(context: PageContext) -> Response:
    """Show the button that ends a report. Mail programs open links, so that changes nothing."""
    token = context.query("pass", max_length=2000)
    report = context.database.read(lambda tx: ops.of_token(tx, "unsubscribe", token))
    return _public(context, "unsubscribe", token, report.email, is_done=bool(report.unsubscribed))


@pages.post("/dashboard/reports/unsubscribe", public=True, has_own_token=True)
def unsubscribe(context: PageContext) -> Response:
    """End the reports to an address: by the button, or by a mail program (RFC 8058), whose URL has the token."""
    token = context.form().text("pass") or context.query("pass", max_length=2000)
    report = context.write(lambda tx: ops.unsubscribe(tx, token), in_maintenance=True)
    return _public(context, "unsubscribe", token, report.email, is_done=True)


def _public(
    context: PageContext, action: str, token: str, email: str, *, is_done: bool, kind: notices.Kind | None = None
) -> Response:
    label = kind and gettext(notice_content.LABELS[kind])
    form = Form({"pass": token})
    response = context.render(f"email_reports/{action}.html", form=form, email=email, is_done=is_done, label=label)
    response.headers.update(_HEADERS)
    return response


def _form_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    key = _key(form.text("about"))
    kinds = list(key.items())
    items = context.read(lambda tx: find_items(tx, context.account, kinds))
    name = next((items[each].name for each in kinds), "")
    return context.render(
        "email_reports/form.html",
        status=status,
        form=form,
        name=name,
        languages=list(LANGUAGES.items()),
        time_zones=[(zone, zone) for zone in profile.time_zone_names()],
        can_send=context.mailer.can_send,
    )


def _key(about: str) -> dict[str, int]:
    """Return the item of a form as field and id; nothing for the account. Raises NOT_FOUND for another text."""
    kind, _, item = about.partition("-")
    if not about:
        return {}
    if kind not in ("link", "campaign") or not (item.isdecimal() and item.isascii() and len(item) < 16):
        raise Problem(Kind.NOT_FOUND, "No such item in this account.")
    return {kind: int(item)}


def _require_mail(context: PageContext) -> None:
    if not context.mailer.can_send:
        raise Problem(Kind.INVALID, "E-mail is not configured on this server.")


def _limit(context: PageContext, address: str) -> None:
    """Count an e-mail to another person, by account and by address. Raises RATE_LIMITED."""
    wait = context.rate_limiter.acquire("report confirmation", network="", subject=str(context.account))
    if wait := wait or context.rate_limiter.acquire("report recipient", network="", subject=address):
        raise too_many_attempts(wait)
