# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: branded domains."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    pass


class NewDomain(TypedDict, total=False):
    """A new branded domain."""

    redirectroot: str | None
    """Destination of visits to the root of the domain."""
    redirect404: str | None
    """Destination of visits to unknown aliases."""
    ignorecase: bool | None
    """True if aliases are found in upper and lower case alike."""


class DomainChange(TypedDict, total=False):
    """The fields of a branded domain. Absent ones keep their values."""

    redirectroot: str | None
    """Destination of visits to the root of the domain."""
    redirect404: str | None
    """Destination of visits to unknown aliases."""
    ignorecase: bool | None
    """True if aliases are found in upper and lower case alike."""
