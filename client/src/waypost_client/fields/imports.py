# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: imports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    pass


class NewImport(TypedDict, total=False):
    """The source of an import, and how its links come along."""

    service: Literal["bitly", "chhoto", "dub", "kutt", "rebrandly", "shlink", "short.io", "yourls"] | None
    """Service whose API is read. Give this or `file`."""
    token: str | None
    """Token of that service. It is never stored."""
    url: str | None
    """Address of your own server of the service."""
    history: bool | None
    """False to import only the totals of clicks, which is faster."""
    file: int | None
    """Id of your file: CSV, SQL dump of YOURLS, SQLite, JSON of LinkStack, or archive of waypost."""
    columns: Mapping[str, str] | None
    """Columns of a CSV file by field, where they have other names."""
    timezone: str | None
    """Time zone of dates in CSV files and YOURLS that do not name one; UTC by default."""
    dates: Literal["day-first", "month-first", "unambiguous"] | None
    """Order in dates of CSV files such as `03/04/2026`; by default `unambiguous`, which refuses dates that can
    be two dates.
    """
    hosts: Mapping[str, str] | None
    """Hosts of the source, and the host here for each; empty for the service's own. The empty host of the source
    is that of links without one, such as in a dump of YOURLS.
    """
    conflicts: Literal["skip", "suffix", "replace"] | None
    """A taken alias: `skip` the row, add a `suffix`, or `replace` your own link."""
    folders: Literal["campaign", "channel", "ignore"] | None
    """Folders and groups become campaigns or channels."""
