"""The OpenAPI 3.1 document, and interactive documentation without assets from other sites."""

from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from waypost.api import idempotency
from waypost.http.security_headers import ISOLATION

RATE_HEADERS = {
    "X-RateLimit-Limit": {"description": "Requests per minute.", "schema": {"type": "integer"}},
    "X-RateLimit-Remaining": {"description": "Requests left in the current window.", "schema": {"type": "integer"}},
    "X-RateLimit-Reset": {"description": "Unix second at which the next window begins.", "schema": {"type": "integer"}},
}
"""Headers of every API response, in OpenAPI form."""


def add_routes(api: FastAPI) -> None:
    """Add `/api/openapi.json` and `/api/docs`."""
    assets = files("fastapi_offline") / "static"
    kinds = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}

    @api.get("/api/openapi.json", include_in_schema=False)
    def openapi_document() -> dict[str, Any]:
        return {**describe(api), "servers": [{"url": "/"}]}  # the host of the request

    @api.get("/api/docs", include_in_schema=False)
    def documentation() -> HTMLResponse:
        return HTMLResponse(_PAGE, headers={**ISOLATION, "Content-Security-Policy": _POLICY})

    @api.get("/api/docs/{name}", include_in_schema=False)
    def documentation_asset(name: str) -> Response:
        if name == "start.js":
            return Response(_SCRIPT, media_type="text/javascript")
        if name not in kinds:
            raise HTTPException(404)
        return Response((assets / name).read_bytes(), media_type=kinds[name])


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
    for path in document["paths"].values():
        for method, operation in path.items():
            if method == "get":
                del operation["responses"]["409"], operation["responses"]["422"]
            else:
                operation.setdefault("parameters", []).append(_IDEMPOTENCY_KEY)
            if body := operation.get("requestBody"):
                body["required"] = _needs_body(body, document["components"]["schemas"])
            if method == "put" and body and "application/json" in body["content"]:
                _remove_defaults(_model(body, document["components"]["schemas"]))
            for response in operation["responses"].values():
                response["headers"] = RATE_HEADERS
    return document


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
    "schema": {"type": "string", "minLength": 1, "maxLength": idempotency.MAX_LENGTH, "pattern": "^[ -~]+$"},
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
_SCRIPT = """localStorage.removeItem("authorized"); // the key that earlier versions stored
SwaggerUIBundle({
  url: "/api/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
});
"""
