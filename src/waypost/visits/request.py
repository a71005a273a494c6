"""What a visitor asks for, read from the request once."""

import base64
from dataclasses import dataclass
from urllib.parse import parse_qs, quote

from starlette.requests import ClientDisconnect, Request

from waypost.clicks.classify import classifier
from waypost.clicks.journal import writer as journal
from waypost.http.client_ip import client_address, trusts
from waypost.settings import Settings
from waypost.urls.alias_namespace import OWN
from waypost.urls.hostnames import host_of, is_own

URL_SAFE = "%/:?#[]@!$&'()*+,;=~"
"""What stays as it is when a URL is made fit for a header: everything that has a meaning in one."""
_PURPOSES = ("sec-purpose", "purpose", "x-purpose", "x-moz")
_MOST_FORM = 4096  # bytes: a password of 128 characters, each of them percent-encoded


@dataclass(frozen=True)
class VisitRequest:
    """A request for a name, as far as it matters. The words are as they came."""

    host: str
    alias: str
    address: str
    country_code: bytes
    agent: bytes
    referrer: bytes
    language: bytes
    query: str = ""
    password: str = ""
    is_head: bool = False
    is_prefetch: bool = False

    @property
    def flags(self) -> bytes:
        """The journal's flags for this request."""
        return (journal.HEAD if self.is_head else b"") + (journal.PREFETCH if self.is_prefetch else b"")

    @property
    def is_countable(self) -> bool:
        """Whether this visit is a click, so that it may use up a limit (decision 47)."""
        return not self.flags and classifier.agent(self.agent.decode("utf-8", "replace")).kind in ("human", "tool")


async def read(request: Request, alias: str, settings: Settings) -> VisitRequest:
    """The visit that a request is. Addresses and countries are believed from trusted proxies only (decision 53)."""
    headers = request.headers
    peer = request.client.host if request.client else ""
    behind_proxy = trusts(peer, settings.proxies)
    code = headers.get(settings.country_header, "") if behind_proxy and settings.country_header else ""
    return VisitRequest(
        host=host(request, settings),
        alias=alias,
        address=address(request, settings),
        country_code=code[:2].encode("latin-1"),
        agent=headers.get("user-agent", "").encode("latin-1"),
        referrer=headers.get("referer", "").encode("latin-1"),
        language=headers.get("accept-language", "").encode("latin-1"),
        query=quote(request.scope["query_string"], safe=URL_SAFE),
        password=await _password(request),
        is_head=request.method == "HEAD",
        is_prefetch=any(classifier.is_prefetch(headers.get(name, "")) for name in _PURPOSES),
    )


def address(request: Request, settings: Settings) -> str:
    """Whose request it is (decision 53)."""
    peer = request.client.host if request.client else ""
    forwarded = [value.encode("latin-1") for value in request.headers.getlist("x-forwarded-for")]
    return client_address(peer, forwarded, settings.proxies)


def host(request: Request, settings: Settings) -> str:
    """The host in the namespace that a request is for."""
    header = request.headers.get("host", "")
    return OWN if is_own(header, settings) else host_of(header)


async def _password(request: Request) -> str:
    """The password that came with the visit: from the form, or by HTTP Basic for tools."""
    if request.method == "POST":
        return await _posted(request)
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        decoded = base64.b64decode(encoded, validate=True).decode()
    except ValueError:
        return ""
    return decoded.partition(":")[2][:128]


async def _posted(request: Request) -> str:
    """The password in the body of the form that the locked page shows."""
    fields = parse_qs((await body(request, most=_MOST_FORM)).decode("ascii", "replace"))
    return fields.get("password", [""])[0][:128]


async def body(request: Request, *, most: int) -> bytes:
    """What a form of ours sent; nothing when it is over `most` bytes, which are all that is read of it."""
    read = b""
    try:
        async for chunk in request.stream():
            read += chunk
            if len(read) > most:
                return b""
    except ClientDisconnect:  # who is gone gets no answer anyway
        return b""
    return read
