"""Dashboard pages of share links: those of one item with a form for another one, all of them, and the editor."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.clicks.stats.subjects import ACCOUNT
from waypost.core.errors import not_found
from waypost.dashboard import forms
from waypost.dashboard.context import PageContext
from waypost.dashboard.flash import NO_UNDO
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import gettext
from waypost.dashboard.routing import Router
from waypost.dashboard.visited_item_names import VISITED, Item, Key, find_items
from waypost.db.crud import PageRequest
from waypost.items.shares import ops
from waypost.items.shares.api import ShareChange
from waypost.items.shares.ops import MAX_SHARES, ItemType, Share

pages = Router()
_SHAPE = Shape(local_times=("expiry",), exact=("password",))
_LIST = "/dashboard/shares"
_NEW: Mapping[str, Value] = dict.fromkeys(("title", "slug", "password", "days", "firstday", "lastday", "expiry"), "")


@pages.get("/dashboard/shares")
def list_shares(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[tuple[str, int], Item]]:
        page = ops.page(tx, context.account, context.page_request())
        return page, _items(tx, context.account, {share.key for share in page.items})

    page, items = context.read(work)
    return context.render_list("shares/list.html", page, items=items, base=context.settings.dashboard)


@pages.get("/dashboard/shares/{kind}/{id:int}")
def show_shares_of_item(context: PageContext, kind: str, id: int) -> Response:
    return _item_page(context, _known(kind), id, Form(_NEW))


@pages.post("/dashboard/shares/{kind}/{id:int}", resumable=True)
def create_share(context: PageContext, kind: str, id: int) -> Response:
    known, form = _known(kind), context.form(_SHAPE)
    context.read(lambda tx: ops.require_item(tx, context.account, known, id))

    def work(tx: Connection, fields: dict[str, Any]) -> Share:
        return ops.add(tx, context.account, known, id, **{**fields, "timezone": context.time_zone.key})

    share = context.submit(form, ShareChange, work, _SHAPE)
    if share is None:
        if "itemid" in form.errors:  # the limit; the form has no field for it
            form.errors[""] = form.errors.pop("itemid")
        return _item_page(context, known, id, form, status=400)
    url = context.settings.dashboard + share.path
    return context.redirect(f"{_LIST}/{kind}/{id}", message="Your share link is ready.", copy_text=url)


@pages.post("/dashboard/shares/{kind}/{id:int}/address")
def share_at_once(context: PageContext, kind: str, id: int) -> Response:
    """Share the statistics of an item or the account without limits, at the same address each time."""
    known = _known(kind)

    def work(tx: Connection) -> tuple[Share, bool]:
        ops.require_item(tx, context.account, known, id)
        return ops.share_all(tx, context.account, known, id, timezone=context.time_zone.key)

    share, is_new = context.write(work)
    return context.redirect(
        f"{_LIST}/{kind}/{id}",
        message="Everyone with this address sees the statistics.",
        copy_text=context.settings.dashboard + share.path,
        undo=(f"{_LIST}/{share.id}/delete", str(share.id)) if is_new else NO_UNDO,
    )


@pages.get("/dashboard/shares/{id:int}")
def show_share(context: PageContext, id: int) -> Response:
    return _edit_page(context, id, Form(context.read(lambda tx: _values(tx, context, id))))


@pages.post("/dashboard/shares/{id:int}", resumable=True)
def update_share(context: PageContext, id: int) -> Response:
    form = context.form(_SHAPE, current=context.read(lambda tx: _values(tx, context, id)))

    def work(tx: Connection, fields: dict[str, Any]) -> Share:
        form.reject_stale(_values(tx, context, id))
        if form.text("unlock"):
            fields["password"] = None
        return ops.change(tx, context.account, id, **fields)

    share = context.submit(form, ShareChange, work, _SHAPE)
    if share is None:
        return _edit_page(context, id, form, status=400)
    kind, item = share.key
    url = context.settings.dashboard + share.path
    return context.redirect(f"{_LIST}/{kind}/{item}", message="Saved.", copy_text=url)


@pages.get("/dashboard/shares/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    share = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.render("shares/delete.html", share=share, url=context.settings.dashboard + share.path)


@pages.post("/dashboard/shares/{id:int}/delete")
def delete_share(context: PageContext, id: int) -> Response:
    def work(tx: Connection) -> Share:
        share = ops.get_owned(tx, context.account, id)
        ops.remove(tx, context.account, id)
        return share

    kind, item = context.write(work).key
    return context.redirect(f"{_LIST}/{kind}/{item}", message="The share link was revoked. Its page is gone.")


def _known(kind: str) -> ItemType:
    """Return the kind of a path. Raises NOT_FOUND."""
    known: ItemType | None = next((name for name in get_args(ItemType) if name == kind), None)
    if known is None:
        raise not_found()
    return known


def _item_page(context: PageContext, kind: ItemType, item: int, form: Form, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[Any, Item]:
        ops.require_item(tx, context.account, kind, item)
        shares = ops.page(tx, context.account, PageRequest(limit=MAX_SHARES), kind=kind, item=item)
        return shares, _items(tx, context.account, [(kind, item)])[kind, item]

    page, shown_item = context.read(work)
    return context.render(
        "shares/item.html",
        status=status,
        shares=page.items,
        item=shown_item,
        path=f"{_LIST}/{kind}/{item}",
        statistics=f"{VISITED[kind].path}/{item}/stats" if kind in VISITED else "/dashboard/statistics",
        is_account=kind == ACCOUNT,
        form=form,
        base=context.settings.dashboard,
    )


def _items(tx: Connection, account: int, keys: Iterable[Key]) -> Mapping[Key, Item]:
    """Return the shared items; also the account, which is no item of itself."""
    whole = {(ACCOUNT, account): Item(gettext("Whole account"))}
    return defaultdict(Item, {**find_items(tx, account, keys), **whole})


def _edit_page(context: PageContext, id: int, form: Form, *, status: int = 200) -> Response:
    share = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    kind, item = share.key
    return context.render(
        "shares/edit.html",
        status=status,
        form=form,
        share=share,
        url=context.settings.dashboard + share.path,
        back=f"{_LIST}/{kind}/{item}",
    )


def _values(tx: Connection, context: PageContext, id: int) -> Mapping[str, Value]:
    """Return the values of the editor's fields."""
    share = ops.get_owned(tx, context.account, id)
    return {
        **{name: getattr(share, name) for name in ("title", "slug", "firstday", "lastday")},
        "password": "",
        "days": "" if share.days is None else str(share.days),
        "expiry": "" if share.expiry is None else forms.to_local_input(share.expiry, context.time_zone),
    }
