"""The endpoints of the API: declared with FastAPI, found in constant time, and their input validated.

FastAPI writes the OpenAPI document and runs nothing: it tries one route after the other, and gives every dependency and
every function a thread of its own. `api/request.py` runs the endpoints.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl

from fastapi import params
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.types import Scope

from waypost.api.context import RequestContext, authenticated
from waypost.api.idempotency import CLAIM_SECONDS, LONG_CLAIM_SECONDS
from waypost.api.request_body import Body, PartialBody
from waypost.api.types import IdInPath
from waypost.core.errors import not_found

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Match = tuple["Endpoint", Mapping[str, str]]
"""An endpoint and the parameters in the path."""
_HANDLING = "waypost_handling"
"""Name of the attribute of a function."""


@dataclass(frozen=True, kw_only=True)
class Handling:
    """The ways in which the edge treats an endpoint differently: by default it checks the key and parses JSON."""

    is_public: bool = False
    """It needs no API key and gets no context."""
    is_long: bool = False
    """It can take minutes. Its budget knows when the client disconnects."""
    is_upload: bool = False
    """Its function is a coroutine that reads the body from the parameter of the type `Request`."""

    @property
    def claim_seconds(self) -> int:
        """How long the claim of an idempotency key lasts."""
        return LONG_CLAIM_SECONDS if self.is_long or self.is_upload else CLAIM_SECONDS


def handled(**handling: bool) -> Callable[[F], F]:
    """Declare the fields of `Handling` of an endpoint, above its function."""

    def declare(function: F) -> F:
        setattr(function, _HANDLING, Handling(**handling))
        return function

    return declare


_DEFAULT = Handling()


class Input(NamedTuple):
    """The input of a request. `body` is parsed JSON. Public endpoints have no context; only uploads read `request`."""

    context: RequestContext | None
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    request: Request | None = None


class Endpoint:
    """A route of the API."""

    def __init__(self, route: APIRoute) -> None:
        self.route = route
        self.has_body = route.body_field is not None
        self.handling: Handling = getattr(route.endpoint, _HANDLING, _DEFAULT)
        self._segments = [segment.strip("{}").removesuffix(":rest") for segment in _segments(route.path)]
        self._has_rest = route.path.endswith(":rest}")
        self._names = frozenset(route.param_convertors)
        parameters = inspect.signature(route.endpoint, eval_str=True).parameters if self._names else {}
        self._ids = frozenset(name for name in self._names if _has(parameters[name].annotation, IdInPath))

    def match(self, segments: Sequence[str]) -> Mapping[str, str] | None:
        """Return the parameters in a path, None for another path. Ids are digits: `/channel/add` has no id."""
        length = len(self._segments)
        if self._has_rest and len(segments) > length:
            segments = [*segments[: length - 1], "/".join(segments[length - 1 :])]
        if len(segments) != length:
            return None
        parameters = {}
        for name, segment in zip(self._segments, segments, strict=True):
            if name not in self._names:
                if name != segment:
                    return None
            elif name in self._ids and not (segment.isascii() and segment.isdecimal()):
                return None
            else:
                parameters[name] = segment
        return parameters

    def call(self, given: Input) -> Any:
        """Validate the input and return what the function returns: a response, or a change that is not made yet.

        Raises RequestValidationError.
        """
        return self.route.endpoint(**{name: read(given) for name, read in self._parameters.items()})

    def plain(self, result: Any) -> dict[str, Any]:
        """Return the body of the response for what the function returned, as JSON types."""
        value = self._response.validate_python(result, from_attributes=True)
        body: dict[str, Any] = self._response.dump_python(value, mode="json", by_alias=True)
        return body

    def render(self, result: Any) -> Response:
        """Return the response for what the function returned."""
        if isinstance(result, Response):
            return result
        value = self._response.validate_python(result, from_attributes=True)
        content = self._response.dump_json(value, by_alias=True)
        return Response(content, self.route.status_code or 200, media_type="application/json")

    @cached_property
    def _parameters(self) -> Mapping[str, Callable[[Input], Any]]:
        return _parameters(self.route.endpoint, self._names)

    @cached_property
    def _response(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.route.response_model)


def _parameters(function: Callable[..., Any], path_names: frozenset[str]) -> dict[str, Callable[[Input], Any]]:
    """Return how each parameter of a function is read from the input."""
    parameters = inspect.signature(function, eval_str=True).parameters
    return {name: _reader(parameter, path_names) for name, parameter in parameters.items()}


def _reader(parameter: inspect.Parameter, path_names: frozenset[str]) -> Callable[[Input], Any]:
    annotation, name = parameter.annotation, parameter.name
    kind, *metadata = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    depends = next((item for item in metadata if isinstance(item, params.Depends)), None)
    if depends is not None:
        return _dependency(depends.dependency)
    if kind is Request:
        return lambda given: given.request
    adapter = TypeAdapter(annotation)
    if name in path_names:
        read = _validate_id if _has(annotation, IdInPath) else _validate
        return lambda given: read(adapter, given.path[name], "path", name)
    query = next((item for item in metadata if isinstance(item, params.Query)), None)
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    if is_model and query is None:
        return _body_reader(adapter, kind if _has(annotation, PartialBody) else None)
    return _query_reader(adapter, parameter, "" if is_model else (query and query.alias) or name)


def _dependency(function: Callable[..., Any] | None) -> Callable[[Input], Any]:
    """Return how the result of a dependency is made. That of `authenticated` is the context."""
    if function is authenticated:
        return lambda given: given.context
    assert function is not None
    readers = _parameters(function, frozenset())
    return lambda given: function(**{name: read(given) for name, read in readers.items()})


def _body_reader(adapter: TypeAdapter[Any], partial: type[Body] | None) -> Callable[[Input], Any]:
    if partial is not None:
        return lambda given: _validated(lambda: partial.validated_change(given.body), "body")
    return lambda given: _validate(adapter, given.body, "body")


def _query_reader(adapter: TypeAdapter[Any], parameter: inspect.Parameter, name: str) -> Callable[[Input], Any]:
    """Return how a parameter of the query is read; without a name, all of them as one model."""
    if not name:
        return lambda given: _validate(adapter, dict(given.query), "query")
    default = parameter.default
    return lambda given: _validate(adapter, given.query[name], "query", name) if name in given.query else default


def _has(annotation: Any, marker: type) -> bool:
    """Return whether an annotation contains a marker."""
    return get_origin(annotation) is Annotated and marker in get_args(annotation)


def _validate(adapter: TypeAdapter[Any], value: Any, *location: str) -> Any:
    return _validated(lambda: adapter.validate_python(value), *location)


def _validate_id(adapter: TypeAdapter[int], value: Any, *_location: str) -> int:
    """Validate an id in a path. Raises NOT_FOUND for a number that no item has."""
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise not_found() from error


def _validated(validate: Callable[[], T], *location: str) -> T:
    """Run a validation. Raises RequestValidationError with the location of the faults."""
    try:
        return validate()
    except ValidationError as error:
        faults = [{**fault, "loc": (*location, *fault["loc"])} for fault in error.errors(include_url=False)]
        raise RequestValidationError(faults) from error


def parse_query(query: bytes) -> dict[str, str]:
    """Return the parameters of a query; of one that occurs twice, the last value."""
    return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)) if query else {}


class EndpointTable:
    """The endpoints by first segment of the path, which leaves a handful to try."""

    def __init__(self, routes: Iterable[APIRoute]) -> None:
        self._endpoints: dict[str, list[Endpoint]] = {}
        for route in routes:
            self._endpoints.setdefault(_segments(route.path)[0], []).append(Endpoint(route))

    def find(self, method: str, path: str) -> Match | None:
        """Return the endpoint of a path below `/api`."""
        segments = _segments(path)
        for endpoint in self._endpoints.get(segments[0], ()):
            if method in (endpoint.route.methods or ()) and (parameters := endpoint.match(segments)) is not None:
                return endpoint, parameters
        return None

    def route_of(self, scope: Scope) -> str:
        """Return the route of a request, such as `/api/url/{id}`, or ""."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        match = self.find(method, scope["path"].removeprefix("/api"))
        return f"/api{match[0].route.path}" if match else ""

    def methods(self, path: str) -> set[str]:
        """Return the methods of all endpoints of a path."""
        segments = _segments(path)
        endpoints = self._endpoints.get(segments[0], ())
        routes = [endpoint.route for endpoint in endpoints if endpoint.match(segments) is not None]
        return {method for route in routes for method in route.methods or ()}


def _segments(path: str) -> list[str]:
    return path.split("/")[1:] or [""]
