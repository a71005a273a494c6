"""Forms: what a person typed, read by the same models as the API's bodies, and kept when something is wrong."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import parse_qs
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ValidationError

from waypost.api.responses import words
from waypost.errors import Kind, Problem, invalid

T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)
Value = str | list[str] | list[dict[str, str]]
MOST_BYTES = 1024 * 1024
_MOST_FIELDS = 5000
VERSION = "version"
_STALE = "This was changed since you opened it, in another tab or by another way. Saved again, yours replaces it."


@dataclass(frozen=True)
class Shape:
    """What a noun's form has beside lines of text: lists of choices, rows of parts (`single`: one row at most), ticks,
    and moments of local time."""

    lists: tuple[str, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    single: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    moments: tuple[str, ...] = ()


PLAIN = Shape()


class Form:
    """The values of a form by field, and what is wrong with them."""

    def __init__(
        self, values: Mapping[str, Value], *, now: Mapping[str, Value] | None = None, version: str = ""
    ) -> None:
        self.values = dict(values)
        self.faults: dict[str, str] = {}
        self._now = now
        self.version = version or _version(values)

    def __getitem__(self, name: str) -> Value:
        return self.values.get(name, "")

    def text(self, name: str) -> str:
        """One line, trimmed; "" where there is none."""
        value = self.values.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def read(self, model: type[B], zone: ZoneInfo, shape: Shape = PLAIN) -> B:
        """The body that the API would have been sent: only what differs from what there is. Fills `faults`.

        Raises INVALID. A blank is null where the field can be cleared.
        """
        body: dict[str, Any] = {}
        for name in model.model_fields.keys() & self.values.keys():
            value = self.values[name]
            if self._now is not None and self._now.get(name) == value:
                continue
            body[name] = _sent(value, cleared=model.model_fields[name].default)
            if name in shape.single:
                body[name] = value[0] if value else None
            if name in shape.moments and isinstance(body[name], str):
                body[name] = utc(body[name], zone)
        try:
            return model.model_validate(body, strict=False)
        except ValidationError as error:
            for fault in error.errors():
                name = str(fault["loc"][0])
                self.faults.setdefault(name, f"{_place(fault['loc'])} {words(dict(fault))}.")
            first = next(iter(self.faults.items()))
            raise invalid(*first) from error

    def attempt(self, work: Callable[[], T]) -> T | None:
        """What `work` gives; None when it finds a fault with a field, which then stands in `faults`."""
        try:
            return work()
        except Problem as problem:
            if problem.kind not in (Kind.INVALID, Kind.TAKEN):
                raise
            self.faults.setdefault(problem.field or "", problem.message)
            return None

    def refuse_stale(self, now: Mapping[str, Value]) -> None:
        """Raise INVALID on `version` when the thing is not any more what the form was made from. Call it in the
        transaction that writes; the form then knows the newest state, so that sending it again replaces that.

        What says no more than what there is now was sent twice: nobody has to be told of that."""
        newest = _version(now)
        if self.version != newest and any(self.values.get(name, value) != value for name, value in now.items()):
            self.version, self._now = newest, now
            raise invalid(VERSION, _STALE)


async def sent(stream: Any) -> dict[str, list[str]]:
    """The fields that a browser sent. Raises TOO_LARGE, and INVALID for what is no form."""
    body = bytearray()
    async for chunk in stream:
        body += chunk
        if len(body) > MOST_BYTES:
            raise Problem(Kind.TOO_LARGE, f"This is too much for one form: at most {MOST_BYTES} bytes.")
    try:
        fields = parse_qs(body.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise invalid("form", "The form has too many fields.") from None
    return {name: [value.replace("\x00", "") for value in values] for name, values in fields.items()}


def shaped(fields: Mapping[str, Sequence[str]], shape: Shape) -> dict[str, Value]:
    """The values of a form that was sent, in its shape. A list of which nothing is chosen is sent as one blank."""
    values: dict[str, Value] = {}
    for name, given in fields.items():
        if name in shape.lists:
            values[name] = [one for one in given if one]
        elif "." not in name:
            values[name] = given[-1].replace("\r\n", "\n")
    for name, parts in shape.rows.items():
        columns = [fields.get(f"{name}.{part}", ()) for part in parts]
        if any(columns):
            rows = [dict(zip(parts, (one.strip() for one in row), strict=True)) for row in zip(*columns, strict=False)]
            values[name] = [row for row in rows if any(row.values())]
    return values


def local(second: int, zone: ZoneInfo) -> str:
    """A moment as the browser's field for one wants it, in the viewer's time."""
    return datetime.fromtimestamp(second, zone).strftime("%Y-%m-%dT%H:%M")


def utc(value: str, zone: ZoneInfo) -> str:
    """`YYYY-MM-DD HH:MM:SS` in UTC of what such a field sent; anything else as it is, for the model to refuse."""
    try:
        moment = datetime.strptime(value[:16], "%Y-%m-%dT%H:%M").replace(tzinfo=zone)
        return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError):
        return value


def _sent(value: Value, *, cleared: Any) -> Any:
    if isinstance(value, str):
        plain = value.strip()
        return None if not plain and cleared is None else plain
    return value


def _version(values: Mapping[str, Value]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _place(names: Sequence[Any]) -> str:
    """`geotarget 2 link`"""
    return " ".join(
        str(name + 1) if isinstance(name, int) else str(name) for name in names if name != "function-wrap[check()]"
    )
