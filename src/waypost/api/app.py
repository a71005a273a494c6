"""The routes of the API as FastAPI documents them, and the headers that scripts of other sites can read."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from waypost import __version__
from waypost.api import idempotency, openapi
from waypost.api.request import PREFIX, STATISTICS_AGE
from waypost.api.responses import Failure
from waypost.core.errors import Kind

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
    """Return all routes in one app, which documents them and serves no request."""
    api = FastAPI(
        title="waypost",
        version=__version__,
        description=_SUMMARY,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        responses=_failures(),
    )
    for router in routers:
        api.include_router(router, prefix=PREFIX)
    return api


def _failures() -> dict[int | str, dict[str, Any]]:
    """Return the failures of operations by status, described by their codes and causes."""
    causes: dict[int, list[str]] = {}
    for kind in Kind:
        if kind not in _NOT_OF_OPERATIONS:
            causes.setdefault(kind.status, []).append(f"`{kind.code}`: {kind.cause}")
    return {status: {"model": Failure, "description": "\n\n".join(lines)} for status, lines in causes.items()}
