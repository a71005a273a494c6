"""System packages that benchmarks need: installed with apt-get if possible."""

import os
import shutil
import subprocess
import sys

_PACKAGES = {
    "nginx": "nginx-light",
    "wrk": "wrk",
    "taskset": "util-linux",
    "pgrep": "procps",
    "curl": "curl",
    "dd": "coreutils",
}


def need(*programs: str) -> None:
    """Install missing programs. Exit with a list of those that cannot be installed."""
    if _missing(programs) and os.geteuid() == 0 and shutil.which("apt-get"):
        _quietly("apt-get", "update")
        _quietly("apt-get", "install", "-y", "--no-install-recommends", *_packages(programs))
    if missing := _missing(programs):
        sys.exit(f"missing: {', '.join(missing)}. On Debian: apt-get install {' '.join(_packages(programs))}")


def _missing(programs: tuple[str, ...]) -> list[str]:
    return [name for name in programs if shutil.which(name) is None]


def _packages(programs: tuple[str, ...]) -> list[str]:
    return [_PACKAGES[name] for name in _missing(programs)]


def _quietly(*command: str) -> None:
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
