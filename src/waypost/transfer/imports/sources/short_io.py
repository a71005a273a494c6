"""Short.io, by its API."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from waypost.transfer.imports.source_row import DISABLED, Record
from waypost.transfer.imports.sources.fields import Fields
from waypost.transfer.imports.sources.http_reader import HttpReader

_API = "https://api.short.io"
_PAGE = 50
_UTM = {f"utm{name.title()}": f"utm_{name}" for name in ("source", "medium", "campaign", "term", "content")}


class ShortIoSource:
    """The links of all domains of the token. Their list has no clicks."""

    name = "short.io"

    def __init__(self, token: str, *, base: str = "", **options: Any) -> None:
        self._reader = HttpReader(base or _API, {"Authorization": token}, **options)
        self.ignored = ["clicks"]  # which are in no list of links

    def __iter__(self) -> Iterator[Record]:
        """Yield the links. Raises INVALID on `url` or `token`."""
        line = 0
        for domain in Fields({"domains": self._reader.get("/api/domains")}).items("domains"):
            answer = self._reader.get(f"/links/folders/{domain.number('id')}", optional=True)
            folders = {item.text("id"): item.text("name") for item in Fields(answer).items("linkFolders")}
            for link in self._links(domain.number("id")):
                line += 1
                record = _record(line, link, domain.text("hostname"))
                record.folder = folders.get(link.text("FolderId"), link.text("FolderId"))
                yield record

    def _links(self, domain: int) -> Iterator[Fields]:
        token, is_more = "", True
        while is_more:
            parameters = {"domain_id": domain, "limit": _PAGE, **({"pageToken": token} if token else {})}
            page = Fields(self._reader.get("/api/links", parameters))
            yield from page.items("links")
            previous, token = token, page.text("nextPageToken")
            is_more = token not in ("", previous)


def _record(line: int, link: Fields, host: str) -> Record:
    record = Record(line, url=_with_utm(link), host=host, alias=link.text("path"))
    record.source_id, record.title = link.text("idString") or link.text("id"), link.text("title")
    record.tags = link.texts("tags")
    record.created, record.expiry = link.second("createdAt"), link.second("expiresAt")
    record.clicklimit = link.number("clicksLimit") or None
    record.fields = _fields(link)
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


def _with_utm(link: Fields) -> str:
    """Return the destination with its UTM parameters, which Short.io keeps apart."""
    url = link.text("originalURL")
    utm = {name: link.text(source) for source, name in _UTM.items() if link.text(source)}
    try:
        parts = urlsplit(url)
        present = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
        added = urlencode({name: value for name, value in utm.items() if name not in present})
        return parts._replace(query="&".join(filter(None, (parts.query, added)))).geturl() if added else url
    except ValueError:
        return url


def _fields(link: Fields) -> dict[str, Any]:
    fields: dict[str, Any] = {"expiryurl": link.text("expiredURL")}
    if link.is_true("cloaking"):
        fields["type"] = "frame"
    if link.is_true("archived"):
        fields["status"] = "private"
    devices = {"iPhone": link.text("iphoneURL"), "Android": link.text("androidURL")}
    fields["devicetarget"] = [{"device": device, "link": url} for device, url in devices.items() if url]
    return {name: value for name, value in fields.items() if value}
