"""Deletion in the dashboard: items move to the trash, with an Undo button; the page of the trash restores them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import ngettext
from waypost.dashboard.routing import Router
from waypost.errors import Kind, Problem
from waypost.trash import ops
from waypost.trash.restoring import Entry

pages = Router()
_LIST = "/dashboard/trash"


class Noun(NamedTuple):
    """How the dashboard shows a kind of item: the path of its list, its icon and its label."""

    path: str
    icon: str
    label: str


NOUNS = {
    "link": Noun("/dashboard/links", "link", "Link"),
    "file": Noun("/dashboard/files", "folder", "File"),
    "qr": Noun("/dashboard/qr", "qr-code", "QR code"),
    "bio": Noun("/dashboard/bios", "device-phone-mobile", "Bio page"),
    "campaign": Noun("/dashboard/campaigns", "megaphone", "Campaign"),
    "channel": Noun("/dashboard/channels", "hashtag", "Channel"),
    "splash": Noun("/dashboard/splash", "window", "Splash page"),
    "overlay": Noun("/dashboard/overlays", "chat-bubble-left-right", "Overlay"),
    "pixel": Noun("/dashboard/pixels", "code-bracket", "Pixel"),
    "utm": Noun("/dashboard/utm", "tag", "UTM template"),
}


def one_by_one(remove: Callable[[Connection, int, int], None]) -> ops.Remove:
    """Return an operation on many items that deletes one after the other."""

    def remove_all(tx: Connection, account: int, ids: Sequence[int]) -> None:
        for item in ids:
            remove(tx, account, item)

    return remove_all


def delete(
    context: PageContext, kind: str, ids: Sequence[int], remove: ops.Remove, *, singular: str, plural: str = ""
) -> Response:
    """Move items to the trash, all or none, and redirect to their list, with a message and Undo. Raises NOT_FOUND."""
    context.wait_for_ingest()
    batch = context.write(lambda tx: ops.move(tx, context.account, kind, ids, remove))
    message = ngettext(singular, plural or singular, len(set(ids)))
    return context.redirect(NOUNS[kind].path, message=message, undo=("/dashboard/trash/undo", batch))


@pages.get("/dashboard/trash")
def show_trash(context: PageContext) -> Response:
    page = context.read(lambda tx: ops.page(tx, context.account, context.page_request()))
    return context.render_list("trash/list.html", page, nouns=NOUNS, days=ops.DAYS, address=_address(context))


@pages.post("/dashboard/trash/undo")
def undo(context: PageContext) -> Response:
    """Restore the items that one action deleted, and return to their list."""
    batch = context.form().text("batch")
    return _restore(context, lambda tx: ops.restore_batch(tx, context.account, batch), to_list=True)


@pages.post("/dashboard/trash/{id:int}/restore")
def restore_item(context: PageContext, id: int) -> Response:
    return _restore(context, lambda tx: ops.restore(tx, context.account, [id]))


@pages.post("/dashboard/trash/bulk")
def change_selected(context: PageContext) -> Response:
    """Restore the selected items, or ask before they are deleted for good."""
    action, ids = context.form().text("action"), context.selected_ids()
    if not ids:
        return context.redirect(_LIST, message="Select at least one item.", tone="bad")
    if action == "purge":
        return _confirmation(context, ids)
    if action != "restore":
        return context.redirect(_LIST, message="Select an action.", tone="bad")
    return _restore(context, lambda tx: ops.restore(tx, context.account, ids))


@pages.get("/dashboard/trash/{id:int}/delete")
def confirm_purge(context: PageContext, id: int) -> Response:
    return _confirmation(context, [id])


@pages.post("/dashboard/trash/delete")
def purge_selected(context: PageContext) -> Response:
    ids = context.selected_ids()
    context.write(lambda tx: ops.purge(tx, context.account, ids))
    message = ngettext("The item was deleted forever.", "%(count)s items were deleted forever.", len(set(ids)))
    return context.redirect(_LIST, message=message)


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
            more_remains = context.write(lambda tx, until=until: ops.purge_oldest(tx, context.account, until=until))  # type: ignore[misc]
    return context.redirect(_LIST, message="The trash was emptied.")


def _restore(context: PageContext, work: Callable[[Connection], list[Entry]], *, to_list: bool = False) -> Response:
    """Restore items, and return to the trash or to their list. Raises NOT_FOUND."""
    try:
        entries = context.write(work)
    except Problem as problem:
        if problem.kind is Kind.NOT_FOUND:
            raise
        return context.redirect(_LIST, message=problem.message, tone="bad")
    message = ngettext("The item was restored.", "%(count)s items were restored.", len(entries))
    return context.redirect(NOUNS[entries[0].kind].path if to_list else _LIST, message=message)


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
