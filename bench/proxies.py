"""Wrong responses behind proxies under attack: `python -m bench.proxies [--requests N] [--seed S] [PROXY …]`.

Clients with accounts of their own ask two nodes through each proxy, while attackers send requests that hide others.
Each response and each click is checked. Exit status 1: a response or a click was wrong.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from tests.support.load_balancers import PROXIES
from tests.support.postgres import running_postgres
from tests.support.shared_connections import Outcome, attack
from tests.support.shared_nodes import shared_nodes
from waypost.db.database import Database
from waypost.db.upgrade import upgrade


def main() -> None:
    """Print the counts of each proxy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proxies", nargs="*", metavar="PROXY", default=list(PROXIES), help=", ".join(PROXIES))
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, running_postgres() as server:
        folder = Path(name)
        with shared_nodes(folder, _new_database(server)) as nodes:
            failed = False
            for proxy in arguments.proxies:
                (folder / proxy).mkdir()
                with PROXIES[proxy](nodes.ports(), folder / proxy) as client:
                    port = client.base_url.port or 80
                    outcome = attack(nodes, port, seed=arguments.seed, requests=arguments.requests, attacks=0)
                _report(proxy, outcome)
                failed = failed or bool(outcome.failures())
    sys.exit(failed)


def _new_database(server: str) -> str:
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE proxies")
    database = Database(f"{server}/proxies")
    upgrade(database)
    database.close()
    return f"{server}/proxies"


def _report(proxy: str, outcome: Outcome) -> None:
    print(
        f"{proxy}: {outcome.requests:,} requests, {outcome.attacks:,} attacks, {len(outcome.wrong)} wrong responses, "
        f"{len(outcome.unrequested)} without a request, {len(outcome.breaches)} breaches, "
        f"{sum(map(abs, outcome.miscounted.values()))} clicks miscounted"
    )
    if outcome.failures():
        print(outcome.failures())


if __name__ == "__main__":
    main()
