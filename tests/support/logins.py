"""Services with SMTP, also two of one installation, and accounts with a second factor."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from sqlalchemy import insert

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.mailbox import mailbox
from waypost.auth import two_factor
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import totp_secrets
from waypost.server.app import build

_LOOPBACK = "127.0.0.1"


@contextmanager
def service_with_mail(settings: Settings, database: Database) -> Iterator[tuple[AsgiClient, list[dict[str, str]]]]:
    """A service with SMTP and registration. The e-mails are complete when it is closed."""
    with mailbox() as (port, emails):
        changed = {"smtp_url": f"smtp://{_LOOPBACK}:{port}", "smtp_tls": "off", "registration": "on"}
        with AsgiClient(build(_changed(settings, **changed), database)) as client:
            yield client, emails


@contextmanager
def two_services(settings: Settings, url: str) -> Iterator[tuple[list[AsgiClient], list[dict[str, str]]]]:
    """The service twice, behind a proxy: two nodes with PostgreSQL, two processes of one node with SQLite."""
    with mailbox() as (port, emails), ExitStack() as stack:
        changed = {"smtp_url": f"smtp://{_LOOPBACK}:{port}", "smtp_tls": "off", "registration": "on"}
        clients = []
        for name in ("first", "second"):
            database = stack.enter_context(closing(Database(url)))
            folder = settings.data_dir if database.is_sqlite else settings.data_dir / name
            folder.mkdir(exist_ok=True)
            node = _changed(settings, data_dir=folder, trusted_proxies=_LOOPBACK, **changed)
            clients.append(stack.enter_context(AsgiClient(build(node, database), address=_LOOPBACK)))
        yield clients, emails


def add_factor(person: Person) -> str:
    """Give the person a second factor; return its secret."""
    secret = two_factor.new_secret()
    row = {"account": person.account, "secret": secret, "last_step": 0, "created": clock.now()}
    person.write(lambda tx: tx.execute(insert(totp_secrets).values(row)))
    return secret


def _changed(settings: Settings, **changes: Any) -> Settings:
    return Settings.model_validate({**settings.model_dump(), **changes})
