"""Clients that offer HTTP/2 on a plain connection send bodies and uploads over HTTP/1.1, and the log gets no line."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.load import add_ana, until
from tests.support.server import Server, serving
from tests.support.system_packages import program
from tests.support.tcp_proxy import running_proxy
from waypost.db.database import Database

_JAVA = Path(__file__).parents[1] / "support" / "java" / "Requests.java"
_NEW_LINK = '{"url": "https://example.com/", "custom": "%s"}'


@dataclass(frozen=True)
class _Node:
    server: Server
    key: str


@pytest.fixture(scope="module", params=[0, 1], ids=["workers", "api workers"])
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Node]:
    folder = tmp_path_factory.mktemp("node")
    with serving(folder, api_workers=request.param) as server:
        database = Database(f"sqlite:///{folder / 'waypost.db'}")
        key = database.write(add_ana)
        database.close()
        until(lambda: " serves " in server.output())  # the last line, when all workers are ready
        yield _Node(server, key)


def _run(command: list[str]) -> list[str]:
    completed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.splitlines()


def _stored(node: _Node) -> dict[str, int]:
    """Return the size of each file by name."""
    ids = [file["id"] for file in node.server.call("GET", "/api/files", key=node.key).json()["list"]]
    files = [node.server.call("GET", f"/api/file/{id_}", key=node.key).json()["details"] for id_ in ids]
    return {file["filename"]: file["size"] for file in files}


def test_curl_with_http2_sends_bodies_and_uploads(node: _Node, tmp_path: Path) -> None:
    url, log = node.server.url, node.server.output()
    file = tmp_path / "curl.bin"
    file.write_bytes(b"c" * 2_000_000)  # more than a megabyte: curl sends Expect
    curl = [program("curl", "curl"), "--http2", "-sS", "-w", r" %{http_code} %{http_version}\n"]
    curl += ["-H", f"Authorization: Bearer {node.key}"]
    chunked = ["-H", "Transfer-Encoding: chunked"]
    results = _run(
        [
            *[*curl, "-d", _NEW_LINK % "curl-1", f"{url}/api/url/add", "--next"],  # all on one connection
            *[*curl[1:], *chunked, "-d", _NEW_LINK % "curl-2", f"{url}/api/url/add", "--next"],
            *[*curl[1:], "--data-binary", f"@{file}", f"{url}/api/files/upload/curl-1.bin", "--next"],
            *[*curl[1:], *chunked, "--data-binary", f"@{file}", f"{url}/api/files/upload/curl-2.bin"],
        ]
    )
    assert [result.split()[-2:] for result in results] == [["200", "1.1"]] * 4, results
    assert _stored(node) | {"curl-1.bin": 2_000_000, "curl-2.bin": 2_000_000} == _stored(node)
    assert node.server.call("GET", "/curl-2").status_code == 302
    assert node.server.output() == log


def test_java_sends_bodies_and_uploads_on_one_connection(node: _Node) -> None:
    java = program("java", "default-jdk-headless")
    program("javac", "default-jdk-headless")  # a runtime alone cannot run a source file
    log = node.server.output()
    with running_proxy(int(node.server.url.rpartition(":")[2])) as proxy:
        results = _run([java, str(_JAVA), f"http://127.0.0.1:{proxy.port}", node.key])
    assert [result.partition(" ")[0] for result in results] == ["200"] * 4, results
    assert [json.loads(result.partition(" ")[2])["error"] for result in results] == [0] * 4
    assert proxy.accepted == 1
    assert _stored(node) | {"java-1.bin": 300_000, "java-2.bin": 300_000} == _stored(node)
    assert node.server.call("GET", "/java-2").status_code == 302
    assert node.server.output() == log
