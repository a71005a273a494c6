"""Every form of the dashboard, in an order in which each has what it needs, with the events that it records."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyotp
from sqlalchemy import Select, func, select, update

from tests.conftest import PASSWORD, Person
from tests.contract.endpoints import ItemIds
from tests.support.bios import picture
from tests.support.dashboard_client import Browser
from tests.support.imports import await_import
from tests.support.visits import DESTINATION
from waypost.auth import two_factor
from waypost.core import clock
from waypost.db.schema import api_keys, link_undos, plans, presets, trash, webhook_messages
from waypost.db.signing import installation_signer
from waypost.email_reports import notices
from waypost.email_reports import ops as email_reports
from waypost.items.accounts import email_links, ops
from waypost.items.moderation import reports
from waypost.items.overlays import submissions
from waypost.items.overlays.submissions import Answers

Values = Mapping[str, str | list[str]]
_FACTOR = "/account/factor"
PREVIOUS = "?previous"
"""The page of a form that is the response to the form before."""
NEW_PASSWORD = "a very new secret 7"


@dataclass
class World:
    """Ana's account and her browser. Texts of forms can name `ids`, such as `{url}`."""

    person: Person
    browser: Browser
    items: ItemIds
    ids: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ids |= {name: str(item) for name, item in self.items.items()}


@dataclass(frozen=True)
class Sent:
    """A form that is sent: its path, the events, and fields with other values than those that the page shows.

    `at` is the page with the form, by default at the path of the form. `form` is the path that the form has there, if
    one of its buttons sends it elsewhere. `prepare` returns further fields.
    """

    path: str
    events: Sequence[str] = ()
    values: Values = field(default_factory=dict)
    at: str | None = None
    prepare: Callable[[World], Values] = lambda _world: {}
    files: Mapping[str, Any] | None = None
    status: int = 303
    form: str = ""


def _unchanged(path: str, event: str, at: str | None = None, **values: str) -> tuple[Sent, Sent, Sent]:
    """Save a form as it is, changed, and again: only the change is recorded."""
    return Sent(path, at=at), Sent(path, [event], values, at), Sent(path, at=at)


def _item_pages(page: str, kind: str, item: str, new: Values, **values: str) -> Sequence[Sent]:
    """Return the forms that create and change an item."""
    return Sent(f"/{page}/new", [f"{kind}.created"], new), *_unchanged(f"/{page}/{item}", f"{kind}.updated", **values)


def _confirm_import(world: World) -> Values:
    await_import(world.person)
    return {}


def _report(world: World) -> Values:
    def work(tx: Any) -> None:
        reports.add(tx, host="", alias="a-link", reason="phishing", comment="", reporter=b"net-one!")

    world.person.write(work)
    return {}


def _answer(world: World) -> Values:
    answers = Answers(name="Zoe", email="zoe@example.com", message="Hello")
    overlay, link = world.items["overlay"], world.items["url"]
    world.person.write(lambda tx: submissions.add(tx, world.person.account, overlay, answers, link=link))
    return {}


def _value(world: World, query: Select[Any]) -> str:
    return str(world.person.database.read(lambda tx: tx.execute(query).scalar_one()))


def _style(world: World) -> Values:
    world.ids["style"] = _value(world, select(func.max(presets.c.id)))
    return {"style": world.ids["style"]}


def _plan(world: World) -> Values:
    world.ids["plan"] = _value(world, select(func.max(plans.c.id)))
    return {}


def _key(world: World) -> str:
    return _value(world, select(func.max(api_keys.c.id)).where(api_keys.c.account == world.person.account))


def _undo(world: World) -> str:
    return _value(world, select(link_undos.c.batch))


def _batch(world: World, entry: int) -> str:
    return _value(world, select(trash.c.batch).where(trash.c.id == entry))


def _latest_change(world: World) -> str:
    query = {"kind": "link", "item": world.items["url"], "event": "link.updated"}
    return str(world.person.get("/audit", **query)["data"]["events"][0]["id"])


def _new_factor(world: World, page: str = _FACTOR, code: str = "code") -> Values:
    """Return the code of the app for the secret that a page shows."""
    text = world.browser.get(page).text
    match = re.search(r"<code[^>]*>((?:[A-Z2-7]{4} ?){8})</code>", text)
    assert match is not None
    return {**_hidden(text), code: pyotp.TOTP(match[1].replace(" ", "")).at(clock.now())}


