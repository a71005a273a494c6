"""Administration pages: accounts and plans."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from waypost.api.request_body import Body
from waypost.api.types import MAX_INTEGER, Name
from waypost.auth import two_factor
from waypost.core.errors import invalid
from waypost.dashboard import i18n
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.routing import Router
from waypost.db.schema.accounts import UNLIMITED
from waypost.http import media_types
from waypost.items.accounts import deletion, email_links, emails, login_changes, lost_phone, ops, proof
from waypost.items.accounts.ops import Status

pages = Router(admin_only=True)
_ACCOUNTS, _PLANS = "/dashboard/admin/accounts", "/dashboard/admin/plans"


def _parse_size(value: object) -> object:
    return media_types.parse_size(value) if isinstance(value, str) else value


_Count = Annotated[int, Field(ge=1, le=MAX_INTEGER, examples=[30])]
_Size = Annotated[int, BeforeValidator(_parse_size), Field(ge=1, le=MAX_INTEGER, examples=["500 MB"])]


class NewPlan(Body):
    name: Annotated[Name, Field(max_length=64, examples=["Large"])]
    status: Status = "pro"
    rate_limit: _Count
    upload_limit: _Size
    storage_limit: _Size | None = None
    item_limit: _Count | None = None


_UPLOAD_LIMIT = 512 << 20
_DEFAULTS = {
    "name": "",
    "status": "pro",
    "rate_limit": "30",
    "upload_limit": "",
    "storage_limit": "",
    "item_limit": "",
}


@pages.get("/dashboard/admin")
def redirect_to_accounts(_context: PageContext) -> Response:
    return RedirectResponse(_ACCOUNTS, status_code=303)


@pages.get("/dashboard/admin/accounts")
def list_accounts(context: PageContext) -> Response:
    q = context.query("q")
    page = context.read(lambda tx: ops.page(tx, context.page_request(), q=q))
    return context.render("admin/accounts.html", page=page, q=q)


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
    link = context.read(lambda tx: email_links.reset_link(tx, context.settings.dashboard, ops.get(tx, id).id))
    return _account_page(context, id, link=link)


@pages.post("/dashboard/admin/accounts/{id:int}/remove-two-factor")
def remove_two_factor(context: PageContext, id: int) -> Response:
    """Remove a lost second factor of another account, with the administrator's password, and tell its owner."""
    form = context.form()

    def work() -> ops.Account | None:
        proof.require_password(context, form, field="own_password")
        return context.write(lambda tx: lost_phone.remove_of_other(tx, context.account, id))

    owner = form.attempt(work)
    if form.errors:
        return _account_page(context, id, factor_form=form, refusal=form.errors.get("", ""))
    if owner is not None:
        login_changes.tell(context, owner, emails.FACTOR_REMOVED)
    return context.redirect(f"{_ACCOUNTS}/{id}", message="Two-factor authentication was removed.")


@pages.get("/dashboard/admin/plans")
def list_plans(context: PageContext) -> Response:
    return _plans_page(context, Form({**_DEFAULTS, "upload_limit": i18n.format_limit(_UPLOAD_LIMIT)}))


@pages.post("/dashboard/admin/plans", resumable=True)
def add_plan(context: PageContext) -> Response:
    form = context.form()
    name = context.submit(form, NewPlan, lambda tx, fields: ops.add_plan(tx, **{"status": "pro", **fields}).name)
    if name is None:
        return _plans_page(context, form, status=400)
    return context.redirect(_PLANS, message=f"The plan {name} was created.")


def _account_page(context: PageContext, id: int, *, link: str = "", **errors: Any) -> Response:
    """Return the page of an account. `errors`: `plan_form`, `factor_form`, `deletion_form` or `refusal`, a message."""
    account, plans, due, factor = context.read(
        lambda tx: (ops.get(tx, id), ops.all_plans(tx), deletion.due_at(tx, id), two_factor.of(tx, id))
    )
    forms = {"plan_form": Form({"plan": account.plan}), "factor_form": Form({}), "deletion_form": Form({})}
    return context.render(
        "admin/account.html",
        status=400 if errors else 200,
        account=account,
        plans=[(plan.name, plan.name) for plan in plans],
        link=link,
        deletion_due=due,
        has_factor=factor is not None,
        **{**forms, "refusal": "", **errors},
    )


def _plans_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    plans = context.read(ops.all_plans)
    return context.render("admin/plans.html", status=status, form=form, plans=plans, unlimited=UNLIMITED)
