"""System packages that tests and benchmarks need: installed with apt-get if possible."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from ctypes.util import find_library
from functools import partial
from pathlib import Path

import pytest

_PACKAGES = {
    "nginx": "nginx-light",
    "wrk": "wrk",
    "taskset": "util-linux",
    "setsid": "util-linux",
    "pgrep": "procps",
    "curl": "curl",
    "dd": "coreutils",
}
"""The Debian package of each program that benchmarks run."""
_LOCK = Path(tempfile.gettempdir()) / "waypost-tests-apt.lock"


def program(name: str, package: str) -> str:
    """Return the path of a program. Skip the test if it cannot be installed."""
    return needed(partial(shutil.which, name), package, f"{name} is not installed")


def library(name: str, package: str) -> str:
    """Return the file of a shared library. Skip the test if it cannot be installed."""
    return needed(partial(find_library, name), package, f"the library {name} is not installed")


def needed(find: Callable[[], str | None], package: str, message: str) -> str:
    """Return the result of `find`, after installing the package if needed. Skip with `message` if that fails."""
    found_path = _found_or_installed(find, package)
    if found_path is None:
        pytest.skip(f"{message}: apt-get install {package}")
    return found_path


def require_programs(*names: str) -> None:
    """Install missing programs for a benchmark. Exit with a list of those that cannot be installed."""
    missing = [name for name in names if _found_or_installed(partial(shutil.which, name), _PACKAGES[name]) is None]
    if missing:
        packages = " ".join(_PACKAGES[name] for name in missing)
        sys.exit(f"missing: {', '.join(missing)}. On Debian: apt-get install {packages}")


def _found_or_installed(find: Callable[[], str | None], package: str) -> str | None:
    """Return the result of `find`, after installing the package if it is None."""
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # apt refuses to run twice at the same time
        found_path = find()
        if found_path is None and os.geteuid() == 0 and shutil.which("apt-get"):
            # The runlevel prevents service starts.
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
            install = ["apt-get", "install", "-y", "--no-install-recommends", package]
            for command in (install, ["apt-get", "update"], install):  # often another test has already updated
                subprocess.run(command, check=False, capture_output=True, env=environment)
                if found_path := find():
                    break
        return found_path
