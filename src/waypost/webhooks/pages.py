"""Dashboard pages of webhooks: the list, the form, and one webhook with the log of its messages."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from sqlalchemy import Connection, select
from starlette.responses import Response

from waypost.api.request_body import Body
from waypost.api.types import Moment
from waypost.audit import names
from waypost.core import clock
from waypost.core.errors import Problem, invalid
from waypost.dashboard import forms
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import gettext, gettext_noop
from waypost.dashboard.routing import Router
from waypost.db.crud import Page
from waypost.db.item_columns import name_of
from waypost.db.schema.nouns import NOUNS
from waypost.webhooks import catalog, deliveries, endpoints
from waypost.webhooks.api import NewWebhook
from waypost.webhooks.deliveries import Delivery, State
from waypost.webhooks.endpoints import SCOPES, Endpoint
from waypost.webhooks.formats import FORMATS, STANDARD

pages = Router()
_LIST = "/dashboard/webhooks"
_SHAPE = Shape(lists=("events", "single"), urls=("url",))
_PERIOD = Shape(local_times=("since", "until"))
_DAY = 86_400
_MAX_OPTIONS = 200
_SENDING_SECONDS = 60
Option = tuple[str, str]
"""The value and the text of a choice."""
_VISITS: Mapping[str, str] = {
    "link.clicked": gettext_noop("Clicked"),
    "code.scanned": gettext_noop("Scanned"),
    "file.downloaded": gettext_noop("Downloaded"),
}
"""Texts of the events of visits."""
_SIGNATURES: Sequence[Option] = (("hmac", "HMAC-SHA256"), ("ed25519", "ed25519"))
_NEW: Mapping[str, Value] = {
    "title": "",
    "url": "",
    "format": STANDARD,
    "site": "",
    "credential": "",
    "signature": "hmac",
    "events": [catalog.ALL],
    "single": [],
    "scope": "",
}


class _Period(Body):
    since: Moment
    until: Moment


@pages.get("/dashboard/webhooks")
def list_webhooks(context: PageContext) -> Response:
    page = context.read(lambda tx: endpoints.page(tx, context.account, context.page_request()))
    return context.render_list("webhooks/list.html", page, formats=FORMATS)


@pages.get("/dashboard/webhooks/new")
def show_new_form(context: PageContext) -> Response:
    """Show the form; `scope` in the query, such as `link-7`, selects the item whose events are sent."""
    return _form_page(context, Form({**_NEW, "scope": context.query("scope")}))


@pages.post("/dashboard/webhooks/new")
def create_webhook(context: PageContext) -> Response:
    """Create a webhook, and show its secret once."""
    form = context.form(_SHAPE)

    def work(tx: Connection, fields: dict[str, Any]) -> tuple[Endpoint, str]:
        for name in _hidden_fields(form):
            fields.pop(name, None)
        return endpoints.add(tx, context.account, settings=context.settings, **{**fields, **_selection(form)})

    made = context.submit(form, NewWebhook, work, _SHAPE)
    if made is None:
        return _form_page(context, form, status=400)
    return _page(context, made[0].id, secret=made[1] if made[0].format == STANDARD else "")


@pages.get("/dashboard/webhooks/{id:int}")
def show_webhook(context: PageContext, id: int) -> Response:
    return _page(context, id)


@pages.get("/dashboard/webhooks/{id:int}/edit")
def show_editor(context: PageContext, id: int) -> Response:
    endpoint = context.read(lambda tx: endpoints.get_owned(tx, context.account, id))
    if endpoint.overlay is not None:
        return context.redirect(f"/dashboard/overlays/{endpoint.overlay}")
    return _form_page(context, Form(context.read(lambda tx: _values(tx, context.account, id))), id)


@pages.post("/dashboard/webhooks/{id:int}/edit")
def update_webhook(context: PageContext, id: int) -> Response:
    form = context.form(_SHAPE)

    def work(tx: Connection, fields: dict[str, Any]) -> Endpoint:
        form.reject_stale(_values(tx, context.account, id))
        if not form.text("credential"):  # it is not shown, so an empty field keeps it
            fields.pop("credential", None)
        changed = {**fields, **_selection(form)}
        return endpoints.change(tx, context.account, id, settings=context.settings, **changed)

    if context.submit(form, NewWebhook, work, _SHAPE) is None:
        return _form_page(context, form, id, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Saved.")


@pages.post("/dashboard/webhooks/{id:int}/enabled")
def switch_webhook(context: PageContext, id: int) -> Response:
    """Enable a webhook, with `missed` also send what it has missed; or disable it."""
    form = context.form()
    enabled, missed = form.text("enabled") == "on", form.text("missed") == "on"

    def work(tx: Connection) -> None:
        endpoints.change(tx, context.account, id, settings=context.settings, enabled=enabled)
        if enabled and missed:
            deliveries.replay(tx, context.account, id)

    context.write(work)
    message = "The webhook is enabled." if enabled else "The webhook is disabled. Its messages are kept for 30 days."
    return context.redirect(f"{_LIST}/{id}", message=message)


@pages.post("/dashboard/webhooks/{id:int}/test")
def test_webhook(context: PageContext, id: int) -> Response:
    context.write(lambda tx: deliveries.send_test(tx, context.account, id))
    return context.redirect(f"{_LIST}/{id}", message="A test is being sent. The answer appears below.")


@pages.post("/dashboard/webhooks/{id:int}/replay")
def replay_webhook(context: PageContext, id: int) -> Response:
    """Send one message again, or all that have failed."""
    delivery = forms.parse_id(context.form().text("delivery"))
    context.write(lambda tx: deliveries.replay(tx, context.account, id, delivery=delivery))
    return context.redirect(f"{_LIST}/{id}", message="Sent again. The answer appears below.")


@pages.post("/dashboard/webhooks/{id:int}/period")
def replay_period(context: PageContext, id: int) -> Response:
    """Send all messages of a period again, from its first minute to the end of its last."""
    form = context.form(_PERIOD)

    def work(tx: Connection, fields: dict[str, Any]) -> None:
        first, last = (clock.last_second(fields[name]) for name in ("since", "until"))
        if not deliveries.replay(tx, context.account, id, first=first, last=last + 59):
            raise invalid("since", "There are no messages in this period.")

    context.submit(form, _Period, work, _PERIOD)
    if form.errors:
        return _page(context, id, period=form, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Sent again. The answer appears below.")


@pages.get("/dashboard/webhooks/{id:int}/rotate")
def confirm_rotation(context: PageContext, id: int) -> Response:
    endpoint = context.read(lambda tx: endpoints.get_owned(tx, context.account, id))
    return context.render("webhooks/rotate.html", endpoint=endpoint)


@pages.post("/dashboard/webhooks/{id:int}/rotate")
def rotate_secret(context: PageContext, id: int) -> Response:
    """Replace the secret, and show the new one once."""
    _, secret = context.write(lambda tx: endpoints.rotate(tx, context.account, id))
    return _page(context, id, secret=secret)


@pages.get("/dashboard/webhooks/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    endpoint = context.read(lambda tx: endpoints.get_owned(tx, context.account, id))
    return context.render("webhooks/delete.html", endpoint=endpoint)


@pages.post("/dashboard/webhooks/{id:int}/delete")
def delete_webhook(context: PageContext, id: int) -> Response:
    context.write(lambda tx: endpoints.remove(tx, context.account, id))
    return context.redirect(_LIST, message="The webhook was deleted.")


def _page(
    context: PageContext, id: int, *, secret: str = "", period: Form | None = None, status: int = 200
) -> Response:
    requested = context.query("state")
    state: State | None = next((name for name in get_args(State) if name == requested), None)

    def work(tx: Connection) -> tuple[Page[Delivery], dict[str, Any]]:
        page = deliveries.page(tx, context.account, id, context.page_request(), state=state)
        endpoint = endpoints.get_owned(tx, context.account, id)
        return page, {
            "endpoint": endpoint,
            "attempts": deliveries.attempts_of(tx, context.account, page.items),
            "failed": deliveries.count_failed(tx, context.account, id),
            "scope": _scope_text(tx, endpoint),
        }

    page, values = context.read(work)
    events = [_event(name) for name in values["endpoint"].events]
    values |= {"events": events, "describe": _event, "state": state, "secret": secret}
    values |= {"max_replayed": deliveries.MAX_REPLAYED, "is_sending": any(map(_is_sending, page.items))}
    values["format"] = FORMATS[values["endpoint"].format].label
    values["period"] = period or _last_day(context)
    return context.render_list("webhooks/show.html", page, status=status, **values)


def _last_day(context: PageContext) -> Form:
    now = clock.now()
    times = {"since": now - _DAY, "until": now}
    return Form({name: forms.to_local_input(second, context.time_zone) for name, second in times.items()})


def _is_sending(delivery: Delivery) -> bool:
    """Return whether the first attempt is made now. Without a running service, the page waits for a minute only."""
    return delivery.state == "waiting" and not delivery.attempts and delivery.due > clock.now() - _SENDING_SECONDS


def _form_page(context: PageContext, form: Form, id: int | None = None, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[Endpoint | None, Sequence[Option]]:
        endpoint = None if id is None else endpoints.get_owned(tx, context.account, id)
        return endpoint, _scope_options(tx, context.account, form.text("scope"))

    endpoint, scopes = context.read(work)
    for name in SCOPES:  # the form has one field for them
        if name in form.errors:
            form.errors["scope"] = form.errors.pop(name)
    return context.render(
        "webhooks/form.html",
        status=status,
        form=form,
        endpoint=endpoint,
        scopes=scopes,
        formats=_format_options(endpoint),
        signatures=_SIGNATURES,
        kinds=[(name, _event(name)) for name in catalog.GROUPS],
        single=_single_events(),
    )


def _single_events() -> Sequence[tuple[str, Sequence[Option]]]:
    """Return the events of each kind of thing, with its name."""
    groups: defaultdict[str, list[Option]] = defaultdict(list)
    for kind, verbs in catalog.EVENTS.items():
        for name in (f"{kind}.{verb}" for verb in verbs):
            groups[_kind(name)].append((name, _what(name)))
    return [(gettext(names.KINDS[kind][1]), events) for kind, events in groups.items()]


def _kind(name: str) -> str:
    """Return the kind of thing of an event. That of a scan is the QR code."""
    return next((kind for kind, event in catalog.VISITS.items() if event == name), name.partition(".")[0])


def _what(name: str) -> str:
    """Return the text of an event without its thing."""
    return gettext(_VISITS[name]) if name in _VISITS else names.what(name)


def _event(name: str) -> str:
    """Return the text of an event, or of all events of a kind."""
    if name == catalog.ALL:
        return gettext("All events but visits")
    if name == catalog.TEST:
        return gettext("Test")
    thing = gettext(names.KINDS[_kind(name)][1])
    return thing if name.endswith(catalog.ALL) else _labeled(thing, _what(name))


def _labeled(thing: str, name: str) -> str:
    return gettext("%(thing)s: %(name)s", thing=thing, name=name)


def _values(tx: Connection, account: int, id: int) -> Mapping[str, Value]:
    """Return the values of the form's fields."""
    endpoint = endpoints.get_owned(tx, account, id)
    scope = next((f"{name}-{item}" for name in SCOPES if (item := getattr(endpoint, name)) is not None), "")
    groups = [name for name in endpoint.events if name.endswith(catalog.ALL)]
    single = [name for name in endpoint.events if name not in groups]
    stored = {name: getattr(endpoint, name) for name in ("title", "url", "format", "site")}
    return {**stored, "credential": "", "events": groups, "single": single, "scope": scope}


