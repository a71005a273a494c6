"""The whole service: clicks on a link arrive at a receiver, with the event of its limit."""

import json
from pathlib import Path

from tests.support.load import until
from tests.support.server import serving
from tests.support.visits import CHROME
from tests.support.webhooks import Receiver


def test_clicks_and_the_reached_limit_arrive(tmp_path: Path, receiver: Receiver) -> None:
    with serving(tmp_path, webhook_hosts=f"127.0.0.1:{receiver.port}") as node:
        key = node.owner_key
        endpoint = {"url": receiver.url, "events": ["link.clicked", "link.limit_reached"]}
        assert node.call("POST", "/api/webhook/add", key=key, json=endpoint).json()["error"] == 0
        link = {"url": "https://example.com/", "custom": "spring", "clicklimit": 2}
        assert node.call("POST", "/api/url/add", key=key, json=link).json()["error"] == 0
        statuses = [node.call("GET", "/spring", headers={"User-Agent": CHROME}).status_code for _ in range(3)]
        assert statuses == [302, 302, 410]

        def received() -> dict[str, list[object]]:
            by_type: dict[str, list[object]] = {}
            for request in tuple(receiver.requests):
                payload = json.loads(request.body)
                data = payload["data"]
                by_type.setdefault(payload["type"], []).extend(data.get("visits", [data]))
            return by_type

        until(lambda: received().keys() == {"link.clicked", "link.limit_reached"})
        until(lambda: len(received()["link.clicked"]) == 2)
        (reached,) = received()["link.limit_reached"]
    expected = {"id": 1, "kind": "link", "label": "spring", "origin": "system"}
    assert reached == {**expected, "before": None, "after": {"clicklimit": 2}}
