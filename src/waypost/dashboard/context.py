"""`PageContext`: what a page handler gets (session, form, query, database) and how it responds."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, bindparam, exists, select
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from waypost.api.context import RequestContext
from waypost.api.request_body import Body
from waypost.auth.attempt_limits import Attempt
from waypost.auth.sessions import SignedIn
from waypost.clicks.classify import language_ranges
from waypost.clicks.ingest import read_barrier
from waypost.core import credentials, formats
from waypost.core.errors import Kind, Problem, invalid
from waypost.dashboard import flash, forms, list_position
from waypost.dashboard.flash import NO_CARD, NO_UNDO, Flash, Tone
from waypost.dashboard.forms import PLAIN, VERSION, Form, Shape, Value
from waypost.dashboard.i18n import current_language, find_zone
from waypost.dashboard.list_position import HOME
from waypost.dashboard.page_services import PageServices
from waypost.dashboard.preferences import Preferences
from waypost.dashboard.resubmitted_forms import SIGNED_IN_AGAIN
from waypost.db import maintenance
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import domains, import_origins, links, utm_templates
from waypost.http import csrf
from waypost.http.client_ip import client_ip, network_of
from waypost.http.compression import compress
from waypost.search import words
from waypost.search.words import Word

_MAX_OPTIONS = 50
_TEMPLATES = (
    select(utm_templates.c.id, utm_templates.c.name)
    .where(utm_templates.c.account == bindparam("owner"))
    .order_by(utm_templates.c.id.desc())
    .limit(_MAX_OPTIONS)
)


_DOMAINS = (
    select(domains.c.host)
    .where(domains.c.account == bindparam("owner"))
    .order_by(domains.c.id.desc())
    .limit(_MAX_OPTIONS)
)


_MAX_IMPORTED = 2000
_RECENT = (
    select(links.c.id, links.c.host)
    .where(links.c.account == bindparam("owner"))
    .order_by(links.c.id.desc())
    .limit(_MAX_IMPORTED)
    .subquery("recent")
)
_LAST_HOST = (
    select(_RECENT.c.host)
    .where(~exists().where(import_origins.c.link == _RECENT.c.id, import_origins.c.account == bindparam("owner")))
    .order_by(_RECENT.c.id.desc())
    .limit(1)
)
"""The domain of the newest link that was not imported. Reads at most `_MAX_IMPORTED` links."""


class QuickOptions(NamedTuple):
    """(id, name) of the newest UTM templates, and (host, host) of the newest branded domains.

    `last_domain` is the one of them that the newest link has, imports aside, or "".
    """

    templates: Sequence[tuple[int, str]]
    domains: Sequence[tuple[str, str]]
    last_domain: str


def quick_options(tx: Connection, account: int) -> QuickOptions:
    """Return the options of an account."""
    templates = [(row.id, row.name) for row in tx.execute(_TEMPLATES, {"owner": account})]
    hosts = tx.execute(_DOMAINS, {"owner": account}).scalars().all()
    last = str(tx.execute(_LAST_HOST, {"owner": account}).scalar() or "") if hosts else ""
    return QuickOptions(templates, [(host, host) for host in hosts], last if last in hosts else "")


T = TypeVar("T")
B = TypeVar("B", bound=Body)
TIME_ZONE_COOKIE = "waypost_zone"
KNOWN_COOKIE = "waypost_known"
PER_PAGE = 25
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")
_MAX_ERRORS = 20  # of a form, that are reported at once
_SESSION_COOKIE_SECONDS, _KNOWN_SECONDS = 180 * 86_400, 365 * 86_400
_MAX_KNOWN_PEOPLE = 5
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; manifest-src 'self'; worker-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


UNCOUNTED = "waypost.uncounted"
"""Key in the scope of a request whose numbers lack the newest clicks: the age in seconds of the oldest one."""


class SnapshotTooOld(Exception):
    """Clicks were counted after the snapshot of the page was taken, or are not counted yet."""


@dataclass(frozen=True)
class PageContext(RequestContext):
    """A request for a page.

    `cookie` identifies the browser, with or without a session. Without a session, `account` is 0.
    """

    services: PageServices
    request: Request
    cookie: str
    session: SignedIn | None
    fields: Mapping[str, list[str]]
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """Small files of a form by field, None for one that is too large; only for routes with `files`."""
    is_resumed: bool = False
    """For a form that was made before the user signed in: it is shown again, and nothing is saved."""
    snapshot: Connection | None = None
    """The transaction in which the page reads everything; None if each `read` has one of its own."""
    is_ingested: bool = False
    """True if the snapshot was taken after a wait for the ingester."""

    @property
    def user(self) -> SignedIn:
        """The signed-in user; not for public pages."""
        assert self.session is not None
        return self.session

    @property
    def person(self) -> int:
        """The number of the signed-in person; 0 without a session."""
        return self.session.person if self.session else 0

    @cached_property
    def time_zone(self) -> ZoneInfo:
        """The zone of all times that are shown or typed; UTC if none is known.

        A form with times names the zone that they were shown in. Otherwise, it is that of the person, or of the
        browser: a script stores its name percent-encoded in a cookie.
        """
        in_form = self.fields.get(forms.TIME_ZONE, [""])[-1]
        of_person = self.session.timezone if self.session else ""
        return find_zone(in_form or of_person or unquote(self.request.cookies.get(TIME_ZONE_COOKIE, "")))

    @property
    def region(self) -> str:
        """The region of the reader, as the browser's languages tell it, such as `GB`; "" if it is unknown."""
        preferred = language_ranges.preferred(self.request.headers.get("accept-language", ""))
        return formats.region(current_language.get(), preferred)

    @property
    def network(self) -> str:
        """The client's network, for rate limits."""
        return network_of(client_ip(self.request.scope, self.settings.proxies))

    def count_attempt(self, subject: str, *, person: int) -> Attempt:
        """Count an attempt to enter a password or code; release it if it was right. Raises RATE_LIMITED.

        A known browser of the person has limits of its own: failures of others cannot lock it out.
        """
        browser = self.known_browser(person)
        attempt = self.rate_limiter.attempt(
            "known browser" if browser else "login", subject=subject, network=browser or self.network
        )
        if attempt.wait:
            raise too_many_attempts(attempt.wait)
        return attempt

    def limit_form(self, subject: str) -> None:
        """Count a form that needs no session. Raises RATE_LIMITED."""
        if wait := self.rate_limiter.acquire("form", subject=subject, network=self.network):
            raise too_many_attempts(wait)

    def known_browser(self, person: int) -> str:
        """Return the id of this browser if the person is or was signed in, otherwise ""."""
        if person and person == self.person:
            return f"session {self.user.session}"
        values = self._known_people()
        return values[0] if str(person) in values[1:] else ""

    def _known_people(self) -> Sequence[str]:
        """Return the browser's id and the accounts that signed in with it; nothing for a new browser."""
        return self.services.signer.unsign(KNOWN_COOKIE, self.request.cookies.get(KNOWN_COOKIE, "")) or ()

    def query(self, name: str, default: str = "", *, max_length: int = 255) -> str:
        """Return a query parameter without control characters."""
        return _CONTROL_CHARACTERS.sub("", self.request.query_params.get(name, default))[:max_length]

    def page_request(self, per_page: int = PER_PAGE) -> PageRequest:
        """Return the requested page of a list; the first if the parameter is not a number."""
        page = self.query("page", "1", max_length=9)
        return PageRequest(limit=per_page, page=max(1, int(page)) if page.isdecimal() and page.isascii() else 1)

    def search_words(self, tx: Connection, q: str) -> Sequence[Word]:
        """Return the words of a search, with the campaigns, channels and domains of the account that they name."""
        return words.parse(tx, self.account, q, settings=self.settings)

    def query_id(self, name: str) -> int | None:
        """Return a query parameter that is an id, or None."""
        return forms.parse_id(self.query(name))

    @cached_property
    def next(self) -> str:
        """The list to return to after an action, with its query; "" for none."""
        return list_position.requested(self.request, self.fields) if self.session else ""

    def return_path(self, path: str) -> str:
        """Return `path` with the position in the list that the user came from (decision 87)."""
        return list_position.return_path(self.next, path) if self.next else path

    def back_path(self, path: str) -> str:
        """Return the page from which the form for a new item was opened, or else the list of these items at `path`."""
        opened = self.next.partition("?")[0]
        is_other_page = opened and opened != path and not opened.startswith(f"{path}/")
        return self.next if is_other_page else self.return_path(path)

    def read(self, work: Callable[[Connection], T], *, autocommit: bool = False) -> T:
        """Run `work` on the snapshot of the page, or in a transaction as `RequestContext` does."""
        return super().read(work, autocommit=autocommit) if self.snapshot is None else work(self.snapshot)

    def wait_for_ingest(self) -> None:
        """Wait until all earlier clicks are counted.

        Raises SnapshotTooOld if they are not counted in the snapshot: the dashboard then waits, and takes another one.
        """
        if self.snapshot is None:
            super().wait_for_ingest()
        elif not self.is_ingested and not read_barrier.is_passed(self.settings.journal_dir, self.snapshot):
            raise SnapshotTooOld

    @property
    def is_in_maintenance(self) -> bool:
        """True while nothing can be changed."""
        mode = self.resources.maintenance
        return mode.is_on() if self.snapshot is None else maintenance.since(self.snapshot) is not None

    def write(self, work: Callable[[Connection], T], *, in_maintenance: bool = False) -> T:
        """Run `work` in a write transaction, as `RequestContext` does. Raises INVALID for a resumed form."""
        assert self.snapshot is None, "a page that is only read changes nothing"
        self.reject_resumed()
        return super().write(work, in_maintenance=in_maintenance)

    def reject_resumed(self) -> None:
        """Raise INVALID for a resumed form."""
        if self.is_resumed:
            raise invalid(VERSION, SIGNED_IN_AGAIN)

    def form(self, shape: Shape = PLAIN, *, current: Mapping[str, Value] | None = None) -> Form:
        """Return the submitted form. With the stored values in `current`, only differences count as changes."""
        values = {**dict.fromkeys(shape.flags, ""), **forms.apply_shape(self.fields, shape)}
        version = values.pop(VERSION, "")
        values.pop(csrf.FIELD, None)
        values.pop(forms.TIME_ZONE, None)
        return Form(values, current=current, version=version if isinstance(version, str) else "")

    def save(
        self, form: Form, shown: Callable[[Connection], Mapping[str, Value]], change: Callable[[Connection], T]
    ) -> T:
        """Run `change` in a transaction. Raises INVALID if the values that the editor shows changed in between."""

        def work(tx: Connection) -> T:
            form.reject_stale(shown(tx))
            return change(tx)

        return self.write(work)

    def submit(
        self, form: Form, model: type[Body], work: Callable[[Connection, dict[str, Any]], T], shape: Shape = PLAIN
    ) -> T | None:
        """Run `work` with the fields of a form, in a transaction. Return None if the form is invalid.

        The form then has the errors of all fields: after an error, the rest is tried without the field, and rolled back
        (decision 95).
        """

        def run(body: Body, tx: Connection) -> T:
            result = work(tx, body.sent())
            if form.errors:
                raise invalid(*next(iter(form.errors.items())))
            return result

        return self.collect(form, model, lambda body: self.write(partial(run, body)), shape)

    def collect(self, form: Form, model: type[B], work: Callable[[B], T], shape: Shape = PLAIN) -> T | None:
        """Run `work` with the body of a form, again without each field that has an error.

        Return None if the form is invalid; it then has the errors of all fields. `work` must save nothing then.
        """
        for _ in range(_MAX_ERRORS):
            body = form.read_valid(model, self.time_zone, shape)
            if body is None:
                return None
            count = len(form.errors)
            result = form.attempt(partial(work, body))
            if len(form.errors) == count or VERSION in form.errors or "" in form.errors:
                return None if form.errors else result
        return None

    def create(self, form: Form, model: type[Body], add: Callable[..., T], shape: Shape = PLAIN) -> T | None:
        """Create a record from a form. Return None if the form is invalid; it then has the messages."""
        return self.submit(form, model, lambda tx, fields: add(tx, self.account, **fields), shape)

    def update(
        self,
        form: Form,
        model: type[Body],
        change: Callable[..., object],
        id: int,
        stored: Callable[[Connection], Mapping[str, Value]],
        shape: Shape = PLAIN,
        **options: Any,
    ) -> bool:
        """Change a record by a form. Return False if the form is invalid or `stored` changed since it was opened."""

        def work(tx: Connection, fields: dict[str, Any]) -> None:
            form.reject_stale(stored(tx))
            change(tx, self.account, id, **options, **fields)

        self.submit(form, model, work, shape)
        return not form.errors

    def selected_ids(self, name: str = "id") -> list[int]:
        """Return the ids of the selected rows. A field has one, or several with commas between them."""
        values = [part for value in self.fields.get(name, ()) for part in value.split(",")]
        return [item for value in values if (item := forms.parse_id(value)) is not None]

    def render(self, template: str, *, status: int = 200, allow_frames: bool = False, **values: Any) -> Response:
        """Return a page. `allow_frames` lets it embed other pages of the dashboard."""
        body = self.services.render_template(template, context=self, **values).encode()
        headers = {"Content-Security-Policy": f"{CONTENT_SECURITY_POLICY}; frame-src 'self'"} if allow_frames else {}
        # Responses to forms are never compressed: they can contain a new secret next to user input (BREACH).
        if self.request.method == "GET":
            body, encoding = compress(body, self.request.headers.get("accept-encoding", ""))
            headers |= encoding
        return Response(body, status, headers, media_type="text/html")

    def render_list(self, template: str, page: Page[Any], *, limit: int = 0, **values: Any) -> Response:
        """Return a page of a list; a page behind the last one redirects to the last one. `limit`: see `last_page`."""
        last = list_position.last_page(self.request, page, limit=limit)
        return last or self.render(template, page=page, limit=limit, **values)

    def redirect(
        self,
        path: str,
        *,
        message: str = "",
        tone: Tone = "good",
        copy_text: str = "",
        undo: tuple[str, str] = NO_UNDO,
        card: tuple[str, str] = NO_CARD,
    ) -> Response:
        """Redirect to a page that shows a flash message; the other values as in `Flash`.

        A list is shown with the query that it had before (see `return_path`).
        """
        response = RedirectResponse(self.return_path(path), status_code=303)
        if message:
            value = flash.sign(self.services.signer, Flash(tone, message, copy_text, *undo, *card))
            self.set_cookie(response, flash.COOKIE, value, max_age=flash.SECONDS, path=HOME)
        return response

    @property
    def lacks_clicks(self) -> bool:
        """True if the numbers of this page lack the newest clicks, because they cannot be counted now."""
        return UNCOUNTED in self.request.scope

    @cached_property
    def flash(self) -> Flash | None:
        """The flash message of the previous response."""
        return flash.read(self.services.signer, self.request.cookies.get(flash.COOKIE, ""))

    @cached_property
    def quick_options(self) -> QuickOptions:
        """The options of the form for a new link, which every page has."""
        return self.read(lambda tx: quick_options(tx, self.account))

    @property
    def csrf_token(self) -> str:
        """The token for the forms on this page."""
        return csrf.csrf_token(self.services.signer, self.cookie)

    @property
    def preferences(self) -> Preferences:
        """The preferences of this browser."""
        return Preferences(self.request.cookies)

    def set_session_cookie(self, response: Response, token: str, person: int) -> Response:
        """Set the session cookie, and remember that this person signed in with this browser."""
        self.set_cookie(response, self.services.cookie, token, max_age=_SESSION_COOKIE_SECONDS, path="/")
        browser, *people = self._known_people() or (credentials.new_token(),)
        people = [*(known for known in people if known != str(person)), str(person)][-_MAX_KNOWN_PEOPLE:]
        known = self.services.signer.sign(KNOWN_COOKIE, browser, *people, life=_KNOWN_SECONDS)
        self.set_cookie(response, KNOWN_COOKIE, known, max_age=_KNOWN_SECONDS, path=HOME)
        return response

    def set_cookie(self, response: Response, name: str, value: str, *, max_age: int, path: str) -> None:
        """Set a cookie that only this service reads, on HTTPS if the dashboard has it."""
        response.set_cookie(
            name, value, max_age=max_age, path=path, httponly=True, samesite="lax", secure=self.services.secure
        )


def too_many_attempts(wait: int) -> Problem:
    """Return the RATE_LIMITED problem for passwords, codes and forms."""
    return Problem(Kind.RATE_LIMITED, f"Too many attempts. Please wait {wait} seconds.", retry_after=wait)
