"""The OpenAPI 3.1 document of the API, and interactive documentation without assets from other sites.

The routes are those that FastAPI documents, with the headers that scripts of other sites can read.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from waypost import __version__
from waypost.api import idempotency
from waypost.api.endpoints import handled
from waypost.api.examples import Models, code_samples, example_of, fields_of, move_meaning_to_field
from waypost.api.request import PREFIX, STATISTICS_AGE
from waypost.api.responses import Failure, unknown_path
from waypost.core.errors import Kind
from waypost.http.middleware import ISOLATION

RATE_HEADERS = {
    "X-RateLimit-Limit": {"description": "Requests per minute.", "schema": {"type": "integer"}},
    "X-RateLimit-Remaining": {"description": "Requests left in the current window.", "schema": {"type": "integer"}},
    "X-RateLimit-Reset": {"description": "Unix second at which the next window begins.", "schema": {"type": "integer"}},
}
"""Headers of every API response, in OpenAPI form."""
_NOT_OF_OPERATIONS = (Kind.METHOD_NOT_ALLOWED, Kind.ROLLED_BACK)
_SUMMARY = (
    "Every path is below `/api`. Send `Authorization: Bearer <API_KEY>`. `error` is 0 on success and 1 on failure."
    " Code samples expect the base URL and the API key in the environment variables `BASE_URL` and `API_KEY`."
)


def create_router(documented: Callable[[], FastAPI]) -> APIRouter:
    """Return the routes of `/api/openapi.json` and `/api/docs`. `documented` returns the app with the other routes."""
    router = APIRouter(include_in_schema=False)
    assets = files("fastapi_offline") / "static"
    kinds = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}

    @router.get("/openapi.json")
    @handled(is_public=True)
    def openapi_document() -> Response:
        return JSONResponse({**describe(documented()), "servers": [{"url": "/"}]})  # the host of the request

    @router.get("/docs")
    @handled(is_public=True)
    def documentation() -> HTMLResponse:
        return HTMLResponse(_PAGE, headers={**ISOLATION, "Content-Security-Policy": _POLICY})

    @router.get("/docs/{name}")
    @handled(is_public=True)
    def documentation_asset(name: str) -> Response:
        if name == "start.js":
            return Response(_SCRIPT, media_type="text/javascript")
        if name not in kinds:
            raise unknown_path()
        return Response((assets / name).read_bytes(), media_type=kinds[name])

    return router


@cache
def describe(api: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of all routes."""
    document = get_openapi(
        title=api.title,
        version=api.version,
        description=api.description,
        routes=api.routes,
    )
    document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}]
    models = document["components"]["schemas"]
    for field in fields_of(models.values()):
        move_meaning_to_field(field)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete(method, operation, models)
            operation["x-codeSamples"] = code_samples(method, path, operation, models)
            _share_failures(operation, document["components"].setdefault("responses", {}))
    return document


def _share_failures(operation: dict[str, Any], shared: dict[str, Any]) -> None:
    """Move the failures of an operation, which are the same for all, to the components of the document."""
    for status in operation["responses"]:
        if status >= "400":
            shared[status] = operation["responses"][status]
            operation["responses"][status] = {"$ref": f"#/components/responses/{status}"}


def _complete(method: str, operation: dict[str, Any], models: Models) -> None:
    """Add what FastAPI cannot know: headers, bodies that can be omitted, and the examples."""
    _split_description(operation)
    for parameter in operation.get("parameters", ()):
        move_meaning_to_field(parameter["schema"])
        if "description" in parameter["schema"]:
            parameter["description"] = parameter["schema"].pop("description")
    if method == "get":
        del operation["responses"]["409"], operation["responses"]["422"]
    else:
        operation.setdefault("parameters", []).append(_IDEMPOTENCY_KEY)
    if body := operation.get("requestBody"):
        body["required"] = _needs_body(body, models)
        _add_example(body, models)
    if method == "put" and body and "application/json" in body["content"]:
        _remove_defaults(_model(body, models))
    for status, response in operation["responses"].items():
        response["headers"] = RATE_HEADERS
        _add_example(response, models)
        if status > "400":  # that of 400 is the example of the fields
            kind = next(kind for kind in Kind if str(kind.status) == status)
            response["content"]["application/json"]["example"] = {"error": 1, "message": kind.cause, "code": kind.code}


