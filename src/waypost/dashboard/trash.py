"""Deletion in the dashboard: items move to the trash, with an Undo button; the page of the trash restores them."""

from collections.abc import Callable, Sequence
from functools import partial

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.core.errors import Kind, Problem, not_found
from waypost.dashboard import flash
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import gettext, ngettext
from waypost.dashboard.routing import Router
from waypost.db import account_rows, crud
from waypost.db.schema import trash
from waypost.db.schema.nouns import NOUNS
from waypost.trash import ops
from waypost.trash.restoring import Entry

pages = Router()
_LIST = "/dashboard/trash"


def one_by_one(remove: Callable[[Connection, int, int], None]) -> ops.Remove:
    """Return an operation on many items that deletes one after the other."""

    def remove_all(tx: Connection, account: int, ids: Sequence[int]) -> None:
        for item in ids:
            remove(tx, account, item)

    return remove_all


def delete(
    context: PageContext, kind: str, ids: Sequence[int], remove: ops.Remove, *, singular: str, plural: str = ""
) -> Response:
    """Move items to the trash, and redirect to their list, with a message and Undo.

    Selected items that were deleted already are skipped; the message has their number. The item of a path, which has
    no `plural`, raises NOT_FOUND then. Up to 1,000 items are moved in one transaction, all or none. If one fails, those
    before it stay in the trash.
    """
    context.wait_for_ingest()
    unique_ids, batch, stopped = sorted(set(ids)), "", ""
    moved = skipped = 0
    for start in range(0, len(unique_ids), ops.MOVED_AT_ONCE):
        part = unique_ids[start : start + ops.MOVED_AT_ONCE]
        work = partial(_move_existing, account=context.account, name=kind, ids=part, remove=remove, batch=batch)
        try:
            batch, count = context.write(work)
        except Problem as problem:
            if not moved:
                raise
            stopped = gettext(problem.message)
            break
        moved, skipped = moved + count, skipped + len(part) - count
    if not moved and not plural:
        raise not_found(NOUNS[kind].singular)
    texts = [ngettext(singular, plural or singular, moved) if moved else "", stopped, skipped_message(kind, skipped)]
    tone: flash.Tone = "good" if moved and not stopped else "bad"
    undo = ("/dashboard/trash/undo", batch) if moved else flash.NO_UNDO
    return context.redirect(NOUNS[kind].path, message=" ".join(filter(None, texts)), tone=tone, undo=undo)


def has_item_of(context: PageContext) -> bool:
    """Return whether the page shows an item that is in the account's trash, for example after a bookmark was opened."""
    path, item = context.request.url.path, context.request.path_params.get("id")
    kind = next((kind for kind, noun in NOUNS.items() if path.startswith(f"{noun.path}/")), None)
    if kind is None or item is None or context.session is None:
        return False
    return context.read(lambda tx: ops.contains(tx, context.account, kind, item))


def skipped_message(kind: str, count: int) -> str:
    """Return how many of the selected items were skipped because they are deleted, "" for none."""
    if not count:
        return ""
    if kind == "link":
        return ngettext(
            "1 link was deleted already and was skipped.",
            "%(count)s links were deleted already and were skipped.",
            count,
        )
    return ngettext(
        "1 item was deleted already and was skipped.",
        "%(count)s items were deleted already and were skipped.",
        count,
    )


def confirm(context: PageContext, kind: str, render: Callable[[Sequence[int], Sequence[int]], Response]) -> Response:
    """Render a question before the selected items of a list are deleted, or return to the list with a message.

    `render` gets the ids of the items, and those that were deleted already: the form sends them too, for the message.
    """
    ids = context.selected_ids()
    remaining = context.read(lambda tx: crud.existing(tx, NOUNS[kind].table, context.account, ids))
    if not remaining:
        return context.redirect(NOUNS[kind].path, message=skipped_message(kind, len(set(ids))), tone="bad")
    return render(remaining, sorted(set(ids) - set(remaining)))


def _move_existing(
    tx: Connection, *, account: int, name: str, ids: Sequence[int], remove: ops.Remove, batch: str
) -> tuple[str, int]:
    """Move the items that still exist to the trash; return their batch and their number."""
    account_rows.lock(tx, account)
    remaining = crud.existing(tx, NOUNS[name].table, account, ids, lock=True)
    return (ops.move(tx, account, name, remaining, remove, batch=batch) if remaining else batch), len(remaining)


@pages.get("/dashboard/trash")
def show_trash(context: PageContext) -> Response:
    page = context.read(lambda tx: ops.page(tx, context.account, context.page_request()))
    return context.render_list("trash/list.html", page, nouns=NOUNS, days=ops.DAYS, address=_address(context))


