"""A PgBouncer between the service and its database, with the configuration of deploy/: it must keep sessions."""

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

from tests.support.load import until
from tests.support.server import free_port
from tests.support.system_packages import program
from waypost.db import notifications
from waypost.db.database import Database
from waypost.server import system_checks
from waypost.settings import Settings

Pooled = Callable[..., AbstractContextManager[str]]
pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
_FILE = Path(__file__).parents[2] / "deploy" / "pgbouncer.ini"


@pytest.fixture
def pooled(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """The URL of the database behind a PgBouncer whose settings are those of the file but for these."""
    target, command = make_url(database_url), program("pgbouncer", "pgbouncer")
    folder = tmp_path_factory.mktemp("pooler")

    @contextmanager
    def running(**settings: object) -> Iterator[str]:
        port = free_port()
        where = f"{target.database} = host={target.host} port={target.port} user={target.username}"
        here = {"listen_addr": "127.0.0.1", "listen_port": port, "auth_type": "any", "unix_socket_dir": ""}
        content = re.sub("^waypost = .*", where, _FILE.read_text(), flags=re.MULTILINE)
        file = folder / "pgbouncer.ini"
        file.write_text(_with(content, {**here, **settings}))
        # Root gives itself up, and keeps nothing of what it may.
        given = ["-u", "nobody"] if os.geteuid() == 0 else []
        if given:
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([command, *given, file], stdout=log, stderr=log)
        url = target.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
        try:
            until(lambda: _answers(url))
            yield url
        finally:
            process.terminate()
            process.wait()

    return running


def _with(content: str, settings: dict[str, Any]) -> str:
    """A configuration with these settings in the place of its own, or at its end."""
    for name, value in settings.items():
        line = f"{name} = {value}"
        content, found = re.subn(rf"^{name} = .*", line, content, flags=re.MULTILINE)
        content += "" if found else f"{line}\n"
    return content


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def _found(url: str, folder: Path) -> list[tuple[str, str]]:
    found = system_checks.run(Settings(database_url=url, data_dir=folder))
    return [(one.id, one.text) for one in found]


def test_a_pooler_that_keeps_sessions_keeps_every_limit_and_all_news(pooled: Pooled, tmp_path: Path) -> None:
    def limits(tx: Connection) -> tuple[str, ...]:
        names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        return tuple(str(tx.execute(text(f"SHOW {name}")).scalar_one()) for name in names)

    with pooled() as url, closing(Database(url)) as database:
        assert _found(url, tmp_path) == []
        relaxed = partial(database.write, durability="relaxed")
        single = partial(relaxed, autocommit=True)
        process = partial(database.write, durability="process")
        poll = partial(notifications.poll, database)
        for run in (database.read, database.write, process, relaxed, single, poll):
            assert run(limits) == ("10s", "8s", "6s")
        assert notifications.supports_notify(database)


@pytest.mark.parametrize("settings", [{}, {"server_round_robin": 1, "min_pool_size": 4}])
def test_a_pooler_that_lends_connections_is_found_before_the_service_starts(
    settings: dict[str, object], pooled: Pooled, tmp_path: Path
) -> None:
    with pooled(pool_mode="transaction", **settings) as url:
        assert _found(url, tmp_path) == [
            ("W013", "A pooler on the way to the database gives each transaction another connection.")
        ]


def test_a_pooler_that_knows_no_transactions_is_found_too(pooled: Pooled, tmp_path: Path) -> None:
    with pooled(pool_mode="statement") as url:
        [(found, told)] = _found(url, tmp_path)
        assert (found, "transaction blocks not allowed" in told) == ("W010", True)
