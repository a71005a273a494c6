"""The entries of the dashboard's navigation."""

from typing import NamedTuple

from waypost.db.schema.nouns import NOUNS, Noun


class Entry(NamedTuple):
    """An entry: the path of its page, its icon in web/icons.json and its label."""

    path: str
    icon: str
    label: str


def _list(noun: Noun) -> Entry:
    return Entry(noun.path, noun.icon, noun.labels)


_HOME = "/dashboard"
_FIRST = ("link", "file")
"""The kinds of items above the statistics."""
MAIN = (
    Entry(_HOME, "home", "Overview"),
    *(_list(noun) for noun in NOUNS.values() if noun.kind in _FIRST),
    Entry("/dashboard/statistics", "chart-bar", "Statistics"),
    Entry("/dashboard/visits", "cursor-arrow-rays", "Visits"),
    *(_list(noun) for noun in NOUNS.values() if noun.kind not in _FIRST),
)
"""Top to bottom in the sidebar. On phones the first three are in the bottom bar, the others in its menu."""

ACCOUNT = (
    Entry("/dashboard/trash", "trash", "Trash"),
    Entry("/dashboard/account/keys", "key", "API keys"),
    Entry("/dashboard/account", "user-circle", "Account"),
)
ADMIN = (Entry("/dashboard/admin", "shield-check", "Administration"),)
"""For administrators only."""


_PARENTS = {"/dashboard/import": "/dashboard/account", "/dashboard/shares": "/dashboard/statistics"}
"""The entries of pages whose path does not begin with that of their entry."""


def active_path(path: str) -> str:
    """Return the path of the entry that a page belongs to: the longest prefix of `path`, or ""."""
    if path == _HOME:
        return path
    path = next((entry for start, entry in _PARENTS.items() if f"{path}/".startswith(f"{start}/")), path)
    entries = (entry.path for entry in (*MAIN, *ADMIN, *ACCOUNT) if entry.path != _HOME)
    return max((entry for entry in entries if f"{path}/".startswith(f"{entry}/")), key=len, default="")
