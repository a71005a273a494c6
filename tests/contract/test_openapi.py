"""The OpenAPI document says what the API really does, and its pages need nothing from elsewhere."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import schemathesis
from fastapi.routing import APIRoute
from schemathesis import Case, engine
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events
from schemathesis.schemas import BaseSchema
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.testing import capture_logs

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from waypost.core.settings import Settings
from waypost.server.routers import API_ROUTERS, api_document

pytestmark = ON_SQLITE
NOUNS = sorted({str(tag) for router in API_ROUTERS for tag in router.tags})
ROUTES = [route for router in API_ROUTERS for route in router.routes if isinstance(route, APIRoute)]
FAILURES = {"400", "401", "403", "404", "408", "413", "429", "500", "503", "507"}
EXPLORE: dict[str, Any] = {
    "seed": 1,
    "generation": {"max-examples": 6, "deterministic": True, "database": "none"},
    "phases": {"stateful": {"enabled": False}},  # test_families.py follows each noun from its making to its end
    # A name may be taken, an id in a body unknown, a target not allowed, an idempotency key used before: rules that no
    # schema can say.
    "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", "400", "404", "422"]}},
}


def _running(person: Person) -> ASGIApp:
    """The service, which runs already: schemathesis would start it once more and never stop it."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await person.client.app(scope, receive, send)

    return app


def _faults(schema: BaseSchema) -> list[str]:
    """Everything that schemathesis has to say against the API, with the request that shows it."""
    faults: list[str] = []
    finished = {}
    for event in engine.from_schema(schema).execute():
        if isinstance(event, events.NonFatalError):
            faults.append(f"{event.label}: {event.value!r}")
        elif isinstance(event, events.FatalError):
            faults.append(repr(event.exception))
        elif isinstance(event, events.PhaseFinished):
            finished[event.phase.name.value] = event.status
        elif isinstance(event, events.ScenarioFinished):
            faults.extend(_failures_of(event))
    assert {finished["coverage"], finished["fuzzing"]} <= {Status.SUCCESS, Status.FAILURE}, "both phases ran"
    return faults


def _failures_of(event: events.ScenarioFinished) -> Iterator[str]:
    for case_id, checks in event.recorder.checks.items():
        for check in checks:
            failure = check.failure_info
            if failure and not _is_empty_string(event.recorder.cases[case_id].value, failure.failure.message):
                message = f"{failure.failure.title}\n{failure.failure.message}\n{failure.code_sample}"
                yield f"{event.recorder.label}: {message}"


def _is_empty_string(case: Case[Any], message: str) -> bool:
    """Return whether the failure is about an optional field sent as "", which means null (decision 54)."""
    match = re.search(r"Invalid component: in body - (\w+):|parameter `(\w+)` in query", message)
    if not match:
        return False
    parts = case.query if match[2] else case.body
    return isinstance(parts, dict) and parts.get(match[1] or match[2]) == ""


@pytest.mark.parametrize("noun", NOUNS)
def test_api_conforms_to_openapi_document(noun: str, ana: Person) -> None:
    config = SchemathesisConfig.from_dict({**EXPLORE, "headers": {"Authorization": f"Bearer {ana.key}"}})
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", _running(ana), config=config)
    with capture_logs():  # thousands of requests
        faults = _faults(schema.include(tag=noun))
    assert not faults, "\n\n".join(faults)


@pytest.fixture
def document(service: AsgiClient) -> Any:
    """The OpenAPI document, fetched without a key."""
    return service.get("/api/openapi.json").json()


def test_every_route_is_documented(document: Any) -> None:
    assert re.fullmatch(r"3\.1\.\d+", document["openapi"])
    assert [server["url"] for server in document["servers"]] == ["/"]
    documented = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert documented == {(method, f"/api{route.path_format}") for route in ROUTES for method in route.methods or ()}


def test_operation_documents_responses_and_security(document: Any) -> None:
    assert document["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
    assert document["security"] == [{"key": []}]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            answers = operation["responses"]
            assert operation["summary"], (method, path)
            assert operation["tags"], (method, path)
            failures = FAILURES if method == "get" else FAILURES | {"409", "422"}
            assert answers.keys() - {"200", "201"} == failures, (method, path)
            headers = {item["name"] for item in operation.get("parameters", ()) if item["in"] == "header"}
            assert headers == (set() if method == "get" else {"Idempotency-Key"}), (method, path)
            assert len(answers.keys() & {"200", "201"}) == 1, (method, path)
            for status, answer in answers.items():
                response = document["components"]["responses"][status] if "$ref" in answer else answer
                assert {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} <= response["headers"].keys()
                if status in failures:
                    assert response["content"]["application/json"]["schema"]["$ref"].endswith("/Failure"), (
                        method,
                        path,
                    )


def test_body_is_required_if_a_field_is(document: Any) -> None:
    required = {
        path: operation["requestBody"]["required"]
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if "requestBody" in operation
    }
    assert required["/api/channel/add"] is required["/api/campaign/{id}/update"] is True
    assert required["/api/campaign/add"] is required["/api/channel/{id}/update"] is False


def test_openapi_document_needs_no_service(document: Any, settings: Settings) -> None:
    assert api_document(settings) == {**document, "servers": [{"url": settings.base}]}


def test_documentation_pages_load_own_assets_only(service: AsgiClient) -> None:
    page = service.get("/api/docs")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert {"/api/docs/swagger-ui-bundle.js", "/api/docs/swagger-ui.css", "/api/docs/start.js"} < set(loaded)
    script = service.get("/api/docs/start.js").text
    assert 'url: "/api/openapi.json"' in script
    for text in (page.text, script):
        assert not re.search(r"//[\w.-]+|@import|<iframe|<base", text)
    for url in loaded:
        parts = urlsplit(url)
        assert (parts.netloc, parts.scheme) in (("", ""), ("", "data")), url
        if not parts.scheme:
            asset = service.get(url)
            assert (asset.status_code, len(asset.content) > 100) == (200, True), url
            assert asset.headers["content-type"].startswith("text/css" if url.endswith(".css") else "text/javascript")
    assert service.get("/api/docs/other.js").status_code == 404
    assert service.get("/api/docs/..%2f..%2fapp.py").status_code == 404


def test_documentation_pages_have_strict_csp(service: AsgiClient) -> None:
    policy = dict(
        part.split(maxsplit=1) for part in service.get("/api/docs").headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    for name in ("script-src", "connect-src"):
        assert policy[name] == "'self'"
    for name, sources in policy.items():
        assert set(sources.split()) <= {"'self'", "'none'", "'unsafe-inline'", "data:"}, name
