"""Verification of the audit log: events against their hashes, these against the tree, the tree against checkpoints.

Events may be missing only because of their age, up to the position that an event `audit.purged` names, and because of
the deletion of their account, which leaves tombstones whose number the event `account.deleted` names.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sqlalchemy import Connection, func, select

from waypost.audit import checkpoints, merkle
from waypost.audit.checkpoints import Key
from waypost.core import clock
from waypost.db import audit_sequence
from waypost.db.audit_sequence import COLUMNS, SequencedEvent
from waypost.db.database import Database
from waypost.db.schema import audit, audit_checkpoints, audit_tombstones

_c = audit.c
_TILES_AT_ONCE = 16
_MAX_PROBLEMS = 100
PURGED, DELETED = "audit.purged", "account.deleted"


@dataclass
class Verification:
    """The result: how many events were verified, and how many of the tree were deleted rightly."""

    size: int = 0
    verified: int = 0
    expired: int = 0
    of_deleted_accounts: int = 0
    without_position: int = 0
    checkpoints: int = 0
    problems: list[str] = field(default_factory=list)

    def report(self, problem: str) -> None:
        """Add a problem, unless there are too many already."""
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)


@dataclass(frozen=True)
class _Wrong:
    """An event whose hash is not that of its position."""

    event: SequencedEvent
    stored: bytes


def verify(database: Database, note: str | None = None) -> Verification:
    """Verify the log, and against a checkpoint that was stored elsewhere. Reads in parts, so the service can run."""
    result = Verification(size=database.read(audit_sequence.size))
    events = _Events(result)
    for first in range(0, -(-result.size // merkle.TILE), _TILES_AT_ONCE):
        database.read(partial(events.verify, first))
    _report_wrong(result, events.wrong)
    database.read(partial(_verify_rest, result))
    database.read(partial(_verify_tree, result, events.roots))
    database.read(partial(_verify_checkpoints, result, note))
    return result


def _purged_through(tx: Connection) -> int:
    """Return the last position that the retention has deleted, -1 for none."""
    query = select(_c.after).where(_c.account.is_(None), _c.kind == "audit", _c.name == PURGED)
    after = tx.execute(query.order_by(_c.id.desc()).limit(1)).scalar()
    return int(after["through"]) if after else -1


class _Events:
    """Verifies events in the order of their positions, some tiles of the tree at a time."""

    def __init__(self, result: Verification) -> None:
        self._result = result
        self.wrong: list[_Wrong] = []
        self.roots: list[bytes] = []
        """Of the full tiles: the next level of the tree."""

    def verify(self, first: int, tx: Connection) -> None:
        """Verify the events of some tiles from the number `first` on."""
        low = first * merkle.TILE
        high = min(low + _TILES_AT_ONCE * merkle.TILE, self._result.size)
        events = self._read_events(tx, low, high)
        stone = audit_tombstones.c.position
        tombstones = set(tx.execute(select(stone).where(stone >= low, stone < high)).scalars())
        through = _purged_through(tx)
        for number in range(first, -(-high // merkle.TILE)):
            hashes = merkle.split(merkle.tile(tx, 0, number))
            for position in range(number * merkle.TILE, min((number + 1) * merkle.TILE, high)):
                index = position % merkle.TILE
                if event := events.get(position):
                    self._compare(event, hashes[index] if index < len(hashes) else b"")
                elif position in tombstones:
                    self._result.of_deleted_accounts += 1
                elif position <= through:
                    self._result.expired += 1
                else:
                    reason = "Neither its age nor the deletion of an account explains it."
                    self._result.report(f"Position {position}: the event was removed. {reason}")
            if len(hashes) == merkle.TILE:
                self.roots.append(merkle.subtree_root(hashes))

    def _read_events(self, tx: Connection, low: int, high: int) -> Mapping[int, SequencedEvent]:
        events: dict[int, SequencedEvent] = {}
        query = select(*COLUMNS).where(_c.position >= low, _c.position < high).order_by(_c.position, _c.id)
        for row in tx.execute(query).mappings():
            if events.setdefault(row["position"], SequencedEvent(**row)).id != row["id"]:
                self._result.report(f"Position {row['position']}: there is a second event, {row['id']}.")
        return events

    def _compare(self, event: SequencedEvent, stored: bytes) -> None:
        self._result.verified += 1
        if merkle.leaf_hash(event) != stored and len(self.wrong) < _MAX_PROBLEMS:
            self.wrong.append(_Wrong(event, stored))


def _report_wrong(result: Verification, wrong: Sequence[_Wrong]) -> None:
    """Report events that do not match, and the position that one had before, if it was moved."""
    stored = {one.event.position: one.stored for one in wrong}
    for event in (one.event for one in wrong):
        moved = (place for place, there in stored.items() if merkle.leaf_hash(replace(event, position=place)) == there)
        before = next(moved, None)
        named = f"Position {event.position}: the event {event.id} ({event.name} of {clock.text(event.at)} UTC)"
        result.report(f"{named} was changed." if before is None else f"{named} was moved here from position {before}.")


def _verify_rest(result: Verification, tx: Connection) -> None:
    """Verify positions after the last one, and the numbers of tombstones."""
    for row in tx.execute(select(_c.id, _c.position).where(_c.position >= result.size).limit(_MAX_PROBLEMS)):
        if row.position >= audit_sequence.size(tx):
            result.report(f"Position {row.position}: the event {row.id} was added without the service.")
    result.without_position = tx.execute(select(func.count()).where(_c.position.is_(None))).scalar_one()
    stones = audit_tombstones.c
    by_owner = select(stones.owner, func.count().label("events")).group_by(stones.owner)
    counts = {row.owner: row.events for row in tx.execute(by_owner)}
    deletions = select(_c.item, _c.after).where(_c.account.is_(None), _c.kind == "account", _c.name == DELETED)
    expected = {row.item: (row.after or {}).get("events", 0) for row in tx.execute(deletions)}
    has_expired = _purged_through(tx) >= 0
    for owner in sorted(counts.keys() | expected.keys()):
        _verify_tombstones(result, owner, counts, expected, has_expired=has_expired)


def _verify_tombstones(
    result: Verification, owner: int, counts: Mapping[int, int], expected: Mapping[int, int], *, has_expired: bool
) -> None:
    count = counts.get(owner, 0)
    if owner not in expected:
        result.report(f"Account {owner}: {count} events were removed as those of a deleted account, which it is not.")
    elif count > expected[owner] or (count < expected[owner] and not has_expired):
        result.report(f"Account {owner}: {count} events were removed with it, its deletion says {expected[owner]}.")


def _verify_tree(result: Verification, roots: list[bytes], tx: Connection) -> None:
    """Compare the upper levels of the tree with the hashes below them."""
    level = 1
    while roots:
        stored = b"".join(_stored(tx, level, len(roots)))
        if stored[: len(roots) * merkle.HASH_BYTES] != b"".join(roots):
            result.report(f"Level {level} of the tree was changed: it does not have the hashes of the level below.")
        full = range(0, len(roots) - merkle.TILE + 1, merkle.TILE)
        roots = [merkle.subtree_root(roots[start : start + merkle.TILE]) for start in full]
        level += 1


def _stored(tx: Connection, level: int, count: int) -> Iterator[bytes]:
    return (merkle.tile(tx, level, number) for number in range(-(-count // merkle.TILE)))


def _verify_checkpoints(result: Verification, note: str | None, tx: Connection) -> None:
    key = checkpoints.installation_key(tx)
    for row in tx.execute(select(audit_checkpoints).order_by(audit_checkpoints.c.size)):
        _verify_checkpoint(result, tx, key, row.note, f"The checkpoint of {row.size} events")
    if note is not None:
        _verify_checkpoint(result, tx, key, note, "The given checkpoint")


def _verify_checkpoint(result: Verification, tx: Connection, key: Key, note: str, named: str) -> None:
    checkpoint = key.read(note)
    if checkpoint is None:
        result.report(f"{named} has no valid signature of this installation.")
    elif checkpoint.size > audit_sequence.size(tx):
        result.report(f"{named} covers {checkpoint.size} events, the log has only {audit_sequence.size(tx)}.")
    elif merkle.root(tx, checkpoint.size) != checkpoint.root:
        result.report(f"{named} has another root than the log: the log was rewritten after it.")
    else:
        result.checkpoints += 1