def _hidden(text: str) -> Values:
    return dict(re.findall(r'name="(sealed|token)" value="([^"]*)"', text))


def _recovery_code(world: World) -> Values:
    """Give the account new recovery codes, and return one."""
    codes = world.person.write(lambda tx: two_factor.new_codes(tx, world.person.account))
    return {"code": codes[0]}


def _factor_of_other(world: World) -> Values:
    secret, other = two_factor.new_secret(), world.items["admin"]
    world.person.write(lambda tx: two_factor.enable(tx, other, secret=secret, step=0))
    return {}


def _locked_share(world: World) -> Values:
    share = world.person.add("share", type="link", itemid=world.items["url"], slug="locked", password="tulip")
    world.ids["locked"] = str(world.person.get(f"/share/{share}")["details"]["url"]).rpartition("/")[2]
    return {}


def _second_administrator(world: World) -> Values:
    world.person.write(lambda tx: ops.set_admin(tx, world.items["admin"], admin=True))
    return {}


def _reset(world: World) -> Values:
    link = world.person.write(lambda tx: email_links.reset_link(tx, "", world.person.account))
    return {"pass": link.partition("pass=")[2]}


def _confirmation(world: World) -> Values:
    link = world.person.write(lambda tx: email_links.change_link(tx, "", world.person.account, "anna@example.com"))
    return {"pass": link.partition("pass=")[2]}


def _registration(world: World) -> Values:
    link = world.person.write(lambda tx: email_links.register_link(installation_signer(tx), "", "eve@example.com"))
    return {"pass": link.partition("pass=")[2]}


_LOGO = {"logo": ("", b"", "application/octet-stream")}
_CSV = {"file": ("links.csv", f"alias,url\nimported,{DESTINATION}\na-link,{DESTINATION}/2".encode())}
_PLAN = {"name": "Large", "status": "pro", "rate_limit": "600", "upload_limit": "1 GB", "storage_limit": ""}
_ADMIN = "/admin/accounts/{admin}"
_RENEWED = ["session.ended", "session.started"]

