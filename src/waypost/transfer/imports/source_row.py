"""A link as a source describes it, before waypost's rules are applied."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from waypost.clicks.ingest.aggregate import VisitAttributes

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]+")
_CONTROL_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]+")
_CONTENT_DIGITS, _ADDRESS_DIGITS = 48, 16
_MAX_TITLE, _MAX_DESCRIPTION, _MAX_TAG, _MAX_TAGS = 255, 5000, 255, 100
DISABLED = "the password is not known: the link is disabled until you set a new one"
"""The loss of a link whose service does not give its password."""
MAX_URL = 8192
_MAX_HOST, _MAX_NAME, _MAX_PASSWORD = 300, 1000, 1000
_MAX_LOSSES, _MAX_LOSS = 100, 500
_MAX_FIELDS, _MAX_VALUES = 7 << 20, 50_000
"""Characters and values of `fields`: pictures of a bio page are among them."""


class Clicks(NamedTuple):
    """Clicks of people in one second, or from it on. `visits` are all visits among the clicks of the source."""

    second: int
    clicks: int
    visits: int
    attributes: VisitAttributes


@dataclass
class Record:
    """A row of a source; `kind` is one of `db.schema.nouns`. Times are Unix seconds; `password` is in plain text.

    `source_id` identifies the row in its source; without one, alias or destination do. `problem` says why the row
    cannot be imported, `losses` what an imported link lacks, `notes` how an unclear value was read.
    `host` is "" if the source has none.
    `colors` are those of tags, #rrggbb. `folder` is the name of a group of links. `fields` are further fields of POST
    /url/add, such as geotarget. `clicks` are all clicks in the source; `history` are those whose time is known, oldest
    first. It is read only if the link is created. `sharing` are the source ids of all rows that share their history,
    which is one iterator: the first row that is created reads it, if no row was imported before. A bio page has the
    fields of POST /bio/add; `blocks` has the id in the source, the clicks and the unique clicks of each block.

    Only records of an archive have `totals`, which are columns of counters, `references`, which are ids in the source,
    and `stored`, the metadata of the bytes of a file.
    """

    line: int
    kind: str = "link"
    url: str = ""
    alias: str = ""
    host: str = ""
    source_id: str = ""
    title: str = ""
    description: str = ""
    tags: list[str] = field(default_factory=list)
    created: int | None = None
    clicks: int = 0
    expiry: int | None = None
    clicklimit: int | None = None
    password: str = ""
    is_disabled: bool = False
    folder: str = ""
    colors: Mapping[str, str] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    history: Iterable[Clicks] = ()
    sharing: tuple[str, ...] = ()
    blocks: list[tuple[int, int, int]] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    references: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def shorten(self) -> None:
        """Make texts valid, and bound everything; note each change of the content as a loss.

        Texts that the rules of links refuse are cut to a length that they still refuse.
        """
        self.title = self._cut("title", _CONTROL.sub(" ", self.title).strip(), _MAX_TITLE)
        self.description = self._cut("description", _CONTROL_IN_TEXT.sub(" ", self.description), _MAX_DESCRIPTION)
        names = dict.fromkeys(_CONTROL.sub(" ", tag).strip() for tag in self.tags)
        self.tags = [self._cut("tag", name, _MAX_TAG) for name in names if name]
        self.folder = self._cut("folder", _CONTROL.sub(" ", self.folder).strip(), _MAX_TAG)
        if len(self.tags) > _MAX_TAGS:
            self.losses.append(f"only the first {_MAX_TAGS} of {len(self.tags)} tags are kept")
            del self.tags[_MAX_TAGS:]
        self.colors = {tag: self.colors[tag][:_MAX_TAG] for tag in self.tags if tag in self.colors}
        self.url, self.host = self.url[: MAX_URL + 1], self.host[:_MAX_HOST]
        self.alias, self.source_id = self.alias[:_MAX_NAME], self.source_id[: MAX_URL + 1]
        self.sharing = self.sharing[:_MAX_TAGS]
        if len(self.password) > _MAX_PASSWORD:
            self.password, self.is_disabled = "", True
            self.losses.append("the password is too long: the link is disabled until you set a new one")
        characters, values = _weight([self.fields, self.blocks, self.references])
        if characters > _MAX_FIELDS or values > _MAX_VALUES:
            self.empty()
        self.problem = self.problem[:_MAX_NAME]
        if len(self.losses) > _MAX_LOSSES:
            number = len(self.losses) - _MAX_LOSSES + 1
            self.losses[_MAX_LOSSES - 1 :] = [f"{number} more losses"]
        self.losses = [loss[:_MAX_LOSS] for loss in self.losses]
        self.notes = [_CONTROL.sub(" ", note)[:_MAX_LOSS] for note in self.notes[:_MAX_LOSSES]]

    def empty(self) -> None:
        """Drop the content of a row that has too much of it, and set its problem."""
        self.fields, self.blocks, self.references = ({"blocks": []} if "blocks" in self.fields else {}), [], {}
        self.problem = self.problem or "It has too much content."

    def characters(self) -> int:
        """Return about how much memory the record takes."""
        texts = (self.url, self.title, self.description, *self.tags, *self.losses, *self.notes, self.problem)
        return sum(map(len, texts)) + _weight(self.fields)[0]

    def digest(self) -> str:
        """Return hashes of what the source says about the link, except the password and the clicks, and of its address.

        See `is_renamed`.
        """
        parts = [self.url, self.title, self.description, *self.tags, "", self.expiry, self.clicklimit, self.is_disabled]
        parts += [bool(self.password), self.folder, *map(str, sorted(self.fields.items()))]
        return _hash(parts)[:_CONTENT_DIGITS] + self.address()

    def address(self) -> str:
        """Return a hash of the host and the alias; "" without an alias."""
        return _hash([self.host.lower(), self.alias])[:_ADDRESS_DIGITS] if self.alias else ""

    def _cut(self, name: str, text: str, length: int) -> str:
        if len(text) > length:
            self.losses.append(f"{name} is cut to {length} characters")
        return text[:length]


def _weight(value: Any) -> tuple[int, int]:
    """Return the number of characters and of values in a JSON value."""
    characters, values, waiting = 0, 0, [value]
    while waiting:
        part = waiting.pop()
        values += 1
        if isinstance(part, str):
            characters += len(part)
        elif isinstance(part, Mapping):
            waiting += part
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    return characters, values


def address_of(digest: str) -> str:
    """Return the `address` of a record by its digest."""
    return digest[_CONTENT_DIGITS:]


def is_renamed(old: str, new: str) -> bool:
    """Return whether the link with these digests had another address in the source before."""
    addresses = {address_of(digest) for digest in (old, new)}
    return "" not in addresses and len(addresses) > 1


def _hash(parts: Iterable[object]) -> str:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()
