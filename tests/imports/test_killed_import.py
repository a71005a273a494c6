"""An import that is killed with SIGKILL resumes and ends with the same rows."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import func, select

from tests.conftest import Person
from tests.support.imports import SHOP, plan
from waypost.db.schema import links
from waypost.imports import apply
from waypost.settings import Settings

ROWS = 8000
KILLS = 3
_SECONDS = 60


def _imported(person: Person) -> int:
    return person.database.read(lambda tx: tx.execute(select(func.count()).select_from(links)).scalar_one())


@contextmanager
def _import_process(person: Person, settings: Settings, database_url: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Apply the plan of a person in a process of its own, which is killed at the end."""
    environment = {
        **os.environ,
        "WAYPOST_DATA_DIR": str(settings.data_dir),
        "WAYPOST_BASE_URL": settings.base,
        "WAYPOST_DATABASE_URL": database_url,
    }
    command = [sys.executable, "-m", "waypost", "import", person.username, "--apply"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        yield process
        process.kill()


def test_killed_import_resumes_and_ends_with_same_rows(ana: Person, settings: Settings, database_url: str) -> None:
    file = "alias,url,clicks\n" + "\n".join(f"link-{n},{SHOP}/{n},1" for n in range(ROWS))
    plan(ana, settings, file)
    for _ in range(KILLS):
        before, deadline = _imported(ana), time.monotonic() + _SECONDS
        with _import_process(ana, settings, database_url) as process:
            while _imported(ana) == before and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
        assert before < _imported(ana) < ROWS
    apply.apply(ana.database, ana.account, settings)
    query = select(links.c.alias, links.c.clicks).where(links.c.account == ana.account).order_by(links.c.id)
    stored = [tuple(row) for row in ana.database.read(lambda tx: tx.execute(query).all())]
    assert stored == [(f"link-{n}", 1) for n in range(ROWS)]
    assert ana.get("/urls")["data"]["result"] == ROWS
