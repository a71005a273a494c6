"""Caddy with the Caddyfile of docs/caddy.md: certificates for known branded domains only."""

import http.client
import os
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from tests.support.databases import ON_SQLITE
from tests.support.server import free_port, serving
from tests.support.system_packages import program
from waypost import credentials
from waypost.accounts import ops
from waypost.auth import api_keys
from waypost.db.database import Database

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "caddy.md"
SECONDS = 30


@contextmanager
def _caddy(folder: Path, service: int, port: int) -> Iterator[Path]:
    """Run Caddy with the documented file and its internal CA; yields the path of the CA's root certificate."""
    match = re.search(r"```caddyfile\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert match
    local_options = f"admin off\n\tskip_install_trust\n\thttps_port {port}\n\thttp_port {free_port()}"
    text = match[1].replace("email you@example.com", local_options).replace("127.0.0.1:8000", f"127.0.0.1:{service}")
    path = folder / "Caddyfile"
    path.write_text(text.replace("\ttls {\n", "\ttls internal {\n"))
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}
    with (folder / "caddy.log").open("wb") as log:
        command = [program("caddy", "caddy"), "run", "--config", str(path), "--adapter", "caddyfile"]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        root = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        deadline = time.monotonic() + SECONDS
        while not (root.exists() and _listens(port)):
            assert process.poll() is None, (folder / "caddy.log").read_text()
            assert time.monotonic() < deadline, (folder / "caddy.log").read_text()
            time.sleep(0.05)
        yield root
    finally:
        process.terminate()
        process.wait(SECONDS)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _get(host: str, path: str, port: int, root: Path) -> http.client.HTTPResponse:
    """Send a GET over HTTPS for `host` to this machine. Raises SSLError if it has no certificate."""
    context = ssl.create_default_context(cafile=root)
    raw = socket.create_connection(("127.0.0.1", port), SECONDS)
    connection = http.client.HTTPSConnection(host, port, timeout=SECONDS)
    try:
        connection.sock = context.wrap_socket(raw, server_hostname=host)
        connection.request("GET", path, headers={"Host": host, "User-Agent": "curl/8.5.0"})
        response = connection.getresponse()
        response.read()
        return response
    finally:
        raw.close()
        connection.close()


def _key(tx: Connection) -> str:
    password = credentials.hash_password("a password")
    account = ops.add(tx, email="ana@example.com", username="ana", password=password)
    return api_keys.add(tx, account.id, name="first key")


@ON_SQLITE
def test_branded_domain_gets_certificate_on_first_visit(tmp_path: Path, database: Database, database_url: str) -> None:
    port = free_port()
    key = database.write(_key)
    settings: dict[str, Any] = {
        "base_url": "https://go.example.com",
        "trusted_proxies": "127.0.0.1",
        "domain_check": "off",
    }
    with serving(tmp_path / "service", database_url=database_url, **settings) as server:
        brand = {"domain": "https://brand.example"}
        assert server.call("POST", "/api/domain/add", key=key, json=brand).status_code == 200
        link = {"url": "https://example.com/page", "custom": "spring", **brand}
        assert (
            server.call("POST", "/api/url/add", key=key, json=link).json()["shorturl"] == "https://brand.example/spring"
        )
        with _caddy(tmp_path, int(server.url.rpartition(":")[2]), port) as root:
            response = _get("brand.example", "/spring", port, root)
            assert (response.status, response.headers["location"]) == (302, "https://example.com/page")
            assert _get("go.example.com", "/dashboard/signin", port, root).status == 200
            assert _get("brand.example", "/unknown", port, root).status == 404
            with pytest.raises(ssl.SSLError):
                _get("unknown.example", "/spring", port, root)
