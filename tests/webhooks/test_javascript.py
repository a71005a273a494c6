"""The official npm library verifies deliveries."""

import json
from collections.abc import Sequence

import time_machine

from tests.support.npm_tools import modules, node, run
from tests.support.webhooks import Hooks, Received, Receiver
from waypost.core import clock
from waypost.webhooks import endpoints

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
_REFUSED = "WebhookVerificationError"


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
