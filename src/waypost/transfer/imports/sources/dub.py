"""Dub, by its API."""

from collections.abc import Iterator
from typing import Any

from waypost.transfer.imports.source_row import Record
from waypost.transfer.imports.sources.fields import Fields
from waypost.transfer.imports.sources.http_reader import HttpReader

_API = "https://api.dub.co"
_PAGE, _FOLDERS_PAGE = 100, 50
_MAX_FOLDER_PAGES = 100
_ROOT = "_root"
_COLORS = {
    "red": "#dc2626", "yellow": "#ca8a04", "green": "#16a34a", "blue": "#2563eb", "purple": "#9333ea",
    "pink": "#db2777", "brown": "#92400e", "gray": "#4b5563",
}  # fmt: skip


class DubSource:
    """The links of the workspace of the token."""

    name = "dub"

    def __init__(self, token: str, *, base: str = "", **options: Any) -> None:
        self._reader = HttpReader(base or _API, {"Authorization": f"Bearer {token}"}, **options)
        self.ignored: list[str] = []

    def __iter__(self) -> Iterator[Record]:
        """Yield the links. Raises INVALID on `url` or `token`."""
        folders = self._folders()
        line, last = 0, ""
        while True:
            answer = self._reader.get("/links", {"pageSize": _PAGE, **({"startingAfter": last} if last else {})})
            page = list(Fields({"links": answer}).items("links"))
            for link in page:
                line += 1
                record = _record(line, link)
                record.folder = folders.get(link.text("folderId"), link.text("folderId"))
                yield record
            previous, last = last, page[-1].text("id") if page else ""
            if not last or last == previous:
                return

    def _folders(self) -> dict[str, str]:
        """Return the names of folders by id. Workspaces without folders have none, and those of old plans no list."""
        names: dict[str, str] = {}
        for page in range(1, _MAX_FOLDER_PAGES + 1):
            answer = self._reader.get("/folders", {"page": page, "pageSize": _FOLDERS_PAGE}, optional=True)
            folders = {item.text("id"): item.text("name") for item in Fields({"folders": answer}).items("folders")}
            if not folders.keys() - names.keys():
                break
            names |= folders
        return names


def _record(line: int, link: Fields) -> Record:
    record = Record(line, url=link.text("url"), host=link.text("domain"), alias=link.text("key"))
    record.source_id, record.title = link.text("id"), link.text("title")
    record.description = link.text("comments") or link.text("description")
    record.tags = [tag.text("name") for tag in link.items("tags")]
    record.colors = {tag.text("name"): _COLORS.get(tag.text("color"), "#000000") for tag in link.items("tags")}
    record.clicks, record.created = link.number("clicks"), link.second("createdAt")
    record.expiry, record.password = link.second("expiresAt"), link.text("password")
    record.is_disabled = "disabledAt" in link
    if link.text("key") == _ROOT:
        record.problem = "This is the destination of the domain itself. Set it in the domain, as root redirect."
    record.fields = _fields(link)
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


def _fields(link: Fields) -> dict[str, Any]:
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
