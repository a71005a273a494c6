"""Pages and actions that the palette offers, in addition to the things of the account."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from waypost.core.languages import LANGUAGES
from waypost.core.text_folding import folded
from waypost.dashboard import navigation
from waypost.dashboard.i18n import gettext, gettext_noop
from waypost.db.schema.nouns import NOUNS


@dataclass(frozen=True)
class Command:
    """A page to open, or a form to send if there are `values`. `keywords` are other words that match it.

    Both are found by their words in English and in the language of the page.
    """

    path: str
    icon: str
    label: str
    _: KW_ONLY
    keywords: str = ""
    values: Mapping[str, str] | None = None
    group: str = ""
    """The heading of a page."""
    language: str = ""
    """The language of a label that is the same in all languages."""


ACTIONS = (
    *(Command(f"{noun.path}/new", noun.icon, noun.new_label, keywords=noun.keywords) for noun in NOUNS.values()),
    Command(
        "/dashboard/import", "arrow-up-tray", "Import links", keywords="move csv undo bitly dub kutt shlink yourls"
    ),
    Command("/dashboard/account#data", "arrow-down-tray", "Export your data", keywords="download archive backup move"),
    Command("/dashboard/theme", "moon", "Use dark colors", keywords="theme mode", values={"theme": "dark"}),
    Command("/dashboard/theme", "sun", "Use light colors", keywords="theme mode", values={"theme": "light"}),
    Command(
        "/dashboard/theme", "computer-desktop", "Use the colors of the system", keywords="theme", values={"theme": ""}
    ),
    *(
        Command("/dashboard/language", "language", name, keywords="language", values={"language": code}, language=code)
        for code, name in LANGUAGES.items()
    ),
    Command("/dashboard/signout", "arrow-right-start-on-rectangle", "Sign out", keywords="log out leave", values={}),
)
_SETTINGS = (
    Command("/dashboard/links?status=dead", "link-slash", "Dead links", keywords="broken destinations check"),
    Command("/dashboard/shares", "share", "Share links", keywords="statistics public secret customers"),
    Command(
        "/dashboard/account/connections",
        "puzzle-piece",
        "Connections",
        keywords="bookmarklet browser phone app programs",
    ),
    Command(
        "/dashboard/account/factor",
        "lock-closed",
        "Two-factor authentication",
        keywords="2fa security account recovery codes",
    ),
    Command(
        "/dashboard/account/sessions", "computer-desktop", "Sessions", keywords="browsers devices security account"
    ),
    Command("/dashboard/webhooks", "bolt", "Webhooks", keywords="events programs integrations hooks"),
    Command("/dashboard/audit", "clock", "Audit log", keywords="history changes security"),
    Command("/dashboard/account/delete", "trash", "Delete account", keywords="close remove leave"),
)
_ADMIN = (
    Command("/dashboard/admin/plans", "adjustments-horizontal", "Plans", keywords="administration limits"),
    Command("/dashboard/admin/reports", "shield-exclamation", "Abuse reports", keywords="administration abuse"),
    Command("/dashboard/admin/blocks", "hand-raised", "Blocklist", keywords="administration hosts words"),
    Command("/dashboard/admin/brand", "swatch", "Brand", keywords="administration name logo color"),
    Command("/dashboard/admin/health", "server-stack", "Health", keywords="administration status backup e-mail"),
)
_ACCOUNT = gettext_noop("Your account")
_KEYWORDS = {
    "/dashboard/account": gettext_noop("settings password e-mail profile"),
    "/dashboard/account/keys": gettext_noop("settings token"),
    "/dashboard/trash": gettext_noop("archive deleted restore undo"),
}


def actions(q: str) -> Sequence[Command]:
    """Return the actions whose label or keywords contain a word that starts with each word of `q`."""
    return [action for action in ACTIONS if _matches(action, q)]


def pages(q: str, *, is_admin: bool) -> Sequence[Command]:
    """Return the pages that match, as for `actions`."""
    return [page for page in _pages(is_admin=is_admin) if _matches(page, q)]


def _pages(*, is_admin: bool) -> Iterator[Command]:
    yield _page(navigation.HOME, gettext_noop("Pages"))
    for group in navigation.GROUPS:
        yield from (_page(entry, group.label) for entry in group.entries)
    yield from (_page(entry, _ACCOUNT) for entry in navigation.ACCOUNT)
    yield from (replace(command, group=_ACCOUNT) for command in _SETTINGS)
    if is_admin:
        yield from (_page(entry, "Administration") for entry in navigation.ADMIN)
        yield from (replace(command, group="Administration") for command in _ADMIN)


def _page(entry: navigation.Entry, group: str) -> Command:
    return Command(entry.path, entry.icon, entry.label, keywords=_KEYWORDS.get(entry.path, ""), group=group)


def _matches(command: Command, q: str) -> bool:
    translated = [gettext(text) for text in (command.keywords, "" if command.language else command.label) if text]
    content = f" {folded(' '.join((command.label, command.keywords, *translated)))}"
    return all(f" {word}" in content for word in folded(q).split())
