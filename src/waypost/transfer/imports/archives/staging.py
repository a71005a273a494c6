"""Work for an archive outside of transactions: bytes of files go to the storage, and domains are asked."""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from sqlalchemy import Connection, select

from waypost.api.context import RequestBudget
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import domains
from waypost.http import file_names, media_types
from waypost.items.domains import ownership_check
from waypost.items.files import ops as files
from waypost.items.files.ops import StoredObject
from waypost.storage.store import Store
from waypost.transfer.imports.source_row import Record
from waypost.urls import hostnames

KEPT_SECONDS = 7 * 86_400
"""The time between the plan and its application for which the bytes of files are kept."""
_CHUNK = 1 << 20
_MAX_DOMAINS = 100  # of an archive that are asked, which takes at most so many seconds
_MAX_DOMAIN_SECONDS = 120.0


def _domain_budget() -> RequestBudget:
    return RequestBudget(max_fetches=_MAX_DOMAINS, max_fetch_seconds=_MAX_DOMAIN_SECONDS)


@dataclass
class Staging:
    """Where the plan of an archive is made. `staged` counts the bytes that were stored for it."""

    database: Database
    store: Store
    settings: Settings
    account: int
    staged: int = 0
    budget: RequestBudget = field(default_factory=_domain_budget)

    def complete(self, record: Record, open_file: Callable[[int], IO[bytes]]) -> None:
        """Complete a record of the archive: check a domain, and store the bytes of a file. Raises UNAVAILABLE."""
        if record.kind == "domain":
            scheme = str(record.fields.get("domain", "")).partition("://")[0]
            hosts = hostnames.names_of(record.host, alsowww=record.fields.get("alsowww") is True)
            record.problem = record.problem or self._domain_problem(scheme, hosts)
        described, record.stored = record.stored, {}
        if record.kind != "file" or record.problem:
            return
        try:
            content, size = open_file(described["id"]), described["size"]
            record.stored = self._save(content, file_names.validate(described["filename"]), size)
        except Problem as problem:
            if problem.kind.status == 503 or problem.field == "file":
                raise
            record.problem = problem.message
            return
        if record.stored["sha256"] != described["sha256"]:
            record.problem = "Its bytes in the archive are not those of the file: the checksum differs."

    def _save(self, content: IO[bytes], filename: str, size: int) -> dict[str, Any]:
        """Store the bytes of a file for the plan; return its metadata. Raises TOO_LARGE, STORAGE_FULL.

        The record of an upload names them, so that they are deleted if no plan makes a file of them in time.
        """
        quota = self.database.read(lambda tx: files.upload_quota(tx, self.account))
        files.refuse_over_quota(size, quota)
        if quota.left is not None and self.staged + size > quota.left:
            raise files.storage_full(quota.left)
        random = secrets.token_hex(16)
        name = f"{random[:2]}/{random}"
        self.database.write(lambda tx: files.register_upload(tx, name, seconds=KEPT_SECONDS))
        reader = _HashingReader(content)
        self.store.save(name, reader, disposition=file_names.disposition(filename))
        self.staged += reader.size
        stored = StoredObject(name, filename, reader.size, reader.sha256.digest(), media_types.detect(reader.head))
        return {**asdict(stored), "sha256": stored.sha256.hex()}

    def _domain_problem(self, scheme: str, hosts: Sequence[str]) -> str:
        """Return why a domain with these hosts cannot be added now; "" if it can, or is the account's own."""
        if not self.settings.checks_domains or self.database.read(lambda tx: _owner(tx, hosts[0])) == self.account:
            return ""
        try:
            for host in filter(None, hosts):
                self._ask(scheme, host)
        except Problem as problem:
            return problem.message
        return ""

    def _ask(self, scheme: str, host: str) -> None:
        challenge = ownership_check.new_challenge()
        expected = self.database.read(lambda tx: ownership_check.proof(tx, challenge))
        with self.budget.fetch("domain", ownership_check.SECONDS) as seconds:
            ownership_check.must_point_here(scheme, host, challenge=challenge, expected=expected, seconds=seconds)


def _owner(tx: Connection, host: str) -> int | None:
    return tx.execute(select(domains.c.account).where(domains.c.host == host)).scalar()


class _HashingReader:
    """Hashes the bytes that the store reads."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self.sha256 = hashlib.sha256()
        self.size = 0
        self.head = b""

    def read(self, size: int = -1, /) -> bytes:
        chunk = self._content.read(size if size >= 0 else _CHUNK)
        if len(self.head) < media_types.SNIFF_BYTES:
            self.head = (self.head + chunk)[: media_types.SNIFF_BYTES]
        self.sha256.update(chunk)
        self.size += len(chunk)
        return chunk
