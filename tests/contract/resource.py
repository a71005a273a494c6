"""The description of a resource for the contract tests, and invalid values by field type."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.contract.shapes import Shape


@dataclass(frozen=True)
class Resource:
    """A noun of the API. `{n}` in `new` becomes a number, so that names are unique."""

    noun: str
    list_path: str
    collection: str
    """Field of the list's response that contains the items."""
    path: str
    new: Mapping[str, Any]
    """A valid body with every field that the contract tests set."""
    required: tuple[str, ...]
    item: Shape
    """Shape of a list item."""
    update: Mapping[str, Any]
    cleared: Mapping[str, Any] = field(default_factory=dict)
    """Value of each optional field in responses after `null` was sent."""
    invalid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Values that each field must reject."""
    immutable: tuple[str, ...] = ()
    """Fields that an update ignores."""
    required_for_type: tuple[str, ...] = ()
    """Fields that the type in `new` requires in addition."""
    required_in_update: tuple[str, ...] = ()
    response_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Response fields that a request field sets, if their names differ."""
    write_only: tuple[str, ...] = ()
    """Fields whose value responses do not repeat."""
    text_field: str | None = "name"
    """A field that accepts any line of text."""
    created_status: int = 200
    reads_one: bool = True

    def responses_of(self, name: str) -> tuple[str, ...]:
        """Return the response fields that a request field sets."""
        return self.response_names.get(name, (name,))

    def body(self, number: int = 1) -> dict[str, Any]:
        """Return a valid body that is unique to the number."""
        return {name: value.format(n=number) if isinstance(value, str) else value for name, value in self.new.items()}

    def __str__(self) -> str:
        return self.noun


NOT_TEXT: tuple[Any, ...] = (5, 1.5, True, [], {}, ["x"], {"x": 1})
NOT_LINE = (*NOT_TEXT, "x" * 10_000, "a\u0000b", "a\nb", "\ud800")
NOT_NAME = (*NOT_LINE, None, "", "   ")
NOT_PARAGRAPH = (*NOT_TEXT, "x" * 10_000, "a\u0000b")
NOT_FLAG: tuple[Any, ...] = (5, "yes", " true", "2", [], {}, 0, 1)
NOT_COLOUR = (*NOT_TEXT, "red", "#12345", "#1234567", "#GGGGGG", "123456", "#12345\n")
NOT_NUMBER: tuple[Any, ...] = ("5.0", "five", " 5", 1.5, True, [], {}, -1, 10**400)
NOT_URL = (
    *NOT_TEXT,
    "example.com",
    "ftp://example.com/",
    "javascript:alert(1)",
    " JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "vbscript:x",
    "//example.com",
    "https://",
    "https:///path",
    "https://exa mple.com/",
    "https://example.com/\r\nSet-Cookie: a=b",
    "https://example.com\\@evil.example/",
    "https://example.com:99999/",
    "https://[::1/",
    "https://example.com/" + "x" * 10_000,
    "https://example.com/\u0000",
)
