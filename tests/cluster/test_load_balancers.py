"""Two nodes behind nginx, HAProxy and Caddy, each with the configuration of deploy/."""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.load import until
from tests.support.load_balancers import BALANCERS, HOST
from tests.support.long_urls import LONGEST, visit_longest
from tests.support.nodes import Nodes, two_nodes
from tests.support.s3 import running_s3
from tests.support.tcp_proxy import TcpProxy, running_proxy
from waypost.server.startup import KEEP_ALIVE_SECONDS

_DEPLOY = Path(__file__).parents[2] / "deploy"


@dataclass(frozen=True)
class ProxiedNodes:
    """Two nodes, each behind a TCP proxy that can cut it off."""

    nodes: Nodes
    proxies: tuple[TcpProxy, TcpProxy]

    def ports(self) -> tuple[int, int]:
        return self.proxies[0].port, self.proxies[1].port


@pytest.fixture(scope="module")
def proxied_nodes(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedNodes]:
    """Shared by the module."""
    folder = tmp_path_factory.mktemp("nodes")
    with running_s3("waypost-nodes") as bucket:
        common = {"trusted_proxies": "127.0.0.1", "base_url": f"http://{HOST}", **bucket.settings}
        with two_nodes(folder, postgres, **common) as nodes:
            first, second = (int(node.url.rpartition(":")[2]) for node in (nodes.first, nodes.second))
            with running_proxy(first) as one, running_proxy(second) as two:
                yield ProxiedNodes(nodes, (one, two))


@pytest.mark.parametrize("name", BALANCERS)
def test_load_balancer_hides_failure_of_one_node(proxied_nodes: ProxiedNodes, name: str, tmp_path: Path) -> None:
    content, key = os.urandom(3_000_000), {"Authorization": f"Bearer {proxied_nodes.nodes.key}"}
    redirects = 0
    with BALANCERS[name](proxied_nodes.ports(), tmp_path) as client:

        def all_redirect() -> bool:
            nonlocal redirects
            redirected = [client.get(f"/{name}").status_code for _ in range(6)].count(302)
            redirects += redirected
            return redirected == 6

        created = client.post("/api/url/add", headers=key, json={"url": "https://example.com/", "custom": name})
        assert created.status_code == 200, created.text
        until(all_redirect)  # the other node may have cached the 404
        uploaded = client.post(f"/api/files/upload/a.bin?custom={name}-file", headers=key, content=content)
        assert uploaded.status_code == 200, uploaded.text
        downloaded = client.get(f"/{name}-file")
        assert (downloaded.status_code, hashlib.sha256(downloaded.content).digest()) == (
            200,
            hashlib.sha256(content).digest(),
        )
        assert client.get("/metrics").status_code == 404
        for proxy in proxied_nodes.proxies:  # cut off and restore one node after the other
            proxy.cut()
            until(all_redirect)
            proxy.restore()
            until(lambda: [client.get("/healthz").status_code for _ in range(6)] == [200] * 6)
    link = int(created.json()["id"])
    until(lambda: _clicks(proxied_nodes.nodes, link) >= redirects)


@pytest.mark.parametrize("name", BALANCERS)
def test_load_balancer_passes_longest_destination_and_query(
    proxied_nodes: ProxiedNodes, name: str, tmp_path: Path
) -> None:
    alias, nodes = f"{name}-longest", proxied_nodes.nodes
    created = nodes.first.call("POST", "/api/url/add", json={**LONGEST, "custom": alias}, key=nodes.key)
    assert created.status_code == 200, created.text
    with BALANCERS[name](proxied_nodes.ports(), tmp_path) as client:
        redirects = visit_longest(client, alias)
    link = int(created.json()["id"])
    until(lambda: _clicks(nodes, link) >= redirects)
    assert _clicks(nodes, link) == redirects


@pytest.mark.parametrize("name", BALANCERS)
def test_load_balancer_serves_each_link_by_one_node(proxied_nodes: ProxiedNodes, name: str, tmp_path: Path) -> None:
    links = [f"/{name}-{n}" for n in range(24)]
    with BALANCERS[name](proxied_nodes.ports(), tmp_path) as client:
        for query in ("", "?utm_source=a", "?x=1", ""):
            for link in links:
                assert client.get(f"{link}{query}").status_code == 404
        for path in ("/api/account", "/dashboard/signin"):
            for _ in range(20):
                client.get(path)
    first, second = ([line.split()[1].decode() for line in proxy.request_lines] for proxy in proxied_nodes.proxies)
    served_by_first, served_by_second = ({path.partition("?")[0] for path in paths} for paths in (first, second))
    assert served_by_first & served_by_second & set(links) == set()
    assert served_by_first & set(links)
    assert served_by_second & set(links)
    assert {"/api/account", "/dashboard/signin"} <= served_by_first & served_by_second  # not by the path


def test_load_balancers_close_idle_connections_before_nodes_do() -> None:
    """Otherwise a request may be sent on a connection that is just being closed, and writes are not retried."""
    patterns = {
        "nginx.conf": r"\n    keepalive_timeout (\d+)s;",
        "haproxy.cfg": r"\n    timeout http-keep-alive (\d+)s\n",
        "Caddyfile": r"\n\t+keepalive (\d+)s\n",
    }
    for name, pattern in patterns.items():
        match = re.search(pattern, (_DEPLOY / name).read_text())
        assert match is not None, name
        assert int(match[1]) < KEEP_ALIVE_SECONDS, name


def _clicks(nodes: Nodes, link: int) -> int:
    response = nodes.first.call("GET", f"/api/url/{link}", key=nodes.key)
    return int(response.json()["data"]["clicks"])
