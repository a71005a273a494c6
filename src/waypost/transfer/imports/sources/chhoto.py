"""Chhoto URL, by its API."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from waypost.transfer.imports.source_row import Record
from waypost.transfer.imports.sources.fields import Fields, RecentNames
from waypost.transfer.imports.sources.http_reader import HttpReader

_PAGE = 100


class ChhotoSource:
    """The links of a Chhoto URL server."""

    name = "chhoto"

    def __init__(self, token: str, base: str, **options: Any) -> None:
        self._reader = HttpReader(base, {"X-API-Key": token}, **options)
        self._own_host = urlsplit(base).hostname or ""
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the links. Raises INVALID on `url` or `token`."""
        line, last = 0, ""
        names = RecentNames()
        while True:
            parameters = {"page_size": _PAGE, **({"page_after": last} if last else {})}
            answer = Fields({"links": self._reader.get("/api/all", parameters)})
            # Servers before version 7 have no pages: they send all links each time.
            page = [link for link in answer.items("links") if names.add(link.text("shortlink"))]
            for link in page:
                line += 1
                record = Record(line, url=link.text("longlink"), alias=link.text("shortlink"), host=self._own_host)
                record.description, record.clicks = link.text("notes"), link.number("hits")
                record.expiry = link.second("expiry_time")
                yield record
            if not page:
                return
            last = page[-1].text("shortlink")
