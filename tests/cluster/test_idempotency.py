"""Parallel requests with one idempotency key on two nodes, one of which is killed, create exactly one item."""

import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import httpx2

from tests.support.nodes import Nodes, two_nodes
from tests.support.server import at_once

_CALLS = 100
_SECONDS = 120


def test_parallel_requests_with_one_key_create_one_link_despite_sigkill(postgres: str, tmp_path: Path) -> None:
    with two_nodes(tmp_path, postgres) as nodes:
        killer = threading.Timer(random.uniform(0.0, 0.5), _kill, [nodes])
        killer.start()
        responses = at_once([lambda n=n: _create(nodes, n) for n in range(_CALLS)])  # type: ignore[misc]
        killer.join(_SECONDS)
        assert {response.status_code for response in responses} == {200}, Counter(r.text for r in responses)
        assert len({response.content for response in responses}) == 1
        assert sum("Idempotency-Replayed" not in response.headers for response in responses) <= 1
        assert nodes.first.call("GET", "/api/urls", key=nodes.key).json()["data"]["result"] == 1


def _kill(nodes: Nodes) -> None:
    os.killpg(nodes.second.process.pid, signal.SIGKILL)


def _create(nodes: Nodes, number: int) -> httpx2.Response:
    """Send the request until it has a response other than 409, as a client that follows the documentation."""
    node, deadline = (nodes.first, nodes.second)[number % 2], time.monotonic() + _SECONDS
    while True:
        try:
            response = node.call(
                "POST",
                "/api/url/add",
                key=nodes.key,
                json={"url": "https://example.com/once"},
                headers={"Idempotency-Key": "once"},
            )
        except httpx2.TransportError:
            node = nodes.first  # the load balancer notices that the other node is gone
            continue
        if response.status_code not in (409, 503) or time.monotonic() > deadline:
            return response
        time.sleep(float(response.headers["Retry-After"]))
