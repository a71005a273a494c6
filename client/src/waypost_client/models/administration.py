# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: administration."""

from __future__ import annotations

from dataclasses import dataclass

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Deletion(Record):
    """The response to the deletion of an account."""

    message: str = ""
    """Result in one sentence."""
    deletion: str = ""
    """Time of the deletion, in UTC. Until then it can be canceled."""
