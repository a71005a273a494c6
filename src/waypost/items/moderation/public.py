"""Abuse reports at `/report`: visitors report a harmful link to the administrator."""

from dataclasses import dataclass
from typing import Any, NamedTuple, get_args
from urllib.parse import parse_qs, urlsplit

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost.auth.attempt_limits import REPORTS_PER_HOUR, attempts_of
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.signing import Signer
from waypost.http.client_ip import client_ip, network_of
from waypost.items.moderation import reports
from waypost.items.moderation.reports import Reason
from waypost.urls import alias_namespace, alias_rules, hostnames
from waypost.urls.alias_namespace import OWN, ROTATORS
from waypost.visits import record_queries
from waypost.visits.i18n import translatable
from waypost.visits.request import read_body, request_host
from waypost.visits.responses import json_error, wants_json
from waypost.visits.visit import is_valid_name
from waypost.visits.visitor_services import Services

_MAX_BODY_BYTES = 128 * 1024  # with a comment that is far too long: the form shows it again, to be shortened
_MAX_FIELDS = 10
_MAX_URL = 2048
_MAX_COMMENT = 1000
_DAY_SECONDS = 86_400
_RETRY_AFTER = {"Retry-After": "3600"}
_REASONS: dict[Reason, str] = {
    "phishing": translatable("Phishing: it asks for passwords or money under a false name"),
    "malware": translatable("Malware: it spreads harmful software"),
    "spam": translatable("Spam: unwanted advertising"),
    "illegal": translatable("Illegal content"),
    "other": translatable("Other"),
}


class _Fault(NamedTuple):
    """An error of a report. `field` is the one at fault; `message` is for programs, `page_text` for browsers."""

    field: str
    message: str
    page_text: str = ""


_NO_LINK = _Fault("url", translatable("This is not a short link of this service. Please check the address."))
_NO_REASON = _Fault(
    "reason", f"reason must be one of {', '.join(get_args(Reason))}.", translatable("Please select a reason.")
)
_TOO_LONG = _Fault("comment", translatable("The comment must not be longer than 1000 characters. Please shorten it."))
_NUL = _Fault("comment", translatable("The comment must not contain NUL characters."))
_LIMIT = _Fault("limit", translatable("You have sent too many reports. Please try again in an hour."))


@dataclass(frozen=True)
class _ReportForm:
    url: str = ""
    reason: str = ""
    comment: str = ""
    is_too_large: bool = False


async def report(request: Request, services: Services) -> Response:
    """Show the form, or store a submitted one."""
    if request_host(request) != OWN:
        return services.pages.refuse(request, "missing")
    if request.method != "POST":
        return _form_page(request, services, _ReportForm(request.query_params.get("url", "")[:_MAX_URL]))
    form = await _read_form(request)
    fault = await _store(request, services, form)
    if fault is not None:
        return _fault_response(request, services, form, fault)
    title = services.pages.translate(request, translatable("Thank you"))
    if wants_json(request):
        return JSONResponse({"error": 0, "message": "Thank you. The administrator will review the link."})
    return services.pages.page("report_sent.html", request=request, title=title, url=form.url)


def _fault_response(request: Request, services: Services, form: _ReportForm, fault: _Fault) -> Response:
    is_limit = fault is _LIMIT
    status, headers = (429, _RETRY_AFTER) if is_limit else (400, {})
    if not wants_json(request):
        page = _form_page(request, services, form, status=status, fault=fault)
        page.headers.update(headers)
        return page
    if is_limit:
        return json_error(fault.message, code="rate_limited", status=status, headers=headers)
    return json_error(fault.message, code="invalid", status=status, field=fault.field)


