"""From one process to many over PostgreSQL: `python -m bench.scale [--seconds N]`.

First what a click costs, ours and the database's, by how many clicks are counted at once; then how many redirects and
API writes a second one and two nodes give with 1, 2 and 4 processes, as ratios to the first of them. All in one run,
servers and load on the same cores: what grows on a machine with two cores cannot grow further here.
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
from bench.tools import need
from tests.support.postgres import Postgres, own_postgres
from waypost import clock
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal.writer import Journal
from waypost.db.database import Database
from waypost.db.schema import links
from waypost.db.upgrade import upgrade
from waypost.server.startup import make_account
from waypost.settings import Settings

_LINKS = 1000
_BAR = 50_000
_BATCHES = (10, 100, 1000, 10_000, 50_000)
_SHAPES = ((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4))  # nodes, processes of each
_ACCOUNTS = 32  # the rows of one account are one after the other's, and nobody grows by one account
_POST = """
local keys, turn = {KEYS}, 0
local body = '{"url": "https://example.com/page"}'
function request()
  turn = turn % #keys + 1
  local headers = {["Authorization"] = "Bearer " .. keys[turn], ["Content-Type"] = "application/json"}
  return wrk.format("POST", nil, headers, body)
end
"""


@dataclass(frozen=True)
class Cost:
    """What one click costs when `at_once` are counted together: seconds of a processor, bytes of WAL, rows written."""

    at_once: int
    ours: float
    theirs: float
    wal: float
    rows: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=4, help="of each load")
    parser.add_argument("--json", type=Path, help="where to write what a click costs")
    given = parser.parse_args()
    need("wrk")
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, own_postgres() as postgres:
        costs = _counting(Path(name), postgres)
        if given.json:
            given.json.write_text(json.dumps([vars(cost) for cost in costs], indent=1) + "\n")
        _growing(Path(name), postgres, given.seconds)


def _new(postgres: Postgres, name: str) -> str:
    with psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
    return f"{postgres.url}/{name}"


def _counting(folder: Path, postgres: Postgres) -> list[Cost]:
    url = _new(postgres, "counting")
    database = Database(url)
    upgrade(database)
    owner = make_account(database, email="ana@example.com", username="ana")
    database.write(partial(_fill, account=owner.id))
    costs = []
    for at_once in _BATCHES:
        settings = Settings(data_dir=folder / str(at_once), database_url=url)
        ingester = Ingester(settings, database)
        ingester._is_behind = True  # noqa: SLF001  # no rests for redirects, of which there are none here
        total = max(at_once * 2, min(100_000, at_once * 200))
        costs.append(_cost(ingester, settings, url, owner.id, at_once, total))
        cost = costs[-1]
        print(
            f"{at_once:>6} clicks at once: {1 / cost.ours:>9,.0f} a second of our processor, "
            f"{cost.theirs * 1e6:6.1f} µs of the database's, {cost.wal:7,.0f} bytes of WAL, {cost.rows:5.2f} rows each",
            flush=True,
        )
    best = max(1 / cost.ours for cost in costs)
    print(f"counted into PostgreSQL a second of our processor, single visits kept: {best:,.0f} (bar: {_BAR:,})")
    print(f"the database's work for a click at {_BATCHES[-1]:,} at once: {costs[-1].theirs / costs[0].theirs:.0%} of")
    print(f"  what it is at {_BATCHES[0]}")
    with psycopg.connect(url, autocommit=True) as watching:
        for table in ("events", "click_times", "click_labels", "visitors"):
            size, rows = _size(watching, table)
            print(f"{table}: {rows:,} rows of {size / max(rows, 1):,.0f} bytes with their indexes", flush=True)
    database.close()
    return costs


def _size(watching: "psycopg.Connection[tuple[Any, ...]]", table: str) -> tuple[int, int]:
    """Bytes and rows of a table with all its pieces."""
    found = watching.execute(
        "SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree(%s::regclass)", (table,)
    ).fetchone()
    rows = watching.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert found is not None
    assert rows is not None
    return int(found[0]), int(rows[0])


def _cost(ingester: Ingester, settings: Settings, url: str, account: int, at_once: int, total: int) -> Cost:
    portions = list(lines(account, _LINKS, total, at_once=at_once))
    ours = theirs = 0.0
    with psycopg.connect(url, autocommit=True) as watching:
        ingester.step()
        before = _state(watching)
        for entries in portions:
            kept = Journal(settings.journal_dir)
            kept.write(entries, clicks=at_once)
            kept.close()
            began = time.process_time()
            while ingester.step():
                pass
            ours += time.process_time() - began
        after = _state(watching)
    theirs = after[0] - before[0]
    return Cost(at_once, ours / total, theirs / total, (after[1] - before[1]) / total, (after[2] - before[2]) / total)


def _state(watching: "psycopg.Connection[tuple[Any, ...]]") -> tuple[float, int, int]:
    """Processor seconds of the backends, WAL bytes and rows written, until now."""
    time.sleep(0.2)
    watching.execute("SELECT pg_stat_force_next_flush()")
    found = watching.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'").fetchall()
    seconds = 0.0
    for (pid,) in found:
        with contextlib.suppress(FileNotFoundError):
            stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            seconds += (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    row = watching.execute(
        "SELECT pg_current_wal_insert_lsn() - '0/0', (SELECT sum(n_tup_ins + n_tup_upd) FROM pg_stat_user_tables)"
    ).fetchone()
    assert row is not None
    return seconds, int(row[0]), int(row[1] or 0)


def _fill(tx: Connection, account: int) -> None:
    now = clock.now()
    made = [{"account": account, "alias": f"link-{n}", "url": "https://example.com/"} for n in range(_LINKS)]
    tx.execute(insert(links), [{**row, "created": now} for row in made])


def _growing(folder: Path, postgres: Postgres, seconds: int) -> None:
    first: dict[str, float] = {}
    for count, processes in _SHAPES:
        url = _new(postgres, f"grown_{count}_{processes}")
        home = folder / f"grown-{count}-{processes}"
        home.mkdir()
        settings = {"database_url": url, "workers": str(processes)}
        keys = _keys(url)
        with _nodes(home, count, settings) as nodes:
            _add(nodes[0], keys[0], "spring")
            # Redirects come last: what they leave to count would be in the way of the others.
            for what, script, path in (("API writes", _POST, "/api/url/add"), ("redirects", "", "/spring")):
                loads = _loads(
                    home, nodes, script.replace("KEYS", ", ".join(f'"{key}"' for key in keys)), path, seconds
                )
                rate = sum(loads)
                ratio = rate / first.setdefault(what, rate)
                print(f"{count} node(s) of {processes}: {rate:>9,.0f} {what} a second, {ratio:4.2f} times", flush=True)


@contextlib.contextmanager
def _nodes(folder: Path, count: int, settings: dict[str, str]) -> Iterator[list[Server]]:
    with contextlib.ExitStack() as stack:
        nodes = []
        for number in range(count):
            home, port = folder / f"node-{number}", free_port()
            home.mkdir()
            given = {"data_dir": str(home), "log_level": "warning", "port": str(port), **settings}
            nodes.append(stack.enter_context(running([program(), "serve"], port, home, environment(given))))
        yield nodes


def _keys(url: str) -> list[str]:
    """A key of each of the accounts."""
    with contextlib.closing(Database(url)) as database:
        upgrade(database)
        made = (
            make_account(database, email=f"{n}@example.com", username=f"user-{n}", rate_limit=1_000_000_000)
            for n in range(_ACCOUNTS)
        )
        return [one.apikey for one in made]


def _add(node: Server, key: str, alias: str) -> None:
    body = json.dumps({"url": "https://example.com/page", "custom": alias})
    told = ["-d", body, "-H", f"Authorization: Bearer {key}", f"{node.url}/api/url/add"]
    answer = subprocess.run(["curl", "-sS", *told], capture_output=True, text=True, check=True).stdout
    if not re.search(r'"error":\s*0', answer):
        sys.exit(answer)


def _loads(folder: Path, nodes: Sequence[Server], script: str, path: str, seconds: int) -> list[float]:
    """Answers a second of each node, all loaded at the same moment."""
    file = folder / "load.lua"
    file.write_text(script)

    def load(node: Server) -> float:
        command = ["wrk", "-t1", "-c16", f"-d{seconds}s", "--latency", "-s", str(file), f"{node.url}{path}"]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = read_wrk(told)
        if found.other:
            sys.exit(f"{found.other} answers of {node.url}{path} were refusals:\n{told}")
        return found.a_second

    with ThreadPoolExecutor(len(nodes)) as threads:
        return list(threads.map(load, nodes))


if __name__ == "__main__":
    main()
