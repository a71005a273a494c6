"""Programs that tests start beside the service: installed from Debian where that may be."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


def program(name: str, package: str) -> str:
    """Where a program is. Skips, aloud, where it is missing and cannot be installed."""
    with (Path(tempfile.gettempdir()) / "waypost-tests-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # apt refuses a second one at the same time
        found = shutil.which(name)
        if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
            quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}  # and no service is started
            for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", package]):
                subprocess.run(command, check=False, capture_output=True, env=quiet)
            found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name} here, so nothing was tried behind one: apt-get install {package}")
    return found
