"""The parts of a visitor's request that matter to a visit, read once."""

import base64
from typing import NamedTuple
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request

from waypost.clicks import journal
from waypost.clicks.classify import classifier
from waypost.core.settings import Settings
from waypost.core.uris import encoded
from waypost.http.client_ip import client_ip, is_proxied
from waypost.visits import negotiation

_PURPOSE_HEADERS = ("sec-purpose", "purpose", "x-purpose", "x-moz")
_MAX_FORM_BYTES = 8192  # a password of 128 percent-encoded characters, and a referrer
_MAX_PASSWORD = 128
MAX_REFERRER = 512  # characters, which the form for a password carries
HOST_KEY = "waypost.host"
"""Key of a request's scope for its host as in the alias namespace, which waypost.visits.app sets."""
REFERRER_KEY = "waypost.referrer"
"""Key of the request's scope for the referrer of a visit: that of the first request, if there is a form."""


class VisitRequest(NamedTuple):
    """A request for an alias. Header values are as they were sent."""

    host: str
    """As in the alias namespace: "" is the service's own host."""
    alias: str
    client_ip: str
    country_code: bytes
    user_agent: bytes
    referrer: bytes
    accept_language: bytes
    query: str = ""
    password: str = ""
    is_head: bool = False
    is_prefetch: bool = False
    accept: bytes = b""
    accept_encoding: bytes = b""
    byte_range: bytes = b""
    """The header Range."""
    cookie: bytes = b""
    fetch_mode: bytes = b""
    """The header Sec-Fetch-Mode."""

    @property
    def wants_json(self) -> bool:
        """Return whether the client gets a public page as JSON (decision 49)."""
        return negotiation.prefers_json(self.accept.decode("latin-1"))

    @property
    def wants_page(self) -> bool:
        """Return whether the client gets the page of a file, not its bytes (decision 22)."""
        return negotiation.wants_page(self.accept.decode("latin-1"), self.agent_text, self.fetch_mode.decode("latin-1"))

    @property
    def flags(self) -> bytes:
        """The journal's flags for this request."""
        return (journal.HEAD if self.is_head else b"") + (journal.PREFETCH if self.is_prefetch else b"")

    @property
    def is_click(self) -> bool:
        """Return whether this visit counts as a click and against limits (decision 47)."""
        return not self.flags and classifier.agent(self.agent_text).kind in ("human", "tool")

    @property
    def agent_text(self) -> str:
        """The User-Agent header as text."""
        return self.user_agent.decode("utf-8", "replace")


async def read_visit(request: Request, alias: str, settings: Settings) -> VisitRequest:
    """Return the visit that a request is. Forwarded addresses and countries need a trusted proxy (decision 53)."""
    headers = request.headers
    password, first_referrer = await _read_form(request)
    referrer = first_referrer or headers.get("referer", "").encode("latin-1")
    request.scope[REFERRER_KEY] = referrer.decode("latin-1")
    country_code = ""
    if settings.country_header and is_proxied(request.scope, settings.proxies):
        country_code = headers.get(settings.country_header, "")
    return VisitRequest(
        host=request_host(request),
        alias=alias,
        client_ip=client_ip(request.scope, settings.proxies),
        country_code=country_code[:2].encode("latin-1"),
        user_agent=headers.get("user-agent", "").encode("latin-1"),
        referrer=referrer,
        accept_language=headers.get("accept-language", "").encode("latin-1"),
        query=encoded(request.scope["query_string"]),
        password=password,
        is_head=request.method == "HEAD",
        is_prefetch=any(classifier.is_prefetch(headers.get(name, "")) for name in _PURPOSE_HEADERS),
        accept=", ".join(headers.getlist("accept")).encode("latin-1"),
        accept_encoding=headers.get("accept-encoding", "").encode("latin-1"),
        byte_range=headers.get("range", "").encode("latin-1"),
        cookie=headers.get("cookie", "").encode("latin-1"),
        fetch_mode=headers.get("sec-fetch-mode", "").encode("latin-1"),
    )


def request_host(request: Request) -> str:
    """Return the host of a request as in the alias namespace: "" for the service's own host."""
    host: str = request.scope[HOST_KEY]
    return host


async def read_body(request: Request, *, max_bytes: int) -> bytes | None:
    """Return a form's body; None if it is larger than `max_bytes`, empty if the client disconnects."""
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                return None
    except ClientDisconnect:
        return b""
    return body


async def _read_form(request: Request) -> tuple[str, bytes]:
    """Return the password of a visit, and the referrer of the visit that got the form for it."""
    if request.method != "POST":
        return _basic_password(request), b""
    body = await read_body(request, max_bytes=_MAX_FORM_BYTES) or b""
    fields = parse_qs(body.decode("ascii", "replace"))
    referrer = fields.get("referrer", [""])[0][:MAX_REFERRER]
    header = referrer.encode("latin-1", "ignore") if referrer.isprintable() else b""
    return fields.get("password", [""])[0][:_MAX_PASSWORD], header


def _basic_password(request: Request) -> str:
    """Return the password of HTTP Basic, for programs."""
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        credentials = base64.b64decode(encoded, validate=True).decode()
    except ValueError:
        return ""
    return credentials.partition(":")[2][:_MAX_PASSWORD]
