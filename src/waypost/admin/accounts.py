"""Administration pages: accounts."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from waypost.admin import account_use
from waypost.admin.account_use import AccountUse
from waypost.api.request_body import Body
from waypost.api.types import Line
from waypost.auth import two_factor
from waypost.auth.people import Person
from waypost.core import credentials
from waypost.core.errors import invalid
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.localized_names import plan_name
from waypost.dashboard.routing import Router
from waypost.db.crud import Page
from waypost.http.mail import Email
from waypost.items.accounts import deletion, email_links, emails, login_changes, lost_phone, ops, proof

pages = Router(admin_only=True)


class NewAccount(Body):
    """An account as a form sends it. The operation checks the values."""

    username: Annotated[Line, Field(examples=["maria"])]
    email: Annotated[Line, Field(examples=["maria@example.com"])]
    plan: Annotated[Line, Field(examples=["free"])]


_ACCOUNTS = "/dashboard/admin/accounts"


@pages.get("/dashboard/admin")
def redirect_to_accounts(_context: PageContext) -> Response:
    return RedirectResponse(_ACCOUNTS, status_code=303)


@pages.get("/dashboard/admin/accounts")
def list_accounts(context: PageContext) -> Response:
    q = context.query("q")

    def work(tx: Connection) -> tuple[Page[ops.Account], Mapping[int, AccountUse]]:
        page = ops.page(tx, context.page_request(), q=q)
        return page, account_use.of(tx, [account.id for account in page.items])

    page, use = context.read(work)
    return context.render_list("admin/accounts.html", page, q=q, use=use)


@pages.get("/dashboard/admin/accounts/new")
def show_new_form(context: PageContext) -> Response:
    return _new_page(context, Form({"plan": ops.REGISTERED_PLAN, "send": "on"}))


@pages.post("/dashboard/admin/accounts/new", resumable=True)
def add_account(context: PageContext) -> Response:
    """Create an account whose owner chooses the password with a link, which is sent by e-mail, and shown once."""
    form = context.form()
    password = credentials.hash_password(credentials.new_password())
    account = context.submit(form, NewAccount, lambda tx, fields: ops.add(tx, password=password, **fields))
    if account is None:
        return _new_page(context, form, status=400)
    link = context.read(lambda tx: email_links.welcome_link(tx, context.settings.dashboard, account.id))
    is_sent = bool(form.text("send")) and context.mailer.can_send
    if is_sent:
        login_changes.send_limited(context, _welcome(context, account, link))
    return _account_page(context, account.id, link=link, about="sent" if is_sent else "new")


@pages.get("/dashboard/admin/accounts/{id:int}")
def show_account(context: PageContext, id: int) -> Response:
    return _account_page(context, id)


@pages.post("/dashboard/admin/accounts/{id:int}/plan")
def change_plan(context: PageContext, id: int) -> Response:
    form = context.form()

    def work(tx: Connection) -> None:
        ops.move(tx, ops.get(tx, id).id, plan=form.text("plan"))

    form.attempt(lambda: context.write(work))
    if form.errors:
        return _account_page(context, id, plan_form=form)
    return context.redirect(f"{_ACCOUNTS}/{id}", message="The plan was changed.")


@pages.get("/dashboard/admin/accounts/{id:int}/suspend")
def confirm_suspension(context: PageContext, id: int) -> Response:
    account = context.read(lambda tx: ops.get(tx, id))
    return context.render("admin/suspend.html", account=account)


@pages.post("/dashboard/admin/accounts/{id:int}/suspend")
def suspend_account(context: PageContext, id: int) -> Response:
    """Suspend or reactivate an account. Administrators cannot suspend themselves."""
    form = context.form()
    suspended = form.text("suspended") == "yes"

    def work(tx: Connection) -> None:
        account = ops.get(tx, id)
        if suspended and account.id == context.account:
            raise invalid("", "You cannot suspend your own account.")
        ops.suspend(tx, account.id, suspended=suspended)

    form.attempt(lambda: context.write(work))
    if form.errors:
        return _account_page(context, id, refusal=form.errors[""])
    active = "The account is active again, and so are its API keys."
    message = "The account was suspended. Its links still work." if suspended else active
    return context.redirect(f"{_ACCOUNTS}/{id}", message=message)


@pages.post("/dashboard/admin/accounts/{id:int}/delete")
def delete_account(context: PageContext, id: int) -> Response:
    """Schedule the deletion of an account, with the password of the administrator."""
    form = context.form()

    def work() -> int:
        proof.require_password(context, form)
        return context.write(lambda tx: deletion.schedule(tx, ops.get(tx, id).id))

    form.attempt(work)
    if form.errors:
        return _account_page(context, id, deletion_form=form)
    return context.redirect(f"{_ACCOUNTS}/{id}", message="The deletion of the account is scheduled.")


@pages.post("/dashboard/admin/accounts/{id:int}/cancel-deletion")
def cancel_account_deletion(context: PageContext, id: int) -> Response:
    """Cancel the deletion of an account."""
    context.write(lambda tx: deletion.cancel(tx, ops.get(tx, id).id))
    return context.redirect(f"{_ACCOUNTS}/{id}", message="The account is not deleted.")


@pages.post("/dashboard/admin/accounts/{id:int}/reset")
def create_reset_link(context: PageContext, id: int) -> Response:
    """Show a password reset link for the account's owner. It is shown once."""
    link = context.write(lambda tx: email_links.reset_link(tx, context.settings.dashboard, ops.get(tx, id).id))
    return _account_page(context, id, link=link)


