"""The navigation: where things are in the dashboard."""

from typing import NamedTuple


class Place(NamedTuple):
    """An entry: its page, its icon of web/icons.json, its name."""

    path: str
    icon: str
    name: str


PLACES = (
    Place("/dashboard", "home", "Overview"),
    Place("/dashboard/links", "link", "Links"),
    Place("/dashboard/files", "folder", "Files"),
    Place("/dashboard/qr", "qr-code", "QR codes"),
    Place("/dashboard/bios", "device-phone-mobile", "Bio pages"),
    Place("/dashboard/campaigns", "megaphone", "Campaigns"),
    Place("/dashboard/channels", "hashtag", "Channels"),
    Place("/dashboard/splash", "window", "Splash pages"),
    Place("/dashboard/overlays", "chat-bubble-left-right", "Overlays"),
    Place("/dashboard/pixels", "code-bracket", "Pixels"),
    Place("/dashboard/domains", "globe-alt", "Domains"),
)
"""From the top to the bottom of the side bar. On a phone the first three stand in the bar, the others behind More."""
OWN = (
    Place("/dashboard/account/keys", "key", "API keys"),
    Place("/dashboard/account", "user-circle", "Account"),
)

OPERATOR = (Place("/dashboard/admin", "shield-check", "Operator"),)
"""For those who run the service."""


def here(path: str) -> str:
    """The entry that a page belongs to: the longest path that it begins with."""
    fitting = (
        place.path for place in (*PLACES, *OPERATOR, *OWN) if path == place.path or path.startswith(f"{place.path}/")
    )
    return max(fitting, key=len, default="")
