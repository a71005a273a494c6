"""Memory of an export by the size of the account: `python -m bench.exporting [--links N]`.

Runs `waypost export` on SQLite for accounts of 10,000 links and of N, each with as many rows of statistics. The exit
status is 1 if the larger one needs over 32 MiB more.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from sqlalchemy import text

from bench.servers import environment, program
from waypost.admin.new_accounts import create_account
from waypost.db.database import Database
from waypost.db.upgrade import upgrade

_SMALL = 10_000
_MAX_GROWTH = 32.0
_MIB = 1 << 20
_BATCH = 500_000
_NUMBERS = "WITH RECURSIVE n(n) AS (SELECT :first UNION ALL SELECT n + 1 FROM n WHERE n < :last)"
_LINKS = """
INSERT INTO links (account, host, alias, url, urlhash, title, description, search, taken, expiryurl, type, status,
    metatitle, metadescription, metaimage, geotarget, devicetarget, languagetarget, deeplink, parameters, clicks,
    uniqueclicks, importedclicks, created)
{numbers} SELECT 1, '', 'row-' || n, 'https://example.com/' || n, n, 'Product ' || n, '', 'row', 0, '', 'direct',
    'public', '', '', '', '[]', '[]', '[]', '{{}}', '[]', n % 97, n % 31, 0, 1500000000 + n FROM n
"""
_TIMES = """
INSERT INTO click_times (kind, item, at, account, clicks, uniques, bots, previews, others, late)
{numbers} SELECT 'link', n, 1500000300, 1, n % 97, n % 31, 0, 0, 0, 0 FROM n
"""


def main() -> None:
    """Export both accounts and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=1_000_000, help="links of the larger account")
    options = parser.parse_args()
    peaks = []
    for links in (_SMALL, options.links):
        with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
            settings = _filled(Path(name), links)
            seconds, size, peak = _export(settings)
        print(f"{links:>12,} links: {seconds:7.1f} s, archive of {size / _MIB:8.1f} MiB, peak memory {peak:6.1f} MiB")
        peaks.append(peak)
    growth = peaks[1] - peaks[0]
    print(f"growth {growth:.1f} MiB, at most {_MAX_GROWTH:g}: {'kept' if growth <= _MAX_GROWTH else 'BROKEN'}")
    sys.exit(growth > _MAX_GROWTH)


def _filled(folder: Path, links: int) -> dict[str, str]:
    """Create an installation with one account; return its settings."""
    settings = {"data_dir": str(folder), "base_url": "http://127.0.0.1:8000"}
    database = Database(f"sqlite:///{folder / 'waypost.db'}")
    upgrade(database)
    create_account(database, email="ana@example.com", username="ana", rate_limit=1_000_000)
    for first in range(1, links + 1, _BATCH):
        span = {"first": first, "last": min(first + _BATCH - 1, links)}
        for statement in (_LINKS, _TIMES):
            database.write(lambda tx: tx.execute(text(statement.format(numbers=_NUMBERS)), span))  # noqa: B023  # called at once
    database.close()
    return settings


def _export(settings: dict[str, str]) -> tuple[float, int, float]:
    """Run the command; return its seconds, the bytes of the archive, and the peak of its memory in MiB."""
    began, size, peak = time.perf_counter(), 0, 0.0
    command = [program(), "export", "--account", "ana", "-"]
    with subprocess.Popen(command, env=environment(settings), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        watched = psutil.Process(process.pid)
        while chunk := process.stdout.read1(_MIB):  # type: ignore[attr-defined]  # a buffered reader
            size += len(chunk)
            peak = max(peak, watched.memory_info().rss / _MIB)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - began, size, peak


if __name__ == "__main__":
    main()
