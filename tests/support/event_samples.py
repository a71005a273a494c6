"""The samples of events on the page docs/events.md, and their comparison with events that tests cause."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from waypost.audit.log import Entry
from waypost.webhooks import outbox

PAGE = Path(__file__).parents[2] / "docs" / "events.md"
CAUSED = "events"
"""The property of a test with the messages of the events that it caused, which `make events` writes into the page."""
Payload = Mapping[str, Any]


@cache
def samples() -> Mapping[str, Payload]:
    """Return the samples of the page by the names of their events."""
    payloads = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
    return {payload["type"]: payload for payload in payloads}


def payloads_of(entries: Iterable[Entry]) -> list[Payload]:
    """Return the messages of events of the audit log."""
    return [json.loads(outbox.payload(entry)) for entry in entries]


def unlike_samples(caused: Iterable[Payload]) -> Mapping[str, Any]:
    """Return the events of which no caused one has the names of the sample, with those of the caused ones."""
    by_name: dict[str, list[Any]] = {}
    for payload in caused:
        by_name.setdefault(payload["type"], []).append(_names(payload["data"]))
    known = samples()
    return {
        name: shapes
        for name, shapes in by_name.items()
        if name not in known or _names(known[name]["data"]) not in shapes
    }


def _names(value: Any) -> Any:
    """Return the names in an object, with those in its objects and in the first one of its lists."""
    if isinstance(value, dict):
        return {name: _names(part) for name, part in value.items()}
    return [_names(value[0])] if isinstance(value, list) and value else None
