"""Responses to requests that do not reach a tool: JSON-RPC errors with the HTTP status of the API."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from waypost.api.responses import failure_body, problem_response
from waypost.errors import Kind, Problem

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


def refusal(problem: Problem) -> JSONResponse:
    """Return the response for a problem of the request. The message belongs to no id, because it was not processed."""
    of_api = problem_response(problem)
    details = {name: value for name, value in failure_body(problem).items() if name in ("code", "field")}
    error = {"code": _CODES.get(problem.kind, _SERVER_ERROR), "message": problem.message, "data": details}
    response = _error(of_api.status_code, error)
    for name in ("Retry-After", "WWW-Authenticate", "Connection"):
        if name in of_api.headers:
            response.headers[name] = of_api.headers[name]
    if problem.kind is Kind.METHOD_NOT_ALLOWED:
        response.headers["Allow"] = "POST"
    return response


def origin_refused() -> JSONResponse:
    """Return the response to a page of another website: 403."""
    message = "Pages of other websites cannot use the MCP server. Send the request without the header Origin."
    return _error(403, {"code": _SERVER_ERROR, "message": message, "data": {"code": "origin_refused"}})


def _error(status: int, error: Mapping[str, Any]) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status)