ITEMS: Sequence[Sent] = (
    Sent("/shares/link/{url}", ["share.created"], {"title": "Mine"}),
    Sent("/shares/campaign/{campaign}/address", ["share.created"], at="/shares/campaign/{campaign}"),
    Sent("/shares/campaign/{campaign}/address", at="/shares/campaign/{campaign}"),
    *_unchanged("/shares/{share}", "share.updated", title="Other"),
    Sent("/shares/{share}/delete", ["share.deleted"]),
    Sent("/links/columns", at="/links", values={"column": ["clicks"]}),
    Sent("/links/views", ["preset.saved"], {"name": "Odd", "query": "status=disabled"}, "/links"),
    Sent("/links/views", [], {"name": "Odd", "query": "status=disabled"}, "/links"),
    Sent("/links/views/1", [], {"name": "Odd"}, "/links"),
    Sent("/links/views/1", ["preset.saved"], {"name": "Even"}, "/links"),
    Sent("/links/views/1/delete", ["preset.deleted"], at="/links"),
    *_item_pages("links", "link", "{url}", {"url": DESTINATION, "custom": "new-link"}, title="Other"),
    Sent("/links/{url}/duplicate", ["link.created"], at="/links"),
    Sent("/links/preview", at="/links/new", status=200),
    Sent("/links/qr", at="/links/new", status=200),
    Sent("/links/bulk", ["link.updated"], {"action": "status-disabled", "id": "{url}"}, "/links"),
    Sent("/links/undo", ["link.updated"], at="/links", prepare=lambda world: {"batch": _undo(world)}),
    Sent("/files/new", ["file.created"], files={"file": ("b.txt", b"text")}),
    *_unchanged("/files/{file}", "file.updated", name="Other"),
    Sent("/files/bulk", [], {"id": "{file}"}, "/files", status=200),
    Sent("/qr/preview", at="/qr/new", status=200),
    Sent("/qr/new", ["qr.created"], {"type": "text", "text.text": "words"}),
    Sent("/qr/{qr}", ["qr.updated"], {"name": "Other"}),
    Sent("/qr/{qr}"),
    Sent("/qr/{qr}/preview", at="/qr/{qr}", status=200),
    Sent("/qr/styles", ["preset.saved"], {"style_name": "Mine"}, "/qr/new", status=200, form="/qr/new"),
    Sent("/qr/styles/apply/{style}", at="/qr/new", prepare=_style, status=200, form="/qr/new"),
    *(
        Sent(f"/qr/styles/{verb}", [event], {"style_name": "Yours"}, "/qr/new", _style, status=200, form="/qr/new")
        for verb, event in (("rename", "preset.saved"), ("delete", "preset.deleted"))
    ),
    Sent("/qr/bulk", [], {"id": "{qr}"}, "/qr", status=200),
    *_item_pages("bios", "bio", "{bio}", {"name": "Other", "alias": ""}, name="Me too"),
    Sent("/bios/phone", [], {"name": "x"}, "/bios/new", status=200),
    Sent("/bios/pictures", at="/bios/new", files={"picture": ("a.png", picture())}, status=200),
    Sent("/bios/bulk", [], {"id": "{bio}"}, "/bios", status=200),
    Sent("/campaigns/new", ["campaign.created"], {"name": "Other"}),
    *_unchanged("/campaigns/{campaign}/settings", "campaign.updated", name="Autumn", slug="autumn"),
    Sent("/campaigns/{campaign}/add", ["link.updated"], {"id": "{url}"}, "/campaigns/{campaign}"),
    *_unchanged("/campaigns/{campaign}/links", "link.updated", "/campaigns/{campaign}", **{"place.weight": "5"}),
    Sent("/campaigns/{campaign}/remove", ["link.updated"], {"id": "{url}"}, "/campaigns/{campaign}"),
    Sent("/channels/new", ["channel.created"], {"name": "Other"}),
    *_unchanged("/channels/{channel}", "channel.updated", "/channels/{channel}/edit", name="Foes"),
    *(Sent("/channels/{channel}/star", events, {"starred": "on"}, "/channels") for events in (["channel.updated"], [])),
    *(
        Sent(f"/channels/{{channel}}/{verb}", events, {"item": "links-{url}"}, "/channels/{channel}")
        for verb, event in (("remove", "channel.item_removed"), ("add", "channel.item_added"))
        for events in ([event], [])
    ),
    *_item_pages("splash", "splash", "{splash}", {"name": "Other"}, name="Stay"),
    Sent("/splash/preview", at="/splash/new", status=200),
    Sent("/overlays/new", ["overlay.created"], {"name": "Tea", "type": "message", "message": "Tea?"}),
    Sent("/overlays/preview", [], {"type": "message", "message": "Tea?"}, "/overlays/new?type=message", status=200),
    *_unchanged("/overlays/{overlay}", "overlay.updated", name="Ask more"),
    Sent("/overlays/{overlay}/answers/bulk", [], {"id": "1"}, "/overlays/{overlay}/answers", _answer, status=200),
    Sent(
        "/overlays/{overlay}/answers/delete",
        ["overlay.submissions_deleted"],
        {"id": "1"},
        "/overlays/{overlay}/answers",
    ),
    *_item_pages("pixels", "pixel", "{pixel}", {"type": "analyticspixel", "name": "Other", "tag": "G-2"}, name="Shop"),
    *_item_pages("utm", "utm", "{utm}", {"name": "Other", "utm_source": "x"}, name="Letter"),
    *_item_pages("domains", "domain", "{domain}", {"domain": "https://fresh.example"}, redirectroot=DESTINATION),
    *(
        Sent("/domains/{domain}/brand", events, values, files=_LOGO)
        for events, values in (([], {}), (["domain.updated"], {"name": "Acme"}), ([], {}))
    ),
    Sent("/domains/{domain}/brand/preview", [], {}, "/domains/{domain}/brand", files=_LOGO, status=200),
)
"""Create and change items."""
DELETIONS: Sequence[Sent] = (
    Sent("/links/delete", ["link.deleted"], {"id": "{url}"}, "/links"),
    Sent("/trash/1/restore", ["link.restored"], at="/trash"),
    Sent("/links/{url}", ["link.updated"], {"title": "Other"}),
    Sent(
        "/audit/links/{url}/restore",
        ["link.updated"],
        at="/audit?kind=link&item={url}",
        prepare=lambda world: {"event": _latest_change(world)},
    ),
    Sent("/files/delete", ["file.deleted"], {"id": "{file}"}, "/files"),
    Sent("/qr/delete", ["qr.deleted"], {"id": "{qr}"}, "/qr"),
    Sent("/bios/delete", ["bio.deleted"], {"id": "{bio}"}, "/bios"),
    *(
        Sent(f"/{page}/{{{item}}}/delete", [f"{kind}.deleted"])
        for page, item, kind in (
            ("campaigns", "campaign", "campaign"),
            ("channels", "channel", "channel"),
            ("splash", "splash", "splash"),
            ("overlays", "overlay", "overlay"),
            ("pixels", "pixel", "pixel"),
            ("utm", "utm", "utm"),
            ("domains", "domain", "domain"),
        )
    ),
    Sent("/trash/bulk", ["qr.restored", "bio.restored"], {"action": "restore", "id": ["3", "4"]}, "/trash"),
    Sent("/trash/delete", ["campaign.purged"], {"id": "5"}, "/trash"),
    Sent("/trash/undo", ["file.restored"], at="/trash", prepare=lambda world: {"batch": _batch(world, 2)}),
    Sent("/trash/empty", [f"{kind}.purged" for kind in ("channel", "splash", "overlay", "pixel", "utm", "domain")]),
)


