"""An import that is killed with SIGKILL resumes and ends with the same rows."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import select

from tests.conftest import Person
from tests.support import fork_server
from tests.support.fork_server import ForkedProcess
from tests.support.imports import SHOP
from waypost.clicks.stats import verify
from waypost.core.settings import Settings
from waypost.db.schema import import_plans, links
from waypost.transfer.imports import apply, planner
from waypost.transfer.imports.file_source import open_file
from waypost.transfer.imports.planner import Options

ROWS = 12_000
KILLS = 20
_SECONDS = 60


@contextmanager
def _import_process(person: Person, settings: Settings, database_url: str, log: Path) -> Iterator[ForkedProcess]:
    """Apply the plan of a person in a process of its own, which is killed at the end."""
    environment = {
        **os.environ,
        "WAYPOST_DATA_DIR": str(settings.data_dir),
        "WAYPOST_BASE_URL": settings.base,
        "WAYPOST_DATABASE_URL": database_url,
    }
    command = ["waypost", "import", person.username, "--apply"]
    process = fork_server.start(command, folder=settings.data_dir, environment=environment, log=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _dump(path: Path) -> Path:
    """Write a dump of YOURLS with two visits for each link, one of them by a bot."""
    agents = ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Googlebot/2.1")
    with path.open("w") as file:
        for agent in agents:
            visits = (f"(1,'2024-01-02 0{n % 9}:00:00','y{n}','','{agent}','','DE')" for n in range(ROWS))
            file.write(f"INSERT INTO `yourls_log` VALUES {','.join(visits)};\n")
        urls = (f"('y{n}','{SHOP}/{n}','T','2023-01-01 00:00:00','',3)" for n in range(ROWS))
        file.write(f"INSERT INTO `yourls_url` VALUES {','.join(urls)};\n")
    return path


def _progress(person: Person) -> tuple[int, ...]:
    c = import_plans.c
    query = select(c.stage_position, c.rank_position, c.row_position, c.clicks_position)
    return tuple(person.database.read(lambda tx: tx.execute(query).one()))


def test_import_killed_at_20_moments_ends_with_same_rows(
    ana: Person, settings: Settings, database_url: str, tmp_path: Path
) -> None:
    with open_file(_dump(tmp_path / "dump.sql"), {}) as source:
        planner.make(ana.database, settings, ana.account, source, Options())
    moments = random.Random(20)
    for _ in range(KILLS):
        before, deadline = _progress(ana), time.monotonic() + _SECONDS
        with _import_process(ana, settings, database_url, tmp_path / "log") as process:
            while _progress(ana) == before and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(moments.random() / 10)
        assert process.wait() == -signal.SIGKILL  # it had not ended before
    apply.apply(ana.database, ana.account, settings)
    query = select(links.c.alias, links.c.clicks, links.c.importedclicks).where(links.c.account == ana.account)
    stored = sorted(tuple(row) for row in ana.database.read(lambda tx: tx.execute(query).all()))
    assert stored == sorted((f"y{n}", 2, 1) for n in range(ROWS))
    assert ana.get("/urls")["data"]["result"] == ROWS
    report = ana.get("/stats", **{"from": "2024-01-02", "to": "2024-01-02"})["data"]
    assert (report["total"]["clicks"], report["dimensions"]["countries"]) == (ROWS, {"Germany": ROWS})
    assert ana.database.write(verify.differences) == []
