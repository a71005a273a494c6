"""A request of the API, from top to bottom.

Find the endpoint; authenticate the key and take the request from its limit; read the body; do it once for each
idempotency key; validate, call, run the change, publish it and render the response; log it.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import unquote_plus, unquote_to_bytes

import structlog
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from waypost.api import idempotency, request_body
from waypost.api.context import (
    Abandoned,
    Change,
    RequestBudget,
    RequestContext,
    WorkerResources,
    key_required,
    read_only_key,
)
from waypost.api.endpoints import Endpoint, EndpointTable, Input, parse_query
from waypost.api.responses import failure_response, problem_response, unknown_path
from waypost.api.threads import RequestThreads
from waypost.auth.api_keys import ApiKeyLimiter, Usage
from waypost.core import clock, credentials
from waypost.core.actor import Actor, Origin
from waypost.core.errors import Kind, Problem, invalid
from waypost.core.languages import negotiate_language
from waypost.core.metrics import Meter
from waypost.http.client_ip import client_ip, network_of
from waypost.http.lingering_close import BodyTracker, LingeringResponse
from waypost.http.middleware import REQUEST_ID

PREFIX = "/api"
STATISTICS_AGE = "X-Statistics-Age"
"""Header of responses whose numbers lack the newest clicks: the age in seconds of the oldest one."""
_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_log = structlog.get_logger("api")


class ApiApp:
    """The API as an ASGI app. Every failure becomes a response with the same body, and every request is logged."""

    def __init__(self, endpoints: EndpointTable, resources: WorkerResources, threads: RequestThreads) -> None:
        self.threads = threads
        self.authenticator = Authenticator(resources)
        self._endpoints = endpoints
        self._meter = resources.meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        recorder = ResponseRecorder(send, scope[REQUEST_ID])
        # HEAD is handled as GET; the server omits the body.
        request = Request({**scope, "method": "GET"} if scope["method"] == "HEAD" else scope, receive)
        try:
            response = await self._respond(request, recorder)
            await response(request.scope, receive, recorder.send)
        except (Problem, RequestValidationError) as error:
            await failure_response(error)(scope, receive, recorder.send)
        except Exception:
            if not recorder.status:
                await problem_response(internal(scope))(scope, receive, recorder.send)
            raise
        finally:
            recorder.finish(scope, self._meter)

    async def _respond(self, request: Request, recorder: "ResponseRecorder") -> Response:
        """Find the endpoint and let it respond."""
        key, path = presented_key(request.headers), request.scope["path"].removeprefix(PREFIX)
        try:
            _require_utf8(request.scope["query_string"])
        except Problem:
            await self._count_request(request, key, recorder)
            raise
        match = self._endpoints.find(request.method, path)
        if match is not None and not match[0].handling.is_public:
            if not key:
                raise key_required()
            return await _Call(self, *match, request, key, recorder).respond()
        await self._count_request(request, key, recorder)
        if match is None:
            return self._no_endpoint(request.method, path)
        endpoint, parameters = match
        return await self.threads.run(lambda: endpoint.render(endpoint.call(Input(None, parameters, {}, None))))

    async def _count_request(self, request: Request, key: str, recorder: "ResponseRecorder") -> None:
        """Take a request that runs no endpoint from the limit of its key, if it has one."""
        if key:
            await self.threads.run(partial(self.authenticator.authenticate, request.scope, key, recorder))

    def _no_endpoint(self, method: str, path: str) -> Response:
        """Return the response for an unknown path or method."""
        methods = self._endpoints.methods(path)
        if not methods:
            raise unknown_path()
        allowed = ", ".join(sorted(methods | {"HEAD"} if "GET" in methods else methods))
        problem = Problem(Kind.METHOD_NOT_ALLOWED, f"{method} is not allowed here. Use {allowed}.")
        response = problem_response(problem)
        response.headers["Allow"] = allowed
        return response


@dataclass(eq=False)
class _Call:
    """A request to an endpoint, in the order of its steps. Those after the body run in one thread."""

    app: ApiApp
    endpoint: Endpoint
    parameters: Mapping[str, str]
    request: Request
    key: str
    recorder: "ResponseRecorder"
    context: RequestContext | None = None
    """None before the key was checked and the request taken from its limit."""

    async def respond(self) -> Response:
        """Return the response. If the key was not used lately, it is checked before the body is read."""
        endpoint, in_thread = self.endpoint, self.app.threads.run
        if endpoint.handling.is_upload:
            await in_thread(self._authenticate)
            return await self._receive_upload()
        if endpoint.has_body and not self.app.authenticator.is_recent(self.key):
            await in_thread(self._authenticate)
        try:
            body = await request_body.read(self.request) if endpoint.has_body else b""
        except Problem:
            await in_thread(self._authenticate)  # so that the request counts
            raise
        if endpoint.handling.is_long:
            return await self._run_for_client(body)
        return await in_thread(partial(self._run_once, body))

    def _authenticate(self) -> RequestContext:
        """Check the key and take the request from its limit, if that was not done yet."""
        if self.context is None:
            self.context = self.app.authenticator.authenticate(self.request.scope, self.key, self.recorder)
        return self.context

    def _run_once(self, body: bytes, budget: RequestBudget | None = None) -> Response:
        """Return the stored response for the idempotency key, or run the endpoint."""
        self._authenticate()
        stored = self._claim_key(body)
        if stored is not None:
            return stored
        try:
            return self._run(body, budget)
        finally:
            self._release_key()

    def _run(self, body: bytes, budget: RequestBudget | None) -> Response:
        """Validate the input, call the endpoint, run its change, which is published, and render the result."""
        endpoint, context = self.endpoint, self._authenticate()
        context = context if budget is None else replace(context, shared_budget=lambda: budget)
        content_type = self.request.headers.get("content-type", "") if endpoint.has_body else ""
        parsed = request_body.parse(body, content_type) if endpoint.has_body else None
        result = endpoint.call(Input(context, self.parameters, self._query(), parsed))
        return endpoint.render(context.run(result) if isinstance(result, Change) else result)

    async def _run_for_client(self, body: bytes) -> Response:
        """Run a long request, and tell its budget when the client disconnects."""
        budget = RequestBudget()

        async def note_disconnect() -> None:
            while (await self.request.receive())["type"] != "http.disconnect":
                pass
            budget.is_abandoned = True

        watcher = asyncio.create_task(note_disconnect())
        try:
            return await self.app.threads.run(partial(self._run_once, body, budget))
        except Abandoned as error:
            raise Problem(Kind.UNAVAILABLE, "The client has disconnected. Nothing was changed.") from error
        finally:
            watcher.cancel()

    async def _receive_upload(self) -> Response:
        """Receive an upload. A response before the end of its body uses a lingering close, so that it arrives."""
        body = BodyTracker(self.request)
        try:
            response = await self._receive_once(Request(self.request.scope, body))
        except (Problem, RequestValidationError) as error:
            return LingeringResponse(failure_response(error), body)
        return response if body.is_complete else LingeringResponse(response, body)

    async def _receive_once(self, request: Request) -> Response:
        """Return the stored response for the idempotency key, or let the endpoint read the body and do its work."""
        endpoint, in_thread = self.endpoint, self.app.threads.run
        stored = await in_thread(self._claim_key) if idempotency.HEADER in request.headers else None
        if stored is not None:
            return stored
        try:
            result = await endpoint.call(Input(self.context, self.parameters, self._query(), None, request))
            return endpoint.render(result)
        finally:
            if idempotency.HEADER in request.headers:
                await in_thread(self._release_key)

    def _query(self) -> dict[str, str]:
        return parse_query(self.request.scope["query_string"])

    def _claim_key(self, body: bytes | None = None) -> Response | None:
        """Claim the idempotency key, if the request has one; return the response that is stored for it."""
        if idempotency.HEADER not in self.request.headers or (key := idempotency.key_of(self.request)) is None:
            return None
        context, handling = self._authenticate(), self.endpoint.handling
        claim = idempotency.Claim(context.account, key, self.endpoint.render)
        digest = idempotency.digest_of(self.request, body)
        stored = idempotency.take(context.database, claim, digest, seconds=handling.claim_seconds)
        if stored is None:
            self.context = replace(context, claim=claim)
        return stored

    def _release_key(self) -> None:
        """Let the request be repeated at once, if it stored no response."""
        if self.context is not None and self.context.claim is not None:
            self.context.claim.release(self.context.database)


class Authenticator:
    """Checks keys and takes requests from their limits. `authenticate` blocks; call it in a thread."""

    def __init__(self, resources: WorkerResources) -> None:
        self._resources = resources
        self._limiter = ApiKeyLimiter(resources.database)

    def is_recent(self, key: str) -> bool:
        """Return whether the key was accepted lately. It may be revoked or exhausted since."""
        return self._limiter.is_recent(key)

    def authenticate(
        self, scope: Scope, key: str, recorder: "ResponseRecorder", *, origin: Origin = "api"
    ) -> RequestContext:
        """Take a request from the key's limit; return its context. `recorder` gets the account and the limit's state.

        `origin` is that of changes in the audit log. A request of an agent can be one that only reads, whichever method
        it has. Raises KEY_REQUIRED for an unknown key, and the problem of a key that may not make this request.
        """
        only_reads = scope["method"] in _READ_METHODS
        authenticated = self._limiter.acquire(key, only_reads=only_reads)
        if authenticated is None:
            raise self._bad_key(scope)
        caller, usage = authenticated
        recorder.record(caller.account, usage)
        if not usage.allowed:
            raise _over_limit(usage)
        if caller.suspended:
            raise Problem(Kind.SUSPENDED, "This account is suspended. Please contact the administrator.")
        can_write = caller.scope != "read"
        if not (can_write or only_reads or origin == "agent"):
            raise read_only_key()
        return RequestContext(
            caller.account,
            self._resources,
            can_change_login=caller.scope == "account",
            can_write=can_write,
            take_requests=partial(self._take_requests, key, caller.account, recorder),
            report_uncounted=recorder.report_uncounted,
            language=negotiate_language(Headers(scope=scope).get("accept-language", "")),
            actor=partial(self._actor, origin, caller.account, key, scope),
        )

    def _take_requests(self, key: str, account: int, recorder: "ResponseRecorder", size: int) -> None:
        """Take further requests from the limit of an accepted key. Raises RATE_LIMITED if fewer are left."""
        if size > 0:
            further = self._limiter.take(key, account, size)
            recorder.record(account, further)
            if not further.allowed:
                raise _over_limit(further)

    def _actor(self, origin: Origin, account: int, key: str, scope: Scope) -> Actor:
        network = self._resources.rate_limiter.hash_of(_network(scope, self._resources))
        return Actor(origin, account, key[: credentials.HINT_LENGTH], network)

    def _bad_key(self, scope: Scope) -> Problem:
        network = _network(scope, self._resources)
        wait = self._resources.rate_limiter.acquire("bad API key", network=network)
        if not wait:
            return key_required()
        message = f"Too many requests with a bad API key. Please wait {wait} seconds."
        return Problem(Kind.RATE_LIMITED, message, retry_after=wait)


def _network(scope: Scope, resources: WorkerResources) -> str:
    return network_of(client_ip(scope, resources.settings.proxies))


def _over_limit(usage: Usage) -> Problem:
    wait = max(1, usage.reset - clock.now())
    keys = " for all API keys of this account" if usage.of_account else ""
    message = f"Over the limit of {usage.limit} requests a minute{keys}. Please wait {wait} seconds."
    return Problem(Kind.RATE_LIMITED, message, retry_after=wait)


class ResponseRecorder:
    """Add the common headers to a response and record its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self.id = request_id
        self.extra: list[tuple[bytes, bytes]] = []
        self.account: int | None = None
        self._uncounted = 0
        self.status = 0
        self._send = send
        self._began = time.perf_counter()

    def record(self, account: int, usage: Usage) -> None:
        """Add the headers of the rate limit; log the account."""
        self.extra, self.account = usage.headers(), account

    def report_uncounted(self, seconds: int) -> None:
        """Add the header that numbers lack the clicks of so many seconds."""
        self._uncounted = seconds

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])  # some libraries send an enumeration
            own = [(b"x-request-id", self.id.encode()), (b"cache-control", b"no-store")]
            if self._uncounted:
                own.append((STATISTICS_AGE.lower().encode(), b"%d" % self._uncounted))
            message["headers"] = [*message.get("headers", ()), *self.extra, *own]
        await self._send(message)

    def finish(self, scope: Scope, meter: Meter) -> None:
        """Count the request and log it, with its time since the recorder was made."""
        seconds = time.perf_counter() - self._began
        meter.time("api", seconds)
        meter.count("api_requests", str(self.status))
        details = {
            "method": scope["method"],
            "path": scope["path"],
            "status": self.status,
            "ms": round(seconds * 1000, 1),
        }
        _log.info("request", request_id=self.id, account=self.account, **details)


def presented_key(headers: Headers) -> str:
    """Return the key of `Bearer K`, `Token K` or `K`; scheme names are case-insensitive (decision 7)."""
    authorization = headers.get("authorization", "").strip()
    first, _, rest = authorization.partition(" ")
    return rest.strip() if first.lower() in ("bearer", "token") else authorization


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


def internal(scope: Scope) -> Problem:
    """Return the 500 problem, with the request id that is also in the log (decision 2)."""
    message = f"Internal error. If it happens again, give the administrator this request id: {scope[REQUEST_ID]}"
    return Problem(Kind.INTERNAL, message)
