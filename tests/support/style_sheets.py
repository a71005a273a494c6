"""Declarations of style sheets, and those that name a side of the screen instead of a side of the text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.source import ROOT, SOURCE

_COMMENT = re.compile(r"/\*.*?\*/|@import[^;]*;", re.DOTALL)
_PART = re.compile(r"([^{};]*)([{};])")
_SIDE = re.compile(r"\b(left|right)\b")
_PHYSICAL_NAME = re.compile(r"(.*-)?(left|right)(-.*)?")
# Their values can name a side.
_VALUES = frozenset(
    "text-align float clear background background-position object-position transform-origin caption-side".split()
)
_FOUR_SIDES = re.compile(r"(scroll-)?(margin|padding)|inset|border-(width|style|color)")
_SIDES = 4
_WORD = re.compile(r"(?:[^\s()]|\((?:[^()]|\([^()]*\))*\))+")


@dataclass(frozen=True)
class Declaration:
    """A declaration with its selector, such as `.card`, `margin-top`, `1rem`."""

    selector: str
    name: str
    value: str


def style_sheets() -> list[Path]:
    """Return the style sheets of the dashboard and of the pages for visitors."""
    return [*sorted((ROOT / "web" / "src").glob("*.css")), *sorted((SOURCE / "visits" / "templates").rglob("*.css"))]


def declarations(style_sheet: str) -> Iterator[Declaration]:
    """Yield the declarations of a style sheet, also of nested rules."""
    selectors: list[str] = []
    for text, end in _PART.findall(_COMMENT.sub("", style_sheet)):
        words = " ".join(text.split())
        if end == "{":
            selectors.append(words)
            continue
        name, colon, value = words.partition(":")
        if colon:
            yield Declaration(selectors[-1] if selectors else "", name.strip(), value.strip())
        if end == "}":
            selectors.pop()


def is_physical(declaration: Declaration) -> bool:
    """Return whether a declaration treats left and right differently, so that it is wrong in half of all scripts."""
    name, value = declaration.name, declaration.value
    if name.startswith("--"):
        return False
    if _PHYSICAL_NAME.fullmatch(name) or (name in _VALUES and _SIDE.search(value)):
        return True
    if re.search(r"\bto (left|right)\b|translateX\((?!-50%\))", value):
        return True
    words = _WORD.findall(value.removesuffix("!important"))
    if _FOUR_SIDES.fullmatch(name):
        return len(words) > _SIDES - 1 and bool(words[1] != words[3])
    if name == "border-radius" and "/" not in words:
        corners = {1: (0, 0, 0, 0), 2: (0, 1, 0, 1), 3: (0, 1, 2, 1), 4: (0, 1, 2, 3)}.get(len(words), (0, 0, 0, 0))
        top_start, top_end, bottom_end, bottom_start = (words[corner] for corner in corners)
        return (top_start, bottom_start) != (top_end, bottom_end)
    return False
