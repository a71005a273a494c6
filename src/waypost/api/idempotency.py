"""Idempotency keys: the response of a change is stored in its transaction, and repeated for 24 hours (decision 78).

A request first claims its key, in a transaction of its own. While the claim lasts, other requests with the key are
refused. The claim of a killed process ends by time; a slower one finds its claim taken and changes nothing.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fastapi.responses import Response
from sqlalchemy import BigInteger, Connection, bindparam, delete, or_, select, update
from starlette.requests import Request

from waypost.core import clock
from waypost.core.errors import Kind, Problem, invalid
from waypost.db.database import Database, upsert
from waypost.db.schema import idempotency_keys

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
METHODS = frozenset({"POST", "PUT", "DELETE"})
MAX_LENGTH = 255
_ANSWER_SECONDS = 24 * 3600
CLAIM_SECONDS = 15
LONG_CLAIM_SECONDS = 150
"""Of uploads, which extend their claim every minute, and of bulk requests."""
_UPLOAD_HEADERS = ("content-length", "content-md5", "content-digest", "repr-digest")
_row = idempotency_keys.c
_IS_OWN = (_row.account == bindparam("owned_account")) & (_row.key == bindparam("owned_key"))
_IS_CLAIMED = _IS_OWN & (_row.claim == bindparam("owned_claim"))
_FIND = select(_row.request, _row.status, _row.body).where(_IS_OWN)
_STORE = update(idempotency_keys).where(_IS_CLAIMED)
_RELEASE = delete(idempotency_keys).where(_IS_CLAIMED, _row.status.is_(None))


@dataclass
class Claim:
    """The right of one request to store the response for a key. `render` makes the response of a result."""

    account: int
    key: str
    render: Callable[[Any], Response]
    claim: bytes = field(default_factory=lambda: secrets.token_bytes(16))

    @property
    def _owned(self) -> dict[str, Any]:
        return {"owned_account": self.account, "owned_key": self.key, "owned_claim": self.claim}

    def store(self, tx: Connection, result: Any) -> None:
        """Store the response in the transaction of the change. Raises REQUEST_RUNNING if the claim was taken over."""
        response = self.render(result)
        values = {"status": response.status_code, "body": bytes(response.body), "until": clock.now() + _ANSWER_SECONDS}
        if tx.execute(_STORE, {**self._owned, **values}).rowcount == 0:
            raise _running()

    def extend(self, tx: Connection) -> None:
        """Extend the claim of an upload that takes long."""
        tx.execute(_STORE, {**self._owned, "until": clock.now() + LONG_CLAIM_SECONDS})

    def release(self, database: Database) -> None:
        """End the claim of a request that stored no response, so that it can be repeated at once."""
        database.write(lambda tx: tx.execute(_RELEASE, self._owned), durability="relaxed", autocommit=True)


def key_of(request: Request) -> str | None:
    """Return the key of a request that changes data, None without one. Raises INVALID."""
    if request.method not in METHODS or (key := request.headers.get(HEADER)) is None:
        return None
    if not 1 <= len(key) <= MAX_LENGTH or not (key.isascii() and key.isprintable()):
        raise invalid(HEADER, f"{HEADER} must have 1 to {MAX_LENGTH} printable ASCII characters, such as a UUID.")
    return key


def digest_of(request: Request, body: bytes | None) -> bytes:
    """Return a digest of the method, the path, the query and the body of a request.

    None: an upload, whose size and declared digests stand for its body.
    """
    scope = request.scope
    if body is None:
        body = "\n".join(request.headers.get(name, "") for name in _UPLOAD_HEADERS).encode()
    path = scope.get("raw_path") or scope["path"].encode()
    parts = (scope["method"].encode(), path.partition(b"?")[0], scope["query_string"], body)
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).digest()


def take(database: Database, claim: Claim, digest: bytes, *, seconds: int) -> Response | None:
    """Claim the key, or return the stored response of the same request.

    Raises KEY_REUSED if the key was used for another request, REQUEST_RUNNING while the first one has no response.
    """
    if database.write(lambda tx: _insert(tx, claim, digest, seconds), durability="relaxed", autocommit=True):
        return None
    owned = {"owned_account": claim.account, "owned_key": claim.key}
    row = database.read(lambda tx: tx.execute(_FIND, owned).one_or_none(), autocommit=True)
    if row is not None and bytes(row.request) != digest:
        message = f"This {HEADER} was used for another request. Use a new key for each request."
        raise Problem(Kind.KEY_REUSED, message, field=HEADER)
    if row is None or row.status is None:
        raise _running()
    return Response(bytes(row.body), row.status, headers={REPLAYED: "true"}, media_type="application/json")


def _insert(tx: Connection, claim: Claim, digest: bytes, seconds: int) -> bool:
    """Insert the claim in one statement, if the key is unused or its time is over. May run twice."""
    now = clock.now()
    values = {"claim": claim.claim, "request": digest, "until": now + seconds, "status": None, "body": None}
    insert = upsert(tx, idempotency_keys).values(account=claim.account, key=claim.key, **values)
    is_free = or_(_row.until <= bindparam("now", now, BigInteger), _row.claim == claim.claim)
    statement = insert.on_conflict_do_update(index_elements=["account", "key"], set_=values, where=is_free)
    return tx.execute(statement.returning(_row.account)).first() is not None


def _running() -> Problem:
    message = f"The first request with this {HEADER} is still running. Please try again in a second."
    return Problem(Kind.REQUEST_RUNNING, message, field=HEADER, retry_after=1)
