"""The guide for reverse proxies: nginx runs with its block; the files for Traefik are read."""

import re
from pathlib import Path
from typing import Any

import yaml

from tests.support.load import add_ana
from tests.support.load_balancers import running_nginx
from tests.support.long_urls import LONGEST, visit_longest
from tests.support.server import serving
from tests.support.source import ROOT
from waypost.db.database import Database
from waypost.server.startup import KEEP_ALIVE_SECONDS

_GUIDE = (ROOT / "docs" / "reverse-proxy.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", _GUIDE, flags=re.MULTILINE | re.DOTALL)


def test_nginx_passes_host_address_large_uploads_and_long_urls(tmp_path: Path) -> None:
    (block,) = _blocks("nginx")
    settings: dict[str, Any] = {"base_url": "http://go.localhost", "trusted_proxies": "127.0.0.1"}
    with serving(tmp_path / "node", registration="on", **settings) as node:
        database = Database(f"sqlite:///{tmp_path / 'node' / 'waypost.db'}")
        token = database.write(add_ana)
        key = {"Authorization": f"Bearer {token}"}
        database.close()
        site = f"server {{ listen 80; {block.replace('127.0.0.1:8000', node.url.removeprefix('http://'))} }}"
        with running_nginx(site, tmp_path) as client:
            content = b"x" * 3_000_000  # nginx accepts 1 MB by default
            upload = client.post("/api/files/upload/a.bin", content=content, headers=key)
            assert upload.status_code == 200, upload.text
            body = {"url": "https://example.com/", "custom": "sale"}
            assert client.post("/api/url/add", json=body, headers=key).json()["shorturl"] == "http://go.localhost/sale"
            assert client.get("/sale").headers["location"] == "https://example.com/"
            assert (
                node.call("POST", "/api/url/add", json={**LONGEST, "custom": "longest"}, key=token).status_code == 200
            )
            visit_longest(client, "longest")
            assert client.get("/dashboard/signin").status_code == 200  # only the host of the base URL has it


def test_files_for_traefik_refer_to_each_other() -> None:
    static, dynamic = (yaml.safe_load(block) for block in _blocks("yaml"))
    names = re.findall(r"`(/etc/traefik/\w+\.yaml)`", _GUIDE)
    assert static["providers"]["file"]["filename"] == names[1]
    http = dynamic["http"]
    (router,) = http["routers"].values()
    assert set(router["entryPoints"]) <= set(static["entryPoints"])
    (middleware,) = router["middlewares"]
    assert http["middlewares"][middleware]["headers"]["customRequestHeaders"] == {"Upgrade": ""}
    assert router["tls"]["certResolver"] in static["certificatesResolvers"]
    assert static["entryPoints"]["web"]["http"]["redirections"]["entryPoint"]["to"] in static["entryPoints"]
    assert static["entryPoints"]["websecure"]["transport"]["respondingTimeouts"]["readTimeout"] == 0
    balancer = http["services"][router["service"]]["loadBalancer"]
    transport = http["serversTransports"][balancer["serversTransport"]]
    assert int(transport["forwardingTimeouts"]["idleConnTimeout"].removesuffix("s")) < KEEP_ALIVE_SECONDS
