"""Clicks as lines of the journal, and what the database has counted of them."""

from sqlalchemy import Connection, delete, func, select, update

from tests.support.visits import CHROME
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import format_line, item_fields
from waypost.db.database import Database
from waypost.db.schema import click_labels, click_times, events, segments, visitors
from waypost.db.schema import links as links_table

NOW_MS = 1_800_014_400_000  # 2027-01-15 12:00:00 UTC


def click(link: int, address: str = "203.0.113.1", agent: str = CHROME, flags: bytes = b"", ms: int = NOW_MS) -> bytes:
    """Return the line of a click."""
    fields = (agent.encode(), b"https://t.co/x", b"de")
    return format_line(item_fields(1, "link", link), ms, flags, address.encode(), b"", fields)


def click_counts(database: Database, link: int) -> set[tuple[int, int]]:
    """Return (clicks, distinct visitors) of a link in every table that counts them: one pair if they agree."""

    def work(tx: Connection) -> set[tuple[int, int]]:
        row = tx.execute(select(links_table.c.clicks, links_table.c.uniqueclicks).where(links_table.c.id == link)).one()
        names = {(int(row[0]), int(row[1]))}
        for kind, item in (("link", link), ("account", 1)):
            c = click_times.c
            sums = select(func.sum(c.clicks), func.sum(c.uniques)).where(c.kind == kind, c.item == item)
            names.add(tuple(int(n or 0) for n in tx.execute(sums).one()))  # type: ignore[arg-type]  # two of them
            label = click_labels.c
            for dimension in ("browser", "network", "country"):
                own = (label.kind == kind, label.item == item, label.dimension == dimension)
                for days in (label.day == -1, label.day >= 0):
                    n = tx.execute(select(func.sum(label.n)).where(*own, days)).scalar_one()
                    names.add((int(n or 0), int(row[1])))
        c = events.c
        single = select(func.count(), func.count().filter(c.first)).where(c.sort == "click")
        return names | {(int(n), int(firsts)) for n, firsts in tx.execute(single)}

    return database.read(work)


def run_out(ingester: Ingester) -> None:
    """Count until no line is left."""
    while ingester.step():
        pass


def lose_counts(database: Database) -> None:
    """Remove all counts, as a crash of the database server or a failover can."""

    def work(tx: Connection) -> None:
        for table in (segments, events, click_times, click_labels, visitors):
            tx.execute(delete(table))
        tx.execute(update(links_table).values(clicks=0, uniqueclicks=0))

    database.write(work)
