"""SECURITY.md and PRIVACY.md match the code."""

import json
import re

from scripts import audit
from tests.support.source import ROOT, SOURCE
from waypost.core import settings
from waypost.core.settings import Settings

_SETTING = re.compile(r"\bWAYPOST_[A-Z][A-Z_]*[A-Z](?![A-Z_…])")
_NOT_OF_THE_SERVICE = {
    *("WAYPOST_CONFIG", "WAYPOST_PSEUDO_LANGUAGE"),  # the settings file; for developers
    *("WAYPOST_URL", "WAYPOST_API_KEY", "WAYPOST_PROFILES"),  # the remote command line
    *("WAYPOST_SITE", "WAYPOST_NODES", "WAYPOST_ASK"),  # Caddy and the compose files
}
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `([^`|]+)` \| `([^`|]+)::(\w+)` \|$", re.MULTILINE)


def test_every_attack_names_existing_code_and_test() -> None:
    section = (ROOT / "SECURITY.md").read_text().partition("### Attacks and defenses")[2].partition("### Not")[0]
    rows = _ROW.findall(section)
    assert len(rows) == section.count("\n| ") - 2  # without the head
    for attack, _, code, test_file, test in rows:
        assert (ROOT / code).is_file(), attack
        assert f"def {test}(" in (ROOT / test_file).read_text(), attack


def test_privacy_names_every_cookie_and_existing_settings() -> None:
    text = (ROOT / "PRIVACY.md").read_text()
    code = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    cookies = set(re.findall(r'"((?:wp|waypost)_[a-z]+)"', "\n".join(re.findall(r"^\w*COOKIE\w*.*$", code, re.M))))
    assert {"wp_visitor", "waypost_theme"} <= cookies
    assert {name for name in cookies if f"`{name}`" not in text} == set()


def test_documents_name_existing_settings() -> None:
    """Also without quotes, in blocks of commands, and in the files for deployment."""
    names = {f"WAYPOST_{name.upper()}" for name in Settings.model_fields}
    secrets = {settings.secret_variable(name) for name in settings.SECRETS}
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "deploy").iterdir(),
        *ROOT.glob("client/*.md"),
    ]
    for page in pages:
        unknown = set(_SETTING.findall(page.read_text())) - names - secrets - _NOT_OF_THE_SERVICE
        assert unknown == set(), page.relative_to(ROOT)


def test_audit_reports_vulnerable_and_unchecked_python_packages() -> None:
    vulnerability = {"id": "PYSEC-2020-1", "fix_versions": ["1.1"]}
    packages = [
        {"name": "safe", "version": "2.0", "vulns": []},
        {"name": "old", "version": "1.0", "vulns": [vulnerability]},
        {"name": "private", "skip_reason": "Dependency not found on PyPI: private (1.0)"},
    ]
    report = audit.read_python_report(json.dumps({"dependencies": packages, "fixes": []}))
    assert (report.checked, list(report.vulnerable)) == (2, ["old 1.0: PYSEC-2020-1, fixed in ['1.1']"])
    assert list(report.unchecked) == ["Dependency not found on PyPI: private (1.0)"]


def test_audit_reports_vulnerable_npm_packages_and_refusal_of_registry() -> None:
    total = {"dependencies": {"total": 7}}
    vulnerable = {"htmx": {"name": "htmx", "severity": "high", "range": "<2.0"}}
    report = audit.read_npm_report(json.dumps({"vulnerabilities": vulnerable, "metadata": total}))
    assert (report.checked, list(report.vulnerable), list(report.unchecked)) == (7, ["htmx: high, <2.0"], [])
    refused = audit.read_npm_report(json.dumps({"message": "405 Method Not Allowed", "error": {"summary": ""}}))
    assert (refused.checked, list(refused.unchecked)) == (0, ["all packages: 405 Method Not Allowed"])
