"""The Merkle tree over the audit log: hashes of RFC 6962, stored in tiles of 256 as in C2SP tlog-tiles.

The tile `number` of `level` has the hashes of full subtrees with 256^level events, from the subtree 256 * number on.
Appending changes the last tile of each level, and a root needs no others. Tiles stay when events are deleted.
"""

import hashlib
import json
from collections.abc import Sequence

from sqlalchemy import Connection, select

from waypost.db.audit_sequence import SequencedEvent
from waypost.db.database import upsert
from waypost.db.schema import audit_tiles

TILE = 256
HASH_BYTES = 32
_c = audit_tiles.c


def canonical(event: SequencedEvent) -> bytes:
    """Return the bytes of an event that are hashed: JSON in ASCII, with sorted names and without spaces."""
    return json.dumps(vars(event), sort_keys=True, separators=(",", ":")).encode("ascii")


def leaf_hash(event: SequencedEvent) -> bytes:
    """Return the hash of an event."""
    return hashlib.sha256(b"\0" + canonical(event)).digest()


def append(tx: Connection, events: Sequence[SequencedEvent]) -> None:
    """Add events, in the order of their positions, to the tree."""
    extend(tx, events[0].position, [leaf_hash(event) for event in events])


def extend(tx: Connection, size: int, hashes: Sequence[bytes], level: int = 0) -> None:
    """Append hashes to a level that has `size` of them, and those of completed tiles to the next level."""
    number, used = divmod(size, TILE)
    # A tile that was shortened must not end the log: the verification finds the zeros.
    stored = tile(tx, level, number)[: used * HASH_BYTES].ljust(used * HASH_BYTES, b"\0") if used else b""
    content = stored + b"".join(hashes)
    length = TILE * HASH_BYTES
    parts = [content[start : start + length] for start in range(0, len(content), length)]
    for index, part in enumerate(parts):
        row = upsert(tx, audit_tiles).values(level=level, number=number + index, hashes=part)
        tx.execute(row.on_conflict_do_update(index_elements=["level", "number"], set_={"hashes": part}))
    completed = [subtree_root(split(part)) for part in parts if len(part) == length]
    if completed:
        extend(tx, number, completed, level + 1)


def tile(tx: Connection, level: int, number: int) -> bytes:
    """Return the hashes of a tile, one after the other; none if it does not exist."""
    stored = tx.execute(select(_c.hashes).where(_c.level == level, _c.number == number)).scalar()
    return b"" if stored is None else bytes(stored)


def split(content: bytes) -> list[bytes]:
    """Return the hashes of a tile."""
    return [content[start : start + HASH_BYTES] for start in range(0, len(content), HASH_BYTES)]


def subtree_root(hashes: Sequence[bytes]) -> bytes:
    """Return the root over a number of hashes that is a power of 2."""
    while len(hashes) > 1:
        pairs = zip(hashes[::2], hashes[1::2], strict=True)
        hashes = [hashlib.sha256(b"\1" + left + right).digest() for left, right in pairs]
    return hashes[0]


def root(tx: Connection, size: int) -> bytes:
    """Return the root of the tree as it was with its first `size` events. Missing tiles give a wrong root."""
    roots: list[bytes] = []  # of full subtrees, from the last and smallest one on
    level = 0
    while size:
        number, used = divmod(size, TILE)
        hashes = split(tile(tx, level, number))[:used] if used else []
        while hashes:
            subtree = len(hashes) & -len(hashes)
            roots.append(subtree_root(hashes[-subtree:]))
            hashes = hashes[:-subtree]
        size, level = number, level + 1
    return _joined(roots)


def _joined(roots: Sequence[bytes]) -> bytes:
    """Return the root over full subtrees, the smallest first. Without any it is the hash of nothing."""
    if not roots:
        return hashlib.sha256().digest()
    joined = roots[0]
    for left in roots[1:]:
        joined = hashlib.sha256(b"\1" + left + joined).digest()
    return joined
