"""The operator's page of how the service is: what `waypost check` and `/readyz` say, and what is kept where."""

import platform
import shutil
from typing import Any

from sqlalchemy import Connection, func, select
from starlette.responses import Response

from waypost import __version__
from waypost.clicks.ingest import read_barrier
from waypost.dashboard.context import PageContext
from waypost.dashboard.routing import Router
from waypost.db.schema import accounts
from waypost.db.upgrade import latest_revision, current_revision
from waypost.links import dead_links
from waypost.server import system_checks
from waypost.storage.factory import probe

pages = Router(admin_only=True)


@pages.get("/dashboard/admin/health")
def show_health(context: PageContext) -> Response:
    """The storage is only tried when it is asked for: one that is away takes its time to say so."""
    settings = context.settings

    def work(tx: Connection) -> tuple[str | None, int, int, int]:
        counted = tx.execute(select(func.count(), func.coalesce(func.sum(accounts.c.stored), 0))).one()
        return current_revision(tx), int(counted[0]), int(counted[1]), dead_links.count_dead(tx)

    current, people, stored, dead = context.read(work)
    tried = context.query("try") == "storage"
    told: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "database": "SQLite" if context.database.is_sqlite else "PostgreSQL",
        "revision": current,
        "newest": latest_revision(),
        "behind": read_barrier.lag(settings.journal_dir, context.database),
        "people": people,
        "stored": stored,
        "dead": dead,
        "free": shutil.disk_usage(settings.data_dir).free,
        "storage": settings.storage_url or "files",
        "findings": system_checks.run(settings),
        "tried": tried,
        "fault": probe(context.cleaner.store) if tried else "",
    }
    return context.render("admin/health.html", **told)
