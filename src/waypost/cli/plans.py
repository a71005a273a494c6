"""The `waypost plan` commands."""

from dataclasses import asdict
from typing import Annotated

import typer

from waypost.cli import access, console
from waypost.cli.access import MAX_INTEGER
from waypost.cli.console import AsJson
from waypost.items.accounts import ops
from waypost.items.accounts.ops import Status

plan = typer.Typer(no_args_is_help=True)

_UPLOAD_LIMIT = 512 * 1024 * 1024
_PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="Name of the plan.")]
_RateLimit = Annotated[int | None, typer.Option(min=1, max=MAX_INTEGER, help="Requests per minute and API key.")]
_UploadLimit = Annotated[int | None, typer.Option(min=1, max=MAX_INTEGER, help="Maximum size of a file, in bytes.")]
_StorageLimit = Annotated[
    int | None, typer.Option(min=1, max=MAX_INTEGER, help="Total size of an account's files, in bytes.")
]
_ItemLimit = Annotated[
    int | None, typer.Option(min=1, max=MAX_INTEGER, help="Links, QR codes, files … of an account, each.")
]


def _validate_new_name(value: str | None) -> str | None:
    return None if value is None else access.validate_name(value)


@plan.command("add")
def add_plan(
    name: Annotated[str, typer.Argument(help="Name, unique.", callback=access.validate_name)],
    status: Annotated[Status, typer.Option(help="Status that the API reports for accounts of the plan.")] = "pro",
    rate_limit: Annotated[int, typer.Option(min=1, max=MAX_INTEGER, help="Requests per minute and API key.")] = 30,
    upload_limit: Annotated[
        int, typer.Option(min=1, max=MAX_INTEGER, help="Maximum size of a file, in bytes.")
    ] = _UPLOAD_LIMIT,
    storage_limit: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_INTEGER, help="Total size of an account's files, in bytes. Default: unlimited."),
    ] = None,
    item_limit: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_INTEGER, help="Links, QR codes, files … of an account, each. Default: unlimited."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Create a plan."""
    with access.database() as database:
        created = database.write(
            lambda tx: ops.add_plan(
                tx,
                name=name,
                status=status,
                rate_limit=rate_limit,
                upload_limit=upload_limit,
                storage_limit=storage_limit,
                item_limit=item_limit,
            )
        )
    if json:
        console.as_json(asdict(created))
    else:
        console.stdout.print(f"Plan {created.name} created.")


@plan.command("change")
def change_plan(
    name: _PlanArgument,
    new_name: Annotated[
        str | None, typer.Option("--name", help="New name, unique.", callback=_validate_new_name)
    ] = None,
    status: Annotated[Status | None, typer.Option(help="Status that the API reports for accounts of the plan.")] = None,
    rate_limit: _RateLimit = None,
    upload_limit: _UploadLimit = None,
    storage_limit: _StorageLimit = None,
    item_limit: _ItemLimit = None,
    no_storage_limit: Annotated[bool, typer.Option("--no-storage-limit", help="Remove the storage limit.")] = False,
    no_item_limit: Annotated[bool, typer.Option("--no-item-limit", help="Remove the item limit.")] = False,
) -> None:
    """Change a plan, immediately for its accounts. Existing items are kept."""
    for is_removed, limit, option in (
        (no_storage_limit, storage_limit, "--storage-limit"),
        (no_item_limit, item_limit, "--item-limit"),
    ):
        if is_removed and limit is not None:
            raise typer.BadParameter("give a limit or remove it, not both", param_hint=option)
    values = {
        "name": new_name,
        "status": status,
        "rate_limit": rate_limit,
        "upload_limit": upload_limit,
        "storage_limit": storage_limit,
        "item_limit": item_limit,
    }
    given: dict[str, str | int | None] = {key: value for key, value in values.items() if value is not None}
    removed = {"storage_limit": no_storage_limit, "item_limit": no_item_limit}
    given |= dict.fromkeys((key for key, is_removed in removed.items() if is_removed), None)
    if not given:
        raise typer.BadParameter("give at least one change, such as --item-limit 100")
    with access.database() as database:
        database.write(lambda tx: ops.change_plan(tx, name, **given))
    console.stdout.print(f"Plan {name} changed.")


@plan.command("delete")
def delete_plan(name: _PlanArgument) -> None:
    """Delete a plan that no account uses."""
    with access.database() as database:
        database.write(lambda tx: ops.remove_plan(tx, name))
    console.stdout.print(f"Plan {name} deleted.")


@plan.command("list")
def list_plans(json: AsJson = False) -> None:
    """List all plans, with the number of accounts that have them."""
    with access.database() as database:
        plans, uses = database.read(lambda tx: (ops.all_plans(tx), ops.plan_uses(tx)))
    rows = [{**asdict(plan), "accounts": uses.get(plan.id, 0)} for plan in plans]
    limits = ("rate_limit", "upload_limit", "storage_limit", "item_limit")
    console.print_rows(rows, ("id", "name", "status", *limits, "accounts"), json=json)
