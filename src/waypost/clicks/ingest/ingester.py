"""Count journal lines: each whole line counts exactly once, even after a crash.

A batch's counts and the new read positions are written in one transaction. On SQLite it does not wait for the disk:
lines are deleted after it was flushed, so after a power cut they are counted again. A file lock allows one ingester per
machine.
"""

import gc
import hashlib
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import itemgetter
from threading import Event

import structlog
from sqlalchemy import Connection, bindparam, column, delete, select, table, update
from sqlalchemy.exc import DBAPIError

from waypost.clicks import journal
from waypost.clicks.blocks import compaction
from waypost.clicks.geo.lookup import Countries
from waypost.clicks.ingest import audit_retention, coordination, partitions
from waypost.clicks.ingest.aggregate import (
    DAY,
    Aggregate,
    LineParser,
    Visit,
    VisitAttributes,
    label_columns,
    visitor_hash,
)
from waypost.clicks.ingest.bulk_upsert import Columns, increment, insert, select_by_keys, transpose, upsert_counts
from waypost.clicks.ingest.coordination import exclusive_lock, wait_for_wakeup
from waypost.clicks.ingest.label_limits import limit_labels
from waypost.clicks.journal import Chunk
from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.core.metrics import Meter
from waypost.core.settings import Settings
from waypost.db import change_log, faults, leases, moved_items, notifications
from waypost.db.database import Database, upsert
from waypost.db.faults import error_reason
from waypost.db.item_columns import CLICK_TOTALS
from waypost.db.postgres import set_idle_timeout
from waypost.db.schema import (
    click_labels,
    click_times,
    domains,
    events,
    idempotency_keys,
    installation,
    link_undos,
    segments,
    visitor_salts,
    visitors,
)
from waypost.db.schema import moved_items as moved_table
from waypost.trash import ops as trash
from waypost.urls import hostnames

RETENTION_SECONDS = 60
_MAX_ROWS = 20_000
_AUDIT_PARTITION_AHEAD = 3  # days
_DEFAULT_PARTITION = table("events_rest", column("id"), column("at_ms"))
"""On PostgreSQL, the events of days without a partition."""


