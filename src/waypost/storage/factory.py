"""Open the file storage of the settings, and test it."""

import io
import secrets
from pathlib import Path

from sqlalchemy import select

from waypost.core import reasons
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import files
from waypost.storage.disk import DiskStore
from waypost.storage.s3 import S3Store
from waypost.storage.store import ObjectNotFound, Store

PROBES = "probe"
"""Prefix of the test objects of `probe`."""


def open_store(settings: Settings) -> Store:
    """Return the bucket in WAYPOST_STORAGE_URL, or else a folder in the data folder. Does not connect yet."""
    if not settings.storage_url:
        return DiskStore(settings.data_dir / "files")
    return S3Store(settings)


def store_at(where: str, settings: Settings) -> Store:
    """Return the store at a path, or at an s3:// URL with the keys of the settings."""
    if not where.startswith("s3://"):
        return DiskStore(Path(where))
    return open_store(Settings.model_validate({**settings.model_dump(), "storage_url": where}))


def probe(store: Store) -> str:
    """Write, read and delete a test object. Return the fault, or "" if all works."""
    name, content = f"{PROBES}/{secrets.token_hex(16)}", secrets.token_bytes(16)
    step = "written"
    try:
        store.save(name, io.BytesIO(content), disposition="attachment")
        step = "read"
        size, chunks = store.load(name)
        if (size, b"".join(chunks)) != (len(content), content):
            return "an object was read with other content than was written"
        step = "deleted"
        store.remove(name)
    except (Problem, ObjectNotFound, OSError) as error:
        cause = error.__cause__ or error
        return _fault(step, reasons.clean(str(cause)))
    return ""


def lost_objects(store: Store, database: Database) -> str:
    """Return the fault of a folder that has no objects although files have some; "" if it has, and for a bucket.

    The folder was removed then, or its disk is not mounted. Raises UNAVAILABLE.
    """
    if not store.is_local or not store.is_empty():
        return ""
    kept = select(files.c.id).where(files.c.purged.is_(None)).limit(1)
    has_files = database.read(lambda tx: tx.execute(kept).first() is not None)
    # Again, because the first upload can have ended between the two reads.
    return "its folder is empty, although it should hold the content of files" if has_files and store.is_empty() else ""


def _fault(step: str, cause: str) -> str:
    """Return the fault of a step. Each is a text of its own, which the dashboard translates."""
    if step == "written":
        return f"objects cannot be written: {cause}"
    if step == "read":
        return f"objects cannot be read: {cause}"
    return f"objects cannot be deleted: {cause}"
