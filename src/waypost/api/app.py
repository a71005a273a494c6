"""The API as one ASGI app: routes, and error responses for requests without a route."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from waypost import __version__
from waypost.api import idempotency, openapi
from waypost.api.middleware import PREFIX, internal
from waypost.api.response_recorder import STATISTICS_AGE
from waypost.api.responses import Failure, problem_response, validation_problem
from waypost.errors import Kind, Problem

_NOT_OF_OPERATIONS = (Kind.METHOD_NOT_ALLOWED, Kind.ROLLED_BACK)
_SUMMARY = (
    "Every path is below `/api`. Send `Authorization: Bearer <API_KEY>`. `error` is 0 on success and 1 on failure."
    " Code samples expect the base URL and the API key in the environment variables `BASE_URL` and `API_KEY`."
)


def allow_cross_origin(api: ASGIApp) -> ASGIApp:
    """Let scripts of other sites use the API."""
    return CORSMiddleware(
        api,
        allow_origins=["*"],
        allow_methods=["*"],
        allow_headers=["*", "Authorization", "Content-Type"],
        expose_headers=[*openapi.RATE_HEADERS, idempotency.REPLAYED, "Retry-After", STATISTICS_AGE, "X-Request-Id"],
    )


def create_routes(routers: Sequence[APIRouter]) -> FastAPI:
    """Create the routes of the API, without access to data."""
    api = FastAPI(
        title="waypost",
        version=__version__,
        description=_SUMMARY,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        responses=_failures(),
        exception_handlers={
            Problem: _handle_problem,
            RequestValidationError: _handle_validation_error,
            HTTPException: _handle_http_exception,
            Exception: _handle_exception,
        },
    )
    for router in routers:
        api.include_router(router, prefix=PREFIX)
    openapi.add_routes(api)
    return api


def _failures() -> dict[int | str, dict[str, Any]]:
    """Return the failures of operations by status, described by their codes and causes."""
    causes: dict[int, list[str]] = {}
    for kind in Kind:
        if kind not in _NOT_OF_OPERATIONS:
            causes.setdefault(kind.status, []).append(f"`{kind.code}`: {kind.cause}")
    return {status: {"model": Failure, "description": "\n\n".join(lines)} for status, lines in causes.items()}


async def _handle_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return problem_response(error)


async def _handle_validation_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problem_response(validation_problem(error))


async def _handle_http_exception(_request: Request, error: Exception) -> Response:
    """Handle errors of the documentation pages."""
    assert isinstance(error, HTTPException)
    return problem_response(Problem(Kind.NOT_FOUND, "Unknown path. See /api/docs."))


async def _handle_exception(request: Request, _error: Exception) -> Response:
    """Handle an unexpected exception; the middleware logs it with the same request id."""
    return problem_response(internal(request.scope))
