# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: utm templates."""

from __future__ import annotations

from dataclasses import dataclass

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Template(Record):
    """A UTM template. Empty values leave their parameter as it is."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name, unique among your UTM templates."""
    utm_source: str = ""
    """Value of `utm_source`."""
    utm_medium: str = ""
    """Value of `utm_medium`."""
    utm_campaign: str = ""
    """Value of `utm_campaign`."""
    utm_term: str = ""
    """Value of `utm_term`."""
    utm_content: str = ""
    """Value of `utm_content`."""
    date: str = ""
    """Time of creation, in UTC."""


@dataclass(frozen=True, kw_only=True)
class TemplateDone(Record):
    """The response to create and update: a message and the UTM template."""

    message: str = ""
    """Result in one sentence."""
    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name, unique among your UTM templates."""
    utm_source: str = ""
    """Value of `utm_source`."""
    utm_medium: str = ""
    """Value of `utm_medium`."""
    utm_campaign: str = ""
    """Value of `utm_campaign`."""
    utm_term: str = ""
    """Value of `utm_term`."""
    utm_content: str = ""
    """Value of `utm_content`."""
    date: str = ""
    """Time of creation, in UTC."""
