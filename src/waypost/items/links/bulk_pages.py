"""Actions on the selected or all matching links of the dashboard's list, with a question before some, and undo."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from markupsafe import Markup
from sqlalchemy import Connection
from starlette.responses import Response

from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.dashboard import trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape
from waypost.dashboard.i18n import gettext, ngettext
from waypost.dashboard.routing import Router
from waypost.db import crud
from waypost.db.schema import links as links_table
from waypost.items.links import bulk, bulk_actions, bulk_undo, list_export, list_state, ops, utm
from waypost.items.links.bulk_actions import Action, Outcome
from waypost.items.links.schemas import LinkChange

pages = Router()
_LIST = "/dashboard/links"
_UNDO = "/dashboard/links/undo"
_SHAPE = Shape(local_times=("expiry",))
_AT_ONCE, _FEW_AT_ONCE = 1000, 200
"""Links of a transaction: few if each can need statements of its own."""
_GONE = {
    "campaign": "No such campaign in this account.",
    "channel": "No such channel in this account.",
    "domain": "No such domain in this account.",
    "utm_template": "No such UTM template in this account.",
}
"""The messages for a target of an action that was deleted, by the field of the API."""
_SHOWN = 5
"""Links that could not be changed, which a message names."""


@pages.get("/dashboard/links/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    links = context.read(lambda tx: [ops.get_owned(tx, context.account, id)])
    return _confirmation(context, links, Action("delete", ""))


@pages.post("/dashboard/links/delete")
def delete_links(context: PageContext) -> Response:
    ids, (singular, plural) = context.selected_ids(), ("The link was deleted.", "%(count)s links were deleted.")
    return trash.delete(context, "link", ids, bulk.remove, singular=singular, plural=plural)


@pages.post("/dashboard/links/bulk")
def apply_bulk_action(context: PageContext) -> Response:
    """Run an action on the selected links, or on all that match the list's query.

    A question comes first if the action needs one, and before all matching links are changed.
    """
    form, ids = context.form(_SHAPE), context.selected_ids()
    action, is_all = bulk_actions.parse(form.text("action")), bool(form.text("all"))
    if action and action.kind == "export" and (ids or is_all):
        return _export(context, None if is_all else ids)
    links: Sequence[ops.Link] = ()
    if is_all:
        query = list_state.parse(context)
        links = context.read_after_ingest(lambda tx: query.first_links(tx, context))
    if not ids and not links:
        return context.redirect(_LIST, message="Select at least one link.", tone="bad")
    if action is None:
        return context.redirect(_LIST, message="Select an action.", tone="bad")
    if links:
        return _confirmation(context, links, action)
    if action.asks and (action.kind == "delete" or not form.text("confirmed")):
        return _confirm_selected(context, action)
    return _run(context, form, ids, action)


@pages.post("/dashboard/links/undo")
def undo_bulk_action(context: PageContext) -> Response:
    """Restore the values that an action replaced, and return to the list."""
    batch = context.form().text("batch")
    restored = kept = 0
    more_remain = True
    while more_remain:
        undone = context.write(lambda tx: bulk_undo.undo(tx, context.account, batch, settings=context.settings))
        restored, kept, more_remain = restored + undone.restored, kept + undone.kept, undone.more_remain
    message = ngettext("The link is as it was.", "%(count)s links are as they were.", restored) if restored else ""
    if kept:
        text = ngettext(
            "One link was changed again or deleted, and stays as it is.",
            "%(count)s links were changed again or deleted, and stay as they are.",
            kept,
        )
        message = f"{message} {text}".strip()
    return context.redirect(_LIST, message=message, tone="good" if restored else "bad")


def _run(context: PageContext, form: Form, ids: Sequence[int], action: Action) -> Response:
    expiry = None
    if action.kind == "expiry":
        body = form.read_valid(LinkChange, context.time_zone, _SHAPE)
        if body is None or form.errors:
            return _confirm_selected(context, action, form)
        expiry = clock.last_second(body.expiry) if body.expiry else None

    size = _FEW_AT_ONCE if action.kind in ("domain", "utm") else _AT_ONCE
    try:
        outcome = _run_in_parts(context, ids, partial(bulk_actions.run, action=action, expiry=expiry), size)
    except Problem as problem:
        if problem.kind is not Kind.INVALID:
            raise
        return context.redirect(_LIST, message=_GONE.get(problem.field or "", problem.message), tone="bad")
    tone: Any = "good" if outcome.changed and not outcome.stopped else "bad"
    return context.redirect(_LIST, message=_message(outcome), tone=tone, undo=(_UNDO, outcome.undo))


def _run_in_parts(context: PageContext, ids: Sequence[int], run: Callable[..., Outcome], size: int) -> Outcome:
    """Run an action, `size` links in a transaction. If one fails, those before it stay: the outcome has their undo."""
    unique_ids, total = sorted(set(ids)), Outcome(0)
    for start in range(0, len(unique_ids), size):
        part = unique_ids[start : start + size]
        work = partial(run, account=context.account, ids=part, settings=context.settings, batch=total.undo)
        try:
            outcome = context.write(work)
        except Problem as problem:
            if start == 0:
                raise
            return replace(total, stopped=problem.message)
        changed, skipped = total.changed + outcome.changed, total.skipped + outcome.skipped
        total = Outcome(changed, [*total.kept, *outcome.kept], outcome.undo, skipped=skipped)
    return total


def _message(outcome: Outcome) -> str:
    """Return the sentences that describe the outcome."""
    sentences = (
        ngettext("The link was updated.", "%(count)s links were updated.", outcome.changed) if outcome.changed else "",
        gettext(outcome.stopped) if outcome.stopped else "",
        _kept_message(outcome) if outcome.kept else "",
        trash.skipped_message("link", outcome.skipped),
    )
    return " ".join(sentence for sentence in sentences if sentence)


def _kept_message(outcome: Outcome) -> str:
    reasons = [(alias, gettext(reason).rstrip(".")) for alias, reason in outcome.kept[:_SHOWN]]
    named = [gettext("%(alias)s (%(reason)s)", alias=alias, reason=reason) for alias, reason in reasons]
    names = Markup(", ").join([*named, *(["…"] if len(outcome.kept) > _SHOWN else [])])
    return Markup(  # noqa: S704  # escaped by ngettext, and plain text again
        ngettext(
            "One link stays as it was: %(names)s.",
            "%(count)s links stay as they were: %(names)s.",
            len(outcome.kept),
            names=names,
        )
    ).unescape()


def _export(context: PageContext, ids: Sequence[int] | None) -> Response:
    """Return links as CSV: those with the ids, or all that match the list's query."""
    context.wait_for_ingest()
    if ids is None:
        lines = list_export.lines(context, list_state.parse(context))
    else:
        remaining = set(context.read(lambda tx: crud.existing(tx, links_table, context.account, ids)))
        if not remaining:
            return context.redirect(_LIST, message=trash.skipped_message("link", len(set(ids))), tone="bad")
        lines = list_export.lines_of(context, [link for link in ids if link in remaining])
    return list_export.response(lines)


