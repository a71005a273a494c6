"""Rebrandly, by its API version 1."""

from collections.abc import Iterator
from typing import Any

from waypost.transfer.imports.source_row import Record
from waypost.transfer.imports.sources.fields import Fields
from waypost.transfer.imports.sources.http_reader import HttpReader

_API = "https://api.rebrandly.com/v1"
_PAGE = 25


class RebrandlySource:
    """The links of the default workspace of the token."""

    name = "rebrandly"

    def __init__(self, token: str, *, base: str = "", **options: Any) -> None:
        self._reader = HttpReader(base or _API, {"apikey": token}, **options)
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the links, oldest first. Raises INVALID on `url` or `token`."""
        line, last = 0, ""
        while True:
            parameters = {"orderBy": "createdAt", "orderDir": "asc", "limit": _PAGE, **({"last": last} if last else {})}
            page = list(Fields({"links": self._reader.get("/links", parameters)}).items("links"))
            for link in page:
                line += 1
                yield _record(line, link)
            previous, last = last, page[-1].text("id") if page else ""
            if not last or last == previous:
                return


def _record(line: int, link: Fields) -> Record:
    record = Record(line, url=link.text("destination"), host=link.text("domainName"), alias=link.text("slashtag"))
    record.source_id, record.title = link.text("id"), link.text("title")
    record.description = link.text("description")
    record.tags = [tag.text("name") for tag in link.items("tags")]
    record.colors = {tag.text("name"): f"#{tag.text('color')}" for tag in link.items("tags")}
    record.clicks, record.created = link.number("clicks"), link.second("createdAt")
    record.is_disabled = link.text("status") not in ("", "active")
    if link.is_false("forwardParameters"):
        record.fields["dropquery"] = True
    return record
