"""Kutt, by its API version 2. Its statistics have no dates, so only totals come along (see `sqlite_files`)."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from waypost.transfer.imports.source_row import DISABLED, Record
from waypost.transfer.imports.sources.fields import Fields
from waypost.transfer.imports.sources.http_reader import HttpReader

_PAGE = 50


class KuttSource:
    """The links of the account of the token."""

    name = "kutt"

    def __init__(self, token: str, base: str, **options: Any) -> None:
        self._reader = HttpReader(base, {"X-API-KEY": token}, **options)
        self._own_host = urlsplit(base).hostname or ""
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the links. Raises INVALID on `url` or `token`."""
        line = 0
        while True:
            parameters = {"limit": _PAGE, "skip": line, "all": "false"}
            page = list(Fields(self._reader.get("/api/v2/links", parameters)).items("data"))
            for link in page:
                line += 1
                yield self._record(line, link)
            if not page:
                return

    def _record(self, line: int, link: Fields) -> Record:
        record = Record(line, url=link.text("target"), alias=link.text("address"), source_id=link.text("id"))
        record.host = link.text("domain") or self._own_host
        record.description, record.clicks = link.text("description"), link.number("visit_count")
        record.created, record.expiry = link.second("created_at"), link.second("expire_in")
        if link.is_true("password"):
            record.is_disabled = True
            record.losses.append(DISABLED)
        if link.is_true("banned"):
            record.is_disabled = True
            record.losses.append("it was banned, so it is disabled")
        return record