def _selection(form: Form) -> dict[str, Any]:
    """Return the events and the item of a form. Raises INVALID on `scope` and `events`."""
    scope, _, item = form.text("scope").partition("-")
    if scope and (scope not in SCOPES or forms.parse_id(item) is None):
        raise _not_offered("scope")
    if not set(form["single"]) <= catalog.NAMES:
        raise _not_offered("events")
    items = {name: forms.parse_id(item) if name == scope else None for name in SCOPES}
    selected = [*form["events"], *form["single"]]
    if form.text("format") in FORMATS and FORMATS[form.text("format")].is_analytics:  # the form hides other events
        selected = [name for name in catalog.VISITS.values() if name in selected] or list(catalog.VISITS.values())
    return {"events": selected, **items}


def _hidden_fields(form: Form) -> Sequence[str]:
    """Return the fields that the form does not show for the selected format."""
    if (selected := FORMATS.get(form.text("format"))) is None:
        return ()
    offered = (*selected.fields, *(["signature"] if selected is FORMATS[STANDARD] else []))
    return [name for name in ("site", "credential", "signature") if name not in offered]


def _not_offered(name: str) -> Problem:
    return invalid(name, f"{name} must be one of the options. Select another one.")


def _format_options(endpoint: Endpoint | None) -> Sequence[Option]:
    """Return the choices of a format: all for a new webhook, and those to which another one can change."""
    current = None if endpoint is None else FORMATS[endpoint.format]
    return [
        (name, gettext("Your own program (Standard Webhooks)") if name == STANDARD else each.label)
        for name, each in FORMATS.items()
        if current in (None, each) or not (current.is_analytics or each.is_analytics)
    ]


