"""The services that host the links of everyone, by their APIs: Bitly, Dub, Rebrandly and Short.io.

A bitlink becomes a link for each of its back-halves, also the generic one.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from waypost.transfer.imports.source_row import DISABLED, Clicks, Record
from waypost.transfer.imports.sources.fields import NO_ATTRIBUTES, Fields, address
from waypost.transfer.imports.sources.http_reader import Budgets, HttpReader

_BITLY_API = "https://api-ssl.bitly.com/v4"
_BITLY_PAGE = 100
_BITLY_BUDGETS = Budgets((150, 60), (1500, 3600))
"""The requests that Bitly allows, also across several plans with the same token."""
_DUB_API = "https://api.dub.co"
_DUB_PAGE, _DUB_FOLDERS_PAGE = 100, 50
_MAX_DUB_FOLDER_PAGES = 100
_DUB_ROOT = "_root"
_DUB_COLORS = {
    "red": "#dc2626", "yellow": "#ca8a04", "green": "#16a34a", "blue": "#2563eb", "purple": "#9333ea",
    "pink": "#db2777", "brown": "#92400e", "gray": "#4b5563",
}  # fmt: skip
_REBRANDLY_API = "https://api.rebrandly.com/v1"
_REBRANDLY_PAGE = 25
_SHORT_IO_API = "https://api.short.io"
_SHORT_IO_PAGE = 50
_SHORT_IO_UTM = {f"utm{name.title()}": f"utm_{name}" for name in ("source", "medium", "campaign", "term", "content")}


class BitlySource:
    """The bitlinks of all groups that the token may read, oldest last."""

    name = "bitly"

    def __init__(self, token: str, *, history: bool = True, base: str = "", **options: Any) -> None:
        """With `history`, clicks by day are read: a request for each bitlink, of at most 1,500 an hour."""
        headers = {"Authorization": f"Bearer {token}"}
        self._reader = HttpReader(base or _BITLY_API, headers, budget=_BITLY_BUDGETS.of(token), **options)
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
            parameters = {"size": _BITLY_PAGE, "archived": "both", **({"search_after": after} if after else {})}
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
            _complete_bitlink(record, bitlink)
            yield record

    def _clicks(self, bitlink: str) -> Iterator[Clicks]:
        parameters = {"unit": "day", "units": -1}
        answer = self._reader.get(f"/bitlinks/{quote(bitlink, safe='')}/clicks", parameters, optional=True)
        days = [(day.second("date"), day.number("clicks")) for day in Fields(answer).items("link_clicks")]
        for second, count in sorted((second, count) for second, count in days if second is not None and count):
            yield Clicks(second, count, count, NO_ATTRIBUTES)


def _complete_bitlink(record: Record, bitlink: Fields) -> None:
    record.title, record.tags = bitlink.text("title"), bitlink.texts("tags")
    record.created = bitlink.second("created_at")
    if bitlink.is_true("archived"):
        record.fields["status"] = "private"
    if not record.url:
        record.problem = "The bitlink has no destination."
    if bitlink.values("deeplinks"):
        record.losses.append("deep links are left out")


class DubSource:
    """The links of the workspace of the token."""

    name = "dub"

    def __init__(self, token: str, *, base: str = "", **options: Any) -> None:
        self._reader = HttpReader(base or _DUB_API, {"Authorization": f"Bearer {token}"}, **options)
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the links. Raises INVALID on `url` or `token`."""
        folders = self._folders()
        line, last = 0, ""
        while True:
            answer = self._reader.get("/links", {"pageSize": _DUB_PAGE, **({"startingAfter": last} if last else {})})
            page = list(Fields({"links": answer}).items("links"))
            for link in page:
                line += 1
                record = _dub_record(line, link)
                record.folder = folders.get(link.text("folderId"), link.text("folderId"))
                yield record
            previous, last = last, page[-1].text("id") if page else ""
            if not last or last == previous:
                return

    def _folders(self) -> dict[str, str]:
        """Return the names of folders by id. Workspaces without folders have none, and those of old plans no list."""
        names: dict[str, str] = {}
        for page in range(1, _MAX_DUB_FOLDER_PAGES + 1):
            answer = self._reader.get("/folders", {"page": page, "pageSize": _DUB_FOLDERS_PAGE}, optional=True)
            folders = {item.text("id"): item.text("name") for item in Fields({"folders": answer}).items("folders")}
            if not folders.keys() - names.keys():
                break
            names |= folders
        return names


def _dub_record(line: int, link: Fields) -> Record:
    record = Record(line, url=link.text("url"), host=link.text("domain"), alias=link.text("key"))
    record.source_id, record.title = link.text("id"), link.text("title")
    record.description = link.text("comments") or link.text("description")
    record.tags = [tag.text("name") for tag in link.items("tags")]
    record.colors = {tag.text("name"): _DUB_COLORS.get(tag.text("color"), "#000000") for tag in link.items("tags")}
    record.clicks, record.created = link.number("clicks"), link.second("createdAt")
    record.expiry, record.password = link.second("expiresAt"), link.text("password")
    record.is_disabled = "disabledAt" in link
    if link.text("key") == _DUB_ROOT:
        record.problem = "This is the destination of the domain itself. Set it in the domain, as root redirect."
    record.fields = _dub_fields(link)
    record.losses = list(_losses(link))
    return record


