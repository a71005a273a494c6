"""Real programs download a file with a limit: in parts, again if it is newer, and after a broken connection."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.file_server import FileServer, new_file_server
from tests.support.system_packages import program
from tests.support.tcp_proxy import running_proxy

_SIZE = 300_000
_BROKEN_SIZE = 8_000_000
_RESUME = Path(__file__).parents[1] / "support" / "java" / "Resume.java"


@pytest.fixture(scope="module")
def disk_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileServer]:
    server = new_file_server(tmp_path_factory.mktemp("disk"))
    with server.running():
        yield server


def _run(folder: Path, *command: str) -> None:
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr


def _with_url(arguments: list[str], url: str) -> list[str]:
    """Return the arguments with the URL at its place, or else at the end."""
    return [url if argument == "URL" else argument for argument in arguments] + [url] * ("URL" not in arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("axel", ["-n4", "-o", "out"]),
        ("aria2c", ["-x4", "-s4", "-k1M", "--no-conf", "-o", "out"]),
        ("wget2", ["--no-config", "-O", "out"]),
        ("curl", ["-sSf", "--retry", "2", "-o", "out"]),
        ("rclone", ["--config", "", "copyurl", "URL", "out"]),
    ],
)
@pytest.mark.parametrize("limit", [1, 5])
def test_program_takes_one_download(
    disk_server: FileServer, big: bytes, tmp_path: Path, name: str, arguments: list[str], limit: int
) -> None:
    alias, content = f"{name}-{limit}", big[:_SIZE]
    command = program(name, {"aria2c": "aria2"}.get(name, name))
    assert disk_server.upload(alias, content, maxdownloads=limit).status_code == 200
    _run(tmp_path, command, *_with_url(arguments, f"{disk_server.server.url}/{alias}"))
    assert (tmp_path / "out").read_bytes() == content
    assert disk_server.downloads(alias) == 1


def test_wget_takes_no_download_for_unchanged_file(disk_server: FileServer, big: bytes, tmp_path: Path) -> None:
    wget = program("wget", "wget")
    assert disk_server.upload("newer", big[:_SIZE], maxdownloads=3).status_code == 200
    for _ in range(3):
        _run(tmp_path, wget, "-q", "--no-config", "-N", f"{disk_server.server.url}/newer")
    assert (tmp_path / "newer").read_bytes() == big[:_SIZE]
    assert disk_server.downloads("newer") == 1


def test_curl_fetches_rest_without_a_download(disk_server: FileServer, big: bytes, tmp_path: Path) -> None:
    curl, out = program("curl", "curl"), tmp_path / "out"
    assert disk_server.upload("rest", big[:_SIZE], maxdownloads=1).status_code == 200
    _run(tmp_path, curl, "-sSf", "-o", "out", f"{disk_server.server.url}/rest")
    out.write_bytes(big[: _SIZE // 2])
    _run(tmp_path, curl, "-sSf", "-C", "-", "-o", "out", f"{disk_server.server.url}/rest")
    assert out.read_bytes() == big[:_SIZE]
    assert disk_server.downloads("rest") == 1


@pytest.mark.parametrize(
    ("name", "package", "arguments", "downloads"),
    [
        ("aria2c", "aria2", ["-x1", "-s1", "--no-conf", "--retry-wait=1", "-o", "out"], 1),
        ("java", "default-jdk-headless", [str(_RESUME), "URL", "out"], 1),
        ("wget", "wget", ["-q", "--no-config", "--waitretry=1", "-O", "out"], 1),
        # These begin again with the first byte.
        ("curl", "curl", ["-sSf", "--retry", "5", "--retry-all-errors", "-o", "out"], 2),
        ("rclone", "rclone", ["--config", "", "copyurl", "URL", "out"], 2),
    ],
)
def test_program_finishes_after_broken_connection(
    disk_server: FileServer, big: bytes, tmp_path: Path, name: str, package: str, arguments: list[str], downloads: int
) -> None:
    alias, content, command = f"broken-{name}", big[:_BROKEN_SIZE], program(name, package)
    assert disk_server.upload(alias, content, maxdownloads=downloads).status_code == 200
    with running_proxy(disk_server.address[1]) as proxy:
        proxy.reset_after = _BROKEN_SIZE // 2
        _run(tmp_path, command, *_with_url(arguments, f"http://127.0.0.1:{proxy.port}/{alias}"))
        assert (proxy.reset_after, proxy.accepted > 1) == (0, True)
    assert (tmp_path / "out").read_bytes() == content
    assert disk_server.downloads(alias) == downloads
    assert disk_server.status(alias) == 410