@pages.post("/dashboard/admin/accounts/{id:int}/rights")
def change_rights(context: PageContext, id: int) -> Response:
    """Give another account admin rights, or remove them, with the administrator's password."""
    form = context.form()

    def work() -> None:
        proof.require_password(context, form, field="rights_password")
        context.write(change)

    def change(tx: Connection) -> None:
        account = ops.get(tx, id)
        if account.id == context.account:
            raise invalid("", "You cannot change your own admin rights.")
        ops.set_admin(tx, account.id, admin=form.text("admin") == "yes")

    form.attempt(work)
    if form.errors:
        return _account_page(context, id, rights_form=form, refusal=form.errors.get("", ""))
    return context.redirect(f"{_ACCOUNTS}/{id}", message="Saved.")


@pages.post("/dashboard/admin/accounts/{id:int}/remove-two-factor")
def remove_two_factor(context: PageContext, id: int) -> Response:
    """Remove a lost second factor of another account, with the administrator's password, and tell its owner."""
    form = context.form()

    def work() -> Person | None:
        proof.require_password(context, form, field="own_password")
        return context.write(lambda tx: lost_phone.remove_of_other(tx, context.person, id))

    owner = form.attempt(work)
    if form.errors:
        return _account_page(context, id, factor_form=form, refusal=form.errors.get("", ""))
    if owner is not None:
        login_changes.tell(context, owner, emails.FACTOR_REMOVED)
    return context.redirect(f"{_ACCOUNTS}/{id}", message="Two-factor authentication was removed.")


def _welcome(context: PageContext, account: ops.Account, link: str) -> Email:
    return emails.with_link(context, account.email, context.language, emails.WELCOME, link, username=account.username)


def _new_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    plans = context.read(ops.all_plans)
    names = [(plan.name, plan_name(plan.name)) for plan in plans]
    return context.render(
        "admin/account_new.html", status=status, form=form, plans=names, can_send=context.mailer.can_send
    )


def _account_page(context: PageContext, id: int, *, link: str = "", about: str = "", **errors: Any) -> Response:
    """Return the page of an account. `errors`: `plan_form`, `factor_form`, `rights_form`, `deletion_form` or `refusal`.

    `link` is shown once. If it is that of a new account, `about` is "sent" if its owner gets it by e-mail, else "new".
    """
    account, plans, factor, use = context.read(
        lambda tx: (ops.get(tx, id), ops.all_plans(tx), two_factor.of(tx, id), account_use.of(tx, [id])[id])
    )
    forms = {name: Form({}) for name in ("factor_form", "rights_form", "deletion_form")}
    return context.render(
        "admin/account.html",
        status=400 if errors else 200,
        account=account,
        use=use,
        plans=[(plan.name, plan_name(plan.name)) for plan in plans],
        link=link,
        about=about,
        deletion_due=use.deletion_due,
        has_factor=factor is not None,
        **{**forms, "plan_form": Form({"plan": account.plan}), "refusal": "", **errors},
    )
