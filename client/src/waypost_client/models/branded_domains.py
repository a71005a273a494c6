# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: branded domains."""

from __future__ import annotations

from dataclasses import dataclass

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Domain(Record):
    """A branded domain."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    domain: str = ""
    """Scheme and host name of the domain."""
    redirectroot: str = ""
    """Destination of visits to the root of the domain."""
    redirect404: str = ""
    """Destination of visits to unknown aliases."""


@dataclass(frozen=True, kw_only=True)
class DomainWithBrand(Record):
    """A branded domain, with the brand of its pages."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    domain: str = ""
    """Scheme and host name of the domain."""
    redirectroot: str = ""
    """Destination of visits to the root of the domain."""
    redirect404: str = ""
    """Destination of visits to unknown aliases."""
    brandname: str = ""
    """Name on the pages of the domain, at most 60 characters; the installation's by default."""
    brandcolor: str = ""
    """Color of these pages, `#RRGGBB`."""
    brandlogo: str = ""
    """Logo on these pages: a PNG or JPEG picture of at most 2 MiB as a `data:` URL. The service keeps a PNG of
    at most 24 KiB.
    """
