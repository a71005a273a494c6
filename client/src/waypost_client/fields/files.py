# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: files."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    pass


class FileChange(TypedDict, total=False):
    """The settings of a file. Absent ones keep their values."""

    name: str | None
    """Name that visitors see; the file name by default."""
    password: str | None
    """Password that visitors must enter. `null` removes it."""
    expiry: str | None
    """Last day in UTC, `YYYY-MM-DD`, or last second, `YYYY-MM-DD HH:MM:SS` in UTC or with an offset such as
    `+02:00`. `null` removes the expiry.
    """
    maxdownloads: int | None
    """Number of downloads that are allowed; null for no limit."""


class UploadOptions(TypedDict, total=False):
    """Options of an upload."""

    name: str | None
    """Name that visitors see; the file name by default."""
    custom: str | None
    """Alias instead of a random one, unique on its host."""
    domain: str | None
    """One of your branded domains; the service's own host by default."""
    password: str | None
    """Password that visitors must enter. `null` removes it."""
    expiry: str | None
    """Last day in UTC, `YYYY-MM-DD`, or last second, `YYYY-MM-DD HH:MM:SS` in UTC or with an offset such as
    `+02:00`. `null` removes the expiry.
    """
    maxdownloads: int | None
    """Number of downloads that are allowed; null for no limit."""
