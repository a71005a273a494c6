"""Rounds of kills under load, after which a receiver of webhooks must have each counted click exactly once."""

import json
import os
import signal
import threading
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import time_machine
from sqlalchemy import Connection, func, select

from tests.support.clicks import run_out
from tests.support.fake_internet import server
from tests.support.load import ALIASES, Load, add_ana, new_link, until
from tests.support.postgres import Postgres
from tests.support.server import Server, processes, serving
from tests.support.webhooks import WAIT_SECONDS, Receiver
from waypost.clicks.ingest.ingester import Ingester
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import click_times, links, webhook_messages
from waypost.db.upgrade import upgrade
from waypost.server.background import visit_readers
from waypost.webhooks import endpoints
from waypost.webhooks.sender import Sender

_DAY = 86_400


@dataclass(frozen=True)
class Figures:
    """Answered redirects, clicks and received visits by link, sums of the account, and requests that were repeated."""

    kills: int
    redirects: int
    clicks: Counter[int]
    received: Counter[int]
    statistics: int
    messages: int
    repeated: int

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.redirects:,} redirects: {self.clicks.total():,} clicks of links, "
            f"{self.statistics:,} in the statistics, {self.received.total():,} received in {self.messages:,} messages "
            f"({self.repeated} of them repeated)"
        )

    @property
    def is_exact(self) -> bool:
        """True if the receiver has each click of each link once, and no answered redirect is missing."""
        is_complete = self.redirects <= self.clicks.total() == self.statistics
        return is_complete and self.clicks == self.received


def run_rounds(folder: Path, rounds: int, postgres: Postgres | None = None, *, database_url: str = "") -> Figures:
    """Kill, in each round, the process of ingester and sender, then the database: SQLite with the whole service."""
    receiver, load, kills = Receiver(), Load(refuses=True), 0
    with server(receiver.respond) as (_, receiver.port):
        settings = Settings(
            data_dir=folder, database_url=database_url, webhook_hosts=f"127.0.0.1:{receiver.port}", log_level="warning"
        )
        key = _create(settings, receiver)
        options: dict[str, Any] = {"database_url": database_url, "webhook_hosts": settings.webhook_hosts}
        lives = 1 if postgres else rounds
        for life in range(lives):
            with serving(folder, **options) as node:
                for alias in (*ALIASES, "limited") if not life else ():
                    assert node.call("POST", "/api/url/add", key=key, content=new_link(alias)).status_code == 200
                with load.on(node, key):
                    for _ in range(rounds // lives):
                        load.wait_for_progress()
                        _kill_ingester(node)
                        load.wait_for_progress()
                        _kill_database(node, postgres)
                        kills += 2
        with closing(Database(settings.database)) as database:
            _deliver(settings, database)
            return _figures(database, receiver, load, kills)


def _create(settings: Settings, receiver: Receiver) -> str:
    """Create the tables, and an account whose endpoint gets clicks. Return its API key."""

    def work(tx: Connection) -> str:
        key = add_ana(tx)
        endpoints.add(tx, 1, settings=settings, url=receiver.url, events=["link.clicked"])
        return key

    settings.data_dir.mkdir(parents=True, exist_ok=True)
    with closing(Database(settings.database)) as database:
        upgrade(database)
        return database.write(work)


def _kill_ingester(node: Server) -> None:
    until(lambda: processes(node)[1])
    processes(node)[1][0].kill()


def _kill_database(node: Server, postgres: Postgres | None) -> None:
    if postgres is None:
        os.killpg(node.process.pid, signal.SIGKILL)
        node.process.wait(30)
    else:
        postgres.kill()
        postgres.start()


def _deliver(settings: Settings, database: Database) -> None:
    """Count the last lines, and send all messages, as after the leases of those that were killed."""
    run_out(Ingester(settings, database, readers=visit_readers(settings)))
    waiting = select(func.count()).select_from(webhook_messages).where(webhook_messages.c.state == "waiting")
    sender = Sender(settings, database, threading.Event())
    with time_machine.travel(clock.now() + _DAY, tick=False) as now:
        while database.read(lambda tx: tx.execute(waiting).scalar_one()):
            sender.step()
            assert sender.wait(WAIT_SECONDS)
            now.shift(_DAY // 24)


def _figures(database: Database, receiver: Receiver, load: Load, kills: int) -> Figures:
    def work(tx: Connection) -> tuple[Counter[int], int]:
        c = click_times.c
        clicks = Counter({row.id: row.clicks for row in tx.execute(select(links.c.id, links.c.clicks)) if row.clicks})
        return clicks, int(tx.execute(select(func.sum(c.clicks)).where(c.kind == "account", c.item == 1)).scalar_one())

    clicks, statistics = database.read(work)
    by_id = {request.headers["webhook-id"]: request.body for request in receiver.requests}
    received = Counter(visit["id"] for body in by_id.values() for visit in json.loads(body)["data"]["visits"])
    repeated = len(receiver.requests) - len(by_id)
    return Figures(kills, load.redirected.total(), clicks, received, statistics, len(by_id), repeated)
