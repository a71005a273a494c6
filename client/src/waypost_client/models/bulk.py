# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: bulk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class BulkDone(Record):
    """The results of all changes."""

    message: str = ""
    """Result in one sentence."""
    results: tuple[Mapping[str, Any], ...] = ()
    """For each item, the `status` and the body that the single request would have."""
