"""Bitly, by its API version 4. A bitlink with several own back-halves becomes a link for each of them."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from waypost.imports.record import Clicks, Record
from waypost.imports.sources.fields import NO_ATTRIBUTES, Fields, address
from waypost.imports.sources.http_reader import HttpReader, RateLimit

_API = "https://api-ssl.bitly.com/v4"
_PER_MINUTE, _PER_HOUR = 150, 1500
_PAGE = 100


class BitlySource:
    """The bitlinks of all groups that the token may read, oldest last."""

    name = "bitly"

    def __init__(self, token: str, *, history: bool = True, base: str = "", **options: Any) -> None:
        """With `history`, clicks by day are read: a request for each bitlink, of at most 1,500 an hour."""
        limits = (RateLimit(_PER_MINUTE, 60), RateLimit(_PER_HOUR, 3600))
        headers = {"Authorization": f"Bearer {token}"}
        self._reader = HttpReader(base or _API, headers, limits=limits, **options)
        self._history = history
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the links. Raises INVALID on `url` or `token`."""
        line = 0
        for group in Fields(self._reader.get("/groups")).items("groups"):
            for bitlink in self._bitlinks(group.text("guid")):
                for short_url in bitlink.texts("custom_bitlinks") or [bitlink.text("link")]:
                    line += 1
                    yield self._record(line, bitlink, group.text("name"), short_url)

    def _bitlinks(self, group: str) -> Iterator[Fields]:
        after, is_more = "", True
        while is_more:
            parameters = {"size": _PAGE, "archived": "both", **({"search_after": after} if after else {})}
            page = Fields(self._reader.get(f"/groups/{quote(group)}/bitlinks", parameters))
            links = list(page.items("links"))
            yield from links
            previous, after = after, page.fields("pagination").text("search_after")
            is_more = bool(links) and after not in ("", previous)

    def _record(self, line: int, bitlink: Fields, group: str, short_url: str) -> Record:
        host, alias = address(short_url)
        record = Record(line, url=bitlink.text("long_url"), host=host, alias=alias, folder=group)
        record.source_id = f"{bitlink.text('id')} {host}/{alias}"
        record.title, record.tags = bitlink.text("title"), bitlink.texts("tags")
        record.created = bitlink.second("created_at")
        if bitlink.is_true("archived"):
            record.fields["status"] = "private"
        if not record.url:
            record.problem = "the bitlink has no destination"
        if bitlink.values("deeplinks"):
            record.losses.append("deep links are left out")
        is_first = short_url in (bitlink.texts("custom_bitlinks") or [short_url])[:1]
        if self._history and is_first:
            record.history = self._clicks(bitlink.text("id"))
        return record

    def _clicks(self, bitlink: str) -> Iterator[Clicks]:
        parameters = {"unit": "day", "units": -1}
        answer = self._reader.get(f"/bitlinks/{quote(bitlink, safe='')}/clicks", parameters, optional=True)
        days = [(day.second("date"), day.number("clicks")) for day in Fields(answer).items("link_clicks")]
        for second, count in sorted((second, count) for second, count in days if second is not None and count):
            yield Clicks(second, count, count, NO_ATTRIBUTES)
