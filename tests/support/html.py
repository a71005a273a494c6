"""Pages on the way to a target, read as a browser reads them."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from typing import Any

from tests.conftest import Person
from tests.support.visits import CHROME, PAGE, visit

VOID = frozenset({"meta", "link", "img", "input", "br"})


@dataclass
class Element:
    """An element: its name, its attributes, and the text inside it."""

    name: str
    attributes: dict[str, str]
    text: str = ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop().name != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data


@dataclass
class Page:
    """What a browser got."""

    response: Any

    @property
    def status(self) -> int:
        return int(self.response.status_code)

    @cached_property
    def elements(self) -> list[Element]:
        reader = _Reader()
        reader.feed(self.response.text)
        reader.close()
        return reader.elements

    def all(self, name: str, /, **wanted: str) -> list[Element]:
        """The elements of that name with these attributes; `class_` and `http_equiv` stand for what Python forbids."""
        asked = {key.rstrip("_").replace("_", "-"): value for key, value in wanted.items()}
        return [e for e in self.elements if e.name == name and asked.items() <= e.attributes.items()]

    def one(self, name: str, /, **wanted: str) -> Element:
        """The one such element."""
        found = self.all(name, **wanted)
        assert len(found) == 1, (name, wanted, found)
        return found[0]

    @cached_property
    def way(self) -> dict[str, Any]:
        """What the page's script is told."""
        told: dict[str, Any] = json.loads(self.one("script", id="way").text)
        return told

    @cached_property
    def policy(self) -> dict[str, list[str]]:
        """The Content-Security-Policy by directive, the nonce left out."""
        header = re.sub(r"'nonce-[\w-]{22}'", "NONCE", self.response.headers["content-security-policy"])
        parts = (part.split() for part in header.split(";"))
        return {name: sources for name, *sources in parts}


def walk(person: Person, path: str, *, agent: str = CHROME, **options: Any) -> Page:
    """What a browser gets that asks for a short link."""
    headers = {**PAGE, **options.pop("headers", {})}
    return Page(visit(person.client, path, agent=agent, headers=headers, **options))
