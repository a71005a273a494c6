"""Request bodies: a JSON object whatever the Content-Type says, read strictly (decision 4)."""

import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from starlette.requests import ClientDisconnect

from waypost.errors import Kind, Problem, invalid

MAX_BYTES = 8 * 1024 * 1024
REQUEST_CONTEXT = "waypost.context"
"""Where in its scope a request with a valid key has its context."""


class Body(BaseModel):
    """What a client sends: exact JSON types, unknown fields ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    def sent(self) -> dict[str, Any]:
        """The fields that stood in the body; `None` where it said null."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class JsonRoute(APIRoute):
    """A route that reads its body with `read_object` instead of by Content-Type."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        if self.body_field is None:
            return handler

        async def strict(request: Request) -> Response:
            body = await _read(request) if REQUEST_CONTEXT in request.scope else b""  # a stranger's is not read
            return await handler(_ParsedRequest(request, parse_object(body)))

        return strict


class _ParsedRequest(Request):
    """Hands FastAPI an object that is parsed already."""

    def __init__(self, request: Request, parsed: dict[str, Any]) -> None:
        others = [header for header in request.scope["headers"] if header[0] != b"content-type"]
        scope = {**request.scope, "headers": [*others, (b"content-type", b"application/json")]}
        super().__init__(scope, request.receive)
        self._parsed = parsed

    async def body(self) -> bytes:
        return b"{}"

    async def json(self) -> dict[str, Any]:
        return self._parsed


async def _read(request: Request) -> bytes:
    """The whole body. Raises TOO_LARGE as soon as it is known to be over MAX_BYTES."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > MAX_BYTES:
        raise _too_large()
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BYTES:
                raise _too_large()
    except ClientDisconnect as error:
        raise _not_json("it broke off") from error
    return bytes(body)


def _too_large() -> Problem:
    return Problem(Kind.TOO_LARGE, f"The body is too large: at most {MAX_BYTES} bytes.")


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`; an empty body is an empty object.

    Raises INVALID_JSON for what is not JSON or not an object, INVALID for a name that stands twice.
    """
    if not body.strip():
        return {}
    try:
        value = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_pairs, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise _not_json(f"it is not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise _not_json(f"{error.msg.lower()} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise _not_json("it is nested too deeply") from error
    except ValueError as error:
        raise _not_json("it has a number of too many digits") from error
    if not isinstance(value, dict):
        raise Problem(Kind.INVALID_JSON, "The body must be a JSON object, such as {}.")
    if isinstance(value, _Twice):
        raise invalid(value.name, f"{value.name} stands twice in the body.")
    for name, part in value.items():
        if (twice := _first_twice(part)) is not None:
            raise invalid(name, f"{twice} stands twice in {name}.")
    return value


class _Twice(dict[str, Any]):
    """An object in which a name stands twice."""

    name: str


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    twice = _Twice(value)
    times = Counter(name for name, _ in pairs)
    twice.name = next(name for name in value if times[name] > 1)
    return twice


def _first_twice(value: Any) -> str | None:
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, _Twice):
            return part.name
        if isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
    return None


def _no_constant(name: str) -> None:
    raise _not_json(f"{name} is not a JSON value")


def _not_json(why: str) -> Problem:
    return Problem(Kind.INVALID_JSON, f"The body is not valid JSON: {why}.")
