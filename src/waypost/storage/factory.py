"""The store that the settings name, and whether it works."""

import io
import secrets
from pathlib import Path

from waypost.errors import Problem
from waypost.settings import Settings
from waypost.storage.disk import Disk
from waypost.storage.store import Missing, Store


def open_store(settings: Settings) -> Store:
    """A folder below the data folder, or the bucket in WAYPOST_STORAGE_URL. Nothing is asked of it yet."""
    if not settings.storage_url:
        return Disk(settings.data_dir / "files")
    from waypost.storage.s3 import S3  # noqa: PLC0415  # 4 MB that a service with a folder does not need

    return S3(settings)


def store_at(where: str, settings: Settings) -> Store:
    """The folder, or the bucket (s3://…) with the keys of the settings."""
    if not where.startswith("s3://"):
        return Disk(Path(where))
    return open_store(Settings.model_validate({**settings.model_dump(), "storage_url": where}))


def probe(store: Store) -> str:
    """Write, read and delete an object; "" when all of it worked, else what did not."""
    name, content = f"probe/{secrets.token_hex(16)}", secrets.token_bytes(16)
    step = "written"
    try:
        store.save(name, io.BytesIO(content), disposition="attachment")
        step = "read"
        size, chunks = store.load(name)
        if (size, b"".join(chunks)) != (len(content), content):
            return "what was written came back as something else"
        step = "deleted"
        store.remove(name)
    except (Problem, Missing, OSError) as error:
        cause = error.__cause__ or error
        return f"nothing can be {step}: {' '.join(str(cause).split())[:200]}"
    return ""
