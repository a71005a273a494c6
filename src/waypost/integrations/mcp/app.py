"""`/mcp`: the MCP server, stateless over streamable HTTP (decision 101).

This is its edge, as `api/request.py` is that of the API: authentication, rate limit, size limit, log. The official
SDK speaks the protocol. Only POST is served, with one JSON response, so that no client holds a stream open.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from waypost import __version__
from waypost.api import request_body
from waypost.api.context import WorkerResources, key_required
from waypost.api.endpoints import EndpointTable
from waypost.api.request import Authenticator, ResponseRecorder, internal, presented_key
from waypost.api.responses import failure_body, problem_response
from waypost.api.threads import RequestThreads
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.http import middleware
from waypost.http.middleware import REQUEST_ID
from waypost.integrations.mcp import (
    bio_pages,
    campaigns,
    domains,
    items,
    links,
    qr_codes,
    statistics,
    submissions,
    untrusted_text,
)
from waypost.integrations.mcp.tool import Tool, failure, tool_context

TOOLS: Sequence[Tool] = (
    *items.TOOLS,
    *links.TOOLS,
    *statistics.TOOLS,
    *campaigns.TOOLS,
    *qr_codes.TOOLS,
    *bio_pages.TOOLS,
    *domains.TOOLS,
    *submissions.TOOLS,
)
TOOLS_BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}


MAX_BYTES = 1024 * 1024
_INSTRUCTIONS = (
    "waypost manages short links, QR codes, bio pages, campaigns and files of one account, and counts their visits."
    " Ids are those of find_links, find and list_items. A change is in effect for visitors within a second; deletions"
    f" cannot be undone, so ask the user first. {untrusted_text.NOTICE}"
)
_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_INTERNAL_ERROR = -32603
_SERVER_ERROR = -32000
_CODES = {
    Kind.INVALID_JSON: _PARSE_ERROR,
    Kind.INVALID: _INVALID_REQUEST,
    Kind.TOO_LARGE: _INVALID_REQUEST,
    Kind.METHOD_NOT_ALLOWED: _INVALID_REQUEST,
    Kind.INTERNAL: _INTERNAL_ERROR,
}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_CONTEXT = "waypost.context"
"""Key of the context in the scope of a request."""
_Context = ServerRequestContext[Any, Request]


class McpApp:
    """The MCP server of a worker. `run` must be entered while it serves."""

    def __init__(self, resources: WorkerResources, endpoints: EndpointTable) -> None:
        """Create it. `endpoints` are those of the API, for bulk changes."""
        self._resources = resources
        self._endpoints = endpoints
        self._authenticator = Authenticator(resources)
        self._threads = RequestThreads()
        server: Server[Any] = Server(
            "waypost",
            title="waypost",
            version=__version__,
            instructions=_INSTRUCTIONS,
            website_url=resources.settings.base,
            get_tool_input_schema=_input_schema,
            on_list_tools=_list_tools,
            on_call_tool=self._call_tool,
        )
        self._sessions = StreamableHTTPSessionManager(server, stateless=True, json_response=True)

    def run(self) -> AbstractAsyncContextManager[None]:
        """Serve requests until the context manager exits."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = ResponseRecorder(send, scope[REQUEST_ID])
        try:
            await self._serve(scope, receive, request)
        except Problem as problem:
            await _refusal(problem)(scope, receive, request.send)
        except Exception:
            if not request.status:
                await _refusal(internal(scope))(scope, receive, request.send)
            raise
        finally:
            request.finish(scope, self._resources.meter)

    async def _serve(self, scope: Scope, receive: Receive, request: ResponseRecorder) -> None:
        headers = Headers(scope=scope)
        if not _is_allowed_origin(headers.get("origin"), self._resources.settings):
            await _origin_refused()(scope, receive, request.send)
            return
        if scope["method"] != "POST":
            message = f"{scope['method']} is not allowed here. Use POST: this server is stateless and has no streams."
            raise Problem(Kind.METHOD_NOT_ALLOWED, message)
        key = presented_key(headers)
        if not key:
            raise key_required()
        authenticate = partial(self._authenticator.authenticate, scope, key, request, origin="agent")
        context = await self._threads.run(authenticate)
        body = await request_body.read(Request(scope, receive), max_bytes=MAX_BYTES)
        replayed = _Body(_checked(body), receive)
        scope = {**scope, _CONTEXT: tool_context(context, self._endpoints)}
        await self._sessions.handle_request(scope, replayed.receive, request.send)

    async def _call_tool(self, context: _Context, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS_BY_NAME.get(parameters.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {parameters.name}. Call tools/list for all tools.")
        assert context.request is not None
        scope = context.request.scope
        try:
            return await self._threads.run(partial(tool.call, scope[_CONTEXT], parameters.arguments or {}))
        except Exception as error:  # noqa: BLE001  # the outermost edge of a tool
            middleware.record_error(self._resources.meter, scope[REQUEST_ID], error)
            return failure(internal(scope))


class _Body:
    """A body that was read, for the SDK to receive again. After it, the client's disconnect."""

    def __init__(self, content: bytes, receive: Receive) -> None:
        self._content: bytes | None = content
        self._receive = receive

    async def receive(self) -> Message:
        """Receive the body, then what the client sends."""
        if self._content is None:
            return await self._receive()
        content, self._content = self._content, None
        return {"type": "http.request", "body": content, "more_body": False}


async def _list_tools(context: _Context, parameters: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """List the tools that the API key may use, on one page."""
    if parameters is not None and parameters.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "Unknown cursor. The list of tools has one page.")
    assert context.request is not None
    can_write = context.request.scope[_CONTEXT].can_write
    return types.ListToolsResult(tools=[tool.definition for tool in TOOLS if can_write or tool.effect == "read"])


def _input_schema(name: str) -> dict[str, Any] | None:
    tool = TOOLS_BY_NAME.get(name)
    return tool.definition.input_schema if tool else None


def _checked(body: bytes) -> bytes:
    """Return the message as JSON that every parser reads in the same way. Raises INVALID_JSON, INVALID, TOO_LARGE."""
    message = request_body.parse_object(body)
    try:
        return json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise Problem(Kind.INVALID_JSON, "The body is not valid JSON: it has a lone surrogate.") from error
    except (ValueError, RecursionError) as error:  # an infinite number, such as 1e999
        raise Problem(Kind.INVALID_JSON, "The body is not valid JSON: a number is too large.") from error


def _is_allowed_origin(origin: str | None, settings: Settings) -> bool:
    """Return whether no page of another website sends the request, as the specification requires (DNS rebinding)."""
    if origin is None:
        return True
    try:
        host = urlsplit(origin).hostname
    except ValueError:
        return False
    return host in settings.own_hosts or host in _LOOPBACK


def _refusal(problem: Problem) -> JSONResponse:
    """Return the response to a request that reaches no tool: a JSON-RPC error with the HTTP status of the API.

    The message belongs to no id, because it was not processed.
    """
    of_api = problem_response(problem)
    details = {name: value for name, value in failure_body(problem).items() if name in ("code", "field")}
    error = {"code": _CODES.get(problem.kind, _SERVER_ERROR), "message": problem.message, "data": details}
    response = _error_response(of_api.status_code, error)
    for name in ("Retry-After", "WWW-Authenticate", "Connection"):
        if name in of_api.headers:
            response.headers[name] = of_api.headers[name]
    if problem.kind is Kind.METHOD_NOT_ALLOWED:
        response.headers["Allow"] = "POST"
    return response


def _origin_refused() -> JSONResponse:
    """Return the response to a page of another website: 403."""
    message = "Pages of other websites cannot use the MCP server. Send the request without the header Origin."
    return _error_response(403, {"code": _SERVER_ERROR, "message": message, "data": {"code": "origin_refused"}})


def _error_response(status: int, error: Mapping[str, Any]) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status)