def _form_page(
    request: Request, services: Services, form: _ReportForm, *, status: int = 200, fault: _Fault | None = None
) -> Response:
    context: dict[str, Any] = {
        "title": services.pages.translate(request, translatable("Report a link")),
        "reasons": _REASONS,
        "url": form.url,
        "reason": form.reason,
        "comment": form.comment,
        "fault": fault.field if fault else "",
        "fault_message": (fault.page_text or fault.message) if fault else "",
    }
    return services.pages.page("report.html", request=request, status=status, **context)


async def _store(request: Request, services: Services, form: _ReportForm) -> _Fault | None:
    """Store a report. Return its fault, if any."""
    network = network_of(client_ip(request.scope, services.settings.proxies))
    # The database has the exact limit. This one keeps floods of requests away from its write lock.
    if await services.visits.is_rate_limited("report", network=network):
        return _LIMIT
    if (fault := _comment_fault(form)) is not None:
        return fault
    reason = next((reason for reason in _REASONS if reason == form.reason), None)
    if reason is None:
        return _NO_REASON
    reported = await services.visits.read(lambda tx: _find_alias(tx, form.url, services.settings))
    if reported is None:
        return _NO_LINK
    host, alias = reported
    limit = attempts_of(network, REPORTS_PER_HOUR)
    reporter = _reporter_hash(await services.signer.get(), network)
    is_stored = await services.change(
        lambda tx: reports.add(
            tx, host=host, alias=alias, reason=reason, comment=form.comment, reporter=reporter, limit=limit
        ),
        durability="relaxed",
    )
    return None if is_stored else _LIMIT


def _find_alias(tx: Connection, url: str, settings: Settings) -> tuple[str, str] | None:
    """Return (host, alias) of a short URL, also of the URL of its QR code; None if it is not served."""
    host, alias = _parse_short_url(tx, url, settings)
    if not (is_valid_name(host, 253) and is_valid_name(alias, alias_rules.MAX_LENGTH)):
        return None
    for name in (alias, alias.removesuffix("/qr")):
        stored = alias_namespace.canonical(tx, host, name)
        is_known = alias_namespace.find(tx, host, stored) is not None
        if is_known and (host == ROTATORS or record_queries.scheme_of(tx, host, stored) is not None):
            return host, stored
    return None


def _comment_fault(form: _ReportForm) -> _Fault | None:
    if form.is_too_large or len(form.comment) > _MAX_COMMENT:
        return _TOO_LONG
    return _NUL if "\0" in form.comment else None


def _reporter_hash(signer: Signer, network: str) -> bytes:
    """Return an anonymous hash of the reporter's network, different every day."""
    return signer.digest("reporter", str(clock.now() // _DAY_SECONDS), network)[:16]


def _parse_short_url(tx: Connection, url: str, settings: Settings) -> tuple[str, str]:
    """Return (host, alias) in the namespace of a short URL, ignoring a query, and a `+` after the alias."""
    plain = url.partition("#")[0].partition("?")[0].rstrip("/").removesuffix("+")
    try:
        parts = urlsplit(plain)
    except ValueError:
        return OWN, ""
    if parts.path.startswith(f"{ROTATORS}/") and hostnames.is_own(parts.netloc, settings):
        return ROTATORS, parts.path.removeprefix(f"{ROTATORS}/")
    return hostnames.split_short(tx, plain, settings=settings)


async def _read_form(request: Request) -> _ReportForm:
    """Return the submitted form. Of a body that is too large, only that its comment is too long is known."""
    body = await read_body(request, max_bytes=_MAX_BODY_BYTES)
    if body is None:
        return _ReportForm(is_too_large=True)
    try:
        lists = parse_qs(body.decode("ascii", "replace"), max_num_fields=_MAX_FIELDS)
    except ValueError:
        return _ReportForm()
    fields = {name: values[0] for name, values in lists.items()}
    url = fields.get("url", "").strip()[:_MAX_URL]
    comment = fields.get("comment", "").replace("\r\n", "\n").strip()  # browsers count a line break as one character
    return _ReportForm(url, fields.get("reason", ""), comment)
