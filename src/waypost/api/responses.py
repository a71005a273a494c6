"""Responses: the body of every failure, and common shapes of success."""

from collections.abc import Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from waypost.api.types import Id
from waypost.clicks.stats.reports import Report
from waypost.core.errors import Kind, Problem


class Failure(BaseModel):
    """The body of every failure."""

    error: int = Field(1, description="1: the request failed.", examples=[1])
    message: str = Field(
        description="One sentence that a person can act on.",
        examples=["url must be a URL that begins with http:// or https://."],
    )
    code: str = Field(description="Stable name of the problem, for programs.", examples=[kind.code for kind in Kind])
    field: str | None = Field(None, description="Name of the input at fault.", examples=["url"])


class Success(BaseModel):
    """The common field of every success."""

    error: int = Field(0, description="0: the request succeeded.", examples=[0])


class MessageResponse(Success):
    """The response to an action."""

    message: str = Field(description="Result in one sentence.", examples=["Link has been updated successfully."])


class CreatedResponse(Success):
    """The response to a create request that returns only the id."""

    id: Id


def failure_body(problem: Problem) -> dict[str, Any]:
    """Return the body of the response for a problem. All failure bodies are made here."""
    body: dict[str, Any] = {"error": 1, "message": _encodable(problem.message), "code": problem.kind.code}
    if problem.field is not None:
        body["field"] = _encodable(problem.field)
    return body


def problem_response(problem: Problem) -> JSONResponse:
    """Return the response for a problem."""
    headers = {}
    if problem.retry_after is not None:
        headers["Retry-After"] = str(problem.retry_after)
    if problem.kind is Kind.KEY_REQUIRED:
        headers["WWW-Authenticate"] = "Bearer"
    if problem.kind in (Kind.TOO_LARGE, Kind.TOO_SLOW):
        headers["Connection"] = "close"  # the rest of the body is not read
    return JSONResponse(failure_body(problem), status_code=problem.kind.status, headers=headers)


def failure_response(error: Problem | RequestValidationError) -> JSONResponse:
    """Return the response for a failed request."""
    return problem_response(error if isinstance(error, Problem) else validation_problem(error))


def unknown_path() -> Problem:
    """Return the 404 problem for a path without an endpoint."""
    return Problem(Kind.NOT_FOUND, "Unknown path. See /api/docs.")


def _encodable(words: str) -> str:
    """Escape lone surrogates, which JSON input can contain but UTF-8 cannot encode."""
    return words.encode(errors="backslashreplace").decode()


def validation_problem(error: RequestValidationError) -> Problem:
    """Return the first validation error as a problem."""
    first = error.errors()[0]
    _, *names = first["loc"]
    field = str(names[0]) if names else "body"
    return Problem(Kind.INVALID, f"{_dotted(names) or 'The body'} {describe_fault(first)}.", field=field)


def _dotted(names: Sequence[str | int]) -> str:
    """`geotarget[0].link`"""
    path = ""
    for name in names:
        path += f"[{name}]" if isinstance(name, int) else f".{name}"
    return path.lstrip(".")


def describe_fault(fault: dict[str, Any]) -> str:
    """Describe a validation error; the text follows the name of the field."""
    kind = fault["type"]
    if isinstance(fault["input"], str):  # pydantic reports the generic length error after other checks
        kind = {"too_short": "string_too_short", "too_long": "string_too_long"}.get(kind, kind)
    template = _DESCRIPTIONS.get(kind)
    return template.format(**fault.get("ctx", {})) if template else f"is invalid: {fault['msg']}"


_DESCRIPTIONS = {
    "missing": "is required",
    "string_type": "must be a string",
    "string_unicode": "must be a string of valid Unicode",
    "string_too_long": "must be at most {max_length} characters",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must match {pattern}",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "list_type": "must be a list",
    "too_long": "must have at most {max_length} elements",
    "too_short": "must have at least {min_length} elements",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "union_tag_invalid": "must have a {discriminator} that is one of {expected_tags}",
    "union_tag_not_found": "must have a {discriminator}",
    "value_error": "{error}",
}


class ReportResponse(Success):
    """Visit statistics of a date range."""

    data: Report = Field(description="The statistics.")
