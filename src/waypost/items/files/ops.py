"""Files: their metadata in the database. The bytes are objects in the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, true, update

from waypost.core import clock
from waypost.core.errors import Kind, Problem, invalid, not_found
from waypost.core.settings import Settings
from waypost.core.text_folding import folded
from waypost.db import change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import accounts, aliases, domains, files, orphan_objects, plans
from waypost.db.schema.nouns import NOUNS
from waypost.search import items
from waypost.search.words import Word
from waypost.storage import cleanup
from waypost.urls import alias_namespace, hostnames

R = TypeVar("R", bound="File")
Order = Literal["date", "downloads", "size"]
_UPLOAD_SECONDS = 300  # an upload without an extension for this long counts as abandoned


@dataclass(frozen=True)
class File:
    """A file as lists show it. `scheme` is the scheme of its branded domain; times are Unix timestamps."""

    id: int
    host: str
    alias: str
    name: str
    object: str
    downloads: int
    created: int
    scheme: str | None = None


@dataclass(frozen=True)
class Details(File):
    """A file with all metadata. `password` is a hash; `purged` is the time when its bytes were removed."""

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

    def has_ended(self, now: int) -> bool:
        """Return whether the file is expired or its download limit is reached (decision 21)."""
        is_expired = self.expiry is not None and self.expiry < now
        return is_expired or (self.maxdownloads is not None and self.taken >= self.maxdownloads)


class Fields(TypedDict, total=False):
    """The settable fields. `None` means the default; `password` is a hash, `expiry` a date or timestamp."""

    name: str | None
    custom: str | None
    domain: str | None
    password: str | None
    expiry: str | None
    maxdownloads: int | None


@dataclass(frozen=True)
class StoredObject:
    """An object in the store and the metadata of its bytes."""

    object: str
    filename: str
    size: int
    sha256: bytes
    mime: str


@dataclass(frozen=True)
class UploadQuota:
    """Limits for the next upload of an account: bytes of a file, and bytes left of its storage; `None`: no limit."""

    upload_limit: int
    left: int | None


def page(
    tx: Connection, account: int, window: PageRequest, *, name: str = "", short: tuple[str, str] | None = None
) -> Page[Details]:
    """Return a page of the account's files whose name contains `name`, or whose short URL begins with `short`.

    The newest are first. Every page costs the same without a name; otherwise the cost grows with the account's files.
    """
    word = Word(account, folded(name), short=short)
    if not word.text:
        return _page(tx, account, window, None)
    is_named = files.c.search.contains(word.text, autoescape=True)
    return _page(tx, account, window, is_named | word.begins_short_url(files.c.host, files.c.alias))


def search(
    tx: Connection, account: int, window: PageRequest, *, words: Sequence[Word] = (), order: Order = "date"
) -> Page[Details]:
    """Return a page of the account's files that match all words of a search, in descending order. Costs as `page`."""
    return _page(tx, account, window, items.matches(tx, NOUNS["file"], words) if words else None, order)


def _page(
    tx: Connection, account: int, window: PageRequest, condition: ColumnElement[bool] | None, order: Order = "date"
) -> Page[Details]:
    if condition is None and order == "date":
        newest = crud.page(tx, files, account, window, _Id)
        return Page(_get_many(tx, account, [item.id for item in newest.items], Details), newest.result, window)
    matches = (files.c.account == account) & (true() if condition is None else condition)
    total = tx.execute(select(func.count()).select_from(files).where(matches)).scalar_one()
    sort_key = {"date": files.c.id, "downloads": files.c.downloads, "size": files.c.size}[order]
    query = select(files.c.id).where(matches).order_by(sort_key.desc(), files.c.id.desc())
    ids = tx.execute(query.limit(window.limit).offset(window.offset)).scalars().all() if window.offset < total else ()
    return Page(_get_many(tx, account, ids, Details), total, window)


def get_owned(tx: Connection, account: int, file: int) -> Details:
    """Return one file. Raises NOT_FOUND."""
    crud.require_owned(tx, files, account, file)
    for details in _get_many(tx, account, [file], Details):
        return details
    raise not_found("file")  # deleted since the previous statement, in a transaction that writes


def upload_quota(tx: Connection, account: int) -> UploadQuota:
    """Return what the account's plan allows, less the storage in use."""
    query = select(plans.c.upload_limit, plans.c.storage_limit, accounts.c.stored).join_from(accounts, plans)
    row = tx.execute(query.where(accounts.c.id == account)).one()
    return UploadQuota(row.upload_limit, None if row.storage_limit is None else max(0, row.storage_limit - row.stored))


def check_fields(tx: Connection, account: int, *, settings: Settings, **fields: Unpack[Fields]) -> None:
    """Raise what `add` would raise for these fields now, before the client sends a large body."""
    host = _host(tx, account, fields, settings)
    custom = fields.get("custom")
    if custom is None:
        return
    alias = alias_namespace.pick(tx, host, custom)
    row = tx.execute(select(aliases).where(aliases.c.host == host, aliases.c.alias == alias)).first()
    if row is not None and (row.kind is not None or row.item is not None or row.account != account):
        raise alias_namespace.refusal(tx, account, host=host, alias=alias)


def refuse_over_quota(size: int, quota: UploadQuota) -> None:
    """Raise TOO_LARGE or STORAGE_FULL for a file of `size` bytes that the account may not store."""
    if size > quota.upload_limit:
        raise Problem(Kind.TOO_LARGE, f"The file is too large: your plan allows {quota.upload_limit} bytes per file.")
    if quota.left is not None and size > quota.left:
        raise storage_full(quota.left)


