"""The operator's page of how the service is: what `waypost check` and `/readyz` say, and what is kept where."""

import platform
import shutil
from typing import Any

from sqlalchemy import Connection, func, select
from starlette.responses import Response

from waypost import __version__, checks
from waypost.clicks import settled
from waypost.dashboard.desk import Desk
from waypost.dashboard.pages import Pages
from waypost.links import looks
from waypost.schema import accounts
from waypost.storage.opening import probe
from waypost.upgrade import newest, revision

pages = Pages(operator=True)


@pages.get("/dashboard/admin/health")
def show_health(desk: Desk) -> Response:
    """The storage is only tried when it is asked for: one that is away takes its time to say so."""
    settings = desk.settings

    def work(tx: Connection) -> tuple[str | None, int, int, int]:
        counted = tx.execute(select(func.count(), func.coalesce(func.sum(accounts.c.stored), 0))).one()
        return revision(tx), int(counted[0]), int(counted[1]), looks.count(tx)

    current, people, stored, dead = desk.read(work)
    tried = desk.asked("try") == "storage"
    told: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "database": "SQLite" if desk.database.is_sqlite else "PostgreSQL",
        "revision": current,
        "newest": newest(),
        "behind": settled.lag(settings.journal_dir, desk.database),
        "people": people,
        "stored": stored,
        "dead": dead,
        "free": shutil.disk_usage(settings.data_dir).free,
        "storage": settings.storage_url or "files",
        "findings": checks.run(settings),
        "tried": tried,
        "fault": probe(desk.keeper.store) if tried else "",
    }
    return desk.page("admin/health.html", **told)
