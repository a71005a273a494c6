"""Chunks of bulk requests: at most 1,000 changes each, and smaller than the largest body that the API accepts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

Noun: TypeAlias = Literal[
    "url", "file", "campaign", "channel", "qr", "bio", "splash", "overlay", "pixel", "utm", "domain", "share"
]
MAX_CHANGES = 1000
_MAX_BYTES = 4 * 1024 * 1024


def chunks(changes: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the changes in lists for one request each."""
    chunk: list[Mapping[str, Any]] = []
    size = 0
    for change in changes:
        length = len(json.dumps(change))
        if chunk and (len(chunk) == MAX_CHANGES or size + length > _MAX_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(change)
        size += length
    if chunk:
        yield chunk
