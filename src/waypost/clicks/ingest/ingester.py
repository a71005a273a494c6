"""From the journal to the numbers: every whole line counts exactly once, whatever dies when.

What lines add and how far they are read is written in one transaction, so neither is ever there without the other.
One ingester a machine, by a file lock.
"""

import gc
import hashlib
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from threading import Event
from typing import TypeVar

import structlog
from sqlalchemy import Connection, Table, delete, select, update

from waypost import clock
from waypost.clicks.geo.lookup import Countries
from waypost.clicks.ingest import partitions, retention
from waypost.clicks.ingest.aggregate import DAY, Reader, Seen, Sums, Visit, begun, columns_of
from waypost.clicks.ingest.bulk_upsert import Columns, add_to, add_up, insert, turned
from waypost.clicks.ingest.lock import alone, wait
from waypost.clicks.ingest.throttle import rest, unhurried
from waypost.clicks.journal import reader
from waypost.clicks.journal.reader import Chunk
from waypost.db import notifications
from waypost.db.database import Database, error_reason, upsert
from waypost.db.postgres import set_idle_timeout
from waypost.db.schema import (
    bio_blocks,
    bios,
    campaigns,
    click_labels,
    click_times,
    events,
    files,
    installation,
    links,
    qrs,
    visitor_salts,
    visitors,
)
from waypost.db.schema import segments as positions
from waypost.errors import Kind, Problem
from waypost.observability.metrics import Meter
from waypost.settings import Settings

T = TypeVar("T")
_log = structlog.get_logger("ingest")
_BATCH_BYTES = 8 * 1024 * 1024
_MANY, _ADDING_SECONDS = 2000, 60
_STRETCH = 5000  # visits that are written down without a rest in between
_TIDY_SECONDS = retention.EVERY_SECONDS
KEPT_SINCE = "visits kept since"
"""The fact that says since which second single visits are kept without a gap."""
_GRACE = 2 * 3600  # how long after midnight a day's salt and visitors are kept for lines that are still on their way
# Where the totals of a kind stand: its table and its columns for clicks, distinct visitors, and what a click limit is
# held against. For the last, a click under a limit was counted before it was answered.
TOTALS: dict[str, tuple[Table, tuple[str, ...]]] = {
    "link": (links, ("clicks", "uniqueclicks", "taken")),
    "bio": (bios, ("clicks", "uniqueclicks")),
    "block": (bio_blocks, ("clicks", "uniqueclicks")),
    "qr": (qrs, ("scans", "uniquescans")),
    "file": (files, ("downloads", "uniquedownloads", "taken")),
    "campaign": (campaigns, ("views",)),
}


