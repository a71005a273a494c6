"""Preferences of one browser, which cookies keep: colors, language, keyboard shortcuts, columns and checklists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from waypost.auth.sessions import SignedIn
from waypost.core.languages import LANGUAGES, PSEUDO_LANGUAGE, negotiate_language
from waypost.dashboard.list_position import HOME, safe_redirect_path

if TYPE_CHECKING:
    from waypost.dashboard.context import PageContext

THEME_COOKIE, SHORTCUTS_COOKIE, CHECKLISTS_COOKIE = "waypost_theme", "waypost_keys", "waypost_lists"
MENU_COOKIE = "waypost_menu"
COLUMNS_COOKIE = "waypost_columns"
LANGUAGE_COOKIE = "waypost_language"
_COOKIE_SECONDS = 365 * 86_400
CHECKLISTS = ("user", "administrator")
LINK_COLUMNS = ("destination", "tags", "clicks", "created")
THEMES = ("light", "dark")


@dataclass(frozen=True)
class Preferences:
    """The preferences in the cookies of a request."""

    cookies: Mapping[str, str]

    @property
    def theme(self) -> str:
        """`light`, `dark`, or "" for the system's setting."""
        value = self.cookies.get(THEME_COOKIE, "")
        return value if value in THEMES else ""

    @property
    def shortcuts(self) -> Literal["on", "off"]:
        """Shortcuts of single keys; speech input can trigger them, so they can be turned off (WCAG 2.1.4)."""
        return "off" if self.cookies.get(SHORTCUTS_COOKIE) == "off" else "on"

    @property
    def is_menu_unfolded(self) -> bool:
        """True if the folded group of the menu was opened. A script sets the cookie."""
        return self.cookies.get(MENU_COOKIE) == "open"

    @property
    def hidden_link_columns(self) -> Sequence[str]:
        """Names of LINK_COLUMNS that the list of links does not show."""
        names = self.cookies.get(COLUMNS_COOKIE, "").split(".")
        return [name for name in LINK_COLUMNS if name in names]

    @property
    def dismissed_checklists(self) -> Sequence[str]:
        """Names of CHECKLISTS that the user does not want to see again."""
        names = self.cookies.get(CHECKLISTS_COOKIE, "").split(".")
        return [name for name in CHECKLISTS if name in names]


def language(request: Request, session: SignedIn | None, *, pseudo: bool) -> str:
    """Return the language of a page: that of the person, else of the cookie, else the one that the browser prefers.

    `pseudo` allows the pseudo-language for tests.
    """
    stored = request.cookies.get(LANGUAGE_COOKIE, "")
    if pseudo and stored == PSEUDO_LANGUAGE:
        return stored
    if session and session.language in LANGUAGES:
        return session.language
    return (
        stored if stored in LANGUAGES else negotiate_language(request.headers.get("accept-language", ""), pseudo=pseudo)
    )


def store(context: "PageContext", cookie: str, value: str, *, replaced: str = "") -> Response:
    """Set the cookie of a preference, and return to the page with the form, without the parameter that it replaces."""
    referrer = urlsplit(context.request.headers.get("referer", ""))
    parameters = [each for each in parse_qsl(referrer.query, keep_blank_values=True) if each[0] != replaced]
    path = safe_redirect_path(referrer.path + (f"?{urlencode(parameters)}" if parameters else ""))
    response = RedirectResponse(path, status_code=303)
    context.set_cookie(response, cookie, value, max_age=_COOKIE_SECONDS, path=HOME)
    return response
