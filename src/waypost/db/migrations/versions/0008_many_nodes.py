"""Many nodes: work that is done once for all, guesses of strangers, and clicks in pieces by time.

Revision: 0008, after 0007
"""

from datetime import date, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_DAY = 86_400
_COUNTS = ("clicks", "uniques", "bots", "previews", "others", "late")
_TOLD = ("country", "referrer", "browser", "os", "device", "language", "source")
# The account of a thing; nobody's, 0, of one that is gone: its sums are read by the thing all the same.
_ACCOUNT = """
    CASE o.kind WHEN 'account' THEN o.item ELSE coalesce(
        CASE o.kind
            WHEN 'link' THEN (SELECT account FROM links WHERE id = o.item)
            WHEN 'qr' THEN (SELECT account FROM qrs WHERE id = o.item)
            WHEN 'file' THEN (SELECT account FROM files WHERE id = o.item)
            WHEN 'bio' THEN (SELECT account FROM bios WHERE id = o.item)
            WHEN 'block' THEN (SELECT b.account FROM bio_blocks k JOIN bios b ON b.id = k.bio WHERE k.id = o.item)
            WHEN 'campaign' THEN (SELECT account FROM campaigns WHERE id = o.item)
        END, 0) END
"""
# Table: the column it is cut by, how many of it are a day, whether by month.
_SPLITS = {"events": ("at_ms", _DAY * 1000, False), "visitors": ("day", 1, False)}
_SPLITS |= {"click_times": ("at", _DAY, True), "click_labels": ("day", 1, True)}


def upgrade() -> None:
    """Add the tables, and the account to the keys of the sums."""
    op.create_table(
        "leases",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("leases_pk")),
    )
    op.create_table(
        "guesses",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("left", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("guesses_pk")),
    )
    op.create_index("guesses_start", "guesses", ["start"], unique=False)
    is_postgres = op.get_bind().dialect.name == "postgresql"
    _rebuild("click_times", ["kind", "item", "at", *_COUNTS], f"{_ACCOUNT} AS account")
    _rebuild("click_labels", ["kind", "item", "day", "dimension", "label", "n"], f"{_ACCOUNT} AS account")
    if is_postgres:
        _rebuild("visitors", ["day", "digest"])
        last = op.get_bind().execute(sa.text("SELECT last_value, is_called FROM events_id_seq")).one()
        _rebuild("events", ["id", "account", "kind", "item", "at_ms", "sort", "first", *_TOLD])
        op.create_index("events_account_id", "events", ["account", "id"], unique=False)
        op.get_bind().execute(sa.text("SELECT setval('events_id_seq', :n, :called)"), {"n": last[0], "called": last[1]})


def _rebuild(table: str, columns: list[str], more: str = "") -> None:
    """Make the table anew with what is in the old one, and a column more."""
    connection = op.get_bind()
    chosen = ", ".join([f"o.{name}" for name in columns] + ([more] if more else []))
    op.execute(f"CREATE TEMPORARY TABLE kept AS SELECT {chosen} FROM {table} o")
    op.drop_table(table)
    _create(table)
    if connection.dialect.name == "postgresql":
        _cut(table)
    names = ", ".join([*columns, *(["account"] if more else [])])
    op.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM kept")
    op.execute("DROP TABLE kept")


def _create(table: str) -> None:
    key: dict[str, list[str]] = {
        "click_times": ["kind", "item", "at", "account"],
        "click_labels": ["kind", "item", "day", "dimension", "label", "account"],
        "visitors": ["day", "digest"],
    }
    types = {"kind": sa.String(8), "item": _ID, "account": _ID, "day": sa.Integer(), "dimension": sa.String(10)}
    types |= {"label": sa.Text(), "digest": sa.LargeBinary(), "id": _ID, "sort": sa.String(8), "first": sa.Boolean()}
    types |= {name: sa.Text() for name in _TOLD}
    columns = {
        "click_times": [*key["click_times"], *_COUNTS],
        "click_labels": [*key["click_labels"], "n"],
        "visitors": key["visitors"],
        "events": ["id", "account", "kind", "item", "at_ms", "sort", "first", *_TOLD],
    }[table]
    made = [
        sa.Column(name, types.get(name, sa.BigInteger()), nullable=False, autoincrement=name == "id")
        for name in columns
    ]
    if table in key:
        made.append(sa.PrimaryKeyConstraint(*key[table], name=op.f(f"{table}_pk")))
    else:
        made.append(sa.PrimaryKeyConstraint("id").ddl_if(dialect="sqlite"))
    split = _SPLITS[table][0]
    op.create_table(table, *made, sqlite_with_rowid=False, postgresql_partition_by=f"RANGE ({split})")


def _cut(table: str) -> None:
    """The pieces for what is there, and one for everything else."""
    column, a_day, is_monthly = _SPLITS[table]
    op.execute(f"CREATE TABLE {table}_rest PARTITION OF {table} DEFAULT")
    days = op.get_bind().execute(sa.text(f"SELECT DISTINCT {column} / {a_day} FROM kept WHERE {column} >= 0")).scalars()
    bounds = set()
    for day in days:
        at = date(1970, 1, 1) + timedelta(days=int(day))
        first = at.replace(day=1) if is_monthly else at
        after = (first + timedelta(days=32)).replace(day=1) if is_monthly else at + timedelta(days=1)
        bounds.add((first, after))
    for first, after in sorted(bounds):
        low, high = ((one - date(1970, 1, 1)).days * a_day for one in (first, after))
        op.execute(f"CREATE TABLE {table}_{first:%Y%m%d} PARTITION OF {table} FOR VALUES FROM ({low}) TO ({high})")
    if table == "click_labels":  # the sums of all days stand under the day before all days
        op.execute("CREATE TABLE click_labels_all PARTITION OF click_labels FOR VALUES FROM (-1) TO (0)")
