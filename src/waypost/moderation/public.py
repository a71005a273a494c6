"""`/report`: where a visitor tells the operator that a link here leads to something bad."""

import hmac
from functools import partial
from typing import Any, get_args
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
from sqlalchemy import Connection, select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost import clock
from waypost.db.database import Database
from waypost.db.schema import installation
from waypost.http.attempt_limiter import Limit
from waypost.http.client_ip import network_of
from waypost.moderation import ops
from waypost.moderation.ops import Reason
from waypost.settings import Settings
from waypost.urls import alias_namespace, hostnames
from waypost.urls.alias_namespace import OWN, ROTATORS
from waypost.visits import lookup
from waypost.visits.i18n import text
from waypost.visits.request import visitor_ip, read_body, request_host
from waypost.visits.responses import NO_STORE, PageRenderer, wants_html
from waypost.visits.visit import VisitService, is_valid_name

_MOST_BYTES = 16_384
_MOST_FIELDS = 10
_LONGEST_URL = 2048
_LONGEST_COMMENT = 1000
_DAY = 86_400
_TITLE, _THANKS = text("Report a link"), text("Thank you")
_REASONS: dict[Reason, str] = {
    "phishing": text("It asks for passwords or money under a false name"),
    "malware": text("It spreads harmful software"),
    "spam": text("It is unwanted advertising"),
    "illegal": text("It shows something illegal"),
    "other": text("Something else"),
}
_FAULTS = {
    "url": text("That is no short link of this service. Please check the address."),
    "reason": f"reason must be one of {', '.join(get_args(Reason))}.",
    "limit": text("You have sent enough reports for now. Please try again in an hour."),
}


class Reports:
    """Shows the form, and keeps what is sent: so much an hour from one network."""

    def __init__(self, *, settings: Settings, database: Database, visitor: VisitService, pages: PageRenderer) -> None:
        self._settings = settings
        self._database = database
        self._visitor = visitor
        self._pages = pages

    async def answer(self, request: Request) -> Response:
        """The form; or what became of one."""
        if request_host(request, self._settings) != OWN:
            return self._pages.refuse(request, "missing")
        if request.method != "POST":
            return self._form(request, request.query_params.get("url", "")[:_LONGEST_URL])
        sent = await _posted(request)
        url, reason = sent.get("url", "").strip()[:_LONGEST_URL], sent.get("reason", "")
        fault = await self._keep(request, url, reason, sent.get("comment", "").strip()[:_LONGEST_COMMENT])
        if not fault:
            if not wants_html(request):
                return JSONResponse({"error": 0, "message": "Thank you. The operator will look at it."})
            return self._pages.page("reported.html", request=request, title=self._pages.translate(request, _THANKS), url=url)
        status = 429 if fault == "limit" else 400
        headers = {"Retry-After": "3600"} if fault == "limit" else {}
        if not wants_html(request):
            field = {} if fault == "limit" else {"field": fault}
            code = "rate_limited" if fault == "limit" else "invalid"
            told = {"error": 1, "message": _FAULTS[fault], "code": code, **field}
            return JSONResponse(told, status, headers={**NO_STORE, **headers})
        page = self._form(request, url, status=status, fault=fault, reason=reason, comment=sent.get("comment", ""))
        page.headers.update(headers)
        return page

    def _form(
        self, request: Request, url: str, *, status: int = 200, fault: str = "", reason: str = "", comment: str = ""
    ) -> Response:
        told: dict[str, Any] = {"url": url, "reasons": _REASONS, "reason": reason, "comment": comment}
        title = self._pages.translate(request, _TITLE)
        told |= {"fault": fault, "why": _FAULTS.get(fault, "")}
        return self._pages.page("report.html", request=request, status=status, title=title, **told)

    async def _keep(self, request: Request, url: str, reason: str, comment: str) -> str:
        """Keep a report; what is wrong with it, or ""."""
        network = network_of(visitor_ip(request, self._settings))
        # The exact limit is the database's; who comes in masses does not get as far as its lock.
        tries = Limit(f"reports from {network}", 2 * ops.MOST_AN_HOUR)
        if await anyio.to_thread.run_sync(self._visitor.attempt_limiter.acquire, tries):
            return "limit"
        chosen = next((one for one in _REASONS if one == reason), None)
        if chosen is None:
            return "reason"
        at, alias = _named(url, self._settings)
        if not (is_valid_name(at, 253) and is_valid_name(alias, 50)):
            return "url"

        def there(tx: Connection) -> bytes | None:
            if alias_namespace.find(tx, at, alias) is None or (
                at != ROTATORS and lookup.scheme_of(tx, at, alias) is None
            ):
                return None
            return bytes(tx.execute(select(installation.c.value).where(installation.c.name == "secret")).scalar_one())

        secret = await self._visitor.read(there)
        if secret is None:
            return "url"
        words = f"reporter\t{clock.now() // _DAY}\t{network}".encode()
        reporter = hmac.digest(secret, words, "sha256")[:16]

        def work(tx: Connection) -> bool:
            return ops.report(tx, host=at, alias=alias, reason=chosen, comment=comment, reporter=reporter)

        return (
            "" if await anyio.to_thread.run_sync(partial(self._database.write, durability="relaxed"), work) else "limit"
        )


def _named(url: str, settings: Settings) -> tuple[str, str]:
    """(host, alias) as in the namespace of what somebody means by an address: with `+`, a query, a slash behind it."""
    plain = url.partition("#")[0].partition("?")[0].rstrip("/").removesuffix("+").removesuffix("/qr")
    try:
        parts = urlsplit(plain)
    except ValueError:
        return OWN, ""
    if parts.path.startswith(f"{ROTATORS}/") and hostnames.is_own(parts.netloc, settings):
        return ROTATORS, parts.path.removeprefix(f"{ROTATORS}/")
    return hostnames.split_short(plain, settings=settings)


async def _posted(request: Request) -> dict[str, str]:
    """The fields of a form; none when it is too long to be ours."""
    sent = await read_body(request, most=_MOST_BYTES)
    try:
        fields = parse_qs(sent.decode("ascii", "replace"), max_num_fields=_MOST_FIELDS)
    except ValueError:
        return {}
    return {name: values[0].replace("\x00", "") for name, values in fields.items()}
