"""Records: the contents of responses, as frozen dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from types import UnionType
from typing import Any, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

R = TypeVar("R", bound="Record")
Converter = Callable[[Any], Any]
_UNIONS = (Union, UnionType)


@dataclass(frozen=True, kw_only=True)
class Record:
    """Part of a response. `raw` is the JSON object as it was received, with fields that this version does not know.

    A field that the server did not send has an empty value; `"title" in link.raw` tells the difference.
    """

    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Page(Record, Generic[R]):
    """A page of a list. `result` counts all matches; `nextpage` is None on the last page."""

    items: tuple[R, ...] = ()
    result: int = 0
    perpage: int = 0
    currentpage: int = 0
    nextpage: int | None = None
    maxpage: int = 0

    def __iter__(self) -> Iterator[R]:
        """Iterate over the items of this page."""
        return iter(self.items)

    def __len__(self) -> int:
        """Return the number of items of this page."""
        return len(self.items)


@dataclass(frozen=True, kw_only=True)
class BulkResult(Record):
    """The result of one change of a bulk request: the status and fields that the single request would have."""

    status: int = 0
    error: int = 0
    message: str = ""
    code: str = ""
    field: str | None = None
    id: int | None = None
    shorturl: str = ""

    @property
    def ok(self) -> bool:
        """True if the change was made."""
        return not self.error


@dataclass(frozen=True)
class Downloaded:
    """Content that was written to a file: its size in bytes and its SHA-256 digest in hexadecimal."""

    size: int
    sha256: str


def parse(kind: type[R], data: Mapping[str, Any]) -> R:
    """Return a record of the JSON object. Unknown fields are only in `raw`; absent ones keep their default."""
    values = {name: convert(data[name]) for name, convert in _converters(kind).items() if name in data}
    return kind(raw=data, **values)


def parse_page(kind: type[R], collection: str, data: Mapping[str, Any]) -> Page[R]:
    """Return a page whose items are in the field `collection`."""
    values: dict[str, Any] = {name: data[name] for name in _converters(Page) if name in data}
    values["items"] = tuple(parse(kind, item) for item in data.get(collection, ()))
    return Page[R](raw=data, **values)


_known: dict[type[Record], Mapping[str, Converter]] = {}


def _converters(kind: type[Record]) -> Mapping[str, Converter]:
    """Return the converter of each field. They are computed once for each class."""
    if kind not in _known:
        hints = get_type_hints(kind)
        _known[kind] = {each.name: _converter(hints[each.name]) for each in fields(kind) if each.name != "raw"}
    return _known[kind]


def _converter(hint: Any) -> Converter:
    """Return the function that converts a JSON value to the type of a field. Other values are kept as they are."""
    arguments = get_args(hint)
    if isinstance(hint, type) and issubclass(hint, Record):
        return partial(_most_similar, (hint,))
    if get_origin(hint) is tuple:
        convert = _converter(arguments[0])
        return lambda value: _all(convert, value)
    records = [each for each in arguments if isinstance(each, type) and issubclass(each, Record)]
    return partial(_most_similar, records) if records and get_origin(hint) in _UNIONS else _same


def _most_similar(kinds: Sequence[type[Record]], value: Any) -> Any:
    """Return a record of the class that has most of the fields of a JSON object; another value as it is."""
    if not isinstance(value, Mapping):
        return value
    data = cast("Mapping[str, Any]", value)
    return parse(max(kinds, key=lambda kind: sum(name in data for name in _converters(kind))), data)


def _all(convert: Converter, value: Any) -> Any:
    values = cast("list[Any]", value)
    return tuple(map(convert, values)) if isinstance(value, list) else value


def _same(value: Any) -> Any:
    return value
