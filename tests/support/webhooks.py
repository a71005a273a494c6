"""A receiver of webhooks that can misbehave, an account with an endpoint, and a sender that runs step by step."""

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from standardwebhooks import Webhook

from tests.support.clicks import click, run_out
from tests.support.fake_internet import empty, server
from waypost.clicks.ingest.ingester import Ingester, VisitReader
from waypost.clicks.journal import Journal
from waypost.core.settings import Settings
from waypost.db import audit_sequence
from waypost.db.database import Database
from waypost.db.schema import webhook_attempts, webhook_endpoints, webhook_messages
from waypost.items.accounts import ops as accounts
from waypost.items.channels import ops as channels
from waypost.items.links import ops as links
from waypost.webhooks import endpoints, outbox
from waypost.webhooks.sender import Sender
from waypost.webhooks.visit_outbox import VisitOutbox

PAGE = Path(__file__).parents[2] / "docs" / "webhooks.md"
WAIT_SECONDS = 30
SECRET = re.compile(
    r"\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f]*:[0-9a-f]+::?|::1|\S@\S|wh[ps][a-z]+_|wp_\w{6,}|argon2"
    r"|\"(password|secret|key|network)\": ",
)
"""Addresses of networks and e-mail, secrets, and names of fields with them."""
Answer = Callable[[], Iterable[bytes]]


@cache
def validator() -> Any:
    """Return the validator of the schema of messages on their page."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415  # takes more than a second, in each process

    blocks = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
    schema = next(block for block in blocks if "$schema" in block)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


@dataclass(frozen=True)
class Received:
    """A request: headers with lower-case names, the body, and the path with the query."""

    headers: dict[str, str]
    body: str
    target: str = ""

    def verified(self, secret: str) -> Any:
        """Return the payload. The official library raises an error if the signature is not valid."""
        return Webhook(secret).verify(self.body, self.headers)


@dataclass
class Receiver:
    """A server that records requests. `answer` returns the pieces of its responses."""

    port: int = 0
    answer: Answer = lambda: [empty(204)]
    requests: list[Received] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> Sequence[str]:
        """The ids of the messages in the order of the requests."""
        return [request.headers["webhook-id"] for request in self.requests]

    def respond(self, request: bytes) -> Iterable[bytes]:
        head, _, body = request.partition(b"\r\n\r\n")
        first, *others = head.decode().split("\r\n")
        lines = (line.partition(": ") for line in others)
        headers = {name.lower(): value for name, _, value in lines}
        self.requests.append(Received(headers, body.decode(), first.split()[1]))
        return self.answer()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that answers 204."""
    running = Receiver()
    with server(running.respond) as (_, running.port):
        yield running


@pytest.fixture
def settings(settings: Settings, receiver: Receiver) -> Settings:
    """The settings of a small installation that may send webhooks to the receiver."""
    return settings.model_copy(update={"webhook_hosts": f"127.0.0.1:{receiver.port}"})


@dataclass
class Hooks:
    """An account with an endpoint, and a sender of its messages."""

    database: Database
    settings: Settings
    account: int
    endpoint: int
    secret: str
    sender: Sender

    def change(self, name: str = "News") -> None:
        """Make a change that is an event, and let it become messages."""
        self.database.write(lambda tx: channels.add(tx, self.account, name=name))
        self.sequence()

    def sequence(self) -> None:
        """Let the events of the audit log become messages."""
        audit_sequence.Sequencer(self.database, [outbox.enqueue]).step()

    def send(self) -> int:
        """Make the attempts that are due. Return how many."""
        started = self.sender.step()
        assert self.sender.wait(WAIT_SECONDS)
        return started

    def update(self, **fields: Any) -> None:
        """Change the endpoint."""
        self.database.write(
            lambda tx: endpoints.change(tx, self.account, self.endpoint, settings=self.settings, **fields)
        )

    @property
    def states(self) -> Sequence[tuple[str, int]]:
        """The state and the number of attempts of each message."""
        m = webhook_messages.c
        rows = self.database.read(lambda tx: tx.execute(select(m.state, m.attempts).order_by(m.id)).all())
        return [(row.state, row.attempts) for row in rows]

    @property
    def attempts(self) -> Sequence[Mapping[Any, Any]]:
        """All attempts."""
        query = select(webhook_attempts).order_by(webhook_attempts.c.id)
        return list(self.database.read(lambda tx: tx.execute(query).mappings().all()))

    @property
    def due(self) -> int:
        """The time of the next attempt."""
        m = webhook_messages.c
        return int(self.database.read(lambda tx: tx.execute(select(m.due).order_by(m.id.desc()).limit(1)).scalar_one()))

    @property
    def row(self) -> Mapping[Any, Any]:
        """The row of the endpoint."""
        query = select(webhook_endpoints).where(webhook_endpoints.c.id == self.endpoint)
        return self.database.read(lambda tx: tx.execute(query).mappings().one())


def delivers_test(hooks: Hooks) -> bool:
    """Send a test; return whether it is delivered, so that the receiver listens."""
    hooks.database.write(lambda tx: outbox.enqueue_test(tx, hooks.account, hooks.endpoint))
    hooks.send()
    return hooks.states[-1][0] == "delivered"


def count_lines(
    hooks: Hooks, *lines: bytes, settings: Settings | None = None, readers: Sequence[VisitReader] | None = None
) -> None:
    """Write lines to the journal, and count them; by default, only the reader for webhooks gets them."""
    settings = settings or hooks.settings
    journal = Journal(settings.journal_dir)
    assert journal.write(b"".join(lines))
    journal.close()
    run_out(Ingester(settings, hooks.database, readers=readers or [VisitOutbox(settings)]))


def count_clicks(hooks: Hooks, number: int) -> None:
    """Count clicks on a new link."""

    def work(tx: Any) -> int:
        return links.add(tx, hooks.account, settings=hooks.settings, url="https://example.com/", title="Clicked").id

    count_lines(hooks, click(hooks.database.write(work)) * number)


@pytest.fixture
def hooks(database: Database, settings: Settings, receiver: Receiver) -> Hooks:
    """An account whose endpoint gets all events of channels."""

    def work(tx: Any) -> tuple[int, int, str]:
        account = accounts.add(tx, email="ana@example.com", username="ana", password="*").id
        added, secret = endpoints.add(
            tx, account, settings=settings, title="Receiver", url=receiver.url, events=["channel.*"]
        )
        return account, added.id, secret

    account, endpoint, secret = database.write(work)
    return Hooks(database, settings, account, endpoint, secret, Sender(settings, database, threading.Event()))