ACCOUNT: Sequence[Sent] = (
    *(Sent(path, at="/account", values=values) for path, values in (("/theme", {"theme": "dark"}),)),
    Sent("/shortcuts", [], {"shortcuts": "off"}, "/account"),
    Sent("/checklists", [], {"name": "user"}, ""),
    *(Sent("/language", events, {"language": "en"}, "/account") for events in (["account.updated"], [])),
    *_unchanged("/account/timezone", "account.updated", "/account", timezone="Asia/Kolkata"),
    *_unchanged("/account/sender", "account.updated", "/account", sender="Ana Inc."),
    Sent("/account/email", [], {"email": "anna@example.com", "password": PASSWORD}, "/account"),
    Sent("/confirm", ["account.updated"], at="/forgot", prepare=_confirmation),
    Sent("/account/sessions/end", ["session.ended"], at="/account/sessions"),
    Sent("/account/export", ["account.exported"], at="/account", status=200),
    Sent(
        "/account/keys",
        ["key.created"],
        {"name": "K", "scope": "read", "expires": "", "password": PASSWORD},
        status=200,
    ),
    Sent("/account/keys/revoke", ["key.deleted"], at="/account/keys", prepare=lambda world: {"id": _key(world)}),
)
ADMINISTRATION: Sequence[Sent] = (
    Sent("/admin/accounts/new", ["account.created"], {"username": "cleo", "email": "cleo@example.com"}, status=200),
    Sent("/admin/plans/new", ["plan.created"], _PLAN),
    Sent("/admin/plans/{plan}", prepare=_plan),
    *(Sent(f"{_ADMIN}/plan", events, {"plan": "Large"}, _ADMIN) for events in (["account.updated"], [])),
    Sent(f"{_ADMIN}/plan", ["account.updated"], {"plan": "free"}, _ADMIN),
    *(Sent(f"{_ADMIN}/suspend", events, {"suspended": "yes"}, _ADMIN) for events in (["account.suspended"], [])),
    Sent(f"{_ADMIN}/suspend", ["account.resumed"], {"suspended": ""}, _ADMIN),
    *(
        Sent(f"{_ADMIN}/rights", ["account.updated"], {"admin": admin, "rights_password": PASSWORD}, _ADMIN)
        for admin in ("yes", "no")
    ),
    Sent(f"{_ADMIN}/reset", ["account.reset_link_created"], at=_ADMIN, status=200),
    Sent(f"{_ADMIN}/delete", ["account.deletion_scheduled"], {"password": PASSWORD}, _ADMIN),
    Sent(f"{_ADMIN}/cancel-deletion", ["account.deletion_canceled"], at=_ADMIN),
    *_unchanged("/admin/plans/{plan}", "plan.updated", rate_limit="700"),
    Sent("/admin/plans/{plan}/delete", ["plan.deleted"]),
    Sent("/admin/reports/1", ["report.closed"], {"decision": "dismiss"}, "/admin/reports", _report),
    *(Sent("/admin/blocks", events, {"kind": "word", "values": "Casino"}) for events in (["block.created"], [])),
    Sent("/admin/blocks/remove", ["block.deleted"], {"kind": "word", "value": "casino"}, "/admin/blocks"),
    *(
        Sent("/admin/brand", events, values, files=_LOGO)
        for events, values in (([], {}), (["brand.updated"], {"name": "Acme"}), ([], {}))
    ),
    Sent("/admin/brand/preview", [], {}, "/admin/brand", files=_LOGO, status=200),
    Sent("/admin/health/email", at="/admin/health"),
)
_WEBHOOK = "/webhooks/1"


