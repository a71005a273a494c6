"""Tools: functions on the data of an account, with typed arguments and a typed result."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Annotated, Any, Literal, get_type_hints

import mcp_types as types
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from waypost.api.context import RequestContext, read_only_key
from waypost.api.endpoints import EndpointTable
from waypost.api.request_body import Body
from waypost.api.responses import validation_problem
from waypost.core.errors import Problem, invalid
from waypost.db.crud import Page, PageRequest

Effect = Literal["read", "create", "change", "delete"]
MAX_LIMIT = 100
_MAX_PAGE = 1_000_000
_LEFT_OUT = frozenset({"title", "examples"})
_SCHEMAS_BY_NAME = frozenset({"properties", "$defs"})


@dataclass(frozen=True)
class ToolContext(RequestContext):
    """The context of a tool call. `endpoints` are those of the API, for bulk changes."""

    endpoints: EndpointTable = field(kw_only=True)


def tool_context(context: RequestContext, endpoints: EndpointTable) -> ToolContext:
    """Return the context of a tool call for that of its request."""
    return ToolContext(**{one.name: getattr(context, one.name) for one in fields(context)}, endpoints=endpoints)


class Arguments(Body):
    """The arguments of a tool, in JSON types as agents send them. Unknown arguments are errors."""

    model_config = ConfigDict(extra="forbid")


class PageArguments(Arguments):
    """The requested page of a list."""

    page: Annotated[int, Field(ge=1, le=_MAX_PAGE, description="Number of the page, from 1.")] = 1
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Items per page.")] = 20

    @property
    def window(self) -> PageRequest:
        """The requested page."""
        return PageRequest(limit=self.limit, page=self.page)


class Result(BaseModel):
    """The result of a tool."""

    def blocks(self) -> Sequence[types.ContentBlock]:
        """Return content that precedes the result as JSON, such as an image."""
        return ()


class PageResult(Result):
    """A page of a list."""

    total: int = Field(description="Number of all matches, on all pages.")
    page: int = Field(description="Number of this page.")
    next_page: int | None = Field(description="Number of the next page; null on the last one.")


def paging(page: Page[Any]) -> dict[str, int | None]:
    """Return the fields of a `PageResult`."""
    window = page.window
    is_last = window.page * window.limit >= page.result
    return {"total": page.result, "page": window.page, "next_page": None if is_last else window.page + 1}


@dataclass(frozen=True)
class Tool:
    """A tool. The function's name is the tool's name, and its docstring the description.

    `is_open_world`: the tool sends a request to another server.
    """

    title: str
    effect: Effect
    function: Callable[[ToolContext, Any], Result]
    is_open_world: bool = field(default=False, kw_only=True)

    @property
    def name(self) -> str:
        """The name by which agents call the tool."""
        return self.function.__name__

    @cached_property
    def description(self) -> str:
        """The purpose of the tool, for agents."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def arguments(self) -> type[Arguments]:
        """The model of the arguments."""
        hints = self._hints.items()
        model: type[Arguments] = next(hint for name, hint in hints if name not in ("context", "return"))
        return model

    @cached_property
    def definition(self) -> types.Tool:
        """The tool as clients list it."""
        is_read = self.effect == "read"
        annotations = types.ToolAnnotations(
            title=self.title,
            read_only_hint=is_read,
            destructive_hint=self.effect in ("change", "delete"),
            idempotent_hint=self.effect != "create",
            open_world_hint=self.is_open_world,
        )
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=_schema_of(self.arguments, "validation"),
            output_schema=_schema_of(self._hints["return"], "serialization"),
            annotations=annotations,
        )

    def call(self, context: ToolContext, sent: Mapping[str, Any]) -> types.CallToolResult:
        """Validate the arguments and run the tool. Problems are results, so that agents can correct themselves."""
        try:
            if self.effect != "read" and not context.can_write:
                raise read_only_key()
            result = self.function(context, self._validated(sent))
        except Problem as problem:
            return failure(problem)
        except RequestValidationError as error:
            return failure(validation_problem(error))
        content = [*result.blocks(), types.TextContent(type="text", text=result.model_dump_json())]
        return types.CallToolResult(content=content, structured_content=result.model_dump(mode="json"))

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        return get_type_hints(self.function)

    def _validated(self, sent: Mapping[str, Any]) -> Arguments:
        known = self.arguments.model_fields
        unknown = next((name for name in sent if name not in known), None)
        if unknown is not None:
            names = ", ".join(known) or "none"
            raise invalid(unknown, f"{unknown} is not an argument of {self.name}. Its arguments: {names}.")
        try:
            return self.arguments.model_validate(sent)
        except ValidationError as error:
            faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_url=False)]
            raise RequestValidationError(faults) from error


def failure(problem: Problem) -> types.CallToolResult:
    """Return the result for a problem: its message, and for programs the field, the code and when to try again."""
    details = {"field": problem.field, "code": problem.kind.code, "retry after seconds": problem.retry_after}
    known = "; ".join(f"{name}: {value}" for name, value in details.items() if value is not None)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=f"{problem.message} ({known})")], is_error=True
    )


def _schema_of(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    """Return the JSON schema of a model: short, because agents read all of them in every session.

    Titles of fields and examples are left out, and empty defaults: agents would send them, which resets a setting
    instead of keeping it.
    """
    schema = _short(model.model_json_schema(mode=mode))
    schema.pop("description", None)
    return schema


def _short(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _short_part(name, part) for name, part in schema.items() if not _is_left_out(name, part)}


def _is_left_out(name: str, part: Any) -> bool:
    return name in _LEFT_OUT or (name == "default" and part in (None, ""))


def _short_part(name: str, part: Any) -> Any:
    if name in _SCHEMAS_BY_NAME:  # a property can have the name of a keyword
        return {key: _short(schema) for key, schema in part.items()}
    if isinstance(part, dict):
        return _short(part) if name not in ("default", "const") else part
    if isinstance(part, list):
        return [_short(item) if isinstance(item, dict) else item for item in part]
    return part
