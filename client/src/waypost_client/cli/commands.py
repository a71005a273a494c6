"""One command for each operation, derived from the typed methods of the client."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Optional, Union, cast, get_args, get_origin

import typer
from typing_extensions import Required

from waypost_client import Waypost
from waypost_client.cli import output
from waypost_client.sync.operations import Operations
from waypost_client.sync.requests import Requests

_HANDLED = {"self", "progress", "content", "filename", "target"}
_NAMES = {"Literal": Literal, "Required": Required, "Sequence": Sequence, "Mapping": Mapping, "Any": Any}
_UNIONS = (Union, UnionType)


@dataclass(frozen=True)
class Parameter:
    """A field of a request. `name` is that of the method; JSON is parsed if `is_json`."""

    name: str
    hint: Any
    is_required: bool
    is_argument: bool
    is_json: bool
    is_text: bool
    help: str


@dataclass(frozen=True)
class Operation:
    """A method of the client for one operation, and the heading of its command in the help."""

    name: str
    group: str
    help: str
    parameters: tuple[Parameter, ...]
    special: frozenset[str]

    @property
    def command(self) -> str:
        """The name of the command."""
        return self.name.replace("_", "-")

    @property
    def iterator(self) -> str:
        """The method that iterates over all pages; "" if the operation is no list."""
        return self.name.removeprefix("list_") if self.name.startswith("list_") else ""


def operations() -> Iterator[Operation]:
    """Yield every operation: every method of the client that is generated and no iterator."""
    for kind in Operations.__mro__:
        if issubclass(kind, Requests) and kind not in (Operations, Requests):
            lists = {name.removeprefix("list_") for name in vars(kind) if name.startswith("list_")}
            for name, method in vars(kind).items():
                if not name.startswith("_") and name not in lists:
                    yield _operation(name, method)


def function(operation: Operation, client: Callable[[typer.Context], Waypost]) -> Callable[..., None]:
    """Return the function of a command, with the signature from which Typer makes arguments and options."""
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [context, *map(_typer_parameter, operation.parameters), *_special_parameters(operation)]

    def run(**given: Any) -> None:
        as_json = bool(given.pop("json"))
        with client(given.pop("ctx")) as wp:
            output.show(_call(wp, operation, given), as_json=as_json)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__doc__ = operation.help
    return run


def _operation(name: str, method: Any) -> Operation:
    module = vars(sys.modules[method.__module__])
    parameters: list[Parameter] = []
    special: set[str] = set()
    for each in inspect.signature(method).parameters.values():
        annotation = str(each.annotation)
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            fields = module[annotation.removeprefix("Unpack[").removesuffix("]")]
            parameters += _fields(fields)
        elif each.name in _HANDLED:
            special.add(each.name)
        else:
            hint = eval(annotation, module, dict(_NAMES))  # noqa: S307  # of this package
            is_argument = each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            is_required = each.default is inspect.Parameter.empty
            parameters.append(_parameter(each.name, hint, "", is_required=is_required, is_argument=is_argument))
    group = method.__module__.rpartition(".")[2].replace("_", " ").capitalize()
    group = group.replace("Qr", "QR").replace("Cta", "CTA")
    return Operation(name, group, inspect.getdoc(method) or "", tuple(parameters), frozenset(special))


def _fields(kind: Any) -> Iterator[Parameter]:
    module, texts = vars(sys.modules[kind.__module__]), _descriptions(kind)
    for name, annotation in kind.__annotations__.items():
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        hint = eval(text, module, dict(_NAMES))  # noqa: S307  # of this package
        is_required = get_origin(hint) is Required
        hint = get_args(hint)[0] if is_required else hint
        yield _parameter(name, hint, texts.get(name, ""), is_required=is_required, is_argument=False)


def _descriptions(kind: Any) -> dict[str, str]:
    """Return the docstrings of the fields."""
    tree = ast.parse(inspect.getsource(sys.modules[kind.__module__]))
    body = next(each.body for each in tree.body if isinstance(each, ast.ClassDef) and each.name == kind.__name__)
    texts: dict[str, str] = {}
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            texts[cast("ast.Name", field.target).id] = " ".join(str(text.value.value).split())
    return texts


def _parameter(name: str, hint: Any, help: str, *, is_required: bool, is_argument: bool) -> Parameter:
    kinds = [each for each in get_args(hint) if each is not type(None)] if get_origin(hint) in _UNIONS else [hint]
    kind = kinds[0]
    if len(kinds) == 1 and (kind in (str, int, float, bool) or get_origin(kind) is Literal):
        return Parameter(name, kind, is_required, is_argument, is_json=False, is_text=True, help=help)
    return Parameter(
        name, str, is_required, is_argument, is_json=True, is_text=str in kinds, help=f"{help} JSON.".strip()
    )


def _typer_parameter(each: Parameter) -> inspect.Parameter:
    option = f"--{re.sub('_$', '', each.name).replace('_', '-')}"
    if each.is_argument:
        extra: Any = typer.Argument(help=each.help or None, metavar=each.name.upper())
    elif each.hint is bool:
        extra = typer.Option(f"{option}/--no-{option[2:]}", help=each.help or None)
    else:
        extra = typer.Option(option, help=each.help or None)
    hint: Any = each.hint if each.is_required else Optional[each.hint]  # noqa: UP045  # a Literal is no class
    default = inspect.Parameter.empty if each.is_required else None
    return inspect.Parameter(
        each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, extra]
    )


def _special_parameters(operation: Operation) -> Iterator[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    if "content" in operation.special:
        hint: Any = Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="File to upload.")]
        yield inspect.Parameter("content_", kind, annotation=hint)
        hint = Annotated[str, typer.Option("--as", help="Name of the file on the service. Default: its own name.")]
        yield inspect.Parameter("filename_", kind, annotation=hint, default="")
    if "target" in operation.special:
        hint = Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")]
        yield inspect.Parameter("target_", kind, annotation=hint)
    if operation.iterator:
        hint = Annotated[bool, typer.Option("--all", help="Read all pages.")]
        yield inspect.Parameter("all_", kind, annotation=hint, default=False)
    if any(not each.is_argument for each in operation.parameters):
        hint = Annotated[list[str] | None, typer.Option("--clear", help="Field to reset to its default. Repeatable.")]
        yield inspect.Parameter("clear_", kind, annotation=hint, default=None)
    yield inspect.Parameter(
        "json", kind, annotation=Annotated[bool, typer.Option("--json", help="Print JSON.")], default=False
    )


def _call(wp: Waypost, operation: Operation, given: dict[str, Any]) -> Any:
    arguments, fields = _values(operation, given)
    if given.get("all_"):
        fields = {name: value for name, value in fields.items() if name not in ("limit", "page")}
        return list(getattr(wp, operation.iterator)(*arguments, **fields))
    method = getattr(wp, operation.name)
    if "progress" not in operation.special:
        return method(*arguments, **fields)
    local: Path = given.get("content_") or given["target_"]
    paths = [given["filename_"] or local.name, local] if "content" in operation.special else [local]
    with output.progress(local.name) as report:
        return method(*arguments, *paths, progress=report, **fields)


def _values(operation: Operation, given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments and the fields to send: those that were given, and null for those to clear."""
    arguments: list[Any] = []
    fields: dict[str, Any] = {}
    names = {each.name for each in operation.parameters if not each.is_argument}
    for each in operation.parameters:
        value = given[each.name]
        if each.is_argument:
            arguments.append(value)
        elif value is not None:
            fields[each.name] = _json(each, value) if each.is_json else value
    for name in given.get("clear_") or ():
        if name not in names:
            raise typer.BadParameter(f"there is no field {name}", param_hint="--clear")
        fields[name] = None
    return arguments, fields


def _json(parameter: Parameter, text: str) -> Any:
    """Return the value of a JSON text. Where text is allowed, only objects and lists are parsed."""
    if parameter.is_text and not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"must be JSON: {error}", param_hint=parameter.name) from error
