"""Receivers in JavaScript: the official npm library, and the code on the page about webhooks."""

import json
import re
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, select

from tests.support.databases import ON_SQLITE
from tests.support.load import until
from tests.support.npm_tools import modules, node, run
from tests.support.server import free_port
from tests.support.webhooks import PAGE, Hooks, Received, Receiver, delivers_test
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.db.schema import audit
from waypost.webhooks import endpoints
from waypost.webhooks.endpoints import Endpoint
from waypost.webhooks.sender import Sender

_VERIFY = """
const { Webhook } = require("standardwebhooks");
const { secret, requests } = JSON.parse(require("node:fs").readFileSync(0));
const outcome = ({ body, headers }) => {
  try {
    return new Webhook(secret).verify(body, headers).data.label;
  } catch (error) {
    return error.name;
  }
};
console.log(JSON.stringify(requests.map(outcome)));
"""
_N8N = """
const { json, body } = JSON.parse(require("node:fs").readFileSync(0));
const helpers = {
  getBinaryDataBuffer: async (item, name) => {
    if (item !== 0 || name !== "data") throw new Error("no such file");
    return Buffer.from(body);
  },
};
const input = { first: () => ({ json, binary: { data: {} } }) };
const AsyncFunction = (async () => {}).constructor;
new AsyncFunction("$input", "require", process.env.CODE)
  .call({ helpers }, input, require)
  .then((items) => console.log(JSON.stringify(items)), (error) => console.log(JSON.stringify(error.message)));
"""
"""Runs the code of a Code node as its documentation says: with the items of the node before, and `this.helpers`."""
_REFUSED = "WebhookVerificationError"
_RECEIVER, _IS_VALID, _CODE_NODE = re.findall(r"```javascript\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
_LINES = 15
_IS_VALID_EACH = """
import { readFileSync } from "node:fs";
const { key, requests } = JSON.parse(readFileSync(0));
console.log(JSON.stringify(requests.map(({ headers, body }) => isValid(key, headers, body))));
"""


def _outcomes(secret: str, requests: Sequence[Received]) -> Sequence[str]:
    """Return what the official library says of each request: the name in its payload, or the name of the error."""
    sent = [{"body": request.body, "headers": request.headers} for request in requests]
    command = (node(), "-e", _VERIFY)
    outcomes: list[str] = json.loads(
        run(*command, folder=modules().parent, text=json.dumps({"secret": secret, "requests": sent}))
    )
    return outcomes


def test_official_npm_library_verifies_deliveries(hooks: Hooks, receiver: Receiver) -> None:
    hooks.change("Nächste")
    hooks.send()
    (request,) = receiver.requests
    changed = Received(request.headers, request.body + " ")
    assert _outcomes(hooks.secret, [request, changed]) == ["Nächste", _REFUSED]
    _, other = hooks.database.write(lambda tx: endpoints.rotate(tx, hooks.account, hooks.endpoint))
    assert _outcomes(other, [request]) == [_REFUSED]


def test_official_npm_library_verifies_both_signatures_of_a_rotation(hooks: Hooks, receiver: Receiver) -> None:
    # The library compares the time of a message with that of its own process, so the rotation is a day ago.
    with time_machine.travel(clock.now() - endpoints.ROTATION_SECONDS, tick=False) as now:
        _, secret = hooks.database.write(lambda tx: endpoints.rotate(tx, hooks.account, hooks.endpoint))
        now.shift(endpoints.ROTATION_SECONDS - 1)
        hooks.change("During")
        hooks.send()
        now.shift(1)
        hooks.change("After")
        hooks.send()
    assert [request.headers["webhook-signature"].count("v1,") for request in receiver.requests] == [2, 1]
    assert _outcomes(secret, receiver.requests) == ["During", "After"]
    assert _outcomes(hooks.secret, receiver.requests) == ["During", _REFUSED]


@ON_SQLITE
def test_receiver_of_the_page_prints_verified_events(hooks: Hooks) -> None:
    assert len([line for line in _RECEIVER.splitlines() if line]) <= _LINES
    port = free_port()
    command = (node(), "--input-type=module", "-e", _RECEIVER)
    environment = {"SECRET": hooks.secret, "PORT": str(port)}
    receiver = subprocess.Popen(command, env=environment, cwd=modules().parent, stdout=subprocess.PIPE, text=True)
    try:
        settings = hooks.settings.model_copy(update={"webhook_hosts": f"127.0.0.1:{port}"})
        hooks.update(url=f"http://127.0.0.1:{port}/")
        hooks.sender = Sender(settings, hooks.database, threading.Event())
        until(lambda: delivers_test(hooks))
        hooks.change("Spring")
        hooks.send()
        hooks.database.write(lambda tx: endpoints.rotate(tx, hooks.account, hooks.endpoint))
        with time_machine.travel(clock.now() + endpoints.ROTATION_SECONDS):
            hooks.change("Never")
            hooks.send()
    finally:
        receiver.terminate()
        printed, _ = receiver.communicate(timeout=60)
    assert printed.splitlines()[-1] == "channel.created Spring"
    assert [attempt["status"] for attempt in hooks.attempts][-2:] == [204, 401]


@ON_SQLITE
def test_code_node_of_n8n_passes_verified_messages_on(hooks: Hooks, receiver: Receiver) -> None:
    hooks.database.write(lambda tx: endpoints.rotate(tx, hooks.account, hooks.endpoint))  # so there are two signatures
    hooks.change("Nächste")
    with time_machine.travel(clock.now() - 301):
        hooks.change("Late")
        hooks.send()
    hooks.send()
    late, request = sorted(receiver.requests, key=lambda each: int(each.headers["webhook-timestamp"]))
    (item,) = _code_node(hooks.secret, request)
    assert (item["json"]["type"], item["json"]["data"]["label"]) == ("channel.created", "Nächste")
    refused = "The message has no valid signature."
    assert _code_node(hooks.secret, late) == refused
    assert _code_node(hooks.secret, Received(request.headers, request.body + " ")) == refused
    assert _code_node("whsec_" + "A" * 44, request) == refused


def _code_node(secret: str, request: Received) -> Any:
    """Return the items of the Code node on the page, or the message of its error."""
    assert _CODE_NODE.count("whsec_…") == 1
    values = {"json": {"headers": request.headers}, "body": request.body}
    code = {"CODE": _CODE_NODE.replace("whsec_…", secret)}
    return json.loads(run(node(), "-e", _N8N, text=json.dumps(values), variables=code))


def _use_key_pair(hooks: Hooks, receiver: Receiver) -> str:
    """Replace the endpoint by one with a key pair. Return its public key."""

    def work(tx: Connection) -> tuple[Endpoint, str]:
        endpoints.remove(tx, hooks.account, hooks.endpoint)
        return endpoints.add(
            tx, hooks.account, settings=hooks.settings, url=receiver.url, events=["channel.*"], signature="ed25519"
        )

    endpoint, secret = hooks.database.write(work)
    assert (endpoint.signature, secret) == ("ed25519", "")
    hooks.endpoint = endpoint.id
    return endpoint.publickey


def _are_valid(key: str, requests: Sequence[Received]) -> Sequence[bool]:
    """Return whether Node accepts the signature of each request, with the code of the page."""
    sent = [{"body": request.body, "headers": request.headers} for request in requests]
    command = (node(), "--input-type=module", "-e", _IS_VALID + _IS_VALID_EACH)
    valid: list[bool] = json.loads(run(*command, text=json.dumps({"key": key, "requests": sent})))
    return valid


def test_node_verifies_signatures_of_a_key_pair(hooks: Hooks, receiver: Receiver) -> None:
    key = _use_key_pair(hooks, receiver)
    hooks.change("Nächste")
    hooks.send()
    (request,) = receiver.requests
    (signature,) = request.headers["webhook-signature"].split()
    assert re.fullmatch(r"v1a,[A-Za-z0-9+/]{86}==", signature)
    changed = Received(request.headers, request.body + " ")
    assert _are_valid(key, [request, changed]) == [True, False]
    assert _are_valid(_use_key_pair(hooks, receiver), [request]) == [False]


def test_rotated_key_pair_signs_together_with_the_old_one_for_a_day(hooks: Hooks, receiver: Receiver) -> None:
    with time_machine.travel(clock.now() - endpoints.ROTATION_SECONDS, tick=False) as now:
        old = _use_key_pair(hooks, receiver)
        rotated, shown = hooks.database.write(lambda tx: endpoints.rotate(tx, hooks.account, hooks.endpoint))
        now.shift(endpoints.ROTATION_SECONDS - 1)
        hooks.change("During")
        hooks.send()
        now.shift(1)
        hooks.change("After")
        hooks.send()
    assert (shown, rotated.publickey == old) == ("", False)
    assert _are_valid(rotated.publickey, receiver.requests) == [True, True]
    assert _are_valid(old, receiver.requests) == [True, False]


def test_private_key_is_only_stored(hooks: Hooks, receiver: Receiver) -> None:
    _use_key_pair(hooks, receiver)
    endpoint, _ = hooks.database.write(lambda tx: endpoints.rotate(tx, hooks.account, hooks.endpoint))
    assert hooks.row["secret"].startswith("whsk_")
    assert "whsk_" not in repr(endpoint)
    log = hooks.database.read(lambda tx: tx.execute(select(audit)).all())
    assert "whsk_" not in repr(log)


def test_key_pair_is_refused_for_messages_without_signatures(hooks: Hooks) -> None:
    fields: Any = {"url": "https://hooks.example/", "format": "slack", "signature": "ed25519"}
    with pytest.raises(Problem) as caught:
        hooks.database.write(lambda tx: endpoints.add(tx, hooks.account, settings=hooks.settings, **fields))
    assert caught.value.field == "signature"
