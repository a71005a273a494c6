"""What axe-core finds on a page. It comes from the npm registry, at the version of web/package-lock.json."""

import fcntl
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Page

_WEB = Path(__file__).resolve().parent.parent / "web"
_AXE = _WEB / "node_modules" / "axe-core" / "axe.min.js"


def faults(page: Page) -> list[tuple[str, str, list[str]]]:
    """(rule, how bad, where) of everything that axe-core has against a page. Skips, aloud, where it cannot be had."""
    page.evaluate(_axe())  # by the debugger, not as a script of the page: its policy would not have it
    found = page.evaluate("axe.run()")
    return [
        (fault["id"], fault["impact"], [node["html"][:150] for node in fault["nodes"][:3]])
        for fault in found["violations"]
    ]


@cache
def _axe() -> str:
    with (Path(tempfile.gettempdir()) / "waypost-tests-axe.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _AXE.is_file() and (npm := shutil.which("npm")):
            command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(command, cwd=_WEB, check=False, capture_output=True)
    if not _AXE.is_file():
        pytest.skip("there is no axe-core here, so no page was looked through for faults: cd web && npm ci")
    return _AXE.read_text()