def _confirm_selected(context: PageContext, action: Action, form: Form | None = None) -> Response:
    """Ask before an action on the selected links, or return to the list if none of them exists any more."""

    def question(ids: Sequence[int], vanished: Sequence[int]) -> Response:
        links = context.read(lambda tx: ops.get_owned_many(tx, context.account, ids))
        return _confirmation(context, links, action, form, vanished)

    return trash.confirm(context, "link", question)


def _confirmation(
    context: PageContext,
    links: Sequence[ops.Link],
    action: Action,
    form: Form | None = None,
    vanished: Sequence[int] = (),
) -> Response:
    name = context.read(lambda tx: _target_name(tx, context.account, action))
    return context.render(
        "links/confirm.html",
        status=400 if form else 200,
        links=links,
        vanished=vanished,
        action=str(action),
        kind=action.kind,
        group=name,
        form=form or Form({}),
        short_url=context.short_url,
    )


def _target_name(tx: Connection, account: int, action: Action) -> str:
    """Return the name of the campaign, channel, template or domain of an action. Raises NOT_FOUND, INVALID."""
    if action.kind == "campaign" and action.item:
        return list_state.group_name(tx, account, "campaign", action.item)
    if action.kind in ("channel", "unchannel"):
        return list_state.group_name(tx, account, "channel", action.item)
    if action.kind == "utm":
        return utm.template(tx, account, action.item).name
    return action.target if action.kind == "domain" else ""
