"""Forms: user input, validated by the models of the API and kept for display when it has errors.

Forms can have small files, such as pictures: they are read as a whole, and their text fields are those of any form.
"""

import hashlib
import json
import re
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import parse_qs
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from waypost.api.responses import describe_fault
from waypost.core import clock
from waypost.core.errors import Kind, Problem, invalid
from waypost.dashboard.i18n import comma, gettext, gettext_noop
from waypost.http.multipart import MultipartReader, Part
from waypost.urls.validation import complete_url, is_no_address

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
Value = str | list[str] | list[dict[str, str]]
MAX_BYTES = 1024 * 1024
MAX_PUBLIC_BYTES = 16 * 1024  # of a page that needs no session
_MAX_FIELDS = 5000
_MAX_DIGITS = 15
_FIELD_PREFIX = re.compile(r"[a-z_]{1,40}\s?:\s")  # the name of a field before its error
VERSION = "version"
TIME_ZONE = "time_zone"
"""The field with the zone in which a form shows times, as its page was rendered."""
NO_ADDRESS = gettext_noop("This is not an address. Example: example.com/page")
NO_ADDRESS_ENTERED = gettext_noop("Enter an address.")
_STALE = "This was changed since you opened it, in another tab or through the API. Save again to replace it."
MAX_FILE_BYTES = 8 * 1024 * 1024
_MAX_KEPT_BYTES = 2 * MAX_FILE_BYTES  # of all files together
_MAX_READ_BYTES = 8 * MAX_FILE_BYTES
_MAX_PARTS = 5000


