"""Pages and errors for visitors: HTML, or JSON for programs that prefer it (decision 49).

Visitors do not download the comments of templates, style sheets and scripts.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from waypost.core import formats
from waypost.core.languages import direction
from waypost.core.metrics import Meter
from waypost.core.source_comments import without_comments
from waypost.core.uris import to_uri
from waypost.http import file_names
from waypost.http.compression import compress
from waypost.http.middleware import NOSNIFF
from waypost.media.branding.brand import NO_BRAND, Brand
from waypost.media.qrcode.payloads import Content
from waypost.visits import i18n, negotiation
from waypost.visits.decide import RefusalReason, public_code
from waypost.visits.i18n import translatable
from waypost.visits.record_queries import DomainView
from waypost.visits.request import MAX_REFERRER, REFERRER_KEY

NO_STORE = {"Cache-Control": "private, no-store"}
PAGE_HEADERS = {
    **NO_STORE,
    # Without form-action: browsers also apply it to the redirect that follows a right password.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""The headers of a page: it loads nothing from other sites, runs no scripts and cannot be framed."""
WEB_SCHEMES = ("http://", "https://")
DOMAIN_KEY = "waypost.domain"
"""Key of the request's scope for the DomainView of the host, None for unknown hosts."""
BRAND_KEY = "waypost.brand"
"""Key of the request's scope for the brand of pages on unknown hosts."""
_FILES = {"vcard": ("text/vcard; charset=utf-8", ".vcf"), "event": ("text/calendar; charset=utf-8", ".ics")}
_MAX_NAME = 60
_POLICY = "default-src 'none'; sandbox"
OPEN = translatable("Open")


class _Error(NamedTuple):
    """An error page. `file_text` replaces `text` for files; `help` says what the visitor can do."""

    status: int
    title: str
    text: str
    file_text: str = ""
    help: str = ""


Failure = Literal["no_profile", "method", "internal", "unavailable", "unreadable", "storage_full"]
_ASK_FOR_ANOTHER = translatable("Ask the person that sent it to you for another one.")
_RETYPE = translatable("Upper and lower case can matter, and the end is easily lost when an address is copied.")
ERRORS: dict[RefusalReason | Failure, _Error] = {
    "missing": _Error(
        404,
        translatable("Not found"),
        translatable("This short link does not exist. Please check the address."),
        help=_RETYPE,
    ),
    "no_profile": _Error(
        404,
        translatable("No page here"),
        translatable("Accounts have no public page. The address of a list of links ends with the name of the list."),
    ),
    "disabled": _Error(
        403,
        translatable("Disabled"),
        translatable("The owner of this short link has disabled it."),
        translatable("The owner of this file has disabled it."),
        help=_ASK_FOR_ANOTHER,
    ),
    "blocked": _Error(
        403, translatable("Blocked"), translatable("The administrator of this service has blocked this destination.")
    ),
    "gone": _Error(
        410,
        translatable("No longer available"),
        translatable("This short link has expired or reached its limit."),
        translatable("This file has expired or reached its download limit."),
        help=_ASK_FOR_ANOTHER,
    ),
    "expired": _Error(
        410,
        translatable("Expired"),
        translatable("This short link has expired, so it no longer works."),
        translatable("This file has expired, so it is no longer available."),
        help=_ASK_FOR_ANOTHER,
    ),
    "limit": _Error(
        410,
        translatable("Limit reached"),
        translatable("This short link has reached its click limit, so it no longer works."),
        translatable("This file has reached its download limit, so it is no longer available."),
        help=_ASK_FOR_ANOTHER,
    ),
    "locked": _Error(
        401,
        translatable("Password required"),
        translatable("This short link is protected by a password."),
        translatable("This file is protected by a password."),
    ),
    "guessing": _Error(
        429,
        translatable("Too many attempts"),
        translatable("Too many wrong passwords. Please wait a minute and try again."),
    ),
    "flood": _Error(
        429,
        translatable("Too many submissions"),
        translatable("Too many forms were sent from your network. Please wait a minute and try again."),
    ),
    "unclear": _Error(400, translatable("Incomplete form"), translatable("Please go back and complete the form.")),
    "too_long": _Error(
        414,
        translatable("Address too long"),
        translatable("This address is too long. Please open it without the part after the question mark."),
    ),
    "method": _Error(
        405, translatable("Method not allowed"), translatable("This address supports only GET and HEAD requests.")
    ),
    "internal": _Error(
        500, translatable("Something went wrong"), translatable("An unexpected error occurred. Please try again later.")
    ),
    "unavailable": _Error(
        503,
        translatable("Temporarily unavailable"),
        translatable("This service cannot answer right now. Please try again in a moment."),
    ),
    "unreadable": _Error(
        503,
        translatable("Temporarily unavailable"),
        translatable("This file cannot be read right now. Please try again later."),
    ),
    "storage_full": _Error(
        507,
        translatable("Something went wrong"),
        translatable("This service has run out of storage. Please try again later."),
    ),
}
_RETRY_AFTER = {"guessing": 60, "flood": 60, "unavailable": 5, "unreadable": 5, "storage_full": 60}  # seconds


