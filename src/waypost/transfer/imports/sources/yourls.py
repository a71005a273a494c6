"""YOURLS, by its API; with Shlink's plugin also single visits. A dump of its database needs no plugin."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from waypost.transfer.imports.source_row import Clicks, Record
from waypost.transfer.imports.sources.fields import Fields, RecentNames, address, visit
from waypost.transfer.imports.sources.http_reader import HttpReader

_PAGE = 500


class YourlsSource:
    """The links of a YOURLS server. Its dates are in the time zone of that server."""

    name = "yourls"

    def __init__(
        self, token: str, base: str, *, zone: ZoneInfo | None = None, history: bool = True, **options: Any
    ) -> None:
        """The token is the signature of the user's tools page. It is sent in the body, never in a URL."""
        self._reader = HttpReader(base, {"X-Requested-With": "waypost"}, **options)
        self._token, self._zone, self._history = token, zone, history
        self._own_host = urlsplit(base).hostname or ""
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the links. Raises INVALID on `url` or `token`."""
        plugin = self._call("shlink-list", optional=True)
        links = plugin.items("result") if "result" in plugin else self._core_links()
        for line, link in enumerate(links, 1):
            yield self._record(line, link, with_visits="result" in plugin)

    def _core_links(self) -> Iterator[Fields]:
        """Yield all links. Pages are sorted by the second of creation alone, so they can repeat some."""
        names = RecentNames()
        start, total = 0, 1
        while start < total:
            answer = self._call("stats", filter="last", limit=_PAGE, start=start)
            total = answer.fields("stats").number("total_links")
            for link in answer.fields("links").objects():
                if names.add(link.text("shorturl")):
                    yield link
            start += _PAGE

    def _record(self, line: int, link: Fields, *, with_visits: bool) -> Record:
        host, alias = address(link.text("shorturl"))
        record = Record(line, url=link.text("url"), alias=link.text("keyword") or alias, host=host or self._own_host)
        record.title, record.clicks = link.text("title"), link.number("clicks")
        record.created = link.second("timestamp", self._zone)
        if with_visits and self._history and record.clicks:
            record.history = self._visits(record.alias)
        return record

    def _visits(self, alias: str) -> Iterator[Clicks]:
        for item in self._call("shlink-link-visits", shortCode=alias).items("result"):
            second = item.second("click_time", self._zone)
            if second is not None:
                country = item.text("country_code")
                yield visit(second, user_agent=item.text("user_agent"), referrer=item.text("referrer"), country=country)

    def _call(self, action: str, *, optional: bool = False, **parameters: str | int) -> Fields:
        form = {"format": "json", "action": action, "signature": self._token, **parameters}
        return Fields(self._reader.get("/yourls-api.php", form=form, optional=optional))
