"""The operator's pages of everybody's accounts, and of plans."""

from typing import Annotated

from pydantic import Field
from starlette.responses import RedirectResponse, Response

from waypost.accounts import ops
from waypost.accounts.ops import Status
from waypost.api.bodies import Body
from waypost.api.fields import MAX_INTEGER, Name
from waypost.dashboard import passes
from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form
from waypost.dashboard.pages import Pages
from waypost.errors import invalid

pages = Pages(operator=True)
_ACCOUNTS, _PLANS = "/dashboard/admin/accounts", "/dashboard/admin/plans"
_Count = Annotated[int, Field(ge=1, le=MAX_INTEGER)]


class NewPlan(Body):
    name: Annotated[Name, Field(max_length=64)]
    status: Status = "pro"
    rate_limit: _Count
    upload_limit: _Count
    storage_limit: _Count | None = None


_BLANK = {"name": "", "status": "pro", "rate_limit": "30", "upload_limit": str(512 * 2**20), "storage_limit": ""}


@pages.get("/dashboard/admin")
def first(_desk: Desk) -> Response:
    return RedirectResponse(_ACCOUNTS, status_code=303)


@pages.get("/dashboard/admin/accounts")
def list_accounts(desk: Desk) -> Response:
    q = desk.asked("q")
    page = desk.read(lambda tx: ops.page(tx, desk.window(), q=q))
    return desk.page("admin/accounts.html", page=page, q=q)


@pages.get("/dashboard/admin/accounts/{id:int}")
def show_account(desk: Desk, id: int) -> Response:
    return _account_page(desk, id, Form({}))


@pages.post("/dashboard/admin/accounts/{id:int}/plan")
def move_account(desk: Desk, id: int) -> Response:
    form = desk.typed()

    def work() -> bool:
        found = desk.read(lambda tx: ops.get(tx, id))
        desk.write(lambda tx: ops.move(tx, found.id, plan=form.text("plan")))
        return True

    if form.attempt(work):
        return desk.go(f"{_ACCOUNTS}/{id}", said="The account has another plan now.")
    return _account_page(desk, id, form, status=400)


@pages.post("/dashboard/admin/accounts/{id:int}/suspend")
def suspend_account(desk: Desk, id: int) -> Response:
    """Or let it in again, as the form says. Nobody shuts out oneself."""
    form = desk.typed()
    suspended = form.text("suspended") == "yes"

    def work() -> bool:
        found = desk.read(lambda tx: ops.get(tx, id))
        if suspended and found.id == desk.account:
            raise invalid("", "This is your own account: you would shut out yourself.")
        desk.write(lambda tx: ops.suspend(tx, found.id, suspended=suspended))
        return True

    if form.attempt(work):
        told = "The account is suspended. Its links go on working." if suspended else "The account is active again."
        return desk.go(f"{_ACCOUNTS}/{id}", said=told)
    return _account_page(desk, id, form, status=400)


@pages.post("/dashboard/admin/accounts/{id:int}/reset")
def make_reset_link(desk: Desk, id: int) -> Response:
    """Show, this once, a link by which the account's owner chooses a new password."""

    found = desk.read(lambda tx: ops.get(tx, id))
    link = desk.read(lambda tx: passes.reset_link(tx, desk.settings.base, found.id))
    return _account_page(desk, id, Form({}), link=link)


@pages.get("/dashboard/admin/plans")
def list_plans(desk: Desk) -> Response:
    return _plans_page(desk, Form(_BLANK))


@pages.post("/dashboard/admin/plans")
def add_plan(desk: Desk) -> Response:
    form = desk.typed()

    def work() -> str:
        body = form.read(NewPlan, desk.zone)
        limits = {"rate_limit": body.rate_limit, "upload_limit": body.upload_limit}
        new = {"name": body.name, "status": body.status, "storage_limit": body.storage_limit, **limits}
        return desk.write(lambda tx: ops.add_plan(tx, **new)).name  # type: ignore[arg-type]  # as the model says

    made = form.attempt(work)
    if made is None:
        return _plans_page(desk, form, status=400)
    return desk.go(_PLANS, said=f"The plan {made} is made.")


def _account_page(desk: Desk, id: int, form: Form, *, status: int = 200, link: str = "") -> Response:
    account, plans = desk.read(lambda tx: (ops.get(tx, id), ops.all_plans(tx)))
    form.values.setdefault("plan", account.plan)
    return desk.page("admin/account.html", status=status, form=form, account=account, plans=plans, link=link)


def _plans_page(desk: Desk, form: Form, *, status: int = 200) -> Response:
    return desk.page("admin/plans.html", status=status, form=form, plans=desk.read(ops.all_plans))
