"""Alembic's entry point; uses the connection of waypost.db.upgrade, or a new one for `make migration`."""

from alembic import context
from sqlalchemy import Connection, create_engine

from waypost.db.schema import metadata

_EXCLUDED_TABLES = ("links_search",)  # the search index, created by 0001


def run(connection: Connection) -> None:
    """Run the requested migrations in the open transaction of `connection`."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transactional_ddl=True,
        include_name=lambda name, kind, _parents: kind != "table" or not str(name).startswith(_EXCLUDED_TABLES),
    )
    with context.begin_transaction():
        context.run_migrations()


open_connection = context.config.attributes.get("connection")
if open_connection is not None:
    run(open_connection)
else:
    with create_engine(context.config.get_main_option("sqlalchemy.url") or "").begin() as new_connection:
        run(new_connection)
