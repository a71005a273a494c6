"""Administration page: health of the installation, as `waypost check` and `/readyz` report it, and storage."""

import platform
import shutil
from collections.abc import Sequence

from sqlalchemy import Connection, func, select
from starlette.responses import Response

from waypost import __version__
from waypost.admin import system_checks
from waypost.clicks.ingest import read_barrier
from waypost.dashboard.context import PageContext
from waypost.dashboard.routing import Router
from waypost.db.schema import accounts
from waypost.db.upgrade import current_revision, latest_revision
from waypost.items.links import dead_links
from waypost.items.statistics import onboarding
from waypost.items.statistics.onboarding import Step
from waypost.storage.factory import lost_objects, probe

pages = Router(admin_only=True)


@pages.get("/dashboard/admin/health", snapshot=False)
def show_health(context: PageContext) -> Response:
    """Show the health. The storage is tested only on request, because an unreachable one takes long to fail."""
    settings = context.settings

    def work(tx: Connection) -> tuple[str | None, int, int, int, Sequence[Step]]:
        totals = tx.execute(select(func.count(), func.coalesce(func.sum(accounts.c.stored), 0))).one()
        steps = onboarding.steps_of_administrator(tx, settings)
        return current_revision(tx), int(totals[0]), int(totals[1]), dead_links.count_dead(tx), steps

    revision, account_count, stored_bytes, dead, steps = context.read(work)
    is_storage_tested = context.query("try") == "storage"
    store = context.cleaner.store
    return context.render(
        "admin/health.html",
        version=__version__,
        python=platform.python_version(),
        database="SQLite" if context.database.is_sqlite else "PostgreSQL",
        revision=revision,
        latest_revision=latest_revision(),
        uncounted_bytes=read_barrier.uncounted_bytes(settings.journal_dir, context.database),
        account_count=account_count,
        stored_bytes=stored_bytes,
        dead=dead,
        free_bytes=shutil.disk_usage(settings.data_dir).free,
        storage=settings.storage_url or "files",
        findings=system_checks.run(settings),
        steps=steps,
        is_storage_tested=is_storage_tested,
        storage_error=(probe(store) or lost_objects(store, context.database)) if is_storage_tested else "",
    )
