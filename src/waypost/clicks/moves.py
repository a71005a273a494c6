"""The statistics of items that move to another account: visits, counts by time and label, and the account's sums."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, literal, select, update

from waypost.clicks.ingest.bulk_upsert import select_by_keys, transpose, upsert_counts
from waypost.clicks.ingest.label_limits import OTHER, fold
from waypost.clicks.stats.reports import COUNTS
from waypost.db import moved_items
from waypost.db.database import upsert
from waypost.db.schema import click_labels, click_times, events, visit_blocks

_DAYS_AT_ONCE = 32
"""Days whose labels are in memory at the same time."""
_TIMES = ("kind", "item", "at", "account", *COUNTS)
_LABELS = ("kind", "item", "day", "dimension", "label", "account", "n")
_ACCOUNT_LABELS = ("kind", "item", "day", "dimension", "account")
_Key = tuple[int, str]
"""A day and a dimension."""


def move(tx: Connection, kind: str, items: Sequence[int], *, source: int, target: int) -> None:
    """Give the statistics of items to another account, in a transaction that has called `moved_items.lock`.

    Clicks that are counted later, also of lines that name the old account, count for the new one. The blocks of both
    accounts are removed from the first moved visit on: they are made again within minutes.
    """
    moved_items.record(tx, kind, items, source=source, target=target)
    _move_times(tx, _are(click_times, kind, items, source), source=source, target=target)
    _move_labels(tx, _are(click_labels, kind, items, source), source=source, target=target)
    first = tx.execute(select(func.min(events.c.id)).where(_are(events, kind, items, source))).scalar()
    if first is not None:
        blocks = visit_blocks.c
        tx.execute(delete(visit_blocks).where(blocks.account.in_((source, target)), blocks.last_id >= first))
    for table in (click_times, click_labels, events):
        _change_account(tx, table, _are(table, kind, items, source), target)


def _are(table: Table, kind: str, items: Sequence[int], account: int) -> ColumnElement[bool]:
    """Return the condition on rows of the items. Events have an index for the account only."""
    return and_(table.c.account == account, table.c.kind == kind, table.c.item.in_(items))


def _change_account(tx: Connection, table: Table, where: ColumnElement[bool], target: int) -> None:
    """Set the account of rows. A distributed PostgreSQL cannot update it, because it selects the shard (ADR 11).

    The account can have rows of the items already: of lines that were counted again after a restore to a moment before
    an earlier move, or by an older node during an upgrade. Counts are added to them.
    """
    if tx.dialect.name == "sqlite" and table is events:  # its key does not contain the account there
        tx.execute(update(table).where(where).values(account=target))
        return
    columns = [literal(target).label("account") if column.name == "account" else column for column in table.c]
    rows = upsert(tx, table).from_select([column.name for column in table.c], select(*columns).where(where))
    if table is not events:
        key = list(table.primary_key.columns)
        counts = {column.name: column + rows.excluded[column.name] for column in table.c if column not in key}
        rows = rows.on_conflict_do_update(index_elements=key, set_=counts)
    tx.execute(rows)
    tx.execute(delete(table).where(where))


def _move_times(tx: Connection, where: ColumnElement[bool], *, source: int, target: int) -> None:
    """Subtract the counts of the items from those of the old account, and add them to those of the new one."""
    c = click_times.c
    sums = [func.sum(c[name]) for name in COUNTS]
    moved = [tuple(map(int, row)) for row in tx.execute(select(c.at, *sums).where(where).group_by(c.at).order_by(c.at))]
    for account, sign in ((source, -1), (target, 1)):
        rows = [("account", account, at, account, *(sign * count for count in counts)) for at, *counts in moved]
        upsert_counts(tx, click_times, transpose(_TIMES, rows))
    of_source = (c.kind == "account", c.item == source, c.account == source)
    tx.execute(delete(click_times).where(*of_source, *(c[name] == 0 for name in COUNTS)))


def _move_labels(tx: Connection, where: ColumnElement[bool], *, source: int, target: int) -> None:
    """Like `_move_times`, for the counts by label."""
    c = click_labels.c
    days = tx.execute(select(c.day).where(where).distinct().order_by(c.day)).scalars().all()
    for start in range(0, len(days), _DAYS_AT_ONCE):
        of_days = c.day.in_(days[start : start + _DAYS_AT_ONCE])
        sums = select(c.day, c.dimension, c.label, func.sum(c.n)).where(where, of_days)
        moved: dict[_Key, dict[str, int]] = defaultdict(dict)
        for day, dimension, label, n in tx.execute(sums.group_by(c.day, c.dimension, c.label)):
            moved[day, dimension][label] = int(n)
        stored = _account_labels(tx, source, moved)
        taken = {key: subtracted(counts, stored[key]) for key, counts in moved.items()}
        _add_labels(tx, source, {key: {label: -n for label, n in counts.items()} for key, counts in taken.items()})
        stored = _account_labels(tx, target, moved)
        _add_labels(
            tx,
            target,
            {
                (day, dimension): fold(counts, stored[day, dimension].keys(), dimension=dimension, day=day)
                for (day, dimension), counts in moved.items()
            },
        )
    of_source = (c.kind == "account", c.item == source, c.account == source)
    tx.execute(delete(click_labels).where(*of_source, c.n == 0))


def _account_labels(tx: Connection, account: int, keys: Mapping[_Key, object]) -> Mapping[_Key, dict[str, int]]:
    """Return the labels of an account with their counts, for each of these days and dimensions."""
    labels: dict[_Key, dict[str, int]] = {key: {} for key in keys}
    columns = transpose(
        _ACCOUNT_LABELS, (("account", account, day, dimension, account) for day, dimension in sorted(keys))
    )
    for _, _, day, dimension, _, label, n in select_by_keys(tx, click_labels, columns, "label, n"):
        labels[day, dimension][label] = n
    return labels


def _add_labels(tx: Connection, account: int, counts: Mapping[_Key, Mapping[str, int]]) -> None:
    rows = (
        ("account", account, day, dimension, label, account, n)
        for (day, dimension), by_label in sorted(counts.items())
        for label, n in sorted(by_label.items())
    )
    upsert_counts(tx, click_labels, transpose(_LABELS, rows))


def subtracted(counts: Mapping[str, int], stored: Mapping[str, int]) -> Mapping[str, int]:
    """Return what to subtract from each stored label, so that the sum falls by that of `counts`.

    An account counts labels above its limit as "Other", but the item can have them, and the other way round.
    """
    taken = Counter({label: min(n, stored.get(label, 0)) for label, n in counts.items()})
    missing = sum(counts.values()) - taken.total()
    largest = sorted(stored, key=lambda label: (label != OTHER, taken[label] - stored[label], label))
    for label in largest if missing else ():
        n = min(missing, stored[label] - taken[label])
        taken[label] += n
        missing -= n
    return +taken
