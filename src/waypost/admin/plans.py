"""Administration pages: plans, which are the limits of accounts."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from sqlalchemy import Connection
from starlette.responses import Response

from waypost.api.request_body import Body
from waypost.api.types import MAX_INTEGER, Name
from waypost.core.errors import invalid
from waypost.core.text_folding import folded
from waypost.dashboard import i18n
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Value
from waypost.dashboard.localized_names import plan_name
from waypost.dashboard.routing import Router
from waypost.db.schema.accounts import UNLIMITED
from waypost.http import media_types
from waypost.items.accounts import ops
from waypost.items.accounts.ops import Plan, Status

pages = Router(admin_only=True)
_LIST = "/dashboard/admin/plans"


def _parse_size(value: object) -> object:
    return media_types.parse_size(value) if isinstance(value, str) else value


_Count = Annotated[int, Field(ge=1, le=MAX_INTEGER, examples=[30])]
_Size = Annotated[int, BeforeValidator(_parse_size), Field(ge=1, le=MAX_INTEGER, examples=["500 MB"])]


class NewPlan(Body):
    """A plan as a form sends it. None is no limit."""

    name: Annotated[Name, Field(max_length=64, examples=["Large"])]
    status: Status = "pro"
    rate_limit: _Count | None = None
    upload_limit: _Size | None = None
    storage_limit: _Size | None = None
    item_limit: _Count | None = None


_NO_LIMITS: Mapping[str, Any] = {"status": "pro", "rate_limit": UNLIMITED, "upload_limit": UNLIMITED}
_LIMITS_OF_NEW_ACCOUNTS = ("storage_limit", "item_limit")
_NEW = Plan(0, "", "pro", rate_limit=30, upload_limit=500_000_000)


@pages.get(_LIST)
def list_plans(context: PageContext) -> Response:
    """Show the plans; with `q` in the query, those whose shown name contains it."""
    q = context.query("q")
    plans, uses = context.read(lambda tx: (ops.all_plans(tx), ops.plan_uses(tx)))
    matching = [plan for plan in plans if folded(q) in folded(plan_name(plan.name))]
    return context.render(
        "admin/plans.html",
        plans=matching,
        q=q,
        uses=uses,
        unlimited=UNLIMITED,
        registered_plan=ops.REGISTERED_PLAN,
    )


@pages.get("/dashboard/admin/plans/new")
def show_new_form(context: PageContext) -> Response:
    return context.render("admin/plan_new.html", form=Form(_values(_NEW)))


@pages.post("/dashboard/admin/plans/new", resumable=True)
def add_plan(context: PageContext) -> Response:
    form = context.form()
    name = context.submit(form, NewPlan, lambda tx, fields: ops.add_plan(tx, **{**_NO_LIMITS, **_limits(fields)}).name)
    if name is None:
        return context.render("admin/plan_new.html", status=400, form=form)
    return context.redirect(_LIST, message=f"The plan {name} was created.")


@pages.get("/dashboard/admin/plans/{id:int}")
def show_plan(context: PageContext, id: int) -> Response:
    plan = context.read(lambda tx: ops.get_plan(tx, id))
    return _editor(context, plan, Form(_values(plan)))


@pages.post("/dashboard/admin/plans/{id:int}", resumable=True)
def update_plan(context: PageContext, id: int) -> Response:
    plan = context.read(lambda tx: ops.get_plan(tx, id))
    form = context.form()

    def work(tx: Connection, fields: dict[str, Any]) -> bool:
        current = ops.get_plan(tx, id)
        if _is_unlimited(current):
            raise invalid("", "This plan has no limits. Create another plan for limits.")
        form.reject_stale(_values(current))
        for limit in _LIMITS_OF_NEW_ACCOUNTS:
            if _needs_limits(context, current) and fields.get(limit) is None:
                raise invalid(limit, "While registration is on, the plan of new accounts needs this limit.")
        ops.change_plan(tx, current.name, **{**_limits(fields), **_kept_sizes(form, current)})
        return True

    if not context.submit(form, NewPlan, work):
        return _editor(context, plan, form, status=400)
    return context.redirect(_LIST, message="Saved.")


@pages.get("/dashboard/admin/plans/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    return _deletion_page(context, id)


@pages.post("/dashboard/admin/plans/{id:int}/delete")
def delete_plan(context: PageContext, id: int) -> Response:
    """Delete a plan that no account uses."""
    form = context.form()
    plan = context.read(lambda tx: ops.get_plan(tx, id))
    form.attempt(lambda: context.write(lambda tx: ops.remove_plan(tx, plan.name)))
    if form.errors:
        return _deletion_page(context, id, refusal=form.errors["plan"], status=400)
    return context.redirect(_LIST, message=f"The plan {plan.name} was deleted.")


def _limits(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a plan from the fields of a form, where an empty field is no limit."""
    return {name: _NO_LIMITS.get(name) if value is None else value for name, value in fields.items()}


def _kept_sizes(form: Form, plan: Plan) -> dict[str, int | None]:
    """Return the stored sizes of fields that show them as before: they can be rounded."""
    sizes = {"upload_limit": plan.upload_limit, "storage_limit": plan.storage_limit}
    return {name: size for name, size in sizes.items() if size and form.text(name).strip() == _size(size)}


def _values(plan: Plan) -> Mapping[str, Value]:
    """Return the values of the form."""
    return {
        "name": plan.name,
        "status": plan.status,
        "rate_limit": _number(plan.rate_limit),
        "upload_limit": _size(plan.upload_limit),
        "storage_limit": _size(plan.storage_limit),
        "item_limit": _number(plan.item_limit),
    }


def _number(limit: int | None) -> str:
    return "" if limit in (None, UNLIMITED) else str(limit)


def _size(limit: int | None) -> str:
    return "" if limit is None or limit == UNLIMITED else i18n.format_limit(limit)


def _editor(context: PageContext, plan: Plan, form: Form, *, status: int = 200) -> Response:
    uses = context.read(lambda tx: ops.plan_uses(tx).get(plan.id, 0))
    values: dict[str, Any] = {
        "plan": plan,
        "uses": uses,
        "is_fixed": plan.name == ops.REGISTERED_PLAN,
        "has_limits": not _is_unlimited(plan),
        "needs_limits": _needs_limits(context, plan),
    }
    return context.render("admin/plan.html", status=status, form=form, **values)


def _is_unlimited(plan: Plan) -> bool:
    """Return whether it is the plan of the owner's account, without a limit."""
    limits = (plan.rate_limit, plan.upload_limit, plan.storage_limit, plan.item_limit)
    return plan.name == ops.UNLIMITED_PLAN and limits == (UNLIMITED, UNLIMITED, None, None)


def _needs_limits(context: PageContext, plan: Plan) -> bool:
    """Return whether anyone can create accounts with the plan. The service then starts with limits of it."""
    return plan.name == ops.REGISTERED_PLAN and context.settings.registration == "on"


def _deletion_page(context: PageContext, id: int, *, refusal: str = "", status: int = 200) -> Response:
    plan, uses = context.read(lambda tx: (ops.get_plan(tx, id), ops.plan_uses(tx).get(id, 0)))
    return context.render("admin/plan_delete.html", status=status, plan=plan, uses=uses, refusal=refusal)
