# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Required


class Selection(TypedDict, total=False):
    """All links that match."""

    action: Required[Literal["create", "update", "delete", "assign"]]
    """`update` or `delete`."""
    expect: Required[int]
    """The number of links that you saw; else 409."""
    q: str | None
    """Only links that contain it."""
    campaign: int | None
    """Only links of this campaign."""
    channel: int | None
    """Only links of this channel."""
    status: Literal["public", "private", "disabled"] | None
    """Only links with this status."""
    fields: Mapping[str, Any] | None
    """The fields of an update."""


class BulkRequest(TypedDict, total=False):
    """Changes, or a selection of links."""

    items: Sequence[Any] | None
    """Changes: {action, noun, id, fields}. `action` is create, update, delete or assign; `noun` is the first
    part of the path of the single request; `fields` is its body. To assign, `id` is the campaign or channel,
    `item` the id of what it gets, and `type` for a channel links, bio or qr.
    """
    selection: Selection | None
    """Update or delete all links that match, instead of `items`."""
    atomic: bool
    """Change nothing if one item fails."""