def register_upload(tx: Connection, name: str, *, seconds: int = _UPLOAD_SECONDS) -> None:
    """Record an object before it is written, so that cleanup removes it if no file owns it in time."""
    tx.execute(insert(orphan_objects).values(object=name, due=clock.now() + seconds, deleting=False))


def extend_upload(tx: Connection, name: str) -> None:
    """Record that the upload is still running."""
    is_uploading = (orphan_objects.c.object == name, orphan_objects.c.deleting.is_(False))
    tx.execute(update(orphan_objects).where(*is_uploading).values(due=clock.now() + _UPLOAD_SECONDS))


def add(tx: Connection, account: int, stored: StoredObject, *, settings: Settings, **fields: Unpack[Fields]) -> File:
    """Create a file from an uploaded object. Raises INVALID or TAKEN with the field at fault, or STORAGE_FULL."""
    is_uploading = (orphan_objects.c.object == stored.object, orphan_objects.c.deleting.is_(False))
    if tx.execute(delete(orphan_objects).where(*is_uploading)).rowcount != 1:
        raise Problem(Kind.UNAVAILABLE, "The upload took too long. Please try again.", retry_after=5)
    _reserve_storage(tx, account, stored.size)
    host = _host(tx, account, fields, settings)
    alias = alias_namespace.pick(tx, host, fields.get("custom"))
    name = fields.get("name") or stored.filename
    values = {
        **{field.name: getattr(stored, field.name) for field in fields_of(StoredObject)},
        **_columns({**fields, "name": name}, stored.filename),
        "host": host,
        "alias": alias,
    }
    file = crud.add(tx, files, account, values)
    alias_namespace.claim(tx, account, "file", file, host=host, alias=alias)
    return _get_many(tx, account, [file], File)[0]


def change(tx: Connection, account: int, file: int, **fields: Unpack[Fields]) -> None:
    """Set name, password, expiry or maxdownloads. Raises INVALID if that makes a file without bytes available."""
    crud.lock_row(tx, files, account, file)
    before = get_owned(tx, account, file)
    crud.change(tx, files, account, file, _columns(fields, before.filename))
    after = get_owned(tx, account, file)
    if before.purged is not None and not after.has_ended(clock.now()):
        field = "expiry" if "expiry" in fields else "maxdownloads"
        raise invalid(field, f"{field} cannot restore this file: its content was deleted. Please upload it again.")
    if not after.has_ended(clock.now()):
        crud.change(tx, files, account, file, {"ended": None})
    change_log.record(tx, before.host, before.alias)


def remove(tx: Connection, account: int, file: int) -> None:
    """Delete a file. Its alias stays reserved for the account; cleanup removes its bytes soon."""
    crud.lock_row(tx, files, account, file)
    before = get_owned(tx, account, file)
    is_owned = (files.c.id == file, files.c.account == account)
    object_name = tx.execute(select(files.c.object).where(*is_owned)).scalar_one()
    alias_namespace.release(tx, host=before.host, alias=before.alias)
    if before.purged is None:
        cleanup.release_object(tx, account, object_name, before.size)
    crud.remove(tx, files, account, file)


def storage_full(left: int) -> Problem:
    """Return the problem of an account that has no storage left for a file (507)."""
    return Problem(Kind.STORAGE_FULL, f"Your plan has room for {left} bytes more. Delete some files first.")


def _reserve_storage(tx: Connection, account: int, size: int) -> None:
    """Add a file to the account's storage in one conditional statement, exact under concurrent uploads."""
    limit = select(plans.c.storage_limit).where(plans.c.id == accounts.c.plan).scalar_subquery()
    fits = or_(limit.is_(None), accounts.c.stored + size <= limit)
    reserve = update(accounts).where(accounts.c.id == account, fits).values(stored=accounts.c.stored + size)
    if tx.execute(reserve).rowcount != 1:
        raise storage_full(upload_quota(tx, account).left or 0)


def _host(tx: Connection, account: int, fields: Fields, settings: Settings) -> str:
    domain = fields.get("domain")
    return alias_namespace.OWN if domain is None else hostnames.resolve_domain(tx, account, domain, settings=settings)


def _columns(fields: Fields, filename: str) -> dict[str, Any]:
    values: dict[str, Any] = {name: fields[name] for name in ("password", "maxdownloads") if name in fields}
    if "name" in fields:
        values["name"] = fields["name"] or filename
        values["search"] = folded(f"{values['name']}\x1f{filename}")
    if "expiry" in fields:
        values["expiry"] = None if fields["expiry"] is None else clock.last_second(fields["expiry"])
    return values


@dataclass(frozen=True)
class _Id:
    id: int


def _get_many(tx: Connection, account: int, ids: Sequence[int], record: type[R]) -> list[R]:
    """Return the account's files with these ids, in this order, without those that do not exist."""
    if not ids:
        return []
    columns = [files.c[field.name] for field in fields_of(record) if field.name != "scheme"]
    query = select(*columns, domains.c.scheme).outerjoin(domains, domains.c.host == files.c.host)
    rows = tx.execute(query.where(files.c.account == account, files.c.id.in_(ids))).mappings()
    files_by_id = {row["id"]: record(**row) for row in rows}
    return [files_by_id[file] for file in ids if file in files_by_id]
