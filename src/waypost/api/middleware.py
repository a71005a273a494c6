"""API middleware: request id, authentication, rate limit, logging and error responses."""

import time
import uuid
from dataclasses import dataclass
from urllib.parse import unquote_plus, unquote_to_bytes

import anyio.to_thread
import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost import clock
from waypost.api.context import REQUEST_CONTEXT, RequestContext, WorkerResources, key_required
from waypost.api.rate_limit import ApiKeyLimiter, Usage
from waypost.api.responses import problem_response
from waypost.errors import Kind, Problem, invalid
from waypost.http.client_ip import client_ip, network_of

_log = structlog.get_logger("api")
REQUEST_ID = "waypost.request_id"
_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def internal(scope: Scope) -> Problem:
    """Return the 500 problem, with the request id that is also in the log (decision 2)."""
    message = f"Internal error. If it happens again, give the administrator this request id: {scope[REQUEST_ID]}"
    return Problem(Kind.INTERNAL, message)


@dataclass
class ApiMiddleware:
    """Authenticate, rate-limit and log each request; turn exceptions into error responses."""

    app: ASGIApp
    resources: WorkerResources

    def __post_init__(self) -> None:
        self._key_limiter = ApiKeyLimiter(self.resources.database)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = _ResponseRecorder(send)
        scope[REQUEST_ID] = request.id
        # HEAD is routed as GET; the server omits the body.
        as_get = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        began = time.perf_counter()
        try:
            await self._authenticate(as_get, receive, request)
        except Problem as problem:
            await problem_response(problem)(scope, receive, request.send)
        except Exception:  # noqa: BLE001  # the outermost edge of a request
            self.resources.meter.count("errors")
            _log.exception("request failed", request_id=request.id)
            if not request.status:
                await problem_response(internal(scope))(scope, receive, request.send)
        seconds = time.perf_counter() - began
        self.resources.meter.time("api", seconds)
        self.resources.meter.count("api_requests", str(request.status))
        milliseconds = round(seconds * 1000, 1)
        details = {"method": scope["method"], "path": scope["path"], "status": request.status, "ms": milliseconds}
        _log.info("request", request_id=request.id, account=request.account, **details)

    async def _authenticate(self, scope: Scope, receive: Receive, request: "_ResponseRecorder") -> None:
        _require_utf8(scope["query_string"])
        headers = Headers(scope=scope)
        if not (presented := _presented_key(headers.get("authorization", ""))):
            await self.app(scope, receive, request.send)
            return
        is_read = scope["method"] in _READ_METHODS
        authenticated = await anyio.to_thread.run_sync(self._key_limiter.acquire, presented)
        if authenticated is None:
            raise await anyio.to_thread.run_sync(self._bad_key, scope)
        caller, usage = authenticated
        request.extra, request.account = usage.headers(), caller.account
        if not usage.allowed:
            raise _over_limit(usage)
        if caller.suspended:
            raise Problem(Kind.SUSPENDED, "This account is suspended. Please contact the administrator.")
        if caller.scope == "read" and not is_read:
            raise Problem(Kind.READ_ONLY_KEY, "This API key is read-only. Use a key with the scope write.")
        scope[REQUEST_CONTEXT] = RequestContext(
            account=caller.account,
            resources=self.resources,
            can_change_login=caller.scope == "account",
        )
        await self.app(scope, receive, request.send)

    def _bad_key(self, scope: Scope) -> Problem:
        address = client_ip(scope, self.resources.settings.proxies)
        wait = self.resources.rate_limiter.acquire("bad API key", network=network_of(address))
        if not wait:
            return key_required()
        message = f"Too many requests with a bad API key. Please wait {wait} seconds."
        return Problem(Kind.RATE_LIMITED, message, retry_after=wait)


def _require_utf8(query: bytes) -> None:
    """Raise INVALID for the first parameter that is not UTF-8 or contains a NUL character."""
    for part in query.split(b"&") if b"%" in query or not query.isascii() else ():
        name = unquote_plus(part.partition(b"=")[0].decode("latin-1"), errors="replace")
        try:
            value = unquote_to_bytes(part).decode()
        except UnicodeDecodeError as error:
            raise invalid(name, f"{name} must be UTF-8, percent-encoded.") from error
        if "\0" in value:
            raise invalid(name, f"{name} must not contain NUL characters.")


class _ResponseRecorder:
    """Add the common headers to a response and record its status."""

    def __init__(self, send: Send) -> None:
        self.id = uuid.uuid4().hex
        self.extra: list[tuple[bytes, bytes]] = []
        self.account: int | None = None
        self.status = 0
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = [(b"x-request-id", self.id.encode()), (b"cache-control", b"no-store")]
            message["headers"] = [*message.get("headers", ()), *self.extra, *own]
        await self._send(message)


def _presented_key(authorization: str) -> str:
    """Return the key of `Bearer K`, `Token K` or `K`; scheme names are case-insensitive (decision 7)."""
    first, _, rest = authorization.strip().partition(" ")
    return rest.strip() if first.lower() in ("bearer", "token") else authorization.strip()


def _over_limit(usage: Usage) -> Problem:
    wait = max(1, usage.reset - clock.now())
    keys = " for all API keys of this account" if usage.of_account else ""
    message = f"Over the limit of {usage.limit} requests a minute{keys}. Please wait {wait} seconds."
    return Problem(Kind.RATE_LIMITED, message, retry_after=wait)
