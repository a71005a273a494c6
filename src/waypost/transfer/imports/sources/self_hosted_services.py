"""The services that people host themselves, by their APIs: Chhoto URL, Kutt, Shlink and YOURLS.

Shlink sends single visits and the rules that waypost has too; so does YOURLS with Shlink's plugin. A dump of the
database of YOURLS needs no plugin. Statistics of Kutt have no dates, so only totals come along (see `sqlite_files`).
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit
from zoneinfo import ZoneInfo

from waypost.transfer.imports.source_row import DISABLED, Clicks, Record
from waypost.transfer.imports.sources.fields import Fields, RecentNames, address, visit
from waypost.transfer.imports.sources.http_reader import HttpReader

_CHHOTO_PAGE = 100
_KUTT_PAGE = 50
_SHLINK_PAGE, _SHLINK_VISITS_PAGE = 50, 300
_SHLINK_RULES = {
    "device": ("devicetarget", "device"),
    "language": ("languagetarget", "language"),
    "geolocation-country-code": ("geotarget", "location"),
}
_SHLINK_DEVICES = {"android": "Android", "ios": "iPhone", "desktop": "Desktop", "mobile": "Mobile", "macos": "Mac"}
_YOURLS_PAGE = 500


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
            parameters = {"page_size": _CHHOTO_PAGE, **({"page_after": last} if last else {})}
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
            parameters = {"limit": _KUTT_PAGE, "skip": line, "all": "false"}
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


class ShlinkSource:
    """The short URLs of a Shlink server, oldest first."""

    name = "shlink"

    def __init__(self, token: str, base: str, *, history: bool = True, **options: Any) -> None:
        """With `history`, the single visits of each created link are read."""
        self._reader = HttpReader(base, {"X-Api-Key": token}, **options)
        self._own_host = urlsplit(base).hostname or ""
        self._history = history
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the links. Raises INVALID on `url` or `token`."""
        line, page, last = 0, 1, 1
        while page <= last:
            parameters = {"page": page, "itemsPerPage": _SHLINK_PAGE, "orderBy": "dateCreated-ASC"}
            answer = Fields(self._reader.get("/rest/v3/short-urls", parameters)).fields("shortUrls")
            for link in answer.items("data"):
                line += 1
                yield self._record(line, link)
            page, last = page + 1, answer.fields("pagination").number("pagesCount")

    def _record(self, line: int, link: Fields) -> Record:
        meta, code, domain = link.fields("meta"), link.text("shortCode"), link.text("domain")
        record = Record(line, url=link.text("longUrl"), alias=code, host=domain or self._own_host)
        record.title, record.tags = link.text("title"), link.texts("tags")
        record.created, record.expiry = link.second("dateCreated"), meta.second("validUntil")
        record.clicklimit = meta.number("maxVisits") or None
        record.clicks = link.fields("visitsSummary").number("nonBots") or link.number("visitsCount")
        if "validSince" in meta:
            record.losses.append(f"it was valid from {meta.text('validSince')} on, and now it is at once")
        if link.is_false("forwardQuery"):
            record.fields["dropquery"] = True
        if link.is_true("hasRedirectRules"):
            self._add_rules(record, code, domain)
        if self._history and link.fields("visitsSummary").number("total"):
            record.clicks = link.fields("visitsSummary").number("total")
            record.history = self._visits(code, domain)
        return record

    def _add_rules(self, record: Record, code: str, domain: str) -> None:
        answer = Fields(self._reader.get(_shlink_path(code, "redirect-rules"), {"domain": domain}, optional=True))
        for rule in answer.items("redirectRules"):
            conditions = list(rule.items("conditions"))
            kind = conditions[0].text("type") if len(conditions) == 1 else ""
            if kind not in _SHLINK_RULES:
                kinds = " and ".join(condition.text("type") for condition in conditions)
                record.losses.append(f"the rule by {kinds} to {rule.text('longUrl')} is left out")
                continue
            field, name = _SHLINK_RULES[kind]
            value = conditions[0].text("matchValue")
            target = {name: _SHLINK_DEVICES.get(value, value), "link": rule.text("longUrl")}
            record.fields.setdefault(field, []).append(target)

    def _visits(self, code: str, domain: str) -> Iterator[Clicks]:
        page, last = 1, 1
        while page <= last:
            parameters = {"page": page, "itemsPerPage": _SHLINK_VISITS_PAGE, "domain": domain}
            answer = Fields(self._reader.get(_shlink_path(code, "visits"), parameters, optional=True)).fields("visits")
            for item in answer.items("data"):
                second = item.second("date")
                if second is not None:
                    country = item.fields("visitLocation").text("countryCode")
                    yield visit(
                        second, user_agent=item.text("userAgent"), referrer=item.text("referer"), country=country
                    )
            page, last = page + 1, answer.fields("pagination").number("pagesCount")


def _shlink_path(code: str, part: str) -> str:
    return f"/rest/v3/short-urls/{quote(code, safe='')}/{part}"


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
            answer = self._call("stats", filter="last", limit=_YOURLS_PAGE, start=start)
            total = answer.fields("stats").number("total_links")
            for link in answer.fields("links").objects():
                if names.add(link.text("shorturl")):
                    yield link
            start += _YOURLS_PAGE

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
