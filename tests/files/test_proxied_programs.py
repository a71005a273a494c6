"""Download programs behind nginx, HAProxy and Caddy: exact limits, and interrupted downloads that count once."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.file_server import FileServer, new_file_server
from tests.support.load_balancers import BALANCERS, HOST
from tests.support.system_packages import program
from tests.support.tcp_proxy import running_proxy

_SIZE = 3_000_000
_BUFFER = 65_536  # so that bytes that no program reads are few, as on a slow network
_LIMIT = 5
_HEADER = f"Host: {HOST}"
_PROGRAMS = {
    "curl": ["curl", "-sSf", "-H", _HEADER, "-C", "-", "-o", "out"],
    "wget": ["wget", "-q", "--no-config", "--tries=3", "--waitretry=1", f"--header={_HEADER}", "-c", "-O", "out"],
    "aria2": ["aria2c", "-x4", "-s4", "-k1M", "--no-conf", "--retry-wait=1", f"--header={_HEADER}", "-c", "-o", "out"],
}
"""Commands by Debian package; each continues the file `out`, or begins it."""
_RETRIES_ITSELF = {"wget", "aria2"}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileServer]:
    """A server behind proxies."""
    server = new_file_server(tmp_path_factory.mktemp("disk"))
    with server.running(base_url=f"http://{HOST}", trusted_proxies="127.0.0.1"):
        yield server


def _run(name: str, url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [program(_PROGRAMS[name][0], name), *_PROGRAMS[name][1:], url]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("proxy", BALANCERS)
def test_programs_behind_proxy_download_as_often_as_allowed(
    node: FileServer, big: bytes, tmp_path: Path, proxy: str
) -> None:
    content, port = big[:_SIZE], node.address[1]
    assert node.upload(proxy, content, maxdownloads=_LIMIT).status_code == 200
    with BALANCERS[proxy]((port, port), tmp_path) as client:
        for number, name in enumerate([*_PROGRAMS, *_PROGRAMS]):
            folder = tmp_path / str(number)
            folder.mkdir()
            completed = _run(name, f"{client.base_url}/{proxy}", folder)
            assert (completed.returncode == 0) is (number < _LIMIT), completed.stdout + completed.stderr
            if number < _LIMIT:
                assert (folder / "out").read_bytes() == content
            assert node.downloads(proxy) == min(number + 1, _LIMIT)
        assert client.get(f"/{proxy}").status_code == 410
    assert node.downloads(proxy) == _LIMIT


@pytest.mark.parametrize("broken", ["program", "node"])
@pytest.mark.parametrize("proxy", BALANCERS)
def test_interrupted_downloads_behind_proxy_resume_and_count_once(
    node: FileServer, big: bytes, tmp_path: Path, proxy: str, broken: str
) -> None:
    """The connections of the program to the proxy are reset once, or those of the proxy to the node."""
    with (
        running_proxy(node.address[1], buffer=_BUFFER) as nearer,
        BALANCERS[proxy]((nearer.port, nearer.port), tmp_path) as client,
        running_proxy(client.base_url.port or 80, buffer=_BUFFER) as farther,
    ):
        for name in _PROGRAMS:
            alias, folder = f"{proxy}-{broken}-{name}", tmp_path / name
            folder.mkdir()
            assert node.upload(alias, big, maxdownloads=1).status_code == 200
            fault = farther if broken == "program" else nearer
            fault.reset_after = len(big) // 2
            completed = _run(name, f"http://127.0.0.1:{farther.port}/{alias}", folder)
            assert fault.reset_after == 0
            assert (completed.returncode == 0) is (name in _RETRIES_ITSELF), completed.stdout + completed.stderr
            if name not in _RETRIES_ITSELF:
                assert (folder / "out").stat().st_size < len(big)
                completed = _run(name, f"http://127.0.0.1:{farther.port}/{alias}", folder)
                assert completed.returncode == 0, completed.stdout + completed.stderr
            assert (folder / "out").read_bytes() == big
            assert node.downloads(alias) == 1
            assert node.status(alias) == 410
