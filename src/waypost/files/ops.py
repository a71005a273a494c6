"""Files: what is known of them. Their bytes are in the store, under a name that stands here."""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from waypost import clock
from waypost.db import change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import accounts, aliases, domains, files, leftovers, plans
from waypost.errors import Kind, Problem, invalid, taken
from waypost.settings import Settings
from waypost.storage import orphans
from waypost.urls import alias_namespace, hostnames

R = TypeVar("R", bound="File")
Order = Literal["date", "downloads", "size"]
_UPLOAD_SECONDS = 3600  # after this long without a word an upload under way is held for dead


@dataclass(frozen=True)
class File:
    """A file as lists show it. `scheme` is that of its branded domain; times are seconds, UTC."""

    id: int
    host: str
    alias: str
    name: str
    downloads: int
    created: int
    scheme: str | None = None


@dataclass(frozen=True)
class Details(File):
    """A file with all that is known of it; `password` is a hash, `purged` when its bytes were removed."""

    filename: str = ""
    size: int = 0
    sha256: bytes = b""
    mime: str = ""
    password: str | None = None
    expiry: int | None = None
    maxdownloads: int | None = None
    taken: int = 0
    uniquedownloads: int = 0
    purged: int | None = None

    def is_over(self, now: int) -> bool:
        """Whether it has expired or was downloaded as often as it may be."""
        return is_past(now, expiry=self.expiry, most=self.maxdownloads, used=self.taken)


class Fields(TypedDict, total=False):
    """What can be set; `None` is the field's default, `password` is hashed already, `expiry` a date or timestamp."""

    name: str | None
    custom: str | None
    domain: str | None
    password: str | None
    expiry: str | None
    maxdownloads: int | None


@dataclass(frozen=True)
class Stored:
    """What was put into the store: the object's name, and what is known of its bytes."""

    object: str
    filename: str
    size: int
    sha256: bytes
    mime: str


@dataclass(frozen=True)
class Room:
    """How many bytes an account may send at once, and how many it may still keep; None: as many as fit."""

    upload_limit: int
    left: int | None


def page(tx: Connection, account: int, window: PageRequest, *, name: str = "", order: Order = "date") -> Page[Details]:
    """The account's files, or those with `name` in their name, whatever the case; newest first, else the most first.

    Newest first costs the same for any page, the other orders as much as the account has files.
    """
    if not name and order == "date":
        found = crud.page(tx, files, account, window, _Id)
        return Page(_all(tx, [item.id for item in found.items], Details), found.result, window)
    mine = (files.c.account == account) & files.c.search.contains(_searchable(name), autoescape=True)
    result = tx.execute(select(func.count()).select_from(files).where(mine)).scalar_one()
    by = {"date": files.c.id, "downloads": files.c.downloads, "size": files.c.size}[order]
    most = select(files.c.id).where(mine).order_by(by.desc(), files.c.id.desc())
    ids = tx.execute(most.limit(window.limit).offset(window.offset)).scalars().all() if window.offset < result else ()
    return Page(_all(tx, ids, Details), result, window)


def own(tx: Connection, account: int, file: int) -> Details:
    """One file. Raises NOT_FOUND."""
    return _all(tx, [crud.get_owned(tx, files, account, file, _Id).id], Details)[0]


def room(tx: Connection, account: int) -> Room:
    """What the account's plan allows, held against what it has."""
    chosen = select(plans.c.upload_limit, plans.c.storage_limit, accounts.c.stored).join_from(accounts, plans)
    row = tx.execute(chosen.where(accounts.c.id == account)).one()
    return Room(row.upload_limit, None if row.storage_limit is None else max(0, row.storage_limit - row.stored))


def check(tx: Connection, account: int, *, settings: Settings, **fields: Unpack[Fields]) -> None:
    """Raise what `add` would raise for these fields as things stand, before anybody sends gigabytes in vain."""
    host = _host(tx, account, fields, settings)
    custom = fields.get("custom")
    if custom is None:
        return
    alias = alias_namespace.pick(tx, host, custom)
    row = tx.execute(select(aliases).where(aliases.c.host == host, aliases.c.alias == alias)).first()
    if row is not None and (row.kind is not None or row.account != account):
        raise taken("custom", alias_namespace.TAKEN)


def begin(tx: Connection, name: str) -> None:
    """Note an object that is going to be written, so that it is found if nobody comes back for it."""
    tx.execute(insert(leftovers).values(object=name, due=clock.now() + _UPLOAD_SECONDS, doomed=False))


def go_on(tx: Connection, name: str) -> None:
    """Say that the object is still being written."""
    mine = (leftovers.c.object == name, leftovers.c.doomed.is_(False))
    tx.execute(update(leftovers).where(*mine).values(due=clock.now() + _UPLOAD_SECONDS))


