"""An S3 store that is unavailable or stops responding: no partial files, and links keep working."""

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
class Installation:
    """A node, its bucket, and a proxy between them."""

    node: Server
    bucket: Bucket
    proxy: TcpProxy
    key: str

    def upload(self, alias: str, content: bytes, **query: object) -> httpx2.Response:
        """Upload a file."""
        path = f"/api/files/upload/{alias}.bin"
        return self.node.call(
            "POST", path, key=self.key, content=content, params={"custom": alias, **query}, timeout=120
        )

    def visit(self, alias: str) -> httpx2.Response:
        """Visit an alias with a client that is not a browser."""
        headers = {"User-Agent": "curl/8"}
        return self.node.call("GET", f"/{alias}", follow_redirects=False, headers=headers, timeout=120)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """One node for all tests; each leaves it as it was."""
    with running_s3("waypost-away") as bucket:
        port = urlsplit(bucket.endpoint).port
        assert port is not None
        with running_proxy(port) as proxy:
            storage: dict[str, Any] = {**bucket.settings, "storage_endpoint": f"http://127.0.0.1:{proxy.port}"}
            with serving(tmp_path_factory.mktemp("node"), log_level="info", **storage) as node:
                yield Installation(node, bucket, proxy, node.owner_key)
                assert "Traceback" not in node.output()


def test_unavailable_store_rejects_downloads_and_uploads_but_not_links(installation: Installation) -> None:
    assert installation.upload("kept", b"kept" * 1000, maxdownloads=2).status_code == 200
    link = {"url": "https://example.com/", "custom": "leads-on"}
    assert installation.node.call("POST", "/api/url/add", key=installation.key, json=link).status_code == 200
    before = installation.bucket.objects()
    installation.proxy.cut()
    assert [installation.visit("kept").status_code for _ in range(3)] == [503] * 3
    for size in (1000, 20_000_000):  # a single request, and a multipart upload
        response = installation.upload("lost", b"x" * size)
        assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert installation.visit("leads-on").status_code == 302
    installation.proxy.restore()
    # The failed downloads do not count, and the alias of the rejected file is free.
    until(lambda: installation.visit("kept").status_code == 200)
    assert [installation.visit("kept").status_code for _ in range(2)] == [200, 410]
    assert installation.upload("lost", b"x" * 1000).status_code == 200
    assert len(installation.bucket.objects()) == len(before) + 1


def test_store_that_hangs_during_upload_leaves_nothing(installation: Installation) -> None:
    parts = installation.bucket.parts()

    def chunks() -> Iterator[bytes]:
        for number in range(20):
            if number == 10:
                installation.proxy.reset()
            yield b"x" * 1_000_000

    path = "/api/files/upload/torn.bin"
    response = installation.node.call(
        "POST", path, key=installation.key, content=chunks(), params={"custom": "torn"}, timeout=120
    )
    assert response.status_code in (200, 503)  # the store's client can retry a part
    is_there = installation.visit("torn").status_code == 200
    assert is_there == (response.status_code == 200)
    if not is_there:
        until(lambda: installation.bucket.parts() == parts)


def test_download_from_unavailable_store_returns_503(installation: Installation) -> None:
    assert installation.upload("asked", b"asked").status_code == 200
    installation.proxy.cut()
    response = installation.visit("asked")
    assert (response.status_code, response.headers["retry-after"]) == (503, "5")
    assert "This file cannot be read right now. Please try again later." in response.text
    until(lambda: installation.node.call("GET", "/readyz").json()["storage"] != "ok")
    installation.proxy.restore()
    until(lambda: installation.visit("asked").status_code == 200)