def _scope_options(tx: Connection, account: int, current: str) -> Sequence[Option]:
    """Return the choices of an item: all, the first campaigns and channels, and the current one."""
    options = [("", gettext("Everything in the account"))]
    for group in ("campaign", "channel"):
        options += _items(tx, account, group)
    kind, _, item = current.partition("-")
    if current not in dict(options) and kind in SCOPES:
        named = _items(tx, account, kind, only=forms.parse_id(item) or 0)
        options += named or [(current, gettext("A deleted item"))]
    return options


def _scope_text(tx: Connection, endpoint: Endpoint) -> str:
    """Return the item whose events are sent; "" for everything."""
    for kind in (*SCOPES, "overlay"):
        if (item := getattr(endpoint, kind)) is not None:
            named = _items(tx, endpoint.account, kind, only=item)
            return named[0][1] if named else gettext("A deleted item")
    return ""


def _items(tx: Connection, account: int, kind: str, *, only: int | None = None) -> list[Option]:
    """Return the first items of a kind by name, or `only` one, as choices."""
    noun = NOUNS[kind]
    c, name = noun.table.c, name_of(noun)
    query = select(c.id, name).where(c.account == account).order_by(name, c.id).limit(_MAX_OPTIONS)
    rows = tx.execute(query if only is None else query.where(c.id == only))
    return [(f"{kind}-{item}", _labeled(gettext(noun.label), str(text))) for item, text in rows]