def delete_expired(tx: Connection, now: int, *, first_kept_day: int, events_days: int, audit_days: int) -> bool:
    """Delete expired data if the lease is free. Return whether more remains.

    Visitors and salts before `first_kept_day` are deleted, events older than `events_days` days, and the audit log
    before `audit_days`. PostgreSQL drops events by whole days, so the oldest remain longer.
    """
    if not leases.acquire(tx, "tidy", every=RETENTION_SECONDS):
        return False
    tx.execute(delete(visitor_salts).where(visitor_salts.c.day < first_kept_day))
    change_log.purge(tx)
    tx.execute(delete(idempotency_keys).where(idempotency_keys.c.until < now))
    tx.execute(delete(link_undos).where(link_undos.c.created < now - DAY))
    before = now - events_days * DAY
    partitions.drop_before(tx, "visitors", first_kept_day)
    tx.execute(delete(visitors).where(visitors.c.day < first_kept_day))
    partitions.drop_before(tx, "events", before // DAY)
    source = events if tx.dialect.name == "sqlite" else _DEFAULT_PARTITION
    oldest = select(source.c.id).order_by(source.c.id).limit(_MAX_ROWS).scalar_subquery()
    deleted = tx.execute(delete(source).where(source.c.id.in_(oldest), source.c.at_ms < before * 1000)).rowcount
    is_full = audit_retention.delete_before(tx, now - audit_days * DAY) or deleted == _MAX_ROWS
    more_remains = trash.purge_expired(tx, now) or is_full
    if more_remains:
        leases.release(tx, "tidy")
    return more_remains


_ADVANCE = (
    update(segments)
    .where(segments.c.name == bindparam("segment"), segments.c.position == bindparam("start"))
    .values(position=bindparam("end"))
)


def advance_position(tx: Connection, chunk: Chunk) -> bool:
    """Move the position of a chunk's segment from the chunk's start to its end. Return False if it was elsewhere.

    Within a segment the row must exist: a database server that has lost it has lost the segment's clicks too.
    """
    if chunk.start:
        return tx.execute(_ADVANCE, {"segment": chunk.segment, "start": chunk.start, "end": chunk.end}).rowcount == 1
    row = upsert(tx, segments).values(name=chunk.segment, position=chunk.end)
    stmt = row.on_conflict_do_update(
        index_elements=["name"], set_={"position": chunk.end}, where=segments.c.position == 0
    )
    return tx.execute(stmt.returning(segments.c.name)).first() is not None


def flush_positions(tx: Connection, expected: Mapping[str, int]) -> None:
    """Write the positions of segments once more, in a transaction that the database flushes to disk with all before it.

    Raises UNAVAILABLE if they differ, because a failover or a power cut has taken the last transactions.
    """
    is_named = segments.c.name.in_(expected)
    positions = dict.fromkeys(expected, 0) | {
        row.name: row.position for row in tx.execute(select(segments).where(is_named))
    }
    if positions != expected:
        raise Problem(Kind.UNAVAILABLE, "The database has lost the last counts. They are counted again.")
    for change in (1, -1):  # SQLite writes and flushes nothing for an update that changes nothing
        tx.execute(update(segments).where(is_named).values(position=segments.c.position + change))


ItemKey = tuple[str, int]
"""The kind and the id of an item."""


def resolve_moved(tx: Connection, visits: Sequence[Visit]) -> tuple[Sequence[Visit], Mapping[ItemKey, int]]:
    """Return the visits with the present account of each item, which then stays the same until the commit.

    The mapping has, for each item that was moved, the account under which its visitors are stored.
    """
    moved_items.hold(tx)
    if not moved_items.revision(tx):
        return visits, {}
    keys = transpose(("kind", "item"), sorted({(visit.kind, visit.item) for visit in visits}))
    rows = list(select_by_keys(tx, moved_table, keys, "owner, visitors_of")) if keys else []
    owners = {(kind, item): owner for kind, item, owner, _ in rows}
    if owners:
        owned = ((visit, owners.get((visit.kind, visit.item))) for visit in visits)
        visits = [visit if owner is None else visit._replace(account=owner) for visit, owner in owned]
    return visits, {(kind, item): visitors_of for kind, item, _, visitors_of in rows}


_log = structlog.get_logger("ingest")
_BATCH_BYTES = 8 * 1024 * 1024
_BATCH_LINES = 40_000  # the memory of a batch depends on its lines, and clients without headers have short ones
_LARGE_BATCH_VISITS, _LARGE_BATCH_IDLE_SECONDS = 2000, 60
_EVENTS_PER_INSERT = 5000
_MAX_DELETED = 1000  # segments in one statement
EVENTS_COMPLETE_SINCE = "visits kept since"
"""Name of the installation value with the second since which events are stored without a gap."""
_SAVE_SECONDS = 1.0  # between two writes of the metrics: one takes as long as counting several visits
_GRACE_SECONDS = 2 * 3600  # a day's salt and visitors are kept this long after midnight, for late journal lines


VisitReader = Callable[[Connection, Sequence[Visit], Sequence[bool]], None]
"""Gets the visits of a batch, and whether each is the first of its visitor on a day, in the transaction that counts
them. Visits of moved items have their present account."""


class Ingester:
    """Counts the journal lines of this machine's workers. `fault_point` is called between steps; tests crash in it."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        *,
        readers: Sequence[VisitReader] = (),
        fault_point: Callable[[str], None] = lambda _name: None,
    ) -> None:
        self._readers = readers
        self._folder = settings.journal_dir
        self._database = database
        self._events_days = settings.events_days
        self._audit_days = settings.audit_days
        self._audited_day = 0
        """The last day of which the partition of the audit log was created."""
        self._test_fault = fault_point
        self._hosts = settings.own_hosts
        geo = Countries(settings)
        place = geo.place if settings.geo_detail == "on" else None
        self._parser = LineParser(geo.country, self._hosts, place=place)
        self._meter = Meter(settings.metrics_dir)
        self._positions: dict[str, int] | None = None
        self._visitor_hashes: dict[int, hashlib.blake2b] = {}
        self._cleaned_at = 0
        self._pinged_at = self._saved_at = 0.0
        self._partitioned_days: set[int] = set()
        self._folder.mkdir(parents=True, exist_ok=True)

    def run(self, stop: Event) -> None:
        """Count until `stop` is set. Waits for the machine's ingester lock first."""
        is_recorded = is_waiting = False
        with exclusive_lock(self._folder, stop) as wake_fd:
            if wake_fd is None:
                return
            while not stop.is_set():
                is_behind = False
                try:
                    coordination.record_step(self._folder)
                    if not is_recorded:
                        self._record_events_start()
                        is_recorded = True
                    self._save_metrics()  # first, because the rest fails while the database is away
                    self._ping()
                    is_behind = self.step() >= 0.5
                    is_waiting = False
                    self.delete_expired()
                except (Problem, OSError, DBAPIError) as error:
                    if not _is_awaited(error):
                        raise
                    if not is_waiting:
                        reason = error_reason(error) or str(error)
                        _log.warning("ingester waits for the database or the disk", reason=reason)
                    is_waiting = True
                    coordination.record_failure(self._folder)
                    self._positions = None  # the failed transaction may have been committed
                    is_behind = False
                if not is_behind:  # few large batches cost less than many small ones
                    wait_for_wakeup(wake_fd)
            self._finish()

    def _finish(self) -> None:
        """Count the last lines. Lines that cannot be counted stay in the journal."""
        try:
            self.step()
        except (Problem, OSError, DBAPIError) as error:
            if not _is_awaited(error):
                raise
        finally:
            with suppress(OSError):  # a full disk
                self._meter.save()

    def _fault_point(self, name: str) -> None:
        """Record the progress between two steps."""
        coordination.record_step(self._folder)
        self._test_fault(name)

    def _ping(self) -> None:
        """Ping PostgreSQL once a second, so that an idle ingester notices a failover and never writes to a demoted
        primary."""
        if not self._database.is_sqlite and time.monotonic() - self._pinged_at >= 1.0:
            self._pinged_at = time.monotonic()
            notifications.poll(self._database, lambda tx: tx.execute(select(1)).scalar_one())

    def _save_metrics(self) -> None:
        if time.monotonic() - self._saved_at >= _SAVE_SECONDS:
            self._saved_at = time.monotonic()
            self._meter.count("database_damaged", by=self._database.take_damages())
            self._meter.save()

    def _record_events_start(self) -> None:
        """Store since when events are kept, so that `clicks verify` knows which days are complete."""

        def work(tx: Connection) -> None:
            if not self._events_days:
                tx.execute(delete(installation).where(installation.c.name == EVENTS_COMPLETE_SINCE))
                return
            has_clicks = tx.execute(select(click_times.c.at).limit(1)).first() is not None
            since = str(clock.now() if has_clicks else 0).encode()
            row = upsert(tx, installation).values(name=EVENTS_COMPLETE_SINCE, value=since)
            tx.execute(row.on_conflict_do_nothing())

        self._database.write(work)

    def step(self) -> float:
        """Count the lines written since the last step, at most one batch. Return how full it was, from 0 to 1."""
        positions = self._read_positions()
        chunks = journal.read_chunks(self._folder, positions, max_bytes=_BATCH_BYTES, max_lines=_BATCH_LINES)
        visits = 0
        if chunks:
            with _gc_disabled():
                visits = self._count_chunks(chunks)
            self._fault_point("committed")
            self._meter.count("clicks_ingested", by=visits)
            self._meter.count("journal_torn", by=self._parser.malformed)
            positions.update({chunk.segment: chunk.end for chunk in chunks})
        self._delete_counted_segments(positions)
        return max(sum(len(chunk.lines) for chunk in chunks) / _BATCH_BYTES, visits / _BATCH_LINES)

    def _delete_counted_segments(self, positions: dict[str, int]) -> None:
        """Delete segments of which nothing is left to count, after their counts are on the database's disk."""
        counted = journal.counted_segments(self._folder, positions)[:_MAX_DELETED]
        if not counted:
            return
        self._database.write(lambda tx: flush_positions(tx, {name: positions.get(name, 0) for name in counted}))
        self._fault_point("flushed")
        journal.delete_segments(self._folder, counted)
        self._fault_point("removed")
        # Delete positions after files: a position without a segment is harmless, a segment without its position would
        # be counted twice.
        self._database.write(
            lambda tx: tx.execute(delete(segments).where(segments.c.name.in_(counted))), durability="relaxed"
        )
        for name in counted:
            positions.pop(name, None)

    def _count_chunks(self, chunks: Sequence[Chunk]) -> int:
        self._database.read(self._read_own_hosts)
        visits: list[Visit] = []
        self._parser.malformed = 0
        damaged: list[tuple[str, int, int]] = []
        for chunk in chunks:
            before = self._parser.malformed
            visits += self._parser.visits(chunk.lines, self._visitor_hash)
            if lines := self._parser.malformed - before:
                damaged.append((chunk.segment, chunk.start + self._parser.first_malformed, lines))
        self._fault_point("classified")
        self._ensure_partitions({visit.second // DAY for visit in visits})
        self._database.write(lambda tx: self._write_batch(tx, visits, chunks), durability="process")
        for segment, offset, lines in damaged:
            _log.warning("damaged lines in the click journal", segment=segment, offset=offset, lines=lines)
        return len(visits)

    def _read_own_hosts(self, tx: Connection) -> None:
        """Read the hosts of branded domains. There are few, compared with the visits of a batch."""
        rows = tx.execute(select(domains.c.host, domains.c.alsowww))
        branded = {name for row in rows for name in hostnames.names_of(row.host, alsowww=row.alsowww)}
        self._parser.own_hosts = self._hosts | branded

    def _ensure_partitions(self, days: set[int]) -> None:
        if new := days - self._partitioned_days:
            self._database.write(lambda tx: partitions.ensure(tx, new))
            self._partitioned_days = days | {day for day in self._partitioned_days if day > max(days) - 7}

    def _read_positions(self) -> dict[str, int]:
        """Return the read position of each segment. Only this process advances them, so they are read once."""
        if self._positions is None:
            present = journal.segment_sizes(self._folder).keys()
            query = select(segments.c.name, segments.c.position)
            rows = self._database.read(lambda tx: tx.execute(query).all())
            self._positions = {name: position for name, position in rows if name in present}
        return self._positions

    def _write_batch(self, tx: Connection, visits: Sequence[Visit], chunks: Sequence[Chunk]) -> None:
        if len(visits) > _LARGE_BATCH_VISITS:  # aggregating between two statements takes long on a slow machine
            set_idle_timeout(tx, _LARGE_BATCH_IDLE_SECONDS)
        visits, visitors_of = resolve_moved(tx, visits)
        aggregate = Aggregate(visits, self._add_visitors(tx, visits, visitors_of))
        self._fault_point("visitors")
        upsert_counts(tx, click_times, transpose(click_times.columns.keys(), aggregate.times()))
        self._fault_point("times")
        upsert_counts(tx, click_labels, label_columns(limit_labels(tx, aggregate.labels())))
        self._fault_point("labels")
        for kind, (totals, columns) in CLICK_TOTALS.items():
            increment(tx, totals, columns, aggregate.totals(kind))
        self._fault_point("totals")
        if self._events_days:
            for start in range(0, len(visits), _EVENTS_PER_INSERT):
                part = slice(start, start + _EVENTS_PER_INSERT)
                insert(tx, events, _event_columns(visits[part], aggregate.is_first[part]))
        self._fault_point("events")
        for read in self._readers:
            read(tx, visits, aggregate.is_first)
        self._fault_point("read")
        for chunk in chunks:
            if not advance_position(tx, chunk):
                raise Problem(Kind.UNAVAILABLE, "These clicks are already counted. Nothing was counted twice.")
        self._fault_point("positions")

    def _add_visitors(
        self, tx: Connection, visits: Sequence[Visit], visitors_of: Mapping[ItemKey, int]
    ) -> Mapping[int, set[bytes]]:
        """Store the visitors of these clicks. Return, by day, the digests that were not stored before.

        `visitors_of`: the account under which those of an item are stored, if it was moved.
        """
        clicked: dict[tuple[int, int], set[bytes]] = defaultdict(set)
        for visit in visits:
            if visit.outcome == "click":
                day = visit.second // DAY
                account = visitors_of.get((visit.kind, visit.item), visit.account) if visitors_of else visit.account
                clicked[day, account].add(visit.digest)
        new: dict[int, set[bytes]] = defaultdict(set)
        for day, accounts in groupby(sorted(clicked.items()), lambda item: item[0][0]):
            rows = ((day, account, digest) for (_, account), digests in accounts for digest in sorted(digests))
            suffix = " ON CONFLICT (day, account, digest) DO NOTHING RETURNING digest"
            for returned in insert(tx, visitors, transpose(("day", "account", "digest"), rows), suffix):
                new[day].update(map(itemgetter(0), returned))
        return new

    def _visitor_hash(self, day: int) -> hashlib.blake2b:
        """Return the visitor hash of a day. The first ingester that needs the day's salt creates it."""
        if day not in self._visitor_hashes:

            def work(tx: Connection) -> bytes:
                row = upsert(tx, visitor_salts).values(day=day, salt=secrets.token_bytes(16))
                tx.execute(row.on_conflict_do_nothing())
                return bytes(tx.execute(select(visitor_salts.c.salt).where(visitor_salts.c.day == day)).scalar_one())

            self._visitor_hashes[day] = visitor_hash(self._database.write(work))
        return self._visitor_hashes[day]

    def delete_expired(self) -> None:
        """Delete expired data once a minute, by one ingester of the installation."""
        now = clock.now()
        if 0 <= now - self._cleaned_at < RETENTION_SECONDS:  # runs at once if the clock was set back
            return
        self._cleaned_at = now
        first_kept_day = (now - _GRACE_SECONDS) // DAY
        self._visitor_hashes = {day: value for day, value in self._visitor_hashes.items() if day >= first_kept_day}
        kept = {"first_kept_day": first_kept_day, "events_days": self._events_days, "audit_days": self._audit_days}
        if self._audited_day != now // DAY:
            soon = {now // DAY, now // DAY + _AUDIT_PARTITION_AHEAD}
            self._database.write(lambda tx: partitions.ensure(tx, soon, ["audit"]))
            self._audited_day = now // DAY

        def work(tx: Connection) -> bool:
            return delete_expired(tx, now, **kept)

        more_remains = self._database.write(work, durability="relaxed")
        if compaction.compact(self._database, events_days=self._events_days, now=now) or more_remains:
            self._cleaned_at = 0


def _is_awaited(error: Exception) -> bool:
    """Return whether the ingester waits for the end of a fault. Others end its process, and the parent starts another.

    It waits on a damaged database too, whose log entries and `/readyz` are enough: another process finds the same.
    """
    return not isinstance(error, DBAPIError) or faults.classify(error) is faults.Fault.DAMAGE


@contextmanager
def _gc_disabled() -> Iterator[None]:
    """Disable garbage collection: a batch creates many objects that live as long as the batch, and no cycles."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _event_columns(visits: Sequence[Visit], is_first: Sequence[bool]) -> Columns:
    """Return the columns of `events`. At least one visit is required."""
    accounts, kinds, items, _, times, outcomes, _, attributes, *_ = zip(*visits, strict=True)
    labels = dict(zip(VisitAttributes._fields, zip(*attributes, strict=True), strict=True))
    del labels["network"]
    own = {"account": accounts, "kind": kinds, "item": items, "at_ms": times, "sort": outcomes, "first": is_first}
    return own | labels