def _failed_message(world: World) -> Values:
    world.person.write(lambda tx: tx.execute(update(webhook_messages).values(state="failed")))
    return {}


WEBHOOKS: Sequence[Sent] = (
    Sent("/webhooks/new", ["webhook.created"], {"url": "https://hooks.example.com/", "events": "*"}, status=200),
    *_unchanged(f"{_WEBHOOK}/edit", "webhook.updated", title="Shop"),
    Sent(
        "/webhooks/new",
        ["webhook.created"],
        {"format": "plausible", "url": "https://plausible.example.com/api/event", "site": "go.example.com"},
        status=200,
    ),
    Sent(f"{_WEBHOOK}/test", ["webhook.tested"], at=_WEBHOOK),
    Sent(f"{_WEBHOOK}/replay", ["webhook.replayed"], at=_WEBHOOK, prepare=_failed_message),
    Sent(f"{_WEBHOOK}/period", ["webhook.replayed"], at=_WEBHOOK),
    Sent(f"{_WEBHOOK}/rotate", ["webhook.secret_rotated"], status=200),
    Sent(f"{_WEBHOOK}/enabled", ["webhook.updated"], {"enabled": ""}, _WEBHOOK),
    Sent(f"{_WEBHOOK}/enabled", ["webhook.updated"], {"enabled": "on", "missed": ""}, _WEBHOOK),
    Sent(f"{_WEBHOOK}/delete", ["webhook.deleted"]),
)
_TO_ZOE = {"email": "zoe@example.com", "timezone": "Europe/Berlin"}
_REPORT = "/reports/{report}"


def _report_token(purpose: email_reports.Purpose) -> Callable[[World], Values]:
    def prepare(world: World) -> Values:
        def work(tx: Any) -> str:
            report = email_reports.all_of(tx, world.person.account)[0]
            world.ids["report"] = str(report.id)
            return email_reports.token(tx, purpose, report)

        world.ids["pass"] = world.person.database.read(work)
        return {}

    return prepare


def _notice_token(world: World) -> Values:
    account = world.person.account
    token = world.person.database.read(lambda tx: notices.token(tx, notices.recipient(tx, account), "dead"))
    world.ids["pass"] = token
    return {}


