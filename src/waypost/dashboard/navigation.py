"""The entries of the dashboard's navigation."""

from typing import NamedTuple

from waypost.dashboard.i18n import gettext_noop
from waypost.db.schema.nouns import NOUNS, Noun


class Entry(NamedTuple):
    """An entry: the path of its page, its icon in web/icons.json and its label."""

    path: str
    icon: str
    label: str


def _list(noun: Noun) -> Entry:
    return Entry(noun.path, noun.icon, noun.labels)


class Group(NamedTuple):
    """Entries below a heading. A folded group is shown when one of its pages was opened."""

    label: str
    entries: tuple[Entry, ...]
    is_folded: bool = False


def _lists(*kinds: str) -> tuple[Entry, ...]:
    return tuple(_list(NOUNS[kind]) for kind in kinds)


_HOME = "/dashboard"
_CREATED = ("link", "qr", "bio", "file")
_BETWEEN = ("splash", "overlay", "pixel")
HOME = Entry(_HOME, "home", "Overview")
GROUPS = (
    Group(gettext_noop("Create"), _lists(*_CREATED)),
    Group(
        gettext_noop("Measure"),
        (
            Entry("/dashboard/statistics", "chart-bar", "Statistics"),
            Entry("/dashboard/visits", "cursor-arrow-rays", "Visits"),
        ),
    ),
    Group(gettext_noop("Organize"), _lists(*(kind for kind in NOUNS if kind not in (*_CREATED, *_BETWEEN)))),
    Group(gettext_noop("Before the redirect"), _lists(*_BETWEEN), is_folded=True),
)
"""Top to bottom in the sidebar, in the palette and in the menu of phones."""
BAR = (HOME, GROUPS[0].entries[0], GROUPS[1].entries[0])
"""The entries in the bottom bar of phones. The others are in its menu."""

ACCOUNT = (
    Entry("/dashboard/trash", "trash", "Trash"),
    Entry("/dashboard/account/keys", "key", "API keys"),
    Entry("/dashboard/account", "user-circle", "Account"),
)
ADMIN = (Entry("/dashboard/admin", "shield-check", "Administration"),)
"""For administrators only."""


_PARENTS = {
    "/dashboard/import": "/dashboard/links",
    "/dashboard/shares": "/dashboard/statistics",
    "/dashboard/audit": "/dashboard/account",
    "/dashboard/webhooks": "/dashboard/account",
    "/dashboard/reports": "/dashboard/account",
}
"""The entries of pages whose path does not begin with that of their entry."""


def active_path(path: str) -> str:
    """Return the path of the entry that a page belongs to: the longest prefix of `path`, or ""."""
    if path == _HOME:
        return path
    path = next((entry for start, entry in _PARENTS.items() if f"{path}/".startswith(f"{start}/")), path)
    entries = (*(entry for group in GROUPS for entry in group.entries), *ADMIN, *ACCOUNT)
    paths = (entry.path for entry in entries)
    return max((entry for entry in paths if f"{path}/".startswith(f"{entry}/")), key=len, default="")
