"""The names of all events of accounts, by the kind of the thing."""

from collections.abc import Iterable, Mapping, Sequence

from waypost.core.errors import invalid
from waypost.db.schema.nouns import NOUNS

ALL = "*"
"""Selects every event; after a kind and a dot, every event of the kind."""
TEST = "webhook.test"
"""The event that a person sends to see that an endpoint works. It is sent even if the endpoint does not select it."""
_OF_ITEMS = ("created", "updated", "deleted", "restored", "purged")
_MORE: Mapping[str, Sequence[str]] = {
    "channel": ("item_added", "item_removed"),
    "overlay": ("submissions_deleted",),
}
EVENTS: Mapping[str, Sequence[str]] = {
    **{kind: (*_OF_ITEMS, *_MORE.get(kind, ())) for kind in NOUNS},
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
    "webhook": ("created", "updated", "deleted", "secret_rotated", "disabled"),
}
"""The verbs of each kind. An event is named by both, such as `link.created`."""
NAMES = frozenset(f"{kind}.{verb}" for kind, verbs in EVENTS.items() for verb in verbs)
_KINDS = frozenset(f"{kind}.{ALL}" for kind in EVENTS)


def checked(selected: Iterable[str]) -> list[str]:
    """Return the selection without what others include: `*` for everything. Raises INVALID on `events`."""
    names = {name.strip().lower() for name in selected}
    for name in sorted(names):
        if name != ALL and name not in NAMES | _KINDS:
            message = f"{name} is no event. Use names such as link.created, link.* for all of links, or *."
            raise invalid("events", message)
    if not names:
        raise invalid("events", "events must have at least one event; * selects all.")
    if ALL in names:
        return [ALL]
    return sorted(name for name in names if name in _KINDS or f"{name.partition('.')[0]}.{ALL}" not in names)


def selects(selected: Iterable[str], name: str) -> bool:
    """Return whether a selection contains an event."""
    return not {ALL, name, f"{name.partition('.')[0]}.{ALL}"}.isdisjoint(selected)
