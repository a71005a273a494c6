"""Pages and actions that the palette offers, in addition to the things of the account."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from waypost.dashboard import navigation
from waypost.dashboard.i18n import gettext


@dataclass(frozen=True)
class Command:
    """A page to open, or a form to send if there are `values`. `keywords` are other words that match it."""

    path: str
    icon: str
    label: str
    keywords: str = ""
    values: Mapping[str, str] | None = None


ACTIONS = (
    Command("/dashboard/links/new", "link", "New link", "create shorten url"),
    Command("/dashboard/files/new", "arrow-up-tray", "Upload a file", "new create"),
    Command("/dashboard/qr/new", "qr-code", "New QR code", "create"),
    Command("/dashboard/bios/new", "device-phone-mobile", "New bio page", "create"),
    Command("/dashboard/campaigns/new", "megaphone", "New campaign", "create"),
    Command("/dashboard/channels/new", "hashtag", "New channel", "create tag"),
    Command("/dashboard/domains/new", "globe-alt", "Add a domain", "new create branded"),
    Command("/dashboard/splash/new", "window", "New splash page", "create"),
    Command("/dashboard/overlays/new", "chat-bubble-left-right", "New overlay", "create"),
    Command("/dashboard/pixels/new", "code-bracket", "New pixel", "create tracking"),
    Command("/dashboard/utm/new", "tag", "New UTM template", "create parameters analytics"),
    Command("/dashboard/import", "arrow-up-tray", "Import links", "move bitly dub kutt shlink yourls csv undo"),
    Command("/dashboard/theme", "moon", "Use dark colors", "theme mode", {"theme": "dark"}),
    Command("/dashboard/theme", "sun", "Use light colors", "theme mode", {"theme": "light"}),
    Command("/dashboard/theme", "computer-desktop", "Use the colors of the system", "theme mode", {"theme": ""}),
    Command("/dashboard/signout", "arrow-right-start-on-rectangle", "Sign out", "log out leave", {}),
)
_SETTINGS = (
    Command("/dashboard/shares", "share", "Share links", "statistics public secret customers"),
    Command("/dashboard/account/factor", "lock-closed", "Two-factor authentication", "2fa security account"),
    Command("/dashboard/account/sessions", "computer-desktop", "Sessions", "browsers devices security account"),
)
_ADMIN = (
    Command("/dashboard/admin/plans", "adjustments-horizontal", "Plans", "administration limits"),
    Command("/dashboard/admin/reports", "shield-exclamation", "Reports", "administration abuse"),
    Command("/dashboard/admin/blocks", "hand-raised", "Blocklist", "administration hosts words"),
    Command("/dashboard/admin/brand", "swatch", "Brand", "administration name logo color"),
    Command("/dashboard/admin/health", "server-stack", "Health", "administration status"),
)
_KEYWORDS = {
    "/dashboard/account": "settings password e-mail profile",
    "/dashboard/account/keys": "settings token",
    "/dashboard/trash": "archive deleted restore undo",
}


def actions(q: str) -> Sequence[Command]:
    """Return the actions whose label or keywords contain a word that starts with each word of `q`."""
    return [action for action in ACTIONS if _matches(action, q)]


def pages(q: str, *, is_admin: bool) -> Sequence[Command]:
    """Return the pages that match, as for `actions`."""
    return [page for page in _pages(is_admin=is_admin) if _matches(page, q)]


def _pages(*, is_admin: bool) -> Iterator[Command]:
    for entry in (*navigation.MAIN, *navigation.ACCOUNT, *(navigation.ADMIN if is_admin else ())):
        yield Command(entry.path, entry.icon, entry.label, _KEYWORDS.get(entry.path, ""))
    yield from _SETTINGS
    if is_admin:
        yield from _ADMIN


def _matches(command: Command, q: str) -> bool:
    content = f" {gettext(command.label)} {command.keywords}".casefold()
    return all(f" {word}" in content for word in q.casefold().split())