class PageRenderer:
    """Renders the pages of `templates/` in the visitor's language."""

    def __init__(self, meter: Meter, *, own_host: str, pseudo: bool = False) -> None:
        self._meter = meter
        self._own_host = own_host
        self._pseudo = pseudo

    def language(self, accept_language: str) -> str:
        """Return the language for the value of the header Accept-Language."""
        return i18n.negotiate_language(accept_language, pseudo=self._pseudo)

    def _language(self, request: Request) -> str:
        return self.language(request.headers.get("accept-language", ""))

    def render(self, template: str, *, language: str = i18n.SOURCE_LANGUAGE, **values: object) -> str:
        """Return a rendered template."""
        values = {"brand": NO_BRAND, "host": self._own_host, **values}
        return (
            _environment(language)
            .get_template(template)
            .render(values, language=language, direction=direction(language))
        )

    def page(
        self,
        template: str,
        *,
        request: Request,
        status: int = 200,
        headers: Mapping[str, str] = PAGE_HEADERS,
        **values: object,
    ) -> Response:
        """Return a page as a response."""
        language = self._language(request)
        domain: DomainView | None = request.scope.get(DOMAIN_KEY)
        brand: Brand = request.scope.get(BRAND_KEY, NO_BRAND) if domain is None else domain.brand
        host = "" if domain is None else domain.host or self._own_host
        values = {"favicon": brand.icon, "brand": brand, "host": host, **values}
        values.setdefault("has_front_page", domain is not None and domain.has_front_page)
        text = self.render(template, language=language, **values).encode()
        # Responses to forms are never compressed, like those of the dashboard.
        accepted = "" if request.method == "POST" else request.headers.get("accept-encoding", "")
        body, encoding = compress(text, accepted)
        vary = {"Content-Language": language, "Vary": "Accept, Accept-Language, Accept-Encoding"}
        return HTMLResponse(body, status, headers={**headers, **encoding, **vary})

    def preview(
        self, request: Request, *, url: str, alias: str, title: str, report: str, default_title: str = ""
    ) -> Response:
        """Show the destination of an alias without a visit (decision 50). `default_title` is not translated yet."""
        if wants_json(request):
            return JSONResponse({"error": 0, "url": to_uri(url), "title": title}, headers=NO_STORE)
        heading = title or self.translate(request, default_title)
        return self.page("preview.html", request=request, title=heading, url=url, alias=alias, report=report)

    def translate(self, request: Request, message: str) -> str:
        """Return a text in the visitor's language."""
        return i18n.translations(self._language(request)).gettext(message)

    def refuse(
        self,
        request: Request,
        reason: RefusalReason,
        *,
        kind: Literal["link", "file"] = "link",
        wrong_password: bool = False,
        field: str = "",
        detail: str = "",
    ) -> Response:
        """Return the error page for a refused visit, with a password form where that helps (decision 49).

        `field`: the invalid field of a form; `detail`: its error in the visitor's language.
        """
        code = public_code(reason)
        self._meter.count("refusals", code)
        headers = {}
        # Programs that get the bytes of a file, or send a password, get errors as JSON.
        by_browser = kind == "file" or reason in ("locked", "guessing")
        as_json = not wants_page(request) if by_browser else wants_json(request)
        if reason == "locked" and as_json:
            headers["WWW-Authenticate"] = f'Basic realm="protected {kind}", charset="UTF-8"'
        if detail and as_json:
            return json_error(detail, code=code, status=ERRORS[reason].status, field=field)
        context: dict[str, Any] = {"wrong_password": wrong_password, "detail": detail}
        return self._error(
            request, code if as_json else reason, code=code, as_json=as_json, kind=kind, headers=headers, **context
        )

    def fail(self, request: Request, failure: Failure, *, code: str, retry_after: int | None = None) -> Response:
        """Return the error page for a failure of the service or an invalid request, without internal details."""
        headers = {"Retry-After": str(retry_after)} if retry_after else {}
        return self._error(request, failure, code=code, as_json=wants_json(request), headers=headers)

    def _error(
        self,
        request: Request,
        reason: RefusalReason | Failure,
        *,
        code: str,
        as_json: bool,
        headers: dict[str, str],
        kind: str = "",
        **context: Any,
    ) -> Response:
        error = ERRORS[reason]
        message = (error.file_text if kind == "file" else "") or error.text
        if reason in _RETRY_AFTER:
            headers = {"Retry-After": str(_RETRY_AFTER[reason]), **headers}
        if as_json:
            return json_error(message, code=code, status=error.status, headers=headers)
        template = "password.html" if reason == "locked" else "error.html"
        if reason == "locked":
            context["referrer"] = request.scope.get(REFERRER_KEY, "")[:MAX_REFERRER]
        context |= {"error": error, "message": message, "reason": reason}
        page = self.page(template, request=request, status=error.status, **context)
        page.headers.update(headers)
        return page


