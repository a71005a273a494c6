"""The endpoints of the API: found in constant time, validated and run in one thread.

FastAPI declares them and writes the OpenAPI document, but runs only those of uploads: it tries one route after the
other, and gives every dependency and every function a thread of its own.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl

from fastapi import params
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.types import Scope

from waypost.api.change import Change
from waypost.api.context import RequestContext, authenticated
from waypost.api.request_body import Body

T = TypeVar("T")
Match = tuple["Endpoint", Mapping[str, str]]
"""An endpoint and the parameters in the path."""


class Input(NamedTuple):
    """The input of a request. `body` is parsed JSON."""

    context: RequestContext
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any


class Endpoint:
    """A route of the API. The functions of uploads are async: FastAPI runs them."""

    def __init__(self, route: APIRoute) -> None:
        self.route = route
        self.has_body = route.body_field is not None
        self.is_long = route.path.endswith("/bulk")
        self.is_change = route.path.rpartition("/")[2] == "update"
        self.is_async = inspect.iscoroutinefunction(route.endpoint)
        self._segments = [segment.strip("{}").removesuffix(":rest") for segment in _segments(route.path)]
        self._has_rest = route.path.endswith(":rest}")

    def match(self, segments: Sequence[str]) -> Mapping[str, str] | None:
        """Return the parameters in a path, None for another path. Ids are digits: `/channel/add` has no id."""
        length = len(self._segments)
        if self._has_rest and len(segments) > length:
            segments = [*segments[: length - 1], "/".join(segments[length - 1 :])]
        if len(segments) != length:
            return None
        parameters = {}
        for name, segment in zip(self._segments, segments, strict=True):
            if name not in self.route.param_convertors:
                if name != segment:
                    return None
            elif name.endswith("id") and not (segment.isascii() and segment.isdecimal()):
                return None
            else:
                parameters[name] = segment
        return parameters

    def run(self, given: Input) -> Response:
        """Validate the input, call the function and return its response.

        Raises RequestValidationError for input that breaks a rule.
        """
        result = self.call(given)
        return self.render(given.context.run(result) if isinstance(result, Change) else result)

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
        parameters = _parameters(self.route.endpoint, frozenset(self.route.param_convertors))
        return parameters | {"body": self._read_change} if self.is_change else parameters

    def _read_change(self, given: Input) -> Body:
        """Return the body of a change."""
        model: type[Body] = inspect.signature(self.route.endpoint, eval_str=True).parameters["body"].annotation
        return _validated(lambda: model.validated_change(given.body), "body")

    @cached_property
    def _response(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.route.response_model)


def _parameters(function: Callable[..., Any], path_names: frozenset[str]) -> dict[str, Callable[[Input], Any]]:
    """Return how each parameter of a function is read from the input."""
    parameters = inspect.signature(function, eval_str=True).parameters
    return {name: _reader(parameter, path_names) for name, parameter in parameters.items()}


def _reader(parameter: inspect.Parameter, path_names: frozenset[str]) -> Callable[[Input], Any]:
    annotation = parameter.annotation
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    depends = next((item for item in metadata if isinstance(item, params.Depends)), None)
    if depends is not None:
        if depends.dependency is authenticated:
            return lambda given: given.context
        assert depends.dependency is not None
        return _dependency(depends.dependency)
    adapter = TypeAdapter(annotation)
    if parameter.name in path_names:
        return lambda given: _validate(adapter, given.path[parameter.name], "path", parameter.name)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return lambda given: _validate(adapter, given.body, "body")
    alias = next((item.alias for item in metadata if isinstance(item, params.Query) and item.alias), parameter.name)
    return lambda given: (
        _validate(adapter, given.query[alias], "query", alias) if alias in given.query else parameter.default
    )


def _dependency(function: Callable[..., Any]) -> Callable[[Input], Any]:
    readers = _parameters(function, frozenset())
    return lambda given: function(**{name: read(given) for name, read in readers.items()})


def _validate(adapter: TypeAdapter[Any], value: Any, *location: str) -> Any:
    return _validated(lambda: adapter.validate_python(value), *location)


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
