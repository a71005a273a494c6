# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    pass


class NewPixel(TypedDict, total=False):
    """A new tracking pixel."""


class PixelChange(TypedDict, total=False):
    """The fields of a pixel."""

    name: str
    """Name for yourself."""
