"""An S3 store that is away or silent: no bytes, no half of a file, and nothing else suffers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support.load import until
from tests.support.s3 import Bucket, running_s3
from tests.support.server import Server, serving
from tests.support.tcp_proxy import TcpProxy, running_proxy


@dataclass(frozen=True)
class World:
    """A node, its bucket, and the relay between them."""

    node: Server
    bucket: Bucket
    relay: TcpProxy
    key: str

    def upload(self, alias: str, content: bytes, **query: object) -> httpx2.Response:
        """Send a file."""
        path = f"/api/files/upload/{alias}.bin"
        return self.node.call(
            "POST", path, key=self.key, content=content, params={"custom": alias, **query}, timeout=120
        )

    def visit(self, alias: str) -> httpx2.Response:
        """Fetch something, as a program."""
        headers = {"User-Agent": "curl/8"}
        return self.node.call("GET", f"/{alias}", follow_redirects=False, headers=headers, timeout=120)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for the module: each test leaves it as it was."""
    with running_s3("waypost-away") as bucket:
        port = urlsplit(bucket.endpoint).port
        assert port is not None
        with running_proxy(port) as relay:
            given: dict[str, Any] = {**bucket.settings, "storage_endpoint": f"http://127.0.0.1:{relay.port}"}
            with serving(tmp_path_factory.mktemp("node"), log_level="info", **given) as node:
                key = re.search(r"API key\s+(wp_\S+)", node.output())
                assert key is not None
                yield World(node, bucket, relay, key[1])
                assert "Traceback" not in node.output()


def test_without_its_store_a_service_gives_no_file_takes_none_and_goes_on(world: World) -> None:
    assert world.upload("kept", b"kept" * 1000, maxdownloads=2).status_code == 200
    link = {"url": "https://example.com/", "custom": "leads-on"}
    assert world.node.call("POST", "/api/url/add", key=world.key, json=link).status_code == 200
    before = world.bucket.objects()
    world.relay.cut()
    assert [world.visit("kept").status_code for _ in range(3)] == [503] * 3
    for size in (1000, 20_000_000):  # in one request, and in parts
        refused = world.upload("lost", b"x" * size)
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
    assert world.visit("leads-on").status_code == 302
    world.relay.restore()
    # No download was taken by those who got none, and the name of the refused file is free.
    until(lambda: world.visit("kept").status_code == 200)
    assert [world.visit("kept").status_code for _ in range(2)] == [200, 410]
    assert world.upload("lost", b"x" * 1000).status_code == 200
    assert len(world.bucket.objects()) == len(before) + 1


def test_a_store_that_falls_silent_under_an_upload_leaves_nothing(world: World) -> None:
    parts = world.bucket.parts()

    def chunks() -> Iterator[bytes]:
        for number in range(20):
            if number == 10:
                world.relay.reset()
            yield b"x" * 1_000_000

    path = "/api/files/upload/torn.bin"
    sent = world.node.call("POST", path, key=world.key, content=chunks(), params={"custom": "torn"}, timeout=120)
    assert sent.status_code in (200, 503)  # the store's client may have sent a part again
    is_there = world.visit("torn").status_code == 200
    assert is_there == (sent.status_code == 200)
    if not is_there:
        until(lambda: world.bucket.parts() == parts)


def test_a_store_that_is_away_is_not_a_file_that_is_not_there(world: World) -> None:
    assert world.upload("asked", b"asked").status_code == 200
    world.relay.cut()
    answer = world.visit("asked")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    world.relay.restore()
    until(lambda: world.visit("asked").status_code == 200)
