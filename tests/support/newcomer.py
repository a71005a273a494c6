"""A new user of waypost: an empty folder, a shell, and the command."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.support import fork_server
from tests.support.server import Process, free_port

_SECONDS = 60


@dataclass(frozen=True)
class Newcomer:
    """A new user's folder with only the command, as after `make install`."""

    folder: Path
    port: int
    settings: Mapping[str, str]

    @property
    def base(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        folders = {"HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp")}
        path = f"{self.folder / 'work' / '.venv' / 'bin'}:{os.environ['PATH']}"
        settings = {"WAYPOST_PORT": str(self.port), "WAYPOST_DOMAIN_CHECK": "off", **self.settings}
        return {"PATH": path, "NO_PROXY": "*", **folders, **settings}

    def shell(self, script: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a script in bash as if pasted; stop at the first failure."""
        return subprocess.run(
            ["bash", "-c", f"set -euo pipefail\n{script}"],
            cwd=self.folder / "work",
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    @contextmanager
    def serving(self, log: str, *, forks: bool = True) -> Iterator[Path]:
        """Run `waypost serve` until the block ends; yield the file with its output. Like `make run` without `forks`."""
        log_path = self.folder / log
        process = self._start(log_path, forks=forks)
        try:
            self._wait_for(process, log_path)
            yield log_path
        finally:
            process.terminate()
            process.wait(_SECONDS)

    def _start(self, log_path: Path, *, forks: bool) -> Process:
        command, folder = [".venv/bin/waypost", "serve"], self.folder / "work"
        if forks:
            return fork_server.start(command, folder=folder, environment=self.environment, log=log_path)
        with log_path.open("wb") as out:
            return subprocess.Popen(command, cwd=folder, env=self.environment, stdout=out, stderr=subprocess.STDOUT)

    def _wait_for(self, process: Process, log_path: Path) -> None:
        deadline = time.monotonic() + _SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            with suppress(httpx2.TransportError):
                httpx2.get(f"http://127.0.0.1:{self.port}/healthz", trust_env=False, verify=False)
                return
            time.sleep(0.1)
        raise AssertionError(f"the service did not start:\n{log_path.read_text()}")


def newcomer(folder: Path, **settings: str) -> Newcomer:
    """Make a folder of a new user. `settings` are environment variables of the service and the shell."""
    for name in ("home", "tmp", "work"):
        (folder / name).mkdir()
    (folder / "work" / ".venv").symlink_to(Path(sys.prefix))
    return Newcomer(folder, free_port(), settings)


def shell_blocks(page: Path) -> list[str]:
    """Return the blocks of a document that are marked as `sh`."""
    return re.findall(r"^```sh\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)
