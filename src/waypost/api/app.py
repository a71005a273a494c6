"""The API as one ASGI app: routes, and error responses for requests without a route."""

from collections.abc import Sequence

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from waypost import __version__
from waypost.api import idempotency, openapi
from waypost.api.middleware import PREFIX, internal
from waypost.api.responses import Failure, problem_response, validation_problem
from waypost.errors import Kind, Problem

_FAILURES = {
    400: "The input breaks a rule; `field` names it.",
    401: "No valid API key.",
    403: "The account is suspended, or the key does not have the right.",
    404: "No such item in this account.",
    408: "The upload is too slow.",
    409: "The first request with this Idempotency-Key is still running (see Retry-After), or a selection has changed.",
    413: "The body exceeds 8 MiB or 250,000 values, or the file exceeds the limit of the plan.",
    422: "This Idempotency-Key was used for another request.",
    429: "The rate limit is exceeded; see Retry-After.",
    500: "Internal error; the message contains a request id.",
    503: "The database is unavailable; see Retry-After.",
    507: "The disk or the account's storage quota is full.",
}
_SUMMARY = (
    "Every path is below `/api`. Send `Authorization: Bearer <API_KEY>`. `error` is 0 on success and 1 on failure."
)


def allow_cross_origin(api: ASGIApp) -> ASGIApp:
    """Let scripts of other sites use the API."""
    return CORSMiddleware(
        api,
        allow_origins=["*"],
        allow_methods=["*"],
        allow_headers=["*", "Authorization", "Content-Type"],
        expose_headers=[*openapi.RATE_HEADERS, idempotency.REPLAYED, "Retry-After", "X-Request-Id"],
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
        responses={status: {"model": Failure, "description": words} for status, words in _FAILURES.items()},
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