def add(tx: Connection, account: int, stored: Stored, *, settings: Settings, **fields: Unpack[Fields]) -> File:
    """Make a file of a noted object. Raises INVALID or TAKEN on the field at fault, STORAGE_FULL over the quota."""
    mine = (leftovers.c.object == stored.object, leftovers.c.doomed.is_(False))
    if tx.execute(delete(leftovers).where(*mine)).rowcount != 1:
        raise Problem(Kind.UNAVAILABLE, "The upload took too long. Please try again.", retry_after=5)
    _keep(tx, account, stored.size)
    host = _host(tx, account, fields, settings)
    alias = alias_namespace.pick(tx, host, fields.get("custom"))
    name = fields.get("name") or stored.filename
    values = {
        **{field.name: getattr(stored, field.name) for field in fields_of(Stored)},
        **_columns({**fields, "name": name}, stored.filename),
        "host": host,
        "alias": alias,
    }
    file = crud.add(tx, files, account, values)
    alias_namespace.claim(tx, account, "file", file, host=host, alias=alias)
    return _all(tx, [file], File)[0]


def change(tx: Connection, account: int, file: int, **fields: Unpack[Fields]) -> None:
    """Set name, password, expiry or maxdownloads. Raises INVALID where an end is taken from a file without bytes."""
    before = own(tx, account, file)
    crud.change(tx, files, account, file, _columns(fields, before.filename))
    after = own(tx, account, file)
    if before.purged is not None and not after.is_over(clock.now()):
        field = "expiry" if "expiry" in fields else "maxdownloads"
        raise invalid(field, f"{field} cannot bring this file back: its bytes are removed. Please upload it again.")
    if not after.is_over(clock.now()):
        tx.execute(update(files).where(files.c.id == file).values(ended=None))
    change_log.record(tx, before.host, before.alias)


def remove(tx: Connection, account: int, file: int) -> None:
    """Delete a file: its alias stays with the account, its bytes are removed in a moment."""
    gone = own(tx, account, file)
    named = tx.execute(select(files.c.object).where(files.c.id == file)).scalar_one()
    alias_namespace.release(tx, host=gone.host, alias=gone.alias)
    if gone.purged is None:
        orphans.release(tx, account, named, gone.size)
    crud.remove(tx, files, account, file)


def is_past(now: int, *, expiry: int | None, most: int | None, used: int) -> bool:
    """Whether a file is at its end: to the second, to the download (decision 21)."""
    return (expiry is not None and expiry < now) or (most is not None and used >= most)


def over_quota(left: int) -> Problem:
    """507: the account has no room for the file."""
    told = f"Your files may take only {left} bytes more. Delete some first."
    return Problem(Kind.STORAGE_FULL, told)


def _keep(tx: Connection, account: int, size: int) -> None:
    """Take the room for a file, in one statement: exact however many come at once."""
    limit = select(plans.c.storage_limit).where(plans.c.id == accounts.c.plan).scalar_subquery()
    fits = or_(limit.is_(None), accounts.c.stored + size <= limit)
    grown = update(accounts).where(accounts.c.id == account, fits).values(stored=accounts.c.stored + size)
    if tx.execute(grown).rowcount != 1:
        raise over_quota(room(tx, account).left or 0)


def _host(tx: Connection, account: int, fields: Fields, settings: Settings) -> str:
    domain = fields.get("domain")
    return alias_namespace.OWN if domain is None else hostnames.chosen(tx, account, domain, settings=settings)


def _columns(fields: Fields, filename: str) -> dict[str, Any]:
    values: dict[str, Any] = {name: fields[name] for name in ("password", "maxdownloads") if name in fields}
    if "name" in fields:
        values["name"] = fields["name"] or filename
        values["search"] = _searchable(f"{values['name']}\x1f{filename}")
    if "expiry" in fields:
        values["expiry"] = None if fields["expiry"] is None else clock.last_second(fields["expiry"])
    return values


def _searchable(text: str) -> str:
    return text.casefold()


@dataclass(frozen=True)
class _Id:
    id: int


def _all(tx: Connection, ids: Sequence[int], record: type[R]) -> list[R]:
    """The files with these ids, in this order."""
    wanted = [files.c[field.name] for field in fields_of(record) if field.name != "scheme"]
    chosen = select(*wanted, domains.c.scheme).outerjoin(domains, domains.c.host == files.c.host)
    found = {row["id"]: record(**row) for row in tx.execute(chosen.where(files.c.id.in_(ids))).mappings()}
    return [found[item] for item in ids]
