"""System packages that tests need: installed with apt-get if possible, otherwise the test is skipped."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from ctypes.util import find_library
from functools import partial
from pathlib import Path

import pytest


def program(name: str, package: str) -> str:
    """Return the path of a program. Skip the test if it cannot be installed."""
    return needed(partial(shutil.which, name), package, f"{name} is not installed")


def library(name: str, package: str) -> str:
    """Return the file of a shared library. Skip the test if it cannot be installed."""
    return needed(partial(find_library, name), package, f"the library {name} is not installed")


def needed(find: Callable[[], str | None], package: str, message: str) -> str:
    """Return the result of `find`, after installing the package if needed. Skip with `message` if that fails."""
    with (Path(tempfile.gettempdir()) / "waypost-tests-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # apt refuses to run twice at the same time
        result = find()
        if result is None and os.geteuid() == 0 and shutil.which("apt-get"):
            quiet = {
                **os.environ,
                "DEBIAN_FRONTEND": "noninteractive",
                "RUNLEVEL": "1",
            }  # the runlevel prevents service starts
            install = ["apt-get", "install", "-y", "--no-install-recommends", package]
            for command in (install, ["apt-get", "update"], install):  # often another test has already updated
                subprocess.run(command, check=False, capture_output=True, env=quiet)
                if result := find():
                    break
    if result is None:
        pytest.skip(f"{message}: apt-get install {package}")
    return result
