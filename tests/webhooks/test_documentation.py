"""The page about webhooks: its receiver works, and its schema, samples and events are those of the code."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import time_machine
from sqlalchemy import Connection

from tests.support.databases import ON_SQLITE
from tests.support.fake_receivers import accepted
from tests.support.load import until
from tests.support.server import free_port
from tests.support.webhooks import SECRET, Hooks, Receiver, count_clicks, delivers_test, validator
from waypost.core import clock
from waypost.items.links import ops as links
from waypost.webhooks import catalog, endpoints, outbox
from waypost.webhooks.sender import Sender
from waypost.webhooks.visit_outbox import HOLD_SECONDS

_DOCS = Path(__file__).parents[2] / "docs"
_PAGE = (_DOCS / "webhooks.md").read_text("utf-8")
_BLOCKS = list(map(json.loads, re.findall(r"```json\n(.*?)```", _PAGE, re.DOTALL)))
_SAMPLES = {block["type"]: block for block in _BLOCKS if "type" in block and "data" in block}
_LINES = 15


def _events(page: str) -> dict[str, list[str]]:
    """Return the events in a table of a page by their kind."""
    rows = re.findall(r"^\| (`[^|]*) \| (`[^|]*) \|$", page, re.MULTILINE)
    names = [[re.findall(r"`([a-z_]+)`", cell) for cell in row] for row in rows]
    return {kind: verbs for kinds, verbs in names for kind in kinds}


def test_page_lists_all_events() -> None:
    assert _events(_PAGE.partition("\n## Events\n")[2]) == {kind: list(verbs) for kind, verbs in catalog.EVENTS.items()}


def test_all_events_of_the_audit_log_can_be_selected() -> None:
    logged = _events((_DOCS / "audit.md").read_text("utf-8"))
    of_installation = {"plan", "brand", "block", "report", "maintenance", "audit"}
    missing = {
        f"{kind}.{verb}"
        for kind, verbs in logged.items()
        if kind not in of_installation
        for verb in verbs
        if verb not in catalog.EVENTS.get(kind, ())
    }
    assert missing <= {"account.deleted"}  # its account is gone


def test_sample_and_messages_match_the_schema(hooks: Hooks, receiver: Receiver) -> None:
    hooks.update(events=["*", "link.clicked"])
    hooks.change()
    count_clicks(hooks, 2)
    hooks.database.write(lambda tx: outbox.enqueue_test(tx, hooks.account, hooks.endpoint))
    with time_machine.travel(clock.now() + HOLD_SECONDS + 1):
        while hooks.send():
            pass
    sent = {payload["type"]: payload for payload in (each.verified(hooks.secret) for each in receiver.requests)}
    for payload in (*_SAMPLES.values(), *sent.values()):
        validator().validate(payload)
    assert {sample for sample in _SAMPLES if sample not in catalog.NAMES} == set()
    (of_page,), (of_code, *_) = (each["link.clicked"]["data"]["visits"] for each in (_SAMPLES, sent))
    assert of_page.keys() == of_code.keys()
    assert sent.keys() >= {"channel.created", "webhook.test"}


@pytest.mark.parametrize("event", _SAMPLES)
def test_sample_has_no_address_and_no_secret(event: str) -> None:
    assert SECRET.search(json.dumps(_SAMPLES[event])) is None


@pytest.mark.parametrize(
    "text",
    [
        "203.0.113.7",
        "2001:db8:1::7",
        "::1",
        "ana@example.com",
        "whsec_x",
        "wp_1a2b3c4d5e",
        "$argon2id",
        '{"password": ""}',
    ],
)
def test_search_for_secrets_works(text: str) -> None:
    assert SECRET.search(text)


@ON_SQLITE
def test_receiver_of_the_page_prints_verified_events(hooks: Hooks) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", _PAGE, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= _LINES
    port = free_port()
    environment = {"SECRET": hooks.secret, "PORT": str(port)}
    receiver = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        settings = hooks.settings.model_copy(update={"webhook_hosts": f"127.0.0.1:{port}"})
        hooks.update(url=f"http://127.0.0.1:{port}/")
        hooks.sender = Sender(settings, hooks.database, threading.Event())
        until(lambda: delivers_test(hooks))
        hooks.change("Spring")
        assert hooks.send() == 1
    finally:
        receiver.terminate()
        printed, _ = receiver.communicate(timeout=60)
    assert printed.splitlines()[-1] == "channel.created Spring"
    assert hooks.states[-1] == ("delivered", 1)


@ON_SQLITE
def test_steps_for_slack_post_sentences(hooks: Hooks, receiver: Receiver) -> None:
    steps = _PAGE.partition("### A Slack channel\n")[2].partition("###")[0]
    (shell,) = re.findall(r"```sh\n(.*?)```", steps, re.DOTALL)
    (sent,) = re.findall(r"-d '(.*)'$", shell.strip(), re.MULTILINE)
    fields = json.loads(sent.replace("'\"$SLACK_URL\"'", receiver.url))

    def create(tx: Connection) -> None:
        endpoint = endpoints.add(tx, hooks.account, settings=hooks.settings, **fields)[0].id
        outbox.enqueue_test(tx, hooks.account, endpoint)

    hooks.database.write(lambda tx: endpoints.remove(tx, hooks.account, hooks.endpoint))
    hooks.database.write(create)
    hooks.send()
    hooks.database.write(
        lambda tx: links.add(tx, hooks.account, settings=hooks.settings, url="https://example.com/", title="Spring")
    )
    hooks.sequence()
    hooks.send()
    test, event = [re.sub(r"<[^|]*\|([^>]*)>", r"\1", accepted("slack", each)["text"]) for each in receiver.requests]
    (said,) = re.findall(r"the channel gets `(.*)`", steps)
    assert test == said.replace("1", str(hooks.endpoint + 1))
    assert event == "Link Spring: Created"
