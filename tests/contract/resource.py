"""The description of a resource for the contract tests, and invalid values by field type."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.contract.shapes import Shape


@dataclass(frozen=True)
class Family:
    """A noun of the API. `{n}` in `new` becomes a number, so that names are unique.

    `new` is a whole valid body; `needed` are its required fields; `cleared` says what an optional field answers with
    after `null`; `wrong` has values that each field must refuse; `item` is the shape of a list item.
    """

    noun: str
    list: str
    collection: str
    one: str
    new: Mapping[str, Any]
    needed: tuple[str, ...]
    item: Shape
    change: Mapping[str, Any]
    cleared: Mapping[str, Any] = field(default_factory=dict)
    wrong: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    created_status: int = 200
    change_needs: tuple[str, ...] = ()
    reads_one: bool = True

    def body(self, number: int = 1) -> dict[str, Any]:
        """A valid body, unlike that of any other number."""
        return {k: v.format(n=number) if isinstance(v, str) else v for k, v in self.new.items()}

    def __str__(self) -> str:
        return self.noun


NOT_TEXT: tuple[Any, ...] = (5, 1.5, True, [], {}, ["x"], {"x": 1})
NOT_LINE = (*NOT_TEXT, "x" * 10_000, "a\u0000b", "a\nb", "\ud800")
NOT_NAME = (*NOT_LINE, None, "", "   ")
NOT_PARAGRAPH = (*NOT_TEXT, "x" * 10_000, "a\u0000b")
NOT_FLAG: tuple[Any, ...] = (5, "true", "yes", [], {}, 0, 1)
NOT_COLOUR = (*NOT_TEXT, "red", "#12345", "#1234567", "#GGGGGG", "123456", "", "#12345\n")
NOT_NUMBER: tuple[Any, ...] = ("5", 1.5, True, [], {}, -1, 10**400)
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