class Ingester:
    """Counts what the workers of this machine write. Tests die in `fault_point`, which is called between statements."""

    def __init__(
        self, settings: Settings, database: Database, *, fault_point: Callable[[str], None] = lambda _name: None
    ) -> None:
        self._folder = settings.journal_dir
        self._database = database
        self._events_days = settings.events_days
        self._fault_point = fault_point
        countries = Countries(settings)
        self._reader = Reader(country=countries.country, country_of_code=countries.name_of)
        self._meter = Meter(settings.metrics_dir)
        self._counted: dict[str, int] | None = None
        self._is_behind = False
        self._secrets: dict[int, hashlib.blake2b] = {}
        self._tidied = 0
        self._looked = 0.0
        self._days: set[int] = set()
        self._folder.mkdir(parents=True, exist_ok=True)

    def run(self, stop: Event) -> None:
        """Count until `stop` is set, alone on this machine."""
        noted = is_waiting = False
        with alone(self._folder, stop) as wake:
            if wake is None:
                return
            while not stop.is_set():
                try:
                    if not noted:
                        self._note_keeping()
                        noted = True
                    self._look_out()
                    self._is_behind = self.step() >= _BATCH_BYTES // 2
                    is_waiting = False
                    self.tidy()
                    self._meter.save()
                except (Problem, OSError) as problem:
                    if not is_waiting:
                        _log.warning(
                            "counting waits for the database or the disk", reason=error_reason(problem) or str(problem)
                        )
                    is_waiting = True
                    self._counted = None  # what failed may have been committed all the same
                    self._is_behind = False
                if not self._is_behind:  # few large batches cost less than many small ones
                    wait(wake)
            self.step()

    def _look_out(self) -> None:
        """Ask the database once a second: else, while nobody clicks, it would not be noticed that it stood still, and
        clicks could be counted on a server that another one has followed meanwhile."""
        if not self._database.is_sqlite and time.monotonic() - self._looked >= 1.0:
            self._looked = time.monotonic()
            notifications.poll(self._database, lambda tx: tx.execute(select(1)).scalar_one())

    def _note_keeping(self) -> None:
        """Remember since when single visits are kept, so that `clicks verify` knows which days are whole."""

        def work(tx: Connection) -> None:
            if not self._events_days:
                tx.execute(delete(installation).where(installation.c.name == KEPT_SINCE))
                return
            counted = tx.execute(select(click_times.c.at).limit(1)).first() is not None
            since = str(clock.now() if counted else 0).encode()
            tx.execute(upsert(tx, installation).values(name=KEPT_SINCE, value=since).on_conflict_do_nothing())

        self._database.write(work)

    def step(self) -> int:
        """Count what has been written since the last step, or as much of it as one batch holds; its bytes."""
        counted = self._positions()
        chunks = reader.read(self._folder, counted, _BATCH_BYTES)
        if chunks:
            with _uncollected():
                number = self._count_chunks(chunks)
            self._fault_point("committed")
            self._meter.count("clicks_ingested", by=number)
            self._meter.count("journal_torn", by=self._reader.torn)
            self._reader.torn = 0
            counted.update({chunk.segment: chunk.end for chunk in chunks})
        removed = reader.remove_finished(self._folder, counted)
        if removed:
            self._fault_point("removed")
            # After the files: a position without a segment is harmless, a segment without its position counts twice.
            self._database.write(
                lambda tx: tx.execute(delete(positions).where(positions.c.name.in_(removed))), durability="relaxed"
            )
            for name in removed:
                counted.pop(name, None)
        return sum(len(chunk.lines) for chunk in chunks)

    def _count_chunks(self, chunks: Sequence[Chunk]) -> int:
        visits = [visit for chunk in chunks for visit in self._paced(self._reader.visits(chunk.lines, self._secret))]
        self._fault_point("classified")
        self._meet({visit.second // DAY for visit in visits})
        self._database.write(lambda tx: self._count(tx, visits, chunks))
        return len(visits)

    def _meet(self, days: set[int]) -> None:
        """Create the partitions of these days."""
        if new := days - self._days:
            self._database.write(lambda tx: partitions.ensure(tx, new))
            self._days = days | {day for day in self._days if day > max(days) - 7}

    def _positions(self) -> dict[str, int]:
        """How far each segment is counted. This process alone moves them on, so one read at the start is enough."""
        if self._counted is None:
            here = reader.sizes(self._folder).keys()
            found = self._database.read(lambda tx: tx.execute(select(positions.c.name, positions.c.position)).all())
            self._counted = {name: position for name, position in found if name in here}
        return self._counted

    def _count(self, tx: Connection, visits: Sequence[Visit], chunks: Sequence[Chunk]) -> None:
        if len(visits) > _MANY:  # adding them up between two statements takes long on a slow machine
            set_idle_timeout(tx, _ADDING_SECONDS)
        sums = Sums(self._paced(visits), self._new_visitors(tx, visits))
        self._fault_point("visitors")
        add_up(tx, click_times, turned(click_times.columns.keys(), self._paced(sums.times())), self._rest)
        self._fault_point("times")
        add_up(tx, click_labels, columns_of(self._paced(sums.labels())), self._rest)
        self._fault_point("labels")
        for kind, (table, columns) in TOTALS.items():
            add_to(tx, table, columns, self._paced(sums.totals(kind)))
        self._fault_point("totals")
        if self._events_days:
            for start in range(0, len(visits), _STRETCH):
                those = slice(start, start + _STRETCH)
                insert(tx, events, _events(visits[those], sums.firsts[those]), self._rest)
        self._fault_point("events")
        for chunk in chunks:
            if not _moved_on(tx, chunk):
                raise Problem(Kind.UNAVAILABLE, "These clicks are counted already. Nothing was counted twice.")
        self._fault_point("positions")

    def _new_visitors(self, tx: Connection, visits: Sequence[Visit]) -> Mapping[int, set[bytes]]:
        """By day, the digests of these clicks that no click of that day had before; remembered from now on."""
        wanted: dict[tuple[int, int], set[bytes]] = defaultdict(set)
        for visit in self._paced(visits):
            if visit.sort == "click":
                day = visit.second // DAY
                wanted[day, visit.account].add(visit.digest)
        new: dict[int, set[bytes]] = defaultdict(set)
        for day, found in groupby(sorted(wanted.items()), lambda one: one[0][0]):
            rows = ((day, account, digest) for (_, account), digests in found for digest in sorted(digests))
            ending = " ON CONFLICT (day, account, digest) DO NOTHING RETURNING digest"
            columns = turned(("day", "account", "digest"), self._paced(rows))
            for answer in insert(tx, visitors, columns, self._rest, ending):
                new[day].update(map(itemgetter(0), answer))
        return new

    def _paced(self, items: Iterable[T]) -> Iterator[T]:
        return iter(items) if self._is_behind else unhurried(items)

    def _rest(self) -> None:
        if not self._is_behind:
            rest()

    def _secret(self, day: int) -> hashlib.blake2b:
        """The hash begun with the day's salt, which is made by whoever needs it first."""
        if day not in self._secrets:

            def work(tx: Connection) -> bytes:
                new = upsert(tx, visitor_salts).values(day=day, salt=secrets.token_bytes(16))
                tx.execute(new.on_conflict_do_nothing())
                return bytes(tx.execute(select(visitor_salts.c.salt).where(visitor_salts.c.day == day)).scalar_one())

            self._secrets[day] = begun(self._database.write(work))
        return self._secrets[day]

    def tidy(self) -> None:
        """Once a minute, by one ingester for all: throw away what is over."""
        now = clock.now()
        if 0 <= now - self._tidied < _TIDY_SECONDS:  # and at once when the clock was set back
            return
        self._tidied = now
        over = (now - _GRACE) // DAY
        self._secrets = {day: secret for day, secret in self._secrets.items() if day >= over}
        if self._database.write(
            lambda tx: retention.tidy(tx, now, over=over, events_days=self._events_days), durability="relaxed"
        ):
            self._tidied = 0  # there is more


def _moved_on(tx: Connection, chunk: Chunk) -> bool:
    """Whether the position of a chunk's segment was at its beginning; now it is at its end.

    In the midst of a segment it must be there: a server that has forgotten it has forgotten the clicks too.
    """
    if chunk.start:
        mine = update(positions).where(positions.c.name == chunk.segment, positions.c.position == chunk.start)
        return tx.execute(mine.values(position=chunk.end)).rowcount == 1
    new = upsert(tx, positions).values(name=chunk.segment, position=chunk.end)
    moved = new.on_conflict_do_update(
        index_elements=["name"], set_={"position": chunk.end}, where=positions.c.position == 0
    )
    return tx.execute(moved.returning(positions.c.name)).first() is not None


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for garbage in cycles: a batch makes very many objects that live as long as it, and no cycles."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _events(visits: Sequence[Visit], firsts: Sequence[bool]) -> Columns:
    """The columns of `events`, for one visit at least."""
    accounts, kinds, items, _, times, sorts, _, seen, _ = zip(*visits, strict=True)
    told = dict(zip(Seen._fields, zip(*seen, strict=True), strict=True))
    del told["network"]
    return {"account": accounts, "kind": kinds, "item": items, "at_ms": times, "sort": sorts, "first": firsts, **told}
