"""Signed checkpoints of the audit log, in the format of C2SP tlog-checkpoint and signed-note with Ed25519."""

import base64
import hashlib
import time
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Connection, func, insert, select

from waypost.audit import merkle
from waypost.core import clock
from waypost.db import audit_sequence
from waypost.db.database import Database
from waypost.db.schema import audit_checkpoints
from waypost.db.signing import installation_signer

SECONDS = 300.0
"""Time between two checkpoints of a log that grows."""
_PURPOSE = "audit checkpoints"
_ED25519 = b"\1"
_DASH = "\N{EM DASH} "
_c = audit_checkpoints.c
_LATEST = select(_c.size, _c.note).order_by(_c.size.desc()).limit(1)


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint: the first `size` events of a log have this root."""

    origin: str
    size: int
    root: bytes


class Key:
    """The signing key of an installation, which is derived from its secret."""

    def __init__(self, seed: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self._public = self._private.public_key()

    def text(self, origin: str) -> str:
        """Return the public key as verifiers take it (a "vkey" of signed-note)."""
        encoded = base64.b64encode(_ED25519 + self._public.public_bytes_raw()).decode()
        return f"{origin}+{self._id(origin).hex()}+{encoded}"

    def signed(self, checkpoint: Checkpoint) -> str:
        """Return the text of a checkpoint with its signature."""
        body = f"{checkpoint.origin}\n{checkpoint.size}\n{base64.b64encode(checkpoint.root).decode()}\n"
        signature = self._id(checkpoint.origin) + self._private.sign(body.encode())
        return f"{body}\n{_DASH}{checkpoint.origin} {base64.b64encode(signature).decode()}\n"

    def read(self, note: str) -> Checkpoint | None:
        """Return the content of a checkpoint; None if this key has not signed it. Signatures of others are ignored."""
        body, _, signatures = note.partition("\n\n")
        origin, _, rest = body.partition("\n")
        try:
            size, root = rest.split("\n")[:2]
            for line in signatures.splitlines():
                if line.startswith(f"{_DASH}{origin} ") and self._is_valid(origin, f"{body}\n", line.split(" ")[2]):
                    return Checkpoint(origin, int(size), base64.b64decode(root, validate=True))
        except ValueError:
            pass
        return None

    def _is_valid(self, origin: str, body: str, encoded: str) -> bool:
        signature = base64.b64decode(encoded, validate=True)
        if signature[:4] != self._id(origin):
            return False
        try:
            self._public.verify(signature[4:], body.encode())
        except InvalidSignature:
            return False
        return True

    def _id(self, origin: str) -> bytes:
        return hashlib.sha256(origin.encode() + b"\n" + _ED25519 + self._public.public_bytes_raw()).digest()[:4]


def origin_of(host: str) -> str:
    """Return the name of the log of the service with this host."""
    return f"{host}/audit"


def installation_key(tx: Connection) -> Key:
    """Return the signing key of this installation."""
    return Key(installation_signer(tx).derive_key(_PURPOSE))


def latest(tx: Connection) -> str | None:
    """Return the latest checkpoint; None if there is none."""
    row = tx.execute(_LATEST).first()
    return None if row is None else row.note


def sign(tx: Connection, origin: str) -> str | None:
    """Return the checkpoint of all events with a position, which is stored; None for an empty log."""
    size = audit_sequence.hold(tx)
    last = tx.execute(_LATEST).first()
    if last is not None and last.size == size:
        return str(last.note)
    if not size:
        return None
    note = installation_key(tx).signed(Checkpoint(origin, size, merkle.root(tx, size)))
    tx.execute(insert(audit_checkpoints).values(size=size, at=clock.now(), note=note))
    return note


class CheckpointSigner:
    """Signs a checkpoint every five minutes while the log grows."""

    def __init__(self, database: Database, host: str) -> None:
        self._database = database
        self._origin = origin_of(host)
        self._due = 0.0

    def sign_due(self) -> None:
        """Sign a checkpoint if it is time, and if there are events that the last one does not cover."""
        if time.monotonic() < self._due:
            return
        if self._database.read(_has_new_events):
            self._database.write(lambda tx: sign(tx, self._origin))
        self._due = time.monotonic() + SECONDS


def _has_new_events(tx: Connection) -> bool:
    covered = tx.execute(select(func.max(_c.size))).scalar() or 0
    return audit_sequence.size(tx) != covered
