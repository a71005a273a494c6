"""First steps on the overview: those of a user, and those of the administrator of a new installation."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, bindparam, exists, select

from waypost.clicks.geo import lookup
from waypost.core.settings import Settings
from waypost.dashboard.i18n import gettext_noop
from waypost.db import last_backup
from waypost.db.schema import bios, domains, links, qrs
from waypost.db.schema.accounts import totp_secrets


class Step(NamedTuple):
    """A step with the page or the command that does it. A list is done without the steps that are not required."""

    is_done: bool
    title: str
    text: str
    path: str = ""
    command: str = ""
    is_required: bool = True


def _has(table: Table) -> ColumnElement[bool]:
    return exists().where(table.c.account == bindparam("account_id"))


_DONE = select(*(_has(table).label(table.name) for table in (links, qrs, domains, bios, totp_secrets)))


def has_link(tx: Connection, account: int) -> bool:
    """Return whether an account has a link; without one, empty pages of numbers point to the first."""
    return bool(tx.execute(select(_has(links)), {"account_id": account}).scalar_one())


def steps_of_user(tx: Connection, account: int) -> Sequence[Step]:
    """Return the first steps of a user, by one statement."""
    has = tx.execute(_DONE, {"account_id": account}).one()
    return (
        Step(bool(has.links), "Create a link", "Paste a long URL and share the short one.", "/dashboard/links/new"),
        Step(bool(has.qrs), "Create a QR code", "Print it, scan it, and change it later.", "/dashboard/qr/new"),
        Step(bool(has.bios), "Create a bio page", "One page with all your links.", "/dashboard/bios/new"),
        Step(bool(has.domains), "Connect your domain", "Short links with your own name.", "/dashboard/domains/new"),
        Step(
            bool(has.totp_secrets),
            "Turn on two-factor authentication",
            "A stolen password alone is then not enough to sign in.",
            "/dashboard/account/factor",
            is_required=False,
        ),
    )


def is_done(steps: Sequence[Step]) -> bool:
    """Return whether all required steps are done."""
    return all(step.is_done for step in steps if step.is_required)


def steps_of_administrator(tx: Connection, settings: Settings) -> Sequence[Step]:
    """Return the steps that make a new installation ready for others."""
    return (
        Step(
            settings.has_public_name,
            gettext_noop("Set the public URL"),
            "Short links start with it. Set it before you print or share one.",
            command="WAYPOST_BASE_URL=https://go.example.com",
        ),
        Step(
            bool(settings.smtp_url.get_secret_value()),
            "Connect an e-mail server",
            "For password resets and confirmed addresses.",
            command="WAYPOST_SMTP_URL=smtp://user:password@mail.example.com:587",
        ),
        Step(
            last_backup.get(tx) is not None,
            "Make a backup",
            "Run it every night, and copy the archive to another machine.",
            command="waypost backup waypost.tar.gz",
        ),
        Step(
            lookup.is_configured(settings),
            "Download the country database",
            "Without it, the country of every visitor is Unknown.",
            command="waypost geo update",
        ),
        Step(
            settings.dead_links_days > 0,
            "Check destinations",
            "Links whose destination does not respond are marked in the lists.",
            command="WAYPOST_DEAD_LINKS_DAYS=7",
            is_required=False,
        ),
    )
