"""nginx, HAProxy and Caddy in front of two nodes, with the configurations of deploy/."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import httpx2

from tests.support.server import free_port
from tests.support.source import ROOT
from tests.support.system_packages import program

HOST = "go.localhost"
_DEPLOY = ROOT / "deploy"


@contextmanager
def _running(command: list[str], port: int, folder: Path, **environment: str) -> Iterator[httpx2.Client]:
    """Start a load balancer; yields a client of it."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env={**os.environ, **environment}, start_new_session=True
        )
    try:
        deadline = time.monotonic() + 30
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        headers = {"Host": HOST, "User-Agent": "curl/8"}
        base = f"http://127.0.0.1:{port}"
        with httpx2.Client(base_url=base, headers=headers, timeout=60, trust_env=False, verify=False) as client:
            yield client
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _with_ports(text: str, ports: tuple[int, int]) -> str:
    for number, port in enumerate(ports, 1):
        text = text.replace(f"waypost-{number}:8000", f"127.0.0.1:{port}")
    return text


def _nginx(ports: tuple[int, int], folder: Path) -> AbstractContextManager[httpx2.Client]:
    return running_nginx(_with_ports((_DEPLOY / "nginx.conf").read_text(), ports), folder)


@contextmanager
def running_nginx(site: str, folder: Path) -> Iterator[httpx2.Client]:
    """Run nginx with a configuration that contains `listen 80;`; yields a client of it."""
    command, port = program("nginx", "nginx-light"), free_port()
    site = site.replace("listen 80;", f"listen 127.0.0.1:{port};")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = f"daemon off; pid {folder}/pid; error_log stderr; events {{}} "
    configuration += f"http {{ access_log off; {temporary} {site} }}"
    (folder / "nginx.conf").write_text(configuration)
    with _running([command, "-p", str(folder), "-c", str(folder / "nginx.conf")], port, folder) as client:
        yield client


@contextmanager
def _haproxy(ports: tuple[int, int], folder: Path) -> Iterator[httpx2.Client]:
    command, port = program("haproxy", "haproxy"), free_port()
    text = _with_ports((_DEPLOY / "haproxy.cfg").read_text(), ports).replace("bind :80", f"bind 127.0.0.1:{port}")
    (folder / "haproxy.cfg").write_text(text)
    with _running([command, "-db", "-f", str(folder / "haproxy.cfg")], port, folder) as client:
        yield client


def _caddy(ports: tuple[int, int], folder: Path) -> AbstractContextManager[httpx2.Client]:
    return _running_caddy((_DEPLOY / "Caddyfile").read_text(), ports, folder)


def _caddy_with_defaults(ports: tuple[int, int], folder: Path) -> AbstractContextManager[httpx2.Client]:
    text, removed = re.subn(r"\theader_up -(Upgrade|Connection|Expect)\n", "", (_DEPLOY / "Caddyfile").read_text())
    assert removed == 3
    return _running_caddy(text, ports, folder)


@contextmanager
def _running_caddy(text: str, ports: tuple[int, int], folder: Path) -> Iterator[httpx2.Client]:
    command, port = program("caddy", "caddy"), free_port()
    nodes = " ".join(f"127.0.0.1:{node_port}" for node_port in ports)
    options = f"{{\n\tadmin off\n\tskip_install_trust\n\thttps_port {free_port()}\n"
    (folder / "Caddyfile").write_text(text.replace("\n{\n", f"\n{options}", 1))
    environment = {"WAYPOST_SITE": f"http://{HOST}:{port}", "WAYPOST_NODES": nodes, "HOME": str(folder)}
    run = [command, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with _running(run, port, folder, **environment) as client:
        yield client


Balancer = Callable[[tuple[int, int], Path], AbstractContextManager[httpx2.Client]]
"""Starts a load balancer for two ports, with its files in a folder."""
BALANCERS: dict[str, Balancer] = {"nginx": _nginx, "haproxy": _haproxy, "caddy": _caddy}
PROXIES: dict[str, Balancer] = {**BALANCERS, "caddy-with-defaults": _caddy_with_defaults}
"""The load balancers, and one that passes `Upgrade` and `Expect` on, as Caddy does by default."""