@pages.post("/dashboard/trash/undo")
def undo(context: PageContext) -> Response:
    """Restore the items that one action deleted, and return to their list."""
    batch = context.form().text("batch")

    def restore_all() -> list[Entry]:
        entries, more_remain = list[Entry](), True
        while more_remain:
            restored, more_remain = context.write(lambda tx: ops.restore_batch(tx, context.account, batch))
            entries += restored
        return entries

    return _restore(context, restore_all, to_list=True)


@pages.post("/dashboard/trash/{id:int}/restore")
def restore_item(context: PageContext, id: int) -> Response:
    return _restore(context, lambda: context.write(lambda tx: ops.restore(tx, context.account, [id])))


@pages.post("/dashboard/trash/bulk")
def change_selected(context: PageContext) -> Response:
    """Restore the selected items, or ask before they are deleted for good."""
    action, ids = context.form().text("action"), context.selected_ids()
    if not ids:
        return context.redirect(_LIST, message="Select at least one item.", tone="bad")
    if action == "purge":
        remaining = context.read(lambda tx: crud.existing(tx, trash, context.account, ids))
        return _confirmation(context, remaining) if remaining else _to_list(context, "", skipped=len(set(ids)))
    if action != "restore":
        return context.redirect(_LIST, message="Select an action.", tone="bad")

    def restore(tx: Connection) -> list[Entry]:
        account_rows.lock(tx, context.account)  # first, as every change of the trash
        remaining = crud.existing(tx, trash, context.account, ids)
        return ops.restore(tx, context.account, remaining) if remaining else []

    return _restore(context, lambda: context.write(restore), selected=len(set(ids)))


@pages.get("/dashboard/trash/{id:int}/delete")
def confirm_purge(context: PageContext, id: int) -> Response:
    return _confirmation(context, [id])


@pages.post("/dashboard/trash/delete")
def purge_selected(context: PageContext) -> Response:
    ids = context.selected_ids()
    if not ids:
        return context.redirect(_LIST, message="Select at least one item.", tone="bad")

    def purge(tx: Connection) -> int:
        account_rows.lock(tx, context.account)
        remaining = crud.existing(tx, trash, context.account, ids)
        if remaining:
            ops.purge(tx, context.account, remaining)
        return len(remaining)

    count = context.write(purge)
    message = ngettext("The item was deleted forever.", "%(count)s items were deleted forever.", count) if count else ""
    return _to_list(context, message, skipped=len(set(ids)) - count)


@pages.get("/dashboard/trash/empty")
def confirm_emptying(context: PageContext) -> Response:
    newest = context.read(lambda tx: ops.page(tx, context.account, context.page_request(1)))
    if not newest.result:
        return context.redirect(_LIST, message="The trash is empty.")
    return context.render("trash/empty.html", page=newest)


@pages.post("/dashboard/trash/empty")
def empty(context: PageContext) -> Response:
    """Delete everything for good that was in the trash when the question was shown."""
    for until in context.selected_ids("until"):
        more_remains = True
        while more_remains:
            more_remains = context.write(partial(ops.purge_oldest, account=context.account, until=until))
    return context.redirect(_LIST, message="The trash was emptied.")


def _restore(
    context: PageContext, restore: Callable[[], list[Entry]], *, to_list: bool = False, selected: int = 0
) -> Response:
    """Restore items, and return to the trash or to their list. Raises NOT_FOUND.

    `selected`: the number of selected items, of which some may not be in the trash any more.
    """
    try:
        entries = restore()
    except Problem as problem:
        if problem.kind is Kind.NOT_FOUND:
            raise
        return context.redirect(_LIST, message=problem.message, tone="bad")
    count = len(entries)
    message = ngettext("The item was restored.", "%(count)s items were restored.", count) if count else ""
    if to_list:
        return context.redirect(NOUNS[entries[0].kind].path, message=message)
    return _to_list(context, message, skipped=max(0, selected - count))


def _to_list(context: PageContext, message: str, *, skipped: int) -> Response:
    """Return to the trash, with the number of selected items that are not there any more."""
    left = ngettext(
        "1 item is not in the trash any more and was skipped.",
        "%(count)s items are not in the trash any more and were skipped.",
        skipped,
    )
    text = " ".join(filter(None, (message, left if skipped else "")))
    return context.redirect(_LIST, message=text, tone="good" if message else "bad")


def _confirmation(context: PageContext, ids: Sequence[int]) -> Response:
    items = context.read(lambda tx: ops.get_owned_many(tx, context.account, ids))
    return context.render("trash/purge.html", items=items, nouns=NOUNS, address=_address(context))


def _address(context: PageContext) -> Callable[[ops.Item], str]:
    """Return a function that returns the short URL of an item without the scheme, "" for none."""
    own = context.settings.base.partition("://")[2]

    def address(item: ops.Item) -> str:
        if item.alias is None:
            return ""
        host = item.host or own
        return f"{own}/r/{item.alias}" if item.kind == "campaign" else f"{host}/{item.alias}"

    return address