_CONFIRM, _UNSUBSCRIBE = "/reports/confirm", "/reports/unsubscribe"
_UNSUBSCRIBE_NOTICES = "/reports/notices/unsubscribe"
EMAIL_REPORTS: Sequence[Sent] = (
    Sent("/reports/new", ["email_report.created"], _TO_ZOE),
    Sent(
        _CONFIRM,
        ["email_report.confirmed"],
        at=f"{_CONFIRM}?pass={{pass}}",
        prepare=_report_token("confirm"),
        status=200,
    ),
    Sent(f"{_REPORT}/test", at="/reports"),
    Sent(
        _UNSUBSCRIBE,
        ["email_report.unsubscribed"],
        at=f"{_UNSUBSCRIBE}?pass={{pass}}",
        prepare=_report_token("unsubscribe"),
        status=200,
    ),
    Sent("/reports/new", ["email_report.created"], {"every": "month", "email": "ana@example.com"}),
    Sent(f"{_REPORT}/delete", ["email_report.deleted"], {}, "/reports", _report_token("confirm")),
    Sent("/reports/notices", ["account.updated"], {"notices": ["dead", "limit"]}, "/reports"),
    Sent("/reports/notices/test", at="/reports"),
    Sent(
        _UNSUBSCRIBE_NOTICES,
        ["account.updated"],
        at=f"{_UNSUBSCRIBE_NOTICES}?pass={{pass}}",
        prepare=_notice_token,
        status=200,
    ),
)
IMPORTS: Sequence[Sent] = (
    Sent("/import/new", ["import.created"], files=_CSV),
    Sent("/import/rows/3", [], {"alias": "b-link"}, "/import", _confirm_import),
    Sent("/import/apply", ["import.started", "link.created", "link.created", "import.finished"], at="/import"),
    Sent("/import/undo", ["import.undo_started", "link.deleted", "link.deleted", "import.undone"], at="/import"),
    Sent("/import/delete", ["import.deleted"], at="/import"),
    Sent("/import/cancel", at="/import/new"),
)
_LOGIN = {"name": "ana", "password": PASSWORD}
SESSIONS: Sequence[Sent] = (
    Sent("/stats/{locked}", [], {"password": "tulip"}, prepare=_locked_share),
    Sent(
        f"{_ADMIN}/remove-two-factor",
        ["second_factor.disabled"],
        {"own_password": PASSWORD},
        _ADMIN,
        _factor_of_other,
    ),
    Sent(
        _FACTOR,
        ["second_factor.enabled", "session.ended", *_RENEWED],
        {"password": PASSWORD},
        prepare=_new_factor,
        status=200,
    ),
    Sent(
        f"{_FACTOR}/codes", ["second_factor.codes_renewed"], {"password": PASSWORD}, _FACTOR, _recovery_code, status=200
    ),
    Sent(
        f"{_FACTOR}/phone",
        ["second_factor.disabled", "second_factor.enabled", *_RENEWED],
        {"password": PASSWORD},
        prepare=lambda world: {**_recovery_code(world), **_new_factor(world, f"{_FACTOR}/phone", "new_code")},
        status=200,
    ),
    Sent("/signout", ["session.ended"], at="/links"),
    Sent("/signin", ["session.refused"], {**_LOGIN, "password": "wrong"}, status=400),
    Sent("/signin", [], _LOGIN, status=200),
    Sent("/signin/code", ["session.refused"], {"code": "000000"}, PREVIOUS, status=400),
    Sent("/signin/code", ["session.started"], at=PREVIOUS, prepare=_recovery_code),
    Sent(f"{_FACTOR}/off", ["second_factor.disabled", *_RENEWED], {"password": PASSWORD}, _FACTOR, _recovery_code),
    Sent("/account/delete", ["account.deletion_scheduled"], {"password": PASSWORD}, prepare=_second_administrator),
    Sent("/account/delete/cancel", ["account.deletion_canceled"], at="/account"),
    Sent(
        "/account/password",
        ["session.ended", "account.password_changed", "session.started"],
        {"old": PASSWORD, "new": NEW_PASSWORD},
        "/account",
    ),
    Sent("/signout", ["session.ended"], at="/links"),
    Sent(
        "/reset", ["account.password_changed", "session.started"], {"password": "another secret 8"}, "/forgot", _reset
    ),
    Sent("/signout", ["session.ended"], at="/links"),
    Sent("/register", [], {"email": "eve@example.com"}, status=200),
    Sent(
        "/register",
        ["account.created", "session.started"],
        {"username": "eve", "password": NEW_PASSWORD},
        prepare=_registration,
    ),
)
GROUPS = {
    "items": ITEMS,
    "account": ACCOUNT,
    "administration": ADMINISTRATION,
    "deletions": DELETIONS,
    "imports": IMPORTS,
    "sessions": SESSIONS,
    "webhooks": WEBHOOKS,
    "reports by e-mail": EMAIL_REPORTS,
}
"""The forms that are sent one after the other."""
FIRST_GROUPS = {name: group for group in reversed(GROUPS) for sent in GROUPS[group] for name in sent.events}
"""The first group of forms that causes an event: there, the event is like its sample."""
