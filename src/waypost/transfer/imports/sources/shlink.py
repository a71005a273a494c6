"""Shlink, by its API version 3, with single visits and the rules that waypost has too."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

from waypost.transfer.imports.source_row import Clicks, Record
from waypost.transfer.imports.sources.fields import Fields, visit
from waypost.transfer.imports.sources.http_reader import HttpReader

_PAGE, _VISITS_PAGE = 50, 300
_RULES = {
    "device": ("devicetarget", "device"),
    "language": ("languagetarget", "language"),
    "geolocation-country-code": ("geotarget", "location"),
}
_DEVICES = {"android": "Android", "ios": "iPhone", "desktop": "Desktop", "mobile": "Mobile", "macos": "Mac"}


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
            parameters = {"page": page, "itemsPerPage": _PAGE, "orderBy": "dateCreated-ASC"}
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
        answer = Fields(self._reader.get(_path(code, "redirect-rules"), {"domain": domain}, optional=True))
        for rule in answer.items("redirectRules"):
            conditions = list(rule.items("conditions"))
            kind = conditions[0].text("type") if len(conditions) == 1 else ""
            if kind not in _RULES:
                kinds = " and ".join(condition.text("type") for condition in conditions)
                record.losses.append(f"the rule by {kinds} to {rule.text('longUrl')} is left out")
                continue
            field, name = _RULES[kind]
            value = conditions[0].text("matchValue")
            target = {name: _DEVICES.get(value, value), "link": rule.text("longUrl")}
            record.fields.setdefault(field, []).append(target)

    def _visits(self, code: str, domain: str) -> Iterator[Clicks]:
        page, last = 1, 1
        while page <= last:
            parameters = {"page": page, "itemsPerPage": _VISITS_PAGE, "domain": domain}
            answer = Fields(self._reader.get(_path(code, "visits"), parameters, optional=True)).fields("visits")
            for item in answer.items("data"):
                second = item.second("date")
                if second is not None:
                    country = item.fields("visitLocation").text("countryCode")
                    yield visit(
                        second, user_agent=item.text("userAgent"), referrer=item.text("referer"), country=country
                    )
            page, last = page + 1, answer.fields("pagination").number("pagesCount")


def _path(code: str, part: str) -> str:
    return f"/rest/v3/short-urls/{quote(code, safe='')}/{part}"
