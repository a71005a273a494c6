"""Alembic's entry: runs on the connection that waypost.db.upgrade (or a developer's `make migration`) hands in."""

from alembic import context
from sqlalchemy import Connection, create_engine

from waypost.db.schema import metadata

_NOT_OURS = ("links_search",)  # SQLite's search index and its shadow tables, made by hand in 0001


def run(connection: Connection) -> None:
    """Run the wanted migrations in the transaction that is open on `connection`."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transactional_ddl=True,
        include_name=lambda name, kind, _parents: kind != "table" or not str(name).startswith(_NOT_OURS),
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with create_engine(context.config.get_main_option("sqlalchemy.url") or "").begin() as own:
        run(own)
