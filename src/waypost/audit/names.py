"""Texts for the events of the audit log: kinds of things, verbs, and the ways of changes."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select

from waypost.audit import changes, log
from waypost.audit.log import Entry
from waypost.dashboard.i18n import gettext, gettext_noop
from waypost.dashboard.localized_names import agent_name, plan_name
from waypost.dashboard.visited_item_names import Item, Key
from waypost.db.audit_log import SHARED
from waypost.db.item_columns import name_of
from waypost.db.schema import accounts, shares
from waypost.db.schema.imports import SOURCE_NAMES
from waypost.db.schema.nouns import NOUNS

KINDS: Mapping[str, tuple[str, str]] = {
    **{kind: (noun.icon, noun.label) for kind, noun in NOUNS.items()},
    "share": ("share", gettext_noop("Share link")),
    "preset": ("star", gettext_noop("Saved view or style")),
    "import": ("arrow-up-tray", gettext_noop("Import")),
    "account": ("user-circle", gettext_noop("Account")),
    "key": ("key", gettext_noop("API key")),
    "session": ("arrow-right-start-on-rectangle", gettext_noop("Session")),
    "second_factor": ("shield-check", gettext_noop("Two-factor authentication")),
    "email_report": ("envelope", gettext_noop("Report by e-mail")),
    "webhook": ("bolt", gettext_noop("Webhook")),
    "plan": ("adjustments-horizontal", gettext_noop("Plan")),
    "brand": ("swatch", gettext_noop("Brand")),
    "block": ("hand-raised", gettext_noop("Blocked host or word")),
    "report": ("exclamation-triangle", gettext_noop("Report")),
    "maintenance": ("cog-6-tooth", gettext_noop("Maintenance mode")),
    "audit": ("clock", gettext_noop("Audit log")),
}
"""The icon and label of each kind of thing."""
VERBS: Mapping[str, str] = {
    "created": gettext_noop("Created"),
    "updated": gettext_noop("Changed"),
    "deleted": gettext_noop("Deleted"),
    "restored": gettext_noop("Restored"),
    "purged": gettext_noop("Deleted forever"),
    "item_added": gettext_noop("Item added"),
    "item_removed": gettext_noop("Item removed"),
    "submissions_deleted": gettext_noop("Submissions deleted"),
    "saved": gettext_noop("Saved"),
    "started": gettext_noop("Started"),
    "finished": gettext_noop("Finished"),
    "undo_started": gettext_noop("Undo started"),
    "undone": gettext_noop("Undone"),
    "ended": gettext_noop("Ended"),
    "refused": gettext_noop("Refused"),
    "enabled": gettext_noop("Enabled"),
    "disabled": gettext_noop("Disabled"),
    "codes_renewed": gettext_noop("Recovery codes renewed"),
    "password_changed": gettext_noop("Password changed"),
    "reset_link_created": gettext_noop("Password reset link created"),
    "suspended": gettext_noop("Suspended"),
    "resumed": gettext_noop("Suspension lifted"),
    "deletion_scheduled": gettext_noop("Deletion scheduled"),
    "deletion_canceled": gettext_noop("Deletion canceled"),
    "exported": gettext_noop("Exported"),
    "secret_rotated": gettext_noop("Secret replaced"),
    "closed": gettext_noop("Closed"),
    "submitted": gettext_noop("Form sent"),
    "limit_near": gettext_noop("Limit nearly reached"),
    "limit_reached": gettext_noop("Limit reached"),
    "expired": gettext_noop("Expired"),
    "failed": gettext_noop("Failed"),
    "recovered": gettext_noop("Works again"),
    "tested": gettext_noop("Tested"),
    "replayed": gettext_noop("Messages sent again"),
    "dead": gettext_noop("Destination does not work"),
    "alive": gettext_noop("Destination works again"),
    "confirmed": gettext_noop("Confirmed"),
    "unsubscribed": gettext_noop("Unsubscribed"),
}
"""Texts of events, by the second part of their name."""
_EVENTS: Mapping[str, str] = {
    "session.started": gettext_noop("Signed in"),
    "session.ended": gettext_noop("Signed out"),
    "session.refused": gettext_noop("Sign-in refused"),
    "audit.purged": gettext_noop("Old events deleted"),
}
"""Texts of events by their name, where the verb alone says too little."""
ORIGINS: Mapping[str, str] = {
    "dashboard": gettext_noop("Dashboard"),
    "api": gettext_noop("API"),
    "agent": gettext_noop("AI agent"),
    "command": gettext_noop("Command line"),
    "import": gettext_noop("Import"),
    "system": gettext_noop("Service"),
}


def existing_items(tx: Connection, account: int | None, entries: Sequence[Entry]) -> Mapping[Key, Item]:
    """Return the names and pages of the items of events, and of those in their values, that still exist.

    Reads with one statement for each kind, and one more for share links.
    """
    if account is None:
        return {}
    events = {(entry.kind, entry.item) for entry in entries if entry.item is not None}
    shared = _shared(tx, account, [item for kind, item in events if kind == "share"])
    ids: dict[str, set[int]] = {}
    for kind, item in (*events, *changes.references(entries), *shared.values()):
        if kind in NOUNS:
            ids.setdefault(kind, set()).add(item)
    items = {}
    for kind, of_kind in ids.items():
        noun = NOUNS[kind]
        query = select(noun.table.c.id, name_of(noun)).where(noun.table.c.account == account)
        for item, text in tx.execute(query.where(noun.table.c.id.in_(sorted(of_kind)))):
            items[kind, item] = Item(str(text), f"{noun.path}/{item}")
    for share, about in shared.items():
        name = items[about].name if about in items else gettext("Whole account")
        items["share", share] = Item(name, f"/dashboard/shares/{share}")
    return items


def _shared(tx: Connection, account: int, ids: Sequence[int]) -> Mapping[int, Key]:
    """Return the kind and id of the item that each of these share links shows; `account` for the whole account."""
    c = shares.c
    query = select(c.id, *(c[kind] for kind in SHARED)).where(c.account == account, c.id.in_(ids))
    about = {}
    for share, *of_kinds in tx.execute(query) if ids else ():
        kinds = dict(zip(SHARED, of_kinds, strict=True))
        about[share] = next(((kind, item) for kind, item in kinds.items() if item is not None), ("account", account))
    return about


def authors(tx: Connection, account: int | None, entries: Sequence[Entry]) -> Mapping[int, str]:
    """Return the name of the author of each event, by the event's id; events of the service itself have none.

    In the log of an account, another account that changed something is an administrator, whose name is not shown.
    """
    ids = {entry.id: by for entry in entries if (by := author(entry)) is not None}
    query = select(accounts.c.id, accounts.c.username).where(accounts.c.id.in_(sorted(set(ids.values()))))
    names = {row.id: str(row.username) for row in tx.execute(query)} if ids else {}
    administrator = gettext("Administrator")
    return {
        event: names.get(by, gettext("Deleted account")) if account in (None, by) else administrator
        for event, by in ids.items()
    }


def author(entry: Entry) -> int | None:
    """Return the account that made a change. A sign-in begins without a session."""
    return entry.account if entry.name == log.SIGNED_IN else entry.actor


def name_of_thing(entry: Entry, items: Mapping[Key, Item]) -> str:
    """Return the name of the thing of an event, in the language of the reader; "" if it has none."""
    if entry.kind == "session":
        return agent_name(entry.label)
    if entry.kind == "plan":
        return plan_name(entry.label)
    if entry.kind == "import" and entry.label in SOURCE_NAMES:
        return gettext(SOURCE_NAMES[entry.label])
    if entry.label or entry.item is None:
        return entry.label
    return items[entry.kind, entry.item].name if (entry.kind, entry.item) in items else ""


def what(name: str) -> str:
    """Return the text of an event with this name, in the language of the reader."""
    text = _EVENTS.get(name) or VERBS.get(name.partition(".")[2])
    return gettext(text) if text else name
