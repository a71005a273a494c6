"""Administration page: health of the installation, as `waypost check` and `/readyz` report it, and storage."""

import platform
from collections.abc import Sequence

from sqlalchemy import Connection, func, select
from starlette.responses import Response

from waypost import __version__
from waypost.admin import health_report, system_checks
from waypost.core import reasons
from waypost.core.errors import Kind, Problem
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import gettext
from waypost.dashboard.routing import Router
from waypost.db.schema import accounts
from waypost.db.upgrade import latest_revision
from waypost.items.accounts import emails, login_changes
from waypost.items.links import dead_links
from waypost.items.statistics import onboarding
from waypost.items.statistics.onboarding import Step
from waypost.storage.factory import lost_objects, probe

pages = Router(admin_only=True)
_HEALTH = "/dashboard/admin/health"


@pages.get(_HEALTH, snapshot=False)
def show_health(context: PageContext) -> Response:
    """Show the health. The storage is tested only on request, because an unreachable one takes long to fail."""
    settings = context.settings

    def work(tx: Connection) -> tuple[int, int, int, Sequence[Step]]:
        totals = tx.execute(select(func.count(), func.coalesce(func.sum(accounts.c.stored), 0))).one()
        steps = onboarding.steps_of_administrator(tx, settings)
        return int(totals[0]), int(totals[1]), dead_links.count_dead(tx), steps

    account_count, stored_bytes, dead, steps = context.read(work)
    is_storage_tested = context.query("try") == "storage"
    store = context.cleaner.store
    return context.render(
        "admin/health.html",
        version=__version__,
        python=platform.python_version(),
        database="SQLite" if context.database.is_sqlite else "PostgreSQL",
        report=health_report.read(settings, context.database, store, context.resources.meter),
        can_send=context.mailer.can_send,
        latest_revision=latest_revision(),
        account_count=account_count,
        stored_bytes=stored_bytes,
        dead=dead,
        storage=settings.storage_url or "files",
        findings=system_checks.run(settings),
        steps=steps,
        is_storage_tested=is_storage_tested,
        storage_error=(probe(store) or lost_objects(store, context.database)) if is_storage_tested else "",
    )


@pages.post("/dashboard/admin/health/email")
def send_test_email(context: PageContext) -> Response:
    """Send a test e-mail to the administrator, and wait for the answer of the SMTP server."""
    recipient = context.user.email
    if not context.mailer.can_send:
        raise Problem(Kind.INVALID, "E-mail is not configured on this server.")
    if context.rate_limiter.acquire("notice", network="", subject=recipient.casefold()):
        return context.redirect(_HEALTH, message="Too many e-mails were sent. Please wait an hour.", tone="bad")
    language = login_changes.language_of(context, context.person)
    reason = context.mailer.send_now(emails.test_message(context, recipient, language))
    if reason:
        message = gettext("The e-mail could not be sent: %(reason)s", reason=reasons.clean(reason))
        return context.redirect(_HEALTH, message=message, tone="bad")
    message = gettext("A test e-mail was sent to %(email)s.", email=recipient)
    return context.redirect(_HEALTH, message=message)
