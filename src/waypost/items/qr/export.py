"""QR images of a campaign or channel: its links, bio pages and QR codes."""

import io
import itertools
import time
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, func, literal, null, select

from waypost.api.context import RequestContext
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db import crud
from waypost.db.schema import bios, campaigns, channel_items, channels, domains, links, qrs
from waypost.http import file_names
from waypost.items.qr import ops
from waypost.items.qr.ops import Draft
from waypost.media.qrcode.render import Format, design
from waypost.media.qrcode.styles import PLAIN
from waypost.urls.short_urls import short_url


def zip_stream(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Yield an archive of (name, content) in chunks."""
    buffer = _Buffer()
    created = time.gmtime(clock.now())[:6]
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name, created)
            # PNG and PDF are already compressed.
            archive.writestr(info, content, zipfile.ZIP_DEFLATED if name.endswith(".svg") else zipfile.ZIP_STORED)
            yield buffer.take()
    yield buffer.take()


class _Buffer(io.RawIOBase):
    """Write buffer. It is not seekable, so the archive stores sizes after the files."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        chunk = bytes(data)
        self._bytes += chunk
        return len(chunk)

    def take(self) -> bytes:
        """Return and clear the buffered bytes."""
        chunk = bytes(self._bytes)
        self._bytes.clear()
        return chunk


@dataclass(frozen=True)
class _Named:
    name: str


@dataclass(frozen=True)
class Member:
    """A thing with a picture: `host` is "" on the service's own, `title` "" for none, `code` the id of a QR code."""

    host: str
    scheme: str | None
    alias: str
    title: str
    code: int | None = None

    @property
    def address(self) -> str:
        """A unique name from the short URL."""
        return f"{self.host}_{self.alias}" if self.host else self.alias


class Group(NamedTuple):
    """The name of a campaign or channel, and its members."""

    name: str
    members: Sequence[Member]


def unique_file_names(members: Sequence[Member], extension: str) -> Sequence[str]:
    """Return the name of the file of each member: its title, with its address if others have the same name.

    No two are the same file on any system: some ignore upper and lower case, or compose characters.
    """
    plain = [file_names.named(member.title.strip() or member.address, extension) for member in members]
    counts = Counter(map(_compared, plain))
    used: set[str] = set()
    names = []
    for member, name in zip(members, plain, strict=True):
        addition = f" ({member.address})" if member.title.strip() and counts[_compared(name)] > 1 else ""
        numbered = (f"{addition} {number}" if number > 1 else addition for number in itertools.count(1))
        candidates = (
            file_names.named(member.title.strip() or member.address, extension, addition=each) for each in numbered
        )
        names.append(next(candidate for candidate in candidates if _compared(candidate) not in used))
        used.add(_compared(names[-1]))
    return names


def _compared(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def of_campaign(tx: Connection, account: int, campaign: int) -> Group:
    """Return the links of a campaign (index links_campaign). Raises INVALID on `campaign`."""
    crud.require_reference(tx, campaigns, account, campaign, field="campaign")
    query = select(links.c.host, domains.c.scheme, links.c.alias, links.c.title)
    query = query.outerjoin(domains, domains.c.host == links.c.host)
    is_member = (links.c.campaign == campaign, links.c.account == account)
    members = _members(tx, query.where(*is_member).order_by(links.c.id))
    return Group(crud.get_owned(tx, campaigns, account, campaign, _Named).name, members)


def of_channel(tx: Connection, account: int, channel: int) -> Group:
    """Return the items of a channel (index channel_items_channel_id). Raises INVALID on `channel`."""
    crud.require_reference(tx, channels, account, channel, field="channel")
    c = channel_items.c
    alias = func.coalesce(links.c.alias, bios.c.alias, qrs.c.alias).label("alias")
    title = func.coalesce(links.c.title, bios.c.name, qrs.c.name, "").label("title")
    query = (
        select(func.coalesce(links.c.host, "").label("host"), domains.c.scheme, alias, title, c.qr.label("code"))
        .outerjoin(links, and_(links.c.id == c.link, links.c.account == c.account))
        .outerjoin(domains, domains.c.host == links.c.host)
        .outerjoin(bios, and_(bios.c.id == c.bio, bios.c.account == c.account))
        .outerjoin(qrs, and_(qrs.c.id == c.qr, qrs.c.account == c.account))
        .where(c.channel == channel, c.account == account)
        .order_by(c.id)
    )
    return Group(crud.get_owned(tx, channels, account, channel, _Named).name, _members(tx, query))


def to_draw(tx: Connection, account: int, member: Member, settings: Settings) -> Draft | None:
    """Return the data to render a member; None if it was deleted."""
    if member.code is not None:
        return ops.saved(tx, account, member.code, settings)
    url = short_url(settings.base, member.host, member.scheme, member.alias)
    return Draft(member.alias, {}, url, PLAIN, None)


def of_codes(tx: Connection, account: int, codes: Sequence[int]) -> Sequence[Member]:
    """Return the QR codes of the account with these ids, newest first."""
    code = qrs.c.id.label("code")
    query = select(qrs.c.alias, qrs.c.name.label("title"), code, literal("").label("host"), null().label("scheme"))
    return _members(tx, query.where(qrs.c.account == account, qrs.c.id.in_(codes)).order_by(qrs.c.id.desc()))


def images(context: RequestContext, members: Sequence[Member], form: Format, size: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each image, read and drawn one after the other. Deleted members are left out."""
    for member, name in zip(members, unique_file_names(members, form), strict=True):
        new = context.read(partial(to_draw, account=context.account, member=member, settings=context.settings))
        if new is not None:
            yield name, design(new.text, new.style, new.logo).render(form, size)


def _members(tx: Connection, selected: Select[Any]) -> Sequence[Member]:
    return [Member(**row) for row in tx.execute(selected).mappings()]
