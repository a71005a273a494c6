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

from waypost.api.middleware import RequestContext
from waypost.auth.login_throttle import LoginThrottle
from waypost.auth.sessions import SignedIn
from waypost.dashboard import forms
from waypost.dashboard.forms import PLAIN, VERSION, Form, Shape, Value
from waypost.db.crud import PageRequest
from waypost.http.client_ip import client_address, network_of
from waypost.mail import Mailer
from waypost.signing import Signer

T = TypeVar("T")
HOME = "/dashboard"
THEME_COOKIE, TIME_ZONE_COOKIE, FLASH_COOKIE = "waypost_theme", "waypost_zone", "waypost_said"
PER_PAGE = 25
_OWN_PATH = re.compile(r"/dashboard(/[A-Za-z0-9_-]+)*(\?[A-Za-z0-9_.~%&=+:/-]*)?\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SAID_SECONDS = 60
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""What a page may load and do."""
_SMALL = 1000  # bytes that are not worth the packing
_LEVEL = 4  # of gzip: half the time of the usual one, for a tenth more bytes
Tone = Literal["good", "bad"]
Preview = Callable[[str, Mapping[str, Any]], Response]
"""Draws a page that visitors would see: its kind, and what is set on it."""


class DryRun(Protocol):
    """What a link would answer: why there is nothing to see, and where it leads (waypost.links.dry_run)."""

    def __call__(
        self, tx: Connection, account: int, link: int, *, country: str, os: str, device: str, language: str
    ) -> tuple[str, str]: ...


@dataclass(frozen=True)
class PageServices:
    """What all desks of a process share.

    `draw` fills in a template; `preview` and `bio_page` show pages as visitors will see them.
    """

    signer: Signer
    login_throttle: LoginThrottle
    mailer: Mailer
    render_template: Callable[..., str]
    preview: Preview
    dry_run: DryRun
    secure: bool
    bio_page: Callable[..., str]

    @property
    def cookie(self) -> str:
        """The name of the session's cookie: on HTTPS one that no other host can set."""
        return "__Host-waypost" if self.secure else "waypost"


@dataclass(frozen=True)
class PageContext(RequestContext):
    """A request for a page. `cookie` is what the browser is known by, signed in or not; `account` is 0 for nobody."""

    services: PageServices
    request: Request
    cookie: str
    session: SignedIn | None
    fields: Mapping[str, list[str]]

    @property
    def user(self) -> SignedIn:
        """Who is signed in; only for pages behind the sign-in."""
        assert self.session is not None
        return self.session

    @cached_property
    def time_zone(self) -> ZoneInfo:
        """The viewer's time zone, as the browser said it; else UTC."""
        return _zone(self.request.cookies.get(TIME_ZONE_COOKIE, ""))

    @property
    def network(self) -> str:
        """What counts as one client for limits."""
        peer = self.request.client.host if self.request.client else ""
        forwarded = [value.encode("latin-1") for value in self.request.headers.getlist("x-forwarded-for")]
        return network_of(client_address(peer, forwarded, self.settings.proxies))

    def query(self, name: str, default: str = "", *, most: int = 255) -> str:
        """A word of the query, without what no field has."""
        return _CONTROL.sub("", self.request.query_params.get(name, default))[:most]

    def page_request(self, per_page: int = PER_PAGE) -> PageRequest:
        """Which page of a table is asked for; the first where the query makes no sense."""
        page = self.query("page", "1", most=9)
        return PageRequest(limit=per_page, page=max(1, int(page)) if page.isdecimal() and page.isascii() else 1)

    def query_id(self, name: str) -> int | None:
        """An id in the query, if one is there."""
        value = self.query(name, most=15)
        return int(value) if value.isdecimal() and value.isascii() else None

    def form(self, shape: Shape = PLAIN, *, now: Mapping[str, Value] | None = None) -> Form:
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

    def selected_ids(self, name: str = "id") -> list[int]:
        """The ids of the rows that were ticked."""
        return [int(one) for one in self.fields.get(name, ()) if one.isdecimal() and one.isascii() and len(one) < 16]

    def delete_selected(self, remove: Callable[[Connection, int, int], None]) -> int:
        """Delete the rows that were ticked, all or none; how many they were."""
        ids = self.selected_ids()

        def work(tx: Connection) -> None:
            for one in ids:
                remove(tx, self.account, one)

        self.write(work)
        return len(ids)

    def render(self, template: str, *, status: int = 200, frames: bool = False, **values: Any) -> Response:
        """A whole page, which may frame other pages of ours when that is asked for."""
        text = self.services.render_template(template, context=self, **values).encode()
        headers = {"Content-Security-Policy": f"{CONTENT_SECURITY_POLICY}; frame-src 'self'"} if frames else {}
        taken = {part.partition(";")[0].strip() for part in self.request.headers.get("accept-encoding", "").split(",")}
        # What answers a form may show a new secret beside words of others: that is never compressed (BREACH).
        if self.request.method == "GET" and "gzip" in taken and len(text) >= _SMALL:
            text = gzip.compress(text, _LEVEL, mtime=0)
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(text, status, headers, media_type="text/html")

    def redirect(self, path: str, *, said: str = "", tone: Tone = "good", also: str = "") -> Response:
        """To another page, which begins with what was `said`; `also` is a short URL that can be copied there."""
        response = RedirectResponse(path, status_code=303)
        if said:
            sealed = self.services.signer.sign(FLASH_COOKIE, tone, said[:500], also[:500], life=_SAID_SECONDS)
            response.set_cookie(
                FLASH_COOKIE,
                sealed,
                max_age=_SAID_SECONDS,
                path=HOME,
                httponly=True,
                samesite="lax",
                secure=self.services.secure,
            )
        return response

    @cached_property
    def flash(self) -> tuple[str, str, str] | None:
        """What the page before has to say: tone, words, something to copy."""
        told = self.services.signer.unsign(FLASH_COOKIE, self.request.cookies.get(FLASH_COOKIE, ""))
        return (told[0], told[1], told[2]) if told else None

    @property
    def csrf_token(self) -> str:
        """What every form on this page carries."""
        return self.services.signer.csrf_token(self.cookie)

    @property
    def theme(self) -> str:
        """`light`, `dark`, or "" for what the system has."""
        chosen = self.request.cookies.get(THEME_COOKIE, "")
        return chosen if chosen in ("light", "dark") else ""

    def set_session_cookie(self, response: Response, token: str) -> Response:
        """Give the browser the token by which it is known from now on."""
        response.set_cookie(
            self.services.cookie,
            token,
            max_age=180 * 86_400,
            path="/",
            httponly=True,
            samesite="lax",
            secure=self.services.secure,
        )
        return response


def safe_redirect_path(path: str) -> str:
    """The path if it leads to a page of the dashboard, else its first page: nobody is sent elsewhere."""
    return path if _OWN_PATH.match(path) else HOME


@lru_cache(64)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (OSError, ValueError, LookupError):
        return ZoneInfo("UTC")
