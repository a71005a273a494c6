"""Kills under load: `python -m bench.kills [--rounds N]`, on both databases.

Each round sends SIGKILL to the process of ingester and sender, and to the database: to all of PostgreSQL, and with
SQLite to the whole service. Prints the clicks of links, of the statistics, and those that a receiver of webhooks has
got if it ignores repeated ids. Exit status 1: they differ.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import psycopg

from tests.support.kill_rounds import run_rounds
from tests.support.postgres import own_postgres


def main() -> None:
    """Run the rounds and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="on each database (default: %(default)s)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, own_postgres() as postgres:
        with psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as admin:
            admin.execute("CREATE DATABASE waypost")
        url = f"{postgres.url}/waypost"
        is_exact = True
        for kind, server, database_url in (("SQLite", None, ""), ("PostgreSQL", postgres, url)):
            figures = run_rounds(Path(name) / kind.lower(), rounds, server, database_url=database_url)
            print(f"{kind}: {figures}", flush=True)
            is_exact = is_exact and figures.is_exact
    sys.exit(not is_exact)


if __name__ == "__main__":
    main()