def _losses(link: Fields) -> Iterator[str]:
    if "testVariants" in link:
        yield "the A/B test is left out"
    if "video" in link:
        yield "the video is left out"
    if external := link.text("externalId"):
        yield f"the external id {external} is left out"
    if link.number("leads") or link.number("sales"):
        yield "leads and sales are left out"
    if link.is_true("doIndex") and link.is_true("rewrite"):
        yield "search engines are asked to leave it out, because it is a frame"


def _dub_fields(link: Fields) -> dict[str, Any]:
    fields: dict[str, Any] = {"expiryurl": link.text("expiredUrl")}
    if link.is_true("proxy"):
        names = {"metatitle": "title", "metadescription": "description", "metaimage": "image"}
        fields |= {name: link.text(source) for name, source in names.items()}
    if link.is_true("rewrite"):
        fields["type"] = "frame"
    if link.is_true("archived"):
        fields["status"] = "private"
    fields["geotarget"] = [{"location": country, "link": url} for country, url in link.pairs("geo").items()]
    devices = {"iPhone": link.text("ios"), "iPad": link.text("ios"), "Android": link.text("android")}
    fields["devicetarget"] = [{"device": device, "link": url} for device, url in devices.items() if url]
    return {name: value for name, value in fields.items() if value}


class RebrandlySource:
    """The links of the default workspace of the token."""

    name = "rebrandly"

    def __init__(self, token: str, *, base: str = "", **options: Any) -> None:
        self._reader = HttpReader(base or _REBRANDLY_API, {"apikey": token}, **options)
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the links, oldest first. Raises INVALID on `url` or `token`."""
        line, last = 0, ""
        while True:
            parameters = {
                "orderBy": "createdAt",
                "orderDir": "asc",
                "limit": _REBRANDLY_PAGE,
                **({"last": last} if last else {}),
            }
            page = list(Fields({"links": self._reader.get("/links", parameters)}).items("links"))
            for link in page:
                line += 1
                yield _rebrandly_record(line, link)
            previous, last = last, page[-1].text("id") if page else ""
            if not last or last == previous:
                return


def _rebrandly_record(line: int, link: Fields) -> Record:
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


class ShortIoSource:
    """The links of all domains of the token. Their list has no clicks."""

    name = "short.io"

    def __init__(self, token: str, *, base: str = "", **options: Any) -> None:
        self._reader = HttpReader(base or _SHORT_IO_API, {"Authorization": token}, **options)
        self.ignored = ["clicks"]  # which are in no list of links

    def __iter__(self) -> Iterator[Record]:
        """Yield the links. Raises INVALID on `url` or `token`."""
        line = 0
        for domain in Fields({"domains": self._reader.get("/api/domains")}).items("domains"):
            answer = self._reader.get(f"/links/folders/{domain.number('id')}", optional=True)
            folders = {item.text("id"): item.text("name") for item in Fields(answer).items("linkFolders")}
            for link in self._links(domain.number("id")):
                line += 1
                record = _short_io_record(line, link, domain.text("hostname"))
                record.folder = folders.get(link.text("FolderId"), link.text("FolderId"))
                yield record

    def _links(self, domain: int) -> Iterator[Fields]:
        token, is_more = "", True
        while is_more:
            parameters = {"domain_id": domain, "limit": _SHORT_IO_PAGE, **({"pageToken": token} if token else {})}
            page = Fields(self._reader.get("/api/links", parameters))
            yield from page.items("links")
            previous, token = token, page.text("nextPageToken")
            is_more = token not in ("", previous)


def _short_io_record(line: int, link: Fields, host: str) -> Record:
    record = Record(line, url=_short_io_url_with_utm(link), host=host, alias=link.text("path"))
    record.source_id, record.title = link.text("idString") or link.text("id"), link.text("title")
    record.tags = link.texts("tags")
    record.created, record.expiry = link.second("createdAt"), link.second("expiresAt")
    record.clicklimit = link.number("clicksLimit") or None
    record.fields = _short_io_fields(link)
    record.password = link.text("password")
    if link.is_true("hasPassword") and not record.password:
        record.is_disabled = True
        record.losses.append(DISABLED)
    if not record.alias:
        record.problem = "This is the destination of the domain itself. Set it in the domain, as root redirect."
    if "splitURL" in link:
        record.losses.append("the A/B test is left out")
    if "integrationGA" in link:
        record.losses.append("Google Analytics is left out")
    if (kind := link.text("redirectType")) not in ("", "302"):
        record.losses.append(f"the redirect type {kind} becomes 302")
    if link.is_true("skipQS"):
        record.fields["dropquery"] = True
    return record


def _short_io_url_with_utm(link: Fields) -> str:
    """Return the destination with its UTM parameters, which Short.io keeps apart."""
    url = link.text("originalURL")
    utm = {name: link.text(source) for source, name in _SHORT_IO_UTM.items() if link.text(source)}
    try:
        parts = urlsplit(url)
        present = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
        added = urlencode({name: value for name, value in utm.items() if name not in present})
        return parts._replace(query="&".join(filter(None, (parts.query, added)))).geturl() if added else url
    except ValueError:
        return url


def _short_io_fields(link: Fields) -> dict[str, Any]:
    fields: dict[str, Any] = {"expiryurl": link.text("expiredURL")}
    if link.is_true("cloaking"):
        fields["type"] = "frame"
    if link.is_true("archived"):
        fields["status"] = "private"
    devices = {"iPhone": link.text("iphoneURL"), "Android": link.text("androidURL")}
    fields["devicetarget"] = [{"device": device, "link": url} for device, url in devices.items() if url]
    return {name: value for name, value in fields.items() if value}
