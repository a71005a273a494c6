"""Caddy with the Caddyfile of docs/caddy.md and its internal certificate authority."""

import http.client
import os
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from tests.support.server import free_port
from tests.support.source import ROOT
from tests.support.system_packages import program

_SECONDS = 30


@contextmanager
def running_caddy(folder: Path, service: int, port: int) -> Iterator[Path]:
    """Run Caddy with the documented file and its internal CA; yields the path of the CA's root certificate."""
    match = re.search(r"```caddyfile\n(.*?)```", (ROOT / "docs" / "caddy.md").read_text(), re.DOTALL)
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
        deadline = time.monotonic() + _SECONDS
        while not (root.exists() and _listens(port)):
            assert process.poll() is None, (folder / "caddy.log").read_text()
            assert time.monotonic() < deadline, (folder / "caddy.log").read_text()
            time.sleep(0.05)
        yield root
    finally:
        process.terminate()
        process.wait(_SECONDS)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def https_get(
    host: str, path: str, port: int, root: Path, headers: Mapping[str, str] = MappingProxyType({})
) -> http.client.HTTPResponse:
    """Send a GET over HTTPS for `host` to this machine. Raises SSLError if it has no certificate."""
    context = ssl.create_default_context(cafile=root)
    raw = socket.create_connection(("127.0.0.1", port), _SECONDS)
    connection = http.client.HTTPSConnection(host, port, timeout=_SECONDS)
    try:
        connection.sock = context.wrap_socket(raw, server_hostname=host)
        connection.request("GET", path, headers={"Host": host, "User-Agent": "curl/8.5.0", **headers})
        response = connection.getresponse()
        response.read()
        return response
    finally:
        raw.close()
        connection.close()
