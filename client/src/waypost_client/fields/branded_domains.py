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
    brandname: str | None
    """Name on the pages of the domain, at most 60 characters; the installation's by default."""
    brandcolor: str | None
    """Color of these pages, `#RRGGBB`."""
    brandlogo: str | None
    """Logo on these pages: a PNG or JPEG picture of at most 2 MiB as a `data:` URL. The service keeps a PNG of
    at most 24 KiB.
    """


class DomainChange(TypedDict, total=False):
    """The fields of a branded domain. Absent ones keep their values."""

    redirectroot: str | None
    """Destination of visits to the root of the domain."""
    redirect404: str | None
    """Destination of visits to unknown aliases."""
    ignorecase: bool | None
    """True if aliases are found in upper and lower case alike."""
    brandname: str | None
    """Name on the pages of the domain, at most 60 characters; the installation's by default."""
    brandcolor: str | None
    """Color of these pages, `#RRGGBB`."""
    brandlogo: str | None
    """Logo on these pages: a PNG or JPEG picture of at most 2 MiB as a `data:` URL. The service keeps a PNG of
    at most 24 KiB.
    """
