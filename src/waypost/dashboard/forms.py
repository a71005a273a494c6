"""Forms: user input, validated by the models of the API and kept for display when it has errors."""

import hashlib
import json
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import parse_qs
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ValidationError

from waypost import clock
from waypost.api.responses import describe_fault
from waypost.errors import Kind, Problem, invalid

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
Value = str | list[str] | list[dict[str, str]]
MAX_BYTES = 1024 * 1024
MAX_PUBLIC_BYTES = 16 * 1024  # of a page that needs no session
_MAX_FIELDS = 5000
_MAX_DIGITS = 15
VERSION = "version"
_STALE = "This was changed since you opened it, in another tab or through the API. Save again to replace it."


@dataclass(frozen=True)
class Shape:
    """The fields of a form that are not one line of text.

    `lists`: multiple choices. `rows`: rows with named parts (`single`: at most one row). `flags`: checkboxes.
    `local_times`: times in the viewer's time zone.
    """

    lists: tuple[str, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    single: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    local_times: tuple[str, ...] = ()


PLAIN = Shape()


class Form:
    """The values of a form and the error messages, by field.

    `current` are the stored values: fields equal to them are no changes. `version` is a hash of the values that the
    form was made from, which detects concurrent edits.
    """

    def __init__(
        self, values: Mapping[str, Value], *, current: Mapping[str, Value] | None = None, version: str = ""
    ) -> None:
        self.values = dict(values)
        self.errors: dict[str, str] = {}
        self._current = current
        self.version = version or _version(values)

    def __getitem__(self, name: str) -> Value:
        return self.values.get(name, "")

    def text(self, name: str) -> str:
        """Return the trimmed text of a field; "" if it is missing or no text."""
        value = self.values.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def read(self, model: type[Model], zone: ZoneInfo, shape: Shape = PLAIN) -> Model:
        """Return the equivalent API body, with only the changed fields. Raises INVALID and fills `errors`.

        An empty text becomes null where the model allows it.
        """
        body: dict[str, Any] = {}
        for name in model.model_fields.keys() & self.values.keys():
            value = self.values[name]
            if self._current is not None and self._current.get(name) == value:
                continue
            body[name] = _body_value(value, default=model.model_fields[name].default)
            if name in shape.single:
                body[name] = value[0] if value else None
            if name in shape.local_times and isinstance(body[name], str):
                body[name] = from_local_input(body[name], zone)
        try:
            return model.model_validate(body, strict=False)
        except ValidationError as error:
            for fault in error.errors():
                name = str(fault["loc"][0])
                self.errors.setdefault(name, f"{_location(fault['loc'])} {describe_fault(dict(fault))}.")
            first = next(iter(self.errors.items()))
            raise invalid(*first) from error

    def attempt(self, work: Callable[[], T]) -> T | None:
        """Return the result of `work`; None if it raises INVALID or TAKEN, whose message is added to `errors`."""
        try:
            return work()
        except Problem as problem:
            if problem.kind not in (Kind.INVALID, Kind.TAKEN):
                raise
            self.errors.setdefault(problem.field or "", problem.message)
            return None

    def reject_stale(self, stored: Mapping[str, Value]) -> None:
        """Raise INVALID on `version` if the stored values are not those that the form was made from.

        Call it in the transaction that writes. The form then has the new version, so that submitting it again
        replaces the stored values. A form equal to the stored values is a duplicate submit, not a conflict.
        """
        version = _version(stored)
        if self.version != version and any(self.values.get(name, value) != value for name, value in stored.items()):
            self.version, self._current = version, stored
            raise invalid(VERSION, _STALE)


async def read_body(stream: AsyncIterable[bytes], max_bytes: int) -> bytes:
    """Return the body of a form. Raises TOO_LARGE."""
    body = bytearray()
    async for chunk in stream:
        body += chunk
        if len(body) > max_bytes:
            raise Problem(Kind.TOO_LARGE, f"The form is too large: at most {max_bytes} bytes are allowed.")
    return bytes(body)


def parse_urlencoded(body: bytes) -> dict[str, list[str]]:
    """Return the fields of an urlencoded body. Raises INVALID for too many fields.

    Call it in a thread: a megabyte takes half a second.
    """
    try:
        fields = parse_qs(body.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise invalid("form", "The form has too many fields.") from None
    for name, values in fields.items():
        if any("\0" in value for value in values):
            raise invalid(name, f"{name} must not contain NUL characters.")
    return fields


def apply_shape(fields: Mapping[str, Sequence[str]], shape: Shape) -> dict[str, Value]:
    """Return submitted fields as values of the form. A list without a selection is submitted as one empty value."""
    values: dict[str, Value] = {}
    for name, submitted in fields.items():
        if name in shape.lists:
            values[name] = [value for value in submitted if value]
        elif "." not in name and name not in shape.rows:
            values[name] = submitted[-1].replace("\r\n", "\n")
    for name, parts in shape.rows.items():
        columns = [fields.get(f"{name}.{part}", ()) for part in parts]
        if any(columns):
            cells = zip(*columns, strict=False)
            rows = [dict(zip(parts, (cell.strip() for cell in row), strict=True)) for row in cells]
            values[name] = [row for row in rows if any(row.values())]
    return values


def parse_id(value: str) -> int | None:
    """Return an id or a small number from a form; None for anything else."""
    return int(value) if value.isdecimal() and value.isascii() and len(value) <= _MAX_DIGITS else None


def to_local_input(second: int, zone: ZoneInfo) -> str:
    """Return a Unix time as the value of a `datetime-local` input, in the viewer's time zone."""
    return clock.local(second, zone).strftime("%Y-%m-%dT%H:%M")


def from_local_input(value: str, zone: ZoneInfo) -> str:
    """Return the value of a `datetime-local` input as `YYYY-MM-DD HH:MM:SS` UTC.

    Other text is returned unchanged, so that the model rejects it.
    """
    try:
        moment = datetime.strptime(value[:16], "%Y-%m-%dT%H:%M").replace(tzinfo=zone)
        return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError):
        return value


def _body_value(value: Value, *, default: Any) -> Any:
    if isinstance(value, str):
        text = value.strip()
        return None if not text and default is None else text
    return value


def _version(values: Mapping[str, Value]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _location(names: Sequence[Any]) -> str:
    """Return the location of an error as text: `geotarget 2 link`."""
    return " ".join(
        str(name + 1) if isinstance(name, int) else str(name) for name in names if name != "function-wrap[check()]"
    )
