"""Reject values that the databases cannot store, before every statement (decision 70).

PostgreSQL rejects NUL characters, and neither database stores lone surrogates or integers beyond 64 bits.
"""

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Engine, event

from waypost.core.errors import Kind, Problem

_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1


def check_parameters(engine: Engine) -> None:
    """Check the parameters of every statement that the engine executes."""

    @event.listens_for(engine, "before_cursor_execute")
    def check(_tx: Any, _cursor: Any, _statement: str, parameters: Any, *_details: Any) -> None:
        check_values(parameters.values() if isinstance(parameters, dict) else parameters)


def dump_json(value: Any) -> str:
    """Return the value of a JSON column. Raises INVALID for text that cannot be stored."""
    check_values([value])
    return json.dumps(value)


def is_storable(text: str) -> bool:
    """Return whether the databases can store the text."""
    return "\0" not in text and (text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text))


def check_values(values: Iterable[Any]) -> None:
    """Raise INVALID for values that cannot be stored."""
    for value in values:
        if isinstance(value, str):
            if not is_storable(value):
                raise Problem(Kind.INVALID, "Text must not contain NUL characters or lone surrogates.")
        elif isinstance(value, int):
            if not _MIN_INTEGER <= value <= _MAX_INTEGER:
                raise Problem(Kind.INVALID, "A number must fit into 64 bits.")
        elif isinstance(value, dict):
            check_values(value)
            check_values(value.values())
        elif isinstance(value, list | tuple):
            check_values(value)
