"""What tests need beside the service and is no Python package: installed from Debian where that may be."""

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
    """Where a program is. Skips, aloud, where it is missing and cannot be installed."""
    return needed(partial(shutil.which, name), package, f"there is no {name} here, so nothing was tried with it")


def library(name: str, package: str) -> str:
    """The file of a shared library. Skips as `program`."""
    return needed(partial(find_library, name), package, f"the library {name} is not here, so nothing was tried with it")


def needed(look: Callable[[], str | None], package: str, otherwise: str) -> str:
    """What `look` finds, if need be after the package is installed. Says `otherwise` and skips where it may not be."""
    with (Path(tempfile.gettempdir()) / "waypost-tests-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # apt refuses a second one at the same time
        found = look()
        if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
            quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}  # and no service is started
            install = ["apt-get", "install", "-y", "--no-install-recommends", package]
            for command in (install, ["apt-get", "update"], install):  # most often another test has updated already
                subprocess.run(command, check=False, capture_output=True, env=quiet)
                if found := look():
                    break
    if found is None:
        pytest.skip(f"{otherwise}: apt-get install {package}")
    return found
