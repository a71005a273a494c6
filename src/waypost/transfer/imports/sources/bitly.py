"""Bitly, by its API version 4. A bitlink becomes a link for each of its back-halves, also the generic one."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from waypost.transfer.imports.source_row import Clicks, Record
from waypost.transfer.imports.sources.fields import NO_ATTRIBUTES, Fields, address
from waypost.transfer.imports.sources.http_reader import HttpReader
from waypost.transfer.imports.sources.rate_limits import Budgets

_API = "https://api-ssl.bitly.com/v4"
_PAGE = 100
_BUDGETS = Budgets((150, 60), (1500, 3600))
"""The requests that Bitly allows, also across several plans with the same token."""


class BitlySource:
    """The bitlinks of all groups that the token may read, oldest last."""

    name = "bitly"

    def __init__(self, token: str, *, history: bool = True, base: str = "", **options: Any) -> None:
        """With `history`, clicks by day are read: a request for each bitlink, of at most 1,500 an hour."""
        headers = {"Authorization": f"Bearer {token}"}
        self._reader = HttpReader(base or _API, headers, budget=_BUDGETS.of(token), **options)
        self._history = history
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the links. Raises INVALID on `url` or `token`."""
        line = 0
        for group in Fields(self._reader.get("/groups")).items("groups"):
            for bitlink in self._bitlinks(group.text("guid")):
                for record in self._records(bitlink, group.text("name")):
                    line += 1
                    record.line = line
                    yield record

    def _bitlinks(self, group: str) -> Iterator[Fields]:
        after, is_more = "", True
        while is_more:
            parameters = {"size": _PAGE, "archived": "both", **({"search_after": after} if after else {})}
            page = Fields(self._reader.get(f"/groups/{quote(group)}/bitlinks", parameters))
            links = list(page.items("links"))
            yield from links
            previous, after = after, page.fields("pagination").text("search_after")
            is_more = bool(links) and after not in ("", previous)

    def _records(self, bitlink: Fields, group: str) -> Iterator[Record]:
        """Yield a record for each back-half. They share the clicks, which the first one that is created gets."""
        short_urls = [*bitlink.texts("custom_bitlinks"), bitlink.text("link") or bitlink.text("id")]
        names = {f"{bitlink.text('id')} {host}/{alias}": (host, alias) for host, alias in map(address, short_urls)}
        history = self._clicks(bitlink.text("id")) if self._history else iter(())
        for source_id, (host, alias) in names.items():
            record = Record(0, url=bitlink.text("long_url"), host=host, alias=alias, folder=group)
            record.source_id, record.history, record.sharing = source_id, history, tuple(names)
            _complete(record, bitlink)
            yield record

    def _clicks(self, bitlink: str) -> Iterator[Clicks]:
        parameters = {"unit": "day", "units": -1}
        answer = self._reader.get(f"/bitlinks/{quote(bitlink, safe='')}/clicks", parameters, optional=True)
        days = [(day.second("date"), day.number("clicks")) for day in Fields(answer).items("link_clicks")]
        for second, count in sorted((second, count) for second, count in days if second is not None and count):
            yield Clicks(second, count, count, NO_ATTRIBUTES)


def _complete(record: Record, bitlink: Fields) -> None:
    record.title, record.tags = bitlink.text("title"), bitlink.texts("tags")
    record.created = bitlink.second("created_at")
    if bitlink.is_true("archived"):
        record.fields["status"] = "private"
    if not record.url:
        record.problem = "The bitlink has no destination."
    if bitlink.values("deeplinks"):
        record.losses.append("deep links are left out")