@dataclass(frozen=True)
class Shape:
    """The fields of a form that are not one line of text.

    `lists`: multiple choices. `rows`: rows with named parts (`single`: at most one row). `flags`: checkboxes.
    `local_times`: times in the viewer's time zone. `urls`: URLs, for which `complete_url` adds a missing `https://`.
    `exact`: secrets and names of networks, which keep the spaces at their ends. A part of a row is called `row.part`.
    """

    lists: tuple[str, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    single: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    local_times: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()


PLAIN = Shape()


class Form:
    """The values of a form and the error messages, by field. `faults` are those of the model, by their full location.

    `current` are the stored values: fields equal to them are no changes. `version` is a hash of the values that the
    form was made from, which detects concurrent edits.
    """

    def __init__(
        self, values: Mapping[str, Value], *, current: Mapping[str, Value] | None = None, version: str = ""
    ) -> None:
        self.values = dict(values)
        self.errors: dict[str, str] = {}
        self.faults: dict[tuple[int | str, ...], str] = {}
        self._shown: dict[str, tuple[str, str, str]] = {}
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
        try:
            return model.model_validate(self._body(model, zone, shape), strict=False)
        except ValidationError as error:
            self._add_faults(error)
            first = next(iter(self.errors.items()))
            raise invalid(*first) from error

    def read_valid(self, model: type[Model], zone: ZoneInfo, shape: Shape = PLAIN) -> Model | None:
        """Return the body without the fields that have errors, which are added to `errors`. None if it is invalid.

        Examples of the model replace required fields.
        """
        body = self._body(model, zone, shape)
        for _ in range(2):
            for name in self.errors.keys() & model.model_fields.keys():
                body.pop(name, None)
                field = model.model_fields[name]
                if field.is_required() and field.examples:
                    body[name] = field.examples[0]
            try:
                return model.model_validate(body, strict=False)
            except ValidationError as error:
                self._add_faults(error)
        return None

    def _body(self, model: type[Model], zone: ZoneInfo, shape: Shape) -> dict[str, Any]:
        body: dict[str, Any] = {}
        for name in model.model_fields.keys() & self.values.keys():
            value = self.values[name]
            if self._current is not None and self._current.get(name) == value:
                continue
            if name not in shape.exact or not value:
                value = _body_value(value, default=model.model_fields[name].default)
            body[name] = value
            if name in shape.single:
                body[name] = value[0] if value else None
            if name in shape.local_times and isinstance(body[name], str):
                body[name] = from_local_input(body[name], zone)
        return body

    def _add_faults(self, error: ValidationError) -> None:
        for fault in error.errors():
            name, text = str(fault["loc"][0]), describe_fault(dict(fault))
            self.errors.setdefault(name, f"{_location(fault['loc'])} {text}.")
            self.faults.setdefault(fault["loc"], text)

    def describe(self, name: str, label: str, parts: Sequence[Sequence[str]] = (), place: str = "") -> str:
        """Return the error of a field with labels instead of API names, and list it in `summary`.

        `parts` are (name, label, …) of the parts of a row; `place` names the group of the field in the summary.
        """
        message = self.errors[name]
        if is_no_address(message):
            message = NO_ADDRESS if self._has_text(name) else NO_ADDRESS_ENTERED
        labels = {part[0]: part[1] for part in parts}
        field, _, rest = message.partition(" ")
        if field != name:
            message = _without_field(gettext(message))
            self._shown[name] = (name, _labeled(place, label) if place else label, _labeled("", message))
            return message
        number, row = _take(rest, str.isdecimal)
        part, rest = _take(row, labels.__contains__)
        row_label = gettext("row %(number)s", number=number) if number else ""
        label = comma().join(filter(None, (label, row_label, labels.get(part))))
        rest = translate_after(name, rest)
        self._shown[name] = (name, _labeled(place, label) if place else label, rest)
        return label + rest

    def _has_text(self, name: str) -> bool:
        """Return whether a field is not empty; True for a part of a row, which is no field of its own."""
        return bool(self.values.get(name, True))

    @property
    def described_count(self) -> int:
        """The number of errors that were described so far."""
        return len(self._shown)

    @property
    def summary(self) -> Sequence[tuple[str, str, str]]:
        """(id of the field, label, message) of each error, in the order of the page; others have no field."""
        others = [("", "", gettext(text)) for name, text in self.errors.items() if name not in self._shown]
        return [*others, *self._shown.values()]

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
            value = submitted[-1].replace("\r\n", "\n")
            values[name] = complete_url(value) if name in shape.urls else value
    for name, parts in shape.rows.items():
        columns = [fields.get(f"{name}.{part}", ()) for part in parts]
        if any(columns):
            cells = zip(*columns, strict=False)
            exact = [part for part in parts if f"{name}.{part}" in shape.exact]
            rows = [dict(zip(parts, row, strict=True)) for row in cells]
            rows = [{part: row[part] if part in exact else row[part].strip() for part in parts} for row in rows]
            urls = [part for part in parts if f"{name}.{part}" in shape.urls]
            rows = [{**row, **{part: complete_url(row[part]) for part in urls}} for row in rows]
            values[name] = [row for row in rows if any(row.values())]
    return values


def _without_field(message: str) -> str:
    """Return a message without the API name of its field: `token: enter one` becomes `Enter one`."""
    prefix = _FIELD_PREFIX.match(message)
    if prefix is None:
        return message  # it can begin with a value, such as a host name
    text = message[prefix.end() :]
    return text[:1].upper() + text[1:]


def translate_after(name: str, text: str) -> str:
    """Return the translation of a message that begins with the name of a field, without the name."""
    message = f"{name} {text}"
    translated = gettext(message)
    if translated.startswith(f"{name} "):
        return translated.removeprefix(name)
    rest = gettext(text)  # the pseudo-language changes names too, and translates any text
    return f" {rest}"


def _labeled(label: str, value: str) -> str:
    """Return a label and its value with the colon of the language; without a label, the colon and the value."""
    return gettext("%(label)s: %(value)s", label=label, value=value)


def _take(text: str, is_taken: Callable[[str], bool]) -> tuple[str, str]:
    """Return the first word if it is taken, else "", and the rest of the text."""
    word, _, rest = text.partition(" ")
    return (word, rest) if is_taken(word) else ("", text)


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


@dataclass(frozen=True)
class SubmittedForm:
    """The text fields of a form, and its files by field. A file is None if it is too large."""

    fields: Mapping[str, list[str]]
    files: Mapping[str, bytes | None]


NO_FORM = SubmittedForm({}, {})


def is_multipart(request: Request) -> bool:
    """Return whether the request has a form with files."""
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


async def read_multipart(request: Request, *, field_seconds: float) -> SubmittedForm:
    """Return the form, which may take `field_seconds` in total. Raises INVALID, TOO_LARGE and TOO_SLOW."""
    reader = MultipartReader(request, field_seconds=field_seconds, max_parts=_MAX_PARTS)
    fields: dict[str, list[str]] = {}
    files: dict[str, bytes | None] = {}
    text_bytes = kept_bytes = read_bytes = 0
    while (part := await reader.next_part()) is not None:
        if part.filename is None:
            value = await part.text(max_bytes=MAX_BYTES)
            text_bytes += len(value)
            fields.setdefault(part.name, []).append(value)
            if text_bytes > 2 * MAX_BYTES:
                raise _too_large(2 * MAX_BYTES)
            continue
        async with reader.field_time():
            content, size = await _read_file(reader, part, min(MAX_FILE_BYTES, _MAX_KEPT_BYTES - kept_bytes))
        kept_bytes += len(content or b"")
        read_bytes += size
        if read_bytes > _MAX_READ_BYTES:
            raise _too_large(_MAX_READ_BYTES)
        if part.filename:
            files[part.name] = content
    return SubmittedForm(fields, files)


async def _read_file(reader: MultipartReader, part: Part, max_bytes: int) -> tuple[bytes | None, int]:
    """Return a file and its size; None instead of the bytes of one that is too large."""
    content, size = bytearray(), 0
    while (chunk := await reader.read_chunk(part)) is not None and size <= _MAX_READ_BYTES:
        size += len(chunk)
        if size <= max_bytes:
            content += chunk
        else:
            content.clear()
    return (bytes(content) if size <= max_bytes else None), size


def _too_large(max_bytes: int) -> Problem:
    return Problem(Kind.TOO_LARGE, f"The form is too large: at most {max_bytes} bytes are allowed.")
