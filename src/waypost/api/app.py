"""The API as one ASGI app: routes, the error bodies for what never reaches a route, OpenAPI and its pages."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from waypost import __version__
from waypost.api.answers import Failure, problem_response, validation_problem
from waypost.api.door import Gate, internal
from waypost.api.routes import ROUTERS
from waypost.db import Database
from waypost.errors import Kind, Problem
from waypost.files.keeping import Keeper
from waypost.metrics import Meter
from waypost.settings import Settings

_RATE_HEADERS = {
    "X-RateLimit-Limit": {"description": "Requests a minute.", "schema": {"type": "integer"}},
    "X-RateLimit-Remaining": {"description": "Requests left in this window.", "schema": {"type": "integer"}},
    "X-RateLimit-Reset": {"description": "Unix second in which the next window begins.", "schema": {"type": "integer"}},
}
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
    *, settings: Settings, database: Database, changed: Callable[[], None], meter: Meter, keeper: Keeper
) -> ASGIApp:
    """The whole of `/api`, around the data. `changed` is called after every change, before it is answered."""
    api = _routed()
    _add_documents(api, cache(lambda: _document(api, settings)))  # made when first asked for
    gate = Gate(api, settings=settings, database=database, changed=changed, meter=meter, keeper=keeper)
    return CORSMiddleware(
        gate,
        allow_origins=["*"],
        allow_methods=["*"],
        allow_headers=["*", "Authorization", "Content-Type"],
        expose_headers=[*_RATE_HEADERS, "Retry-After", "X-Request-Id"],
    )


def api_document(settings: Settings) -> dict[str, Any]:
    """OpenAPI 3.1 of the API, without a database."""
    return _document(_routed(), settings)


def _routed() -> FastAPI:
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
    for router in ROUTERS:
        api.include_router(router, prefix=PREFIX)
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
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    here = [route for route in routes if route.path == path] or [r for r in routes if r.path_regex.match(path)]
    methods = {method for route in here for method in route.methods or ()} or {"GET"}
    return methods | {"HEAD"} if "GET" in methods else methods


def _add_documents(api: FastAPI, document: Callable[[], dict[str, Any]]) -> None:
    """The OpenAPI document and its pages, which load nothing from other sites."""
    assets = files("fastapi_offline") / "static"
    kinds = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}

    @api.get("/api/openapi.json", include_in_schema=False)
    def openapi_document() -> dict[str, Any]:
        return document()

    @api.get("/api/docs", include_in_schema=False)
    def documentation() -> HTMLResponse:
        return HTMLResponse(_DOCS_PAGE, headers={"Content-Security-Policy": _DOCS_POLICY})

    @api.get("/api/docs/{name}", include_in_schema=False)
    def documentation_asset(name: str) -> Response:
        if name == "start.js":
            return Response(_DOCS_SCRIPT, media_type="text/javascript")
        if name not in kinds:
            raise HTTPException(404)
        return Response((assets / name).read_bytes(), media_type=kinds[name])


def _document(api: FastAPI, settings: Settings) -> dict[str, Any]:
    """Every route, as it really answers."""
    document = get_openapi(
        title=api.title,
        version=api.version,
        description=api.description,
        routes=api.routes,
        servers=[{"url": settings.base}],
    )
    document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}]
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
            if body := operation.get("requestBody"):
                body["required"] = _needs_body(body, document["components"]["schemas"])
            for answer in operation["responses"].values():
                answer["headers"] = _RATE_HEADERS
    return document


def _needs_body(body: dict[str, Any], models: dict[str, Any]) -> bool:
    """An empty body counts as an empty object (decision 4), so it is needed where a field is."""
    if "application/json" not in body["content"]:
        return True
    name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return "required" in models[name]


_DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_DOCS_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>waypost API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/api/docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="/api/docs/swagger-ui-bundle.js"></script>
<script src="/api/docs/start.js"></script>
</body>
</html>
"""
_DOCS_SCRIPT = """SwaggerUIBundle({
  url: "/api/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
});
"""