_FORMATS: Mapping[str, Callable[..., str]] = {
    "number": formats.number,
    "percent": formats.percentage,
    "file_size": formats.size,
    "utc_time": formats.utc_time,
    "listing": formats.listing,
}
"""Filters of the templates."""


@cache
def _environment(language: str) -> Environment:
    """The templates in one of LANGUAGES. Compiled on first use, once per process."""
    translations = i18n.translations(language)
    environment = Environment(
        loader=TemplateLoader("waypost.visits"),
        autoescape=True,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        auto_reload=False,  # saves a stat of each template per page
    )
    environment.filters["uri"] = to_uri
    for name, function in _FORMATS.items():
        environment.filters[name] = partial(function, language=language)
    environment.install_gettext_callables(  # type: ignore[attr-defined]  # by the extension
        translations.gettext, translations.ngettext, newstyle=True
    )
    return environment


def json_error(
    message: str, *, code: str, status: int, field: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error for programs. `field` names the invalid parameter."""
    body = {"error": 1, "message": message, "code": code, **({"field": field} if field else {})}
    return JSONResponse(body, status, headers={**NO_STORE, **(headers or {})})


def wants_json(request: Request) -> bool:
    """Return whether the client gets a public page as JSON (decision 49)."""
    return negotiation.prefers_json(_accept(request))


def wants_page(request: Request) -> bool:
    """Return whether the client gets the page of a file, or the form for a password (decision 22)."""
    headers = request.headers
    return negotiation.wants_page(_accept(request), headers.get("user-agent", ""), headers.get("sec-fetch-mode", ""))


def is_browser(request: Request) -> bool:
    """Return whether the client is a browser that displays the response."""
    headers = request.headers
    return negotiation.is_browser(_accept(request), headers.get("user-agent", ""), headers.get("sec-fetch-mode", ""))


def _accept(request: Request) -> str:
    return ", ".join(request.headers.getlist("accept"))


def redirect(url: str, *, status: int = 302) -> Response:
    """Return a redirect (decision 46). No character of a URI can end the header."""
    return Response(status_code=status, headers={"Location": to_uri(url), **NO_STORE})


class TemplateLoader(PackageLoader):
    """Loads the templates, their style sheets and scripts without comments."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool] | None]:
        source, path, is_current = super().get_source(environment, template)
        return without_comments(source, template), path, is_current


@cache
def script(name: str) -> str:
    """Return a script that is no template."""
    return without_comments(files("waypost.visits").joinpath("templates", name).read_text("utf-8"), name)


def app_redirect(pages: PageRenderer, request: Request, uri: str, *, title: str = OPEN, name: str = "") -> Response:
    """Redirect to an app. The body is a page with the same link, for clients without that app."""
    title, uri = pages.translate(request, title), to_uri(uri)
    response = pages.page("app_link.html", request=request, status=302, title=title, uri=uri, name=name)
    response.headers["Location"] = uri
    return response


def payload_download(content: Content, *, opens_inline: bool) -> Response:
    """Send a contact card or an event.

    iOS displays it if it is inline; on other systems a download opens the right app.
    """
    media_type, suffix = _FILES[content.type]
    disposition = file_names.disposition(f"{content.name[:_MAX_NAME].strip() or content.type}{suffix}")
    if opens_inline:
        disposition = disposition.replace("attachment", "inline", 1)
    headers = {**NO_STORE, "Content-Disposition": disposition, **NOSNIFF, "Content-Security-Policy": _POLICY}
    return Response(content.file, media_type=media_type, headers=headers)
