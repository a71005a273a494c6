"""The API as one ASGI app: routes, and the error bodies for what never reaches a route."""

from collections.abc import Callable, Sequence

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from waypost import __version__
from waypost.api import openapi
from waypost.api.middleware import ApiMiddleware, internal
from waypost.api.responses import Failure, problem_response, validation_problem
from waypost.db.database import Database
from waypost.errors import Kind, Problem
from waypost.http.rate_limit import RateLimiter
from waypost.observability.metrics import Meter
from waypost.settings import Settings
from waypost.storage.cleanup import StorageCleaner

_FAILURES = {
    400: "The input breaks a rule; `field` names it.",
    401: "No valid API key.",
    403: "The account is suspended, or the key may only read.",
    404: "No such item in this account.",
    408: "The upload is too slow.",
    413: "The body is over 8 MiB, or the file over what the plan allows.",
    429: "Over the rate limit; see Retry-After.",
    500: "A fault of the service; the message has a request id.",
    503: "The database is away; see Retry-After.",
    507: "The disk, or the account's room for files, is full.",
}
PREFIX = "/api"
_SUMMARY = (
    "Every path is below `/api`. Send `Authorization: Bearer <API_KEY>`. `error` is 0 on success and 1 on failure."
)


def create_api(
    api: FastAPI,
    *,
    settings: Settings,
    database: Database,
    changed: Callable[[], None],
    meter: Meter,
    keeper: StorageCleaner,
    rate_limiter: RateLimiter,
) -> ASGIApp:
    """The whole of `/api`, around the data. `changed` is called after every change, before it is answered."""
    gate = ApiMiddleware(
        api,
        settings=settings,
        database=database,
        changed=changed,
        meter=meter,
        keeper=keeper,
        rate_limiter=rate_limiter,
    )
    return CORSMiddleware(
        gate,
        allow_origins=["*"],
        allow_methods=["*"],
        allow_headers=["*", "Authorization", "Content-Type"],
        expose_headers=[*openapi.RATE_HEADERS, "Retry-After", "X-Request-Id"],
    )


def route_api(routers: Sequence[APIRouter]) -> FastAPI:
    """The routes of the API, without data behind them."""
    api = FastAPI(
        title="waypost",
        version=__version__,
        description=_SUMMARY,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses={status: {"model": Failure, "description": words} for status, words in _FAILURES.items()},
        exception_handlers={
            Problem: _on_problem,
            RequestValidationError: _on_invalid,
            HTTPException: _on_http,
            Exception: _on_crash,
        },
    )
    api.state.api_routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    for router in routers:
        api.include_router(router, prefix=PREFIX)
    openapi.add_routes(api)
    return api


async def _on_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return problem_response(error)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if request.method not in _methods(request):  # GET /channel/add, which the router took for the id "add"
        return _not_allowed(request)
    return problem_response(validation_problem(error))


async def _on_http(request: Request, error: Exception) -> Response:
    """What the router says by itself: no such path, or not with this method."""
    assert isinstance(error, HTTPException)
    if error.status_code == Kind.METHOD_NOT_ALLOWED.status:
        return _not_allowed(request)
    if error.status_code == Kind.NOT_FOUND.status:
        return problem_response(Problem(Kind.NOT_FOUND, "There is nothing at this path. See /api/docs."))
    return problem_response(Problem(Kind.INVALID, str(error.detail)))


async def _on_crash(request: Request, _error: Exception) -> Response:
    """A fault of ours. The gate logs it under the same request id."""
    return problem_response(internal(request.scope))


def _not_allowed(request: Request) -> Response:
    allowed = ", ".join(sorted(_methods(request)))
    response = problem_response(
        Problem(Kind.METHOD_NOT_ALLOWED, f"{request.method} is not possible here. Use {allowed}.")
    )
    response.headers["Allow"] = allowed
    return response


def _methods(request: Request) -> set[str]:
    """Every method that some route takes at the request's path: at `/channel/add` that of adding, not of reading."""
    path = request.scope["path"].removeprefix(PREFIX)
    routes: list[APIRoute] = request.app.state.api_routes
    here = [route for route in routes if route.path == path] or [r for r in routes if r.path_regex.match(path)]
    methods = {method for route in here for method in route.methods or ()} or {"GET"}
    return methods | {"HEAD"} if "GET" in methods else methods
