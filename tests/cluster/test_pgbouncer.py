"""PgBouncer with the configuration of deploy/: only session pooling works."""

import os
import pwd
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, make_url, text

from tests.support.databases import ON_POSTGRESQL
from tests.support.load import until
from tests.support.server import free_port
from tests.support.system_packages import program
from waypost.admin import system_checks
from waypost.core.settings import Settings
from waypost.db import notifications
from waypost.db.database import Database

Pooled = Callable[..., AbstractContextManager[str]]
pytestmark = ON_POSTGRESQL
_FILE = Path(__file__).parents[2] / "deploy" / "pgbouncer.ini"


@pytest.fixture
def pooled(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """Run PgBouncer with the file's settings, some of them changed; yields the database URL behind it."""
    target, command = make_url(database_url), program("pgbouncer", "pgbouncer")
    folder = tmp_path_factory.mktemp("pooler")

    @contextmanager
    def running(**settings: object) -> Iterator[str]:
        port = free_port()
        database_line = f"{target.database} = host={target.host} port={target.port} user={target.username}"
        overrides = {"listen_addr": "127.0.0.1", "listen_port": port, "auth_type": "any", "unix_socket_dir": ""}
        content = re.sub("^waypost = .*", database_line, _FILE.read_text(), flags=re.MULTILINE)
        file = folder / "pgbouncer.ini"
        file.write_text(_replace_settings(content, {**overrides, **settings}))
        # PgBouncer refuses to run as root.
        user_option = ["-u", "nobody"] if os.geteuid() == 0 else []
        if user_option:
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([command, *user_option, file], stdout=log, stderr=log)
        url = target.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
        try:
            until(lambda: _accepts_connections(url))
            yield url
        finally:
            process.terminate()
            process.wait(30)

    return running


def _replace_settings(content: str, settings: dict[str, Any]) -> str:
    """Replace these settings in a configuration, or append them."""
    for name, value in settings.items():
        line = f"{name} = {value}"
        content, replaced = re.subn(rf"^{name} = .*", line, content, flags=re.MULTILINE)
        content += "" if replaced else f"{line}\n"
    return content


def _accepts_connections(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def _findings(url: str, folder: Path) -> list[tuple[str, str]]:
    findings = system_checks.run(Settings(database_url=url, data_dir=folder))
    return [(finding.id, finding.text) for finding in findings]


def test_session_pooling_keeps_timeouts_and_notifications(pooled: Pooled, tmp_path: Path) -> None:
    def limits(tx: Connection) -> tuple[str, ...]:
        names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        return tuple(str(tx.execute(text(f"SHOW {name}")).scalar_one()) for name in names)

    with pooled() as url, closing(Database(url)) as database:
        assert _findings(url, tmp_path) == []
        relaxed = partial(database.write, durability="relaxed")
        single = partial(relaxed, autocommit=True)
        process = partial(database.write, durability="process")
        poll = partial(notifications.poll, database)
        for run in (database.read, database.write, process, relaxed, single, poll):
            assert run(limits) == ("10s", "8s", "6s")
        assert notifications.supports_notify(database)


@pytest.mark.parametrize("settings", [{}, {"server_round_robin": 1, "min_pool_size": 4}])
def test_doctor_reports_transaction_pooling(settings: dict[str, object], pooled: Pooled, tmp_path: Path) -> None:
    with pooled(pool_mode="transaction", **settings) as url:
        assert _findings(url, tmp_path) == [
            ("W013", "A connection pooler between waypost and the database uses transaction pooling.")
        ]


def test_doctor_reports_statement_pooling(pooled: Pooled, tmp_path: Path) -> None:
    with pooled(pool_mode="statement") as url:
        [(finding_id, message)] = _findings(url, tmp_path)
        assert (finding_id, "transaction blocks not allowed" in message) == ("W010", True)
