"""A public page, parsed like a browser parses it."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from typing import Any

from tests.conftest import Person
from tests.support.visits import ACCEPT_HTML, CHROME, visit

SANDBOX = (
    "allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-presentation"
    " allow-scripts allow-top-navigation-by-user-activation"
).split()
"""Permissions of a page before a destination on a host with the dashboard: all but its origin."""
VOID = frozenset({"meta", "link", "img", "input", "br"})


@dataclass
class Element:
    """An HTML element with its tag name, attributes and text."""

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
    """The response to a browser, with its parsed elements."""

    response: Any

    @property
    def status(self) -> int:
        return int(self.response.status_code)

    @cached_property
    def elements(self) -> list[Element]:
        reader = _Reader()
        reader.feed(self.response.content.decode())
        reader.close()
        return reader.elements

    def all(self, name: str, /, **attributes: str) -> list[Element]:
        """All elements with a tag name and attributes; `class_` and `http_equiv` are spelled for Python."""
        attributes = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        return [e for e in self.elements if e.name == name and attributes.items() <= e.attributes.items()]

    def one(self, name: str, /, **attributes: str) -> Element:
        """The only element with a tag name and attributes."""
        elements = self.all(name, **attributes)
        assert len(elements) == 1, (name, attributes, elements)
        return elements[0]

    @cached_property
    def script_data(self) -> dict[str, Any]:
        """The data of the page's script."""
        data: dict[str, Any] = json.loads(self.one("script", id="script-config").text)
        return data

    @cached_property
    def policy(self) -> dict[str, list[str]]:
        """The Content-Security-Policy by directive, with the hash of our script replaced."""
        header = re.sub(r"'sha256-[\w/+]{43}='", "HASH", self.response.headers["content-security-policy"])
        parts = (part.split() for part in header.split(";"))
        return {name: sources for name, *sources in parts}


def open_page(person: Person, path: str, *, agent: str = CHROME, **options: Any) -> Page:
    """Open a short link like a browser."""
    headers = {**ACCEPT_HTML, **options.pop("headers", {})}
    return Page(visit(person.client, path, agent=agent, headers=headers, **options))
