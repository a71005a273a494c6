"""The entries of the dashboard's navigation."""

from typing import NamedTuple


class Entry(NamedTuple):
    """An entry: the path of its page, its icon in web/icons.json and its label."""

    path: str
    icon: str
    label: str


_HOME = "/dashboard"
MAIN = (
    Entry(_HOME, "home", "Overview"),
    Entry("/dashboard/links", "link", "Links"),
    Entry("/dashboard/files", "folder", "Files"),
    Entry("/dashboard/statistics", "chart-bar", "Statistics"),
    Entry("/dashboard/visits", "cursor-arrow-rays", "Visits"),
    Entry("/dashboard/qr", "qr-code", "QR codes"),
    Entry("/dashboard/bios", "device-phone-mobile", "Bio pages"),
    Entry("/dashboard/campaigns", "megaphone", "Campaigns"),
    Entry("/dashboard/channels", "hashtag", "Channels"),
    Entry("/dashboard/splash", "window", "Splash pages"),
    Entry("/dashboard/overlays", "chat-bubble-left-right", "Overlays"),
    Entry("/dashboard/pixels", "code-bracket", "Pixels"),
    Entry("/dashboard/utm", "tag", "UTM templates"),
    Entry("/dashboard/domains", "globe-alt", "Domains"),
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
