"""Imports of a million links, and of a dump with a million visits: `python -m bench.importing [--rows N]`.

Runs `waypost import` on SQLite and PostgreSQL while another process creates a link every 50 ms. Then a dump of YOURLS
is imported, and its first link visited: anything but a redirect is an error. The exit status is the number of missed
goals: 10 minutes and 300 MiB for the rows, and at most one second of waiting for the other writer.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from sqlalchemy import func, select

from bench.servers import environment, program, status, waypost
from tests.support.postgres import FAST_OPTIONS, own_postgres
from tests.support.threads import join
from waypost.admin.new_accounts import create_account
from waypost.clicks.stats import verify
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import changes, click_times, links
from waypost.db.upgrade import upgrade
from waypost.items.links import ops

_SHOP = "https://example.com/products"
_MAX_SECONDS, _MAX_MIB, _MAX_WAIT = 600.0, 300.0, 1.0
_WRITE_EVERY = 0.05
_MIB = 1 << 20
_FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@dataclass
class _Run:
    """A run of `waypost import`: its duration, its memory, and the longest wait of another writer."""

    seconds: float = 0.0
    mib: float = 0.0
    waits: list[float] = field(default_factory=list)

    def print(self, name: str) -> None:
        """Print a line."""
        wait = max(self.waits, default=0.0)
        print(f"  {name:<28} {self.seconds:7.1f} s  {self.mib:5.0f} MiB  others waited at most {wait * 1000:4.0f} ms")

    @property
    def missed(self) -> int:
        """The number of missed goals."""
        return (self.seconds > _MAX_SECONDS) + (self.mib > _MAX_MIB) + (max(self.waits, default=0.0) > _MAX_WAIT)


def main() -> None:
    """Import and print for both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the CSV file")
    parser.add_argument("--visits", type=int, default=1_000_000, help="visits of the dump, ten for each link")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        folder = Path(name)
        missed = _measure("SQLite", folder / "sqlite", {}, options)
        with own_postgres(*FAST_OPTIONS, "-c", "shared_buffers=512MB") as postgres:
            url = {"database_url": f"{postgres.url}/postgres"}
            missed += _measure("PostgreSQL", folder / "postgresql", url, options)
    sys.exit(missed)


def _measure(title: str, folder: Path, settings: Mapping[str, str], options: argparse.Namespace) -> int:
    print(title)
    folder.mkdir()
    settings = {**settings, "data_dir": str(folder), "base_url": "http://127.0.0.1:8000"}
    database = Database(settings.get("database_url", f"sqlite:///{folder / 'waypost.db'}"))
    upgrade(database)
    create_account(database, email="ana@example.com", username="ana", rate_limit=1_000_000)
    rows, dump = folder / "links.csv", folder / "dump.sql"
    _write_rows(rows, options.rows)
    _write_dump(dump, options.visits // 10)
    planned = _import(settings, database, str(rows))
    before = _count(database, changes)
    applied = _import(settings, database, "--apply")
    lines = _count(database, changes) - before - len(applied.waits)
    planned.print(f"plan of {options.rows:,} rows")
    applied.print(f"import of {options.rows:,} rows")
    print(f"  {lines:,} lines in the change log")
    walked = _import(settings, database, str(dump), "--apply")
    walked.print(f"dump with {options.visits:,} visits")
    _check(database, options)
    _visit(folder, settings)
    total = _Run(planned.seconds + applied.seconds, max(planned.mib, applied.mib), planned.waits + applied.waits)
    return total.missed + (max(walked.waits, default=0.0) > _MAX_WAIT)


def _write_rows(path: Path, count: int) -> None:
    with path.open("w") as file:
        file.write("alias,url,title,clicks,created,tags\n")
        for n in range(count):
            file.write(f"row-{n},{_SHOP}/{n},Product {n},{n % 97},{1_500_000_000 + n},tag-{n % 20}\n")


def _write_dump(path: Path, count: int) -> None:
    """Write a dump of YOURLS with ten visits for each link."""
    with path.open("w") as file:
        for first in range(0, count * 10, 500):
            values = (
                f"({n},'2024-{n % 12 + 1:02}-{n % 28 + 1:02} 10:00:00','y{n % count}','direct','{_FIREFOX}','','DE')"
                for n in range(first, min(first + 500, count * 10))
            )
            file.write(f"INSERT INTO `yourls_log` VALUES {','.join(values)};\n")
        for first in range(0, count, 500):
            values = (
                f"('y{n}','{_SHOP}/y{n}','Title {n}','2023-01-01 00:00:00','',10)"
                for n in range(first, min(first + 500, count))
            )
            file.write(f"INSERT INTO `yourls_url` VALUES {','.join(values)};\n")


def _import(settings: Mapping[str, str], database: Database, *arguments: str) -> _Run:
    """Run `waypost import` to its end next to another writer."""
    run = _Run()
    report = () if arguments == ("--apply",) else ("--report", "/dev/null")
    command = [program(), "import", "ana", *arguments, *report]
    began = time.perf_counter()
    with (
        _other_writer(database, run),
        subprocess.Popen(command, env=environment(settings), stdout=subprocess.PIPE) as process,
    ):
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            try:
                run.mib = max(run.mib, watched.memory_info().rss / _MIB)
            except psutil.NoSuchProcess:
                break
            time.sleep(0.05)
    run.seconds = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    return run


@contextmanager
def _other_writer(database: Database, run: _Run) -> Iterator[None]:
    """Create links until the end of the block, and record how long each takes."""
    ended, settings = threading.Event(), Settings(base_url="http://127.0.0.1:8000")

    def write() -> None:
        while not ended.wait(_WRITE_EVERY):
            began = time.perf_counter()
            database.write(lambda tx: ops.add(tx, 1, settings=settings, url=_SHOP))
            run.waits.append(time.perf_counter() - began)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        join(thread)


def _count(database: Database, table: object) -> int:
    return database.read(lambda tx: tx.execute(select(func.count()).select_from(table)).scalar_one())  # type: ignore[arg-type]


def _check(database: Database, options: argparse.Namespace) -> None:
    """Fail unless every link and click is there."""
    is_imported = links.c.alias.like("row-%") | links.c.alias.like("y%") & (links.c.importedclicks == 0)
    query = select(func.count()).where(is_imported, links.c.title != "")
    count = database.read(lambda tx: tx.execute(query).scalar_one())
    clicks = database.read(
        lambda tx: tx.execute(
            select(func.sum(click_times.c.clicks)).where(click_times.c.kind == "account")
        ).scalar_one()
    )
    differences = database.write(verify.differences)
    expected = (options.rows + options.visits // 10, options.visits // 10 * 10)
    if (count, int(clicks)) != expected or differences:
        raise SystemExit(f"{count} links and {clicks} clicks with {differences} differences instead of {expected}")


def _visit(folder: Path, settings: Mapping[str, str]) -> None:
    """Start the service and visit the first link of the dump. Fail unless it redirects."""
    began = time.perf_counter()
    with waypost(folder, settings) as server:
        code = status(server, "", "GET", "/y0")
        print(f"  first redirect {time.perf_counter() - began:.1f} s after `waypost serve`: {code}")
    if code != 302:
        raise SystemExit(f"The first link answers {code} instead of 302.")


if __name__ == "__main__":
    main()
