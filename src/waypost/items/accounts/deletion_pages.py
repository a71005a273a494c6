"""The page on which an account is deleted, after a grace period."""

from starlette.responses import Response

from waypost.auth import two_factor
from waypost.core import clock, formats
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.routing import Router
from waypost.items.accounts import deletion, emails, login_changes, ops, proof

pages = Router()
_ACCOUNT, _DELETE = "/dashboard/account", "/dashboard/account/delete"


@pages.get("/dashboard/account/delete")
def show_deletion(context: PageContext) -> Response:
    """Show the items that a deletion deletes, and offer an export."""
    return _deletion_page(context, Form({}))


@pages.post("/dashboard/account/delete")
def schedule_deletion(context: PageContext) -> Response:
    """Schedule the deletion, with the password, and tell the owner."""
    form = context.form()
    is_confirmed = proof.check_password_and_code(context, form)
    due = (
        form.attempt(lambda: context.write(lambda tx: deletion.schedule(tx, context.account))) if is_confirmed else None
    )
    if due is None:
        return _deletion_page(context, form, status=400)
    account = context.read(lambda tx: ops.get(tx, context.account))
    login_changes.tell(context, account, emails.DELETION, time=_time_for_owner(context, due))
    return context.redirect(_ACCOUNT, message="The deletion of your account is scheduled.")


@pages.post("/dashboard/account/delete/cancel")
def cancel_deletion(context: PageContext) -> Response:
    """Keep the account."""
    context.write(lambda tx: deletion.cancel(tx, context.account))
    return context.redirect(_ACCOUNT, message="Your account is not deleted.")


def _time_for_owner(context: PageContext, due: int) -> str:
    """Return the time in the language and time zone of the account, with the name of the zone."""
    zone, language = context.time_zone, login_changes.language_of(context, context.account)
    return f"{formats.day_and_time(clock.local(due, zone), language)} ({zone.key})"


def _deletion_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    contents, factor = context.read(
        lambda tx: (deletion.contents(tx, context.account), two_factor.of(tx, context.account))
    )
    items = [(label, number) for label, number in contents.items.items() if number]
    days = deletion.GRACE_SECONDS // 86_400
    return context.render("account/delete.html", status=status, form=form, items=items, factor=factor, days=days)
