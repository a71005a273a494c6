"""Scaling over PostgreSQL: `python -m bench.scale [--seconds N]`.

1. Cost of a counted click for waypost and for the database, by batch size.
2. Redirects and API writes per second of one and two nodes with 1, 2 and 4 processes, relative to one process.

Servers and load share the machine's cores, so the rates cannot grow beyond them.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Connection, insert

from bench.clicks import lines
from bench.servers import Server, environment, free_port, program, read_wrk, running
from tests.support.postgres import Postgres, own_postgres
from tests.support.system_packages import require_programs
from waypost.admin.new_accounts import create_account
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import Journal
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import links
from waypost.db.upgrade import upgrade

_LINKS = 1000
_TARGET_RATE = 50_000
_BATCHES = (10, 100, 1000, 10_000, 50_000)
_SHAPES = ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4))  # nodes, processes of each
_ACCOUNTS = 32  # one account would serialize its writes on the same rows
_POST = """
local keys, index = {KEYS}, 0
local body = '{"url": "https://example.com/page"}'
function request()
  index = index % #keys + 1
  local headers = {["Authorization"] = "Bearer " .. keys[index], ["Content-Type"] = "application/json"}
  return wrk.format("POST", nil, headers, body)
end
"""


@dataclass(frozen=True)
class Cost:
    """Cost of a click at a batch size: CPU seconds of waypost and of the database, WAL bytes, written rows."""

    batch: int
    ingester: float
    database: float
    wal: float
    rows: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=4, help="duration of each load")
    parser.add_argument("--json", type=Path, help="write the costs of a click to this file")
    arguments = parser.parse_args()
    require_programs("wrk")
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, own_postgres() as postgres:
        costs = _measure_counting(Path(name), postgres)
        if arguments.json:
            arguments.json.write_text(json.dumps([vars(cost) for cost in costs], indent=1) + "\n")
        _measure_scaling(Path(name), postgres, arguments.seconds)


def _create_database(postgres: Postgres, name: str) -> str:
    with psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
    return f"{postgres.url}/{name}"


def _measure_counting(folder: Path, postgres: Postgres) -> list[Cost]:
    url = _create_database(postgres, "counting")
    database = Database(url)
    upgrade(database)
    owner = create_account(database, email="ana@example.com", username="ana")
    database.write(partial(_fill, account=owner.id))
    costs = []
    for batch in _BATCHES:
        settings = Settings(data_dir=folder / str(batch), database_url=url)
        ingester = Ingester(settings, database)
        total = max(batch * 2, min(100_000, batch * 200))
        costs.append(_cost(ingester, settings, url, owner.id, batch, total))
        cost = costs[-1]
        print(
            f"batches of {batch:>6} clicks: {1 / cost.ingester:>9,.0f} clicks per CPU second, "
            f"{cost.database * 1e6:6.1f} µs of database CPU, {cost.wal:7,.0f} bytes of WAL, {cost.rows:5.2f} rows each",
            flush=True,
        )
    best = max(1 / cost.ingester for cost in costs)
    print(f"counted into PostgreSQL clicks per CPU second, single visits kept: {best:,.0f} (bar: {_TARGET_RATE:,})")
    print(f"database CPU per click in batches of {_BATCHES[-1]:,}: {costs[-1].database / costs[0].database:.0%} of")
    print(f"  that in batches of {_BATCHES[0]}")
    with psycopg.connect(url, autocommit=True) as monitor:
        for table in ("events", "click_times", "click_labels", "visitors"):
            size, rows = _size(monitor, table)
            print(f"{table}: {rows:,} rows of {size / max(rows, 1):,.0f} bytes with their indexes", flush=True)
    database.close()
    return costs


def _size(monitor: "psycopg.Connection[tuple[Any, ...]]", table: str) -> tuple[int, int]:
    """Return bytes and rows of a table with all its partitions."""
    size = monitor.execute(
        "SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree(%s::regclass)", (table,)
    ).fetchone()
    rows = monitor.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert size is not None
    assert rows is not None
    return int(size[0]), int(rows[0])


def _cost(ingester: Ingester, settings: Settings, url: str, account: int, batch: int, total: int) -> Cost:
    batches = list(lines(account, _LINKS, total, at_once=batch))
    ingester_seconds = 0.0
    with psycopg.connect(url, autocommit=True) as monitor:
        ingester.step()
        before = _state(monitor)
        for entries in batches:
            journal = Journal(settings.journal_dir)
            journal.write(entries)
            journal.close()
            started = time.process_time()
            while ingester.step():
                pass
            ingester_seconds += time.process_time() - started
        after = _state(monitor)
    database_seconds = after[0] - before[0]
    return Cost(
        batch,
        ingester_seconds / total,
        database_seconds / total,
        (after[1] - before[1]) / total,
        (after[2] - before[2]) / total,
    )


def _state(monitor: "psycopg.Connection[tuple[Any, ...]]") -> tuple[float, int, int]:
    """Return CPU seconds of the backends, WAL bytes and written rows so far."""
    time.sleep(0.2)
    monitor.execute("SELECT pg_stat_force_next_flush()")
    backends = monitor.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'").fetchall()
    seconds = 0.0
    for (pid,) in backends:
        with contextlib.suppress(FileNotFoundError):
            stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            seconds += (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    row = monitor.execute(
        "SELECT pg_current_wal_insert_lsn() - '0/0', (SELECT sum(n_tup_ins + n_tup_upd) FROM pg_stat_user_tables)"
    ).fetchone()
    assert row is not None
    return seconds, int(row[0]), int(row[1] or 0)


def _fill(tx: Connection, account: int) -> None:
    now = clock.now()
    rows = [{"account": account, "alias": f"link-{n}", "url": "https://example.com/"} for n in range(_LINKS)]
    tx.execute(insert(links), [{**row, "created": now} for row in rows])


def _measure_scaling(folder: Path, postgres: Postgres, seconds: int) -> None:
    baseline: dict[str, float] = {}
    for count, processes in _SHAPES:
        url = _create_database(postgres, f"grown_{count}_{processes}")
        home = folder / f"grown-{count}-{processes}"
        home.mkdir()
        settings = {"database_url": url, "workers": str(processes)}
        keys = _keys(url)
        with _nodes(home, count, settings) as nodes:
            _add(nodes[0], keys[0], "spring")
            # Redirects are last, because counting their clicks would slow down the writes.
            for label, script, path in (("API writes", _POST, "/api/url/add"), ("redirects", "", "/spring")):
                loads = _loads(
                    home, nodes, script.replace("KEYS", ", ".join(f'"{key}"' for key in keys)), path, seconds
                )
                rate = sum(loads)
                ratio = rate / baseline.setdefault(label, rate)
                print(
                    f"{count} node(s) of {processes}: {rate:>9,.0f} {label} per second, {ratio:4.2f} times", flush=True
                )


@contextlib.contextmanager
def _nodes(folder: Path, count: int, settings: dict[str, str]) -> Iterator[list[Server]]:
    with contextlib.ExitStack() as stack:
        nodes = []
        for number in range(count):
            home, port = folder / f"node-{number}", free_port()
            home.mkdir()
            environment_settings = {"data_dir": str(home), "log_level": "warning", "port": str(port), **settings}
            nodes.append(
                stack.enter_context(running([program(), "serve"], port, home, environment(environment_settings)))
            )
        yield nodes


def _keys(url: str) -> list[str]:
    """Create the accounts; return an API key of each."""
    with contextlib.closing(Database(url)) as database:
        upgrade(database)
        owners = (
            create_account(database, email=f"{n}@example.com", username=f"user-{n}", rate_limit=1_000_000_000)
            for n in range(_ACCOUNTS)
        )
        return [owner.apikey for owner in owners]


def _add(node: Server, key: str, alias: str) -> None:
    body = json.dumps({"url": "https://example.com/page", "custom": alias})
    options = ["-d", body, "-H", f"Authorization: Bearer {key}", f"{node.url}/api/url/add"]
    response_body = subprocess.run(["curl", "-sS", *options], capture_output=True, text=True, check=True).stdout
    if not re.search(r'"error":\s*0', response_body):
        sys.exit(response_body)


def _loads(folder: Path, nodes: Sequence[Server], script: str, path: str, seconds: int) -> list[float]:
    """Load all nodes concurrently; return the responses per second of each."""
    file = folder / "load.lua"
    file.write_text(script)

    def load(node: Server) -> float:
        command = ["wrk", "-t1", "-c16", f"-d{seconds}s", "--latency", "-s", str(file), f"{node.url}{path}"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        result = read_wrk(output)
        if result.other:
            sys.exit(f"{result.other} responses of {node.url}{path} were errors:\n{output}")
        return result.a_second

    with ThreadPoolExecutor(len(nodes)) as threads:
        return list(threads.map(load, nodes))


if __name__ == "__main__":
    main()
