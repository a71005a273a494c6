"""The names of all events of accounts, by the kind of the thing."""

from collections.abc import Iterable, Mapping, Sequence

from waypost.core.errors import invalid
from waypost.db.schema.nouns import NOUNS

ALL = "*"
"""Selects every event but visits; after a kind and a dot, every such event of the kind."""
VISITS: Mapping[str, str] = {"link": "link.clicked", "qr": "code.scanned", "file": "file.downloaded"}
"""The events of counted visits by the kind of the item. There are so many that only their names select them."""
SUBMITTED = "overlay.submitted"
"""A visitor has sent the form of an overlay. It is in no audit log."""
TEST = "webhook.test"
"""The event that a person sends to see that an endpoint works. It is sent even if the endpoint does not select it."""
_OF_ITEMS = ("created", "updated", "deleted", "restored", "purged")
_MORE: Mapping[str, Sequence[str]] = {
    "link": ("clicked", "limit_near", "limit_reached", "expired", "dead", "alive"),
    "domain": ("failed", "recovered"),
    "file": ("downloaded",),
    "channel": ("item_added", "item_removed"),
    "overlay": ("submissions_deleted", "submitted"),
}
EVENTS: Mapping[str, Sequence[str]] = {
    **{kind: (*_OF_ITEMS, *_MORE.get(kind, ())) for kind in NOUNS},
    "code": ("scanned",),
    "share": ("created", "updated", "deleted"),
    "preset": ("saved", "deleted"),
    "import": ("created", "started", "finished", "undo_started", "undone", "deleted"),
    "account": (
        *("created", "updated", "password_changed", "reset_link_created", "suspended", "resumed"),
        *("deletion_scheduled", "deletion_canceled", "exported"),
    ),
    "key": ("created", "deleted"),
    "session": ("started", "ended", "refused"),
    "second_factor": ("enabled", "disabled", "codes_renewed"),
    "email_report": ("created", "deleted", "confirmed", "unsubscribed"),
    "webhook": ("created", "updated", "deleted", "secret_rotated", "tested", "replayed", "disabled"),
}
"""The verbs of each kind. An event is named by both, such as `link.created`."""
NAMES = frozenset(f"{kind}.{verb}" for kind, verbs in EVENTS.items() for verb in verbs)
_NAMES_OF_VISITS = frozenset(VISITS.values())
GROUPS: Sequence[str] = (ALL, *(f"{kind}.{ALL}" for kind in EVENTS if kind != "code"))
"""The selections of many events."""


def checked(selected: Iterable[str]) -> list[str]:
    """Return the selection without what others include: `*` for all but visits. Raises INVALID on `events`."""
    names = {name.strip().lower() for name in selected}
    for name in sorted(names):
        if name not in NAMES and name not in GROUPS:
            message = f"{name} is no event. Use names such as link.created, link.* for all of links, or *."
            raise invalid("events", message)
    if not names:
        raise invalid("events", "events must have at least one event; * selects all but visits.")
    return sorted(name for name in names if not _including(name) & names)


def _including(name: str) -> set[str]:
    """Return the groups that include an event or a group."""
    kind = name.partition(".")[0]
    return set() if name in _NAMES_OF_VISITS else {ALL, f"{kind}.{ALL}"} - {name}


def selects(selected: Iterable[str], name: str) -> bool:
    """Return whether a selection contains an event."""
    return not ({name} | _including(name)).isdisjoint(selected)


def has_visits(selected: Iterable[str]) -> bool:
    """Return whether a selection contains an event of visits."""
    return not _NAMES_OF_VISITS.isdisjoint(selected)


def has_visits_only(selected: Iterable[str]) -> bool:
    """Return whether all selected events are of visits."""
    return _NAMES_OF_VISITS.issuperset(selected)
