"""The edge of the API: request ids, dispatch to endpoints, logging and error responses."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from urllib.parse import unquote_plus, unquote_to_bytes

from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.api import idempotency, request_body
from waypost.api.authentication import Authenticator, presented_key
from waypost.api.context import REQUEST_CONTEXT, RequestContext, WorkerResources, key_required
from waypost.api.endpoints import EndpointTable, Input, Match, parse_query
from waypost.api.request_budget import Abandoned, RequestBudget
from waypost.api.response_recorder import ResponseRecorder
from waypost.api.responses import problem_response, validation_problem
from waypost.api.threads import RequestThreads
from waypost.errors import Kind, Problem, invalid
from waypost.http.internal_errors import REQUEST_ID

PREFIX = "/api"
_PAGES = ("/docs", "/openapi.json")
_Authenticate = Callable[[], RequestContext]


def internal(scope: Scope) -> Problem:
    """Return the 500 problem, with the request id that is also in the log (decision 2)."""
    message = f"Internal error. If it happens again, give the administrator this request id: {scope[REQUEST_ID]}"
    return Problem(Kind.INTERNAL, message)


class ApiMiddleware:
    """Answers each request of the API; turns exceptions into error responses and logs.

    `app` is the FastAPI app, which handles uploads and the documentation pages.
    """

    def __init__(
        self, app: ASGIApp, endpoints: EndpointTable, resources: WorkerResources, threads: RequestThreads
    ) -> None:
        self._app = app
        self._endpoints = endpoints
        self._resources = resources
        self._authenticator = Authenticator(resources)
        self._threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = ResponseRecorder(send, scope[REQUEST_ID])
        # HEAD is routed as GET; the server omits the body.
        as_get = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        try:
            await self._dispatch(as_get, receive, request)
        except Problem as problem:
            await problem_response(problem)(scope, receive, request.send)
        except RequestValidationError as error:
            await problem_response(validation_problem(error))(scope, receive, request.send)
        except Exception:
            if not request.status:
                await problem_response(internal(scope))(scope, receive, request.send)
            raise
        finally:
            request.finish(scope, self._resources.meter)

    async def _dispatch(self, scope: Scope, receive: Receive, request: ResponseRecorder) -> None:
        _require_utf8(scope["query_string"])
        key = presented_key(Headers(scope=scope))
        authenticate = partial(self._authenticator.authenticate, scope, key, request)
        path = scope["path"].removeprefix(PREFIX)
        match = self._endpoints.find(scope["method"], path)
        if match is None:
            if key:
                await self._threads.run(authenticate)
            is_page = scope["method"] == "GET" and path.startswith(_PAGES)
            await (self._app if is_page else self._no_endpoint(scope["method"], path))(scope, receive, request.send)
            return
        if not key:
            raise key_required()
        if match[0].is_async:
            context = await self._threads.run(authenticate)
            if key_of_request := idempotency.key_of(Request(scope)):
                claim = idempotency.Claim(context.account, key_of_request, match[0].render)
                context = replace(context, claim=claim)
            await self._app({**scope, REQUEST_CONTEXT: context}, receive, request.send)
            return
        is_recent = self._authenticator.is_recent(key)
        response = await _respond(self._threads, match, Request(scope, receive), authenticate, is_recent=is_recent)
        await response(scope, receive, request.send)

    def _no_endpoint(self, method: str, path: str) -> Response:
        """Return the response for an unknown path or method."""
        methods = {"GET"} if path.startswith(_PAGES) else self._endpoints.methods(path)
        if not methods:
            return problem_response(Problem(Kind.NOT_FOUND, "Unknown path. See /api/docs."))
        allowed = ", ".join(sorted(methods | {"HEAD"} if "GET" in methods else methods))
        problem = Problem(Kind.METHOD_NOT_ALLOWED, f"{method} is not allowed here. Use {allowed}.")
        response = problem_response(problem)
        response.headers["Allow"] = allowed
        return response


async def _respond(
    threads: RequestThreads, match: Match, request: Request, authenticate: _Authenticate, *, is_recent: bool
) -> Response:
    """Run an endpoint in one thread, which also authenticates the request if its key is a recent one.

    With another key the body is read only when the key is known to be valid.
    """
    endpoint, parameters = match
    context = None if is_recent or not endpoint.has_body else await threads.run(authenticate)
    try:
        body = await request_body.read(request) if endpoint.has_body else b""
    except Problem:
        if context is None:
            await threads.run(authenticate)  # so that the request counts
        raise

    budget = RequestBudget() if endpoint.is_long else None

    def run(own_context: RequestContext) -> Response:
        own_context = own_context if budget is None else replace(own_context, budget=budget)
        parsed = request_body.parse(body, request.headers.get("content-type", "")) if endpoint.has_body else None
        return endpoint.run(Input(own_context, parameters, parse_query(request.scope["query_string"]), parsed))

    def run_once() -> Response:
        own_context = context or authenticate()
        key = idempotency.key_of(request)
        if key is None:
            return run(own_context)
        claim = idempotency.Claim(own_context.account, key, endpoint.render)
        database = own_context.database
        seconds = idempotency.LONG_CLAIM_SECONDS if endpoint.is_long else idempotency.CLAIM_SECONDS
        stored = idempotency.take(database, claim, idempotency.digest_of(request, body), seconds=seconds)
        if stored is not None:
            return stored
        try:
            return run(replace(own_context, claim=claim))
        finally:
            database.write(claim.release, durability="relaxed", autocommit=True)

    return await (threads.run(run_once) if budget is None else _run_for_client(threads, request, run_once, budget))


async def _run_for_client(
    threads: RequestThreads, request: Request, work: Callable[[], Response], budget: RequestBudget
) -> Response:
    """Run `work` in a thread, and tell it when the client disconnects."""

    async def note_disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        budget.is_abandoned = True

    watcher = asyncio.create_task(note_disconnect())
    try:
        return await threads.run(work)
    except Abandoned as error:
        raise Problem(Kind.UNAVAILABLE, "The client has disconnected. Nothing was changed.") from error
    finally:
        watcher.cancel()


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
