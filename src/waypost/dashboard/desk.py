"""What a page's function is given: who asks, what was typed, the way to the data, and the ways to answer."""

import gzip
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, Protocol, TypeVar
from zoneinfo import ZoneInfo

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from waypost.accounts.sessions import SignedIn
from waypost.api.door import Door
from waypost.dashboard import forms
from waypost.dashboard.forms import PLAIN, VERSION, Form, Shape, Value
from waypost.dashboard.seals import Seals
from waypost.net.letters import Post
from waypost.net.proxies import client_address, network_of
from waypost.net.tries import Tries
from waypost.rows import Window

T = TypeVar("T")
HOME = "/dashboard"
THEME, ZONE, SAID = "waypost_theme", "waypost_zone", "waypost_said"
PER_PAGE = 25
_OWN_PATH = re.compile(r"/dashboard(/[A-Za-z0-9_-]+)*(\?[A-Za-z0-9_.~%&=+:/-]*)?\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SAID_SECONDS = 60
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""What a page may load and do."""
_SMALL = 1000  # bytes that are not worth the packing
_LEVEL = 4  # of gzip: half the time of the usual one, for a tenth more bytes
Tone = Literal["good", "bad"]
Preview = Callable[[str, Mapping[str, Any]], Response]
"""Draws a page that visitors would see: its kind, and what is set on it."""


class Trial(Protocol):
    """What a link would answer: why there is nothing to see, and where it leads (waypost.visits.trial)."""

    def __call__(
        self, tx: Connection, account: int, link: int, *, country: str, os: str, device: str, language: str
    ) -> tuple[str, str]: ...


@dataclass(frozen=True)
class Kit:
    """What all desks of a process share.

    `draw` fills in a template; `preview` and `bio_page` show pages as visitors will see them.
    """

    seals: Seals
    tries: Tries
    post: Post
    draw: Callable[..., str]
    preview: Preview
    trial: Trial
    secure: bool
    bio_page: Callable[..., str]

    @property
    def cookie(self) -> str:
        """The name of the session's cookie: on HTTPS one that no other host can set."""
        return "__Host-waypost" if self.secure else "waypost"


@dataclass(frozen=True)
class Desk(Door):
    """A request for a page. `cookie` is what the browser is known by, signed in or not; `account` is 0 for nobody."""

    kit: Kit
    request: Request
    cookie: str
    person: SignedIn | None
    fields: Mapping[str, list[str]]

    @property
    def you(self) -> SignedIn:
        """Who is signed in; only for pages behind the sign-in."""
        assert self.person is not None
        return self.person

    @cached_property
    def zone(self) -> ZoneInfo:
        """The viewer's time zone, as the browser said it; else UTC."""
        return _zone(self.request.cookies.get(ZONE, ""))

    @property
    def network(self) -> str:
        """What counts as one client for limits."""
        peer = self.request.client.host if self.request.client else ""
        forwarded = [value.encode("latin-1") for value in self.request.headers.getlist("x-forwarded-for")]
        return network_of(client_address(peer, forwarded, self.settings.proxies))

    def asked(self, name: str, default: str = "", *, most: int = 255) -> str:
        """A word of the query, without what no field has."""
        return _CONTROL.sub("", self.request.query_params.get(name, default))[:most]

    def window(self, per_page: int = PER_PAGE) -> Window:
        """Which page of a table is asked for; the first where the query makes no sense."""
        page = self.asked("page", "1", most=9)
        return Window(limit=per_page, page=max(1, int(page)) if page.isdecimal() and page.isascii() else 1)

    def number(self, name: str) -> int | None:
        """An id in the query, if one is there."""
        value = self.asked(name, most=15)
        return int(value) if value.isdecimal() and value.isascii() else None

    def typed(self, shape: Shape = PLAIN, *, now: Mapping[str, Value] | None = None) -> Form:
        """The form that was sent; `now` is what there is, so that only what differs from it is taken as a change."""
        values = {**dict.fromkeys(shape.flags, ""), **forms.shaped(self.fields, shape)}
        version = values.pop(VERSION, "")
        values.pop("token", None)
        return Form(values, now=now, version=version if isinstance(version, str) else "")

    def save(
        self, form: Form, shown: Callable[[Connection], Mapping[str, Value]], change: Callable[[Connection], T]
    ) -> T:
        """Write what a form changes, unless the thing was changed since: `shown` is what its editor shows of it now."""

        def work(tx: Connection) -> T:
            form.refuse_stale(shown(tx))
            return change(tx)

        return self.write(work)

    def picked(self, name: str = "id") -> list[int]:
        """The ids of the rows that were ticked."""
        return [int(one) for one in self.fields.get(name, ()) if one.isdecimal() and one.isascii() and len(one) < 16]

    def remove_ticked(self, remove: Callable[[Connection, int, int], None]) -> int:
        """Delete the rows that were ticked, all or none; how many they were."""
        ids = self.picked()

        def work(tx: Connection) -> None:
            for one in ids:
                remove(tx, self.account, one)

        self.write(work)
        return len(ids)

    def page(self, template: str, *, status: int = 200, frames: bool = False, **values: Any) -> Response:
        """A whole page, which may frame other pages of ours when that is asked for."""
        text = self.kit.draw(template, desk=self, **values).encode()
        headers = {"Content-Security-Policy": f"{POLICY}; frame-src 'self'"} if frames else {}
        taken = {part.partition(";")[0].strip() for part in self.request.headers.get("accept-encoding", "").split(",")}
        # What answers a form may show a new secret beside words of others: that is never compressed (BREACH).
        if self.request.method == "GET" and "gzip" in taken and len(text) >= _SMALL:
            text = gzip.compress(text, _LEVEL, mtime=0)
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(text, status, headers, media_type="text/html")

    def go(self, path: str, *, said: str = "", tone: Tone = "good", also: str = "") -> Response:
        """To another page, which begins with what was `said`; `also` is a short URL that can be copied there."""
        response = RedirectResponse(path, status_code=303)
        if said:
            sealed = self.kit.seals.seal(SAID, tone, said[:500], also[:500], life=_SAID_SECONDS)
            response.set_cookie(
                SAID, sealed, max_age=_SAID_SECONDS, path=HOME, httponly=True, samesite="lax", secure=self.kit.secure
            )
        return response

    @cached_property
    def said(self) -> tuple[str, str, str] | None:
        """What the page before has to say: tone, words, something to copy."""
        told = self.kit.seals.open(SAID, self.request.cookies.get(SAID, ""))
        return (told[0], told[1], told[2]) if told else None

    @property
    def token(self) -> str:
        """What every form on this page carries."""
        return self.kit.seals.token(self.cookie)

    @property
    def theme(self) -> str:
        """`light`, `dark`, or "" for what the system has."""
        chosen = self.request.cookies.get(THEME, "")
        return chosen if chosen in ("light", "dark") else ""

    def keep_session(self, response: Response, token: str) -> Response:
        """Give the browser the token by which it is known from now on."""
        response.set_cookie(
            self.kit.cookie,
            token,
            max_age=180 * 86_400,
            path="/",
            httponly=True,
            samesite="lax",
            secure=self.kit.secure,
        )
        return response


def own_path(path: str) -> str:
    """The path if it leads to a page of the dashboard, else its first page: nobody is sent elsewhere."""
    return path if _OWN_PATH.match(path) else HOME


@lru_cache(64)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (OSError, ValueError, LookupError):
        return ZoneInfo("UTC")
