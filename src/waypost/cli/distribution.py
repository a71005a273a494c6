"""The command `waypost distribute`: store the visits and their statistics on the nodes of a Citus cluster."""

from typing import Annotated

import typer

from waypost.cli import access, console
from waypost.db import distribution


def distribute(
    everything: Annotated[
        bool, typer.Option("--everything", help="Also links, files, QR codes and all that belongs to them.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Copy all tables back to the coordinator.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Store single visits and statistics on the nodes of a Citus cluster, by account.

    WAYPOST_DATABASE_URL is the address of its coordinator, which keeps all other tables. The service may run: redirects
    and changes continue. While the rows of a table are copied, its statistics cannot be read, and clicks wait to be
    counted. If interrupted, run it again to continue. With --everything, changes wait while the items are copied, and
    only redirects that are in memory continue.
    """
    with access.database() as database:
        nodes = database.read(distribution.require_nodes)
        tables = database.read(lambda tx: distribution.states(tx, everything=everything or undo))
        moving = [table for table in tables if table.is_distributed == undo]
        console.print_rows([_row(table) for table in tables], ("table", "place", "rows", "size"), json=False)
        if not moving:
            console.stdout.print("All tables are there already.")
            return
        if everything and not undo:
            keys = database.read(distribution.count_keys)
            console.stdout.print(f"{keys} foreign keys are dropped for the move, and created again in its transaction.")
        if dry_run:
            return
        target = "the coordinator" if undo else console.counted(nodes, "nodes")
        console.confirm("Move", f"{console.counted(len(moving), 'tables')} to {target}", yes=yes)
        moves = distribution.undo(database) if undo else distribution.distribute(database, everything=everything)
        for name in moves:
            console.stdout.print(f"{name} moved.")


def _row(table: distribution.TableState) -> dict[str, str]:
    return {
        "table": table.name,
        "place": "nodes" if table.is_distributed else "coordinator",
        "rows": "" if table.is_distributed else f"about {table.rows:,}",
        "size": f"{table.bytes / 1e6:,.1f} MB",
    }
