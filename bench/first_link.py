"""From nothing to a short link on a branded domain behind HTTPS: `python -m bench.first_link`.

Takes the steps of a new user in an empty folder: install the wheel, start the service, add a branded domain and a link
with curl, start Caddy with the file of docs/caddy.md, and visit the link. Caddy issues certificates with its internal
authority, because the domains are not real; a public authority takes a few seconds more.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.servers import free_port
from tests.support.caddy import https_get, running_caddy
from tests.support.load import until
from tests.support.source import ROOT

_TARGET = "https://example.com/sale"
_BRAND = "https://brand.example"


def main() -> None:
    """Print the seconds of each step and of all."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="waypost-first-link-") as name:
        folder = Path(name)
        with _step("build the wheel (a user downloads it)"):
            uv = str(Path(sys.prefix).parent / ".tools" / "bin" / "uv")
            _run([uv, "build", "--wheel", "--quiet", "--out-dir", str(folder), str(ROOT)], folder)
        after_build = time.perf_counter()
        with _step("install it in a new environment"):
            _run([sys.executable, "-m", "venv", "env"], folder)
            wheel = next(folder.glob("waypost-*.whl"))
            _run(["env/bin/pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], folder)
        _serve_and_visit(folder)
    print(f"{time.perf_counter() - after_build:7.1f} s  all without the build")
    print(f"{time.perf_counter() - began:7.1f} s  all")


def _serve_and_visit(folder: Path) -> None:
    port, https_port = free_port(), free_port()
    base = f"http://127.0.0.1:{port}"
    settings = {
        "WAYPOST_PORT": str(port),
        "WAYPOST_BASE_URL": "https://go.example.com",
        "WAYPOST_TRUSTED_PROXIES": "127.0.0.1",
        "WAYPOST_DOMAIN_CHECK": "off",
    }
    log = folder / "serve.log"
    with log.open("wb") as out:
        command = [str(folder / "env" / "bin" / "waypost"), "serve"]
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, **settings}, stdout=out, stderr=out)  # fixed
    try:
        with _step("start the service"):
            until(lambda: " serves " in log.read_text())
            retry = ("--retry-connrefused", "--retry", "20", "--retry-delay", "1")
            _run(["curl", "-sS", *retry, f"{base}/healthz"], folder)
        key = re.findall(r"wp_[\w-]+", (folder / "data" / "first-sign-in-1.txt").read_text())[0]
        with _step("add a branded domain and a link with curl"):
            _post(f"{base}/api/domain/add", key, {"domain": _BRAND})
            link = _post(f"{base}/api/url/add", key, {"url": _TARGET, "custom": "sale", "domain": _BRAND})
        with _step("start Caddy"), running_caddy(folder, port, https_port) as root:
            visited = time.perf_counter()
            response = https_get("brand.example", "/sale", https_port, root)
            print(f"{time.perf_counter() - visited:7.1f} s  first visit, with a new certificate")
            if (response.status, response.headers["location"]) != (302, _TARGET):
                raise SystemExit(f"the link does not redirect: {response.status}")
            print(f"           {link['shorturl']} redirects to {response.headers['location']}")
    finally:
        process.terminate()
        process.wait(30)


def _post(url: str, key: str, body: dict[str, str]) -> dict[str, str]:
    command = ["curl", "-sS", "--fail-with-body", "-H", f"Authorization: Bearer {key}", url, "-d", json.dumps(body)]
    response: dict[str, str] = json.loads(_run(command, Path()))
    return response


def _run(command: Sequence[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout  # fixed


@contextmanager
def _step(name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    print(f"{time.perf_counter() - began:7.1f} s  {name}")


if __name__ == "__main__":
    main()
