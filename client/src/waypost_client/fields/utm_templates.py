# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: utm templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    pass


class NewTemplate(TypedDict, total=False):
    """A new UTM template."""

    utm_source: str | None
    """Value of `utm_source`."""
    utm_medium: str | None
    """Value of `utm_medium`."""
    utm_campaign: str | None
    """Value of `utm_campaign`."""
    utm_term: str | None
    """Value of `utm_term`."""
    utm_content: str | None
    """Value of `utm_content`."""


class TemplateChange(TypedDict, total=False):
    """The fields of a UTM template. Absent ones keep their values."""

    name: str
    """Name, unique among your UTM templates."""
    utm_source: str | None
    """Value of `utm_source`."""
    utm_medium: str | None
    """Value of `utm_medium`."""
    utm_campaign: str | None
    """Value of `utm_campaign`."""
    utm_term: str | None
    """Value of `utm_term`."""
    utm_content: str | None
    """Value of `utm_content`."""