def _split_description(operation: dict[str, Any]) -> None:
    """Make the first sentence of an endpoint's docstring the summary, and the rest the description."""
    summary, _, rest = operation.pop("description").partition(".")
    operation["summary"] = summary
    if rest.strip():
        operation["description"] = rest.strip()


def _add_example(message: dict[str, Any], models: Models) -> None:
    """Add the example of a JSON body."""
    if content := message["content"].get("application/json"):
        content["example"] = example_of(content["schema"], models)


def _needs_body(body: dict[str, Any], models: dict[str, Any]) -> bool:
    """Return whether a body is required: if a field is, because an empty body is an empty object (decision 4)."""
    if "application/json" not in body["content"]:
        return True
    return "required" in _model(body, models)


def _model(body: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a JSON body."""
    model: dict[str, Any] = models[body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]]
    return model


def _remove_defaults(model: dict[str, Any]) -> None:
    """Remove the defaults of an update: a generated client would send them, and so reset fields that it leaves out."""
    for field in model["properties"].values():
        field.pop("default", None)


_IDEMPOTENCY_KEY = {
    "name": idempotency.HEADER,
    "in": "header",
    "required": False,
    "description": "A unique text for the request, such as a UUID. If it is repeated within 24 hours, nothing is done"
    " twice: the first response is sent again, with `Idempotency-Replayed: true`.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": idempotency.MAX_LENGTH,
        "pattern": "^[ -~]+$",
        "examples": ["5f0c8c5e-6d5b-4d8e-9a38-0c0f3c5e7a11"],
    },
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API documentation · waypost</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/api/docs/swagger-ui.css">
<style>
main > :is(h1, noscript) { display: block; max-inline-size: 1460px; margin: 24px auto; padding-inline: 20px; }
.operations-title { margin: 24px 10px; }
main { font-family: sans-serif; color: #3b4151; }
.swagger-ui { --get: #1b5ea8; --post: #1a6b47; --put: #8a4b00; --delete: #b3261e; }
.swagger-ui .info .title small { background: #4a5160; }
.swagger-ui .info .title small.version-stamp { background: #3d6b00; }
.swagger-ui .info .url { color: #3b4151; }
.swagger-ui .btn.authorize { border-color: var(--post); color: var(--post); }
.swagger-ui .btn.authorize svg { fill: var(--post); }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: var(--get); }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: var(--post); }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: var(--put); }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: var(--delete); }
</style>
</head>
<body>
<main id="api">
<h1>waypost API</h1>
<noscript><p>This page needs scripts. Programs read <code>/api/openapi.json</code>.</p></noscript>
</main>
<script src="/api/docs/swagger-ui-bundle.js"></script>
<script src="/api/docs/start.js"></script>
</body>
</html>
"""
_SCRIPT = """localStorage.removeItem("authorized"); // the key that earlier versions stored

// Shows the code samples of an operation, its only extension, instead of their JSON.
const CodeSamples = (_, { React: { createElement: element } }) => ({ extensions }) => {
  const samples = extensions.get("x-codeSamples").toJS().map(({ label, source }) =>
    element("details", { key: label, className: "table-container" },
      element("summary", null, label), element("pre", null, source)));
  const title = element("h4", null, "Code samples");
  return element("div", { className: "opblock-section" },
    element("div", { className: "opblock-section-header" }, title), samples);
};

// Links inside of the buttons that open operations, as text; opening an operation changes the address too.
const DeepLink = () => ({ text }) => text;
// A menu with one server and without a label.
const ServersContainer = () => () => null;
// The level between the title and the groups.
const operations = (Operations, { React: { createElement: element, Fragment } }) => (props) =>
  element(Fragment, null, element("h2", { className: "operations-title" }, "Operations"), element(Operations, props));

SwaggerUIBundle({
  url: "/api/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  showExtensions: true,
  plugins: [() => ({ wrapComponents: { OperationExt: CodeSamples, DeepLink, ServersContainer, operations } })],
});
"""


def allow_cross_origin(api: ASGIApp) -> ASGIApp:
    """Let scripts of other sites use the API."""
    return CORSMiddleware(
        api,
        allow_origins=["*"],
        allow_methods=["*"],
        allow_headers=["*", "Authorization", "Content-Type"],
        expose_headers=[*RATE_HEADERS, idempotency.REPLAYED, "Retry-After", STATISTICS_AGE, "X-Request-Id"],
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
