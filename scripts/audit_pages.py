"""Lighthouse on every page of the demo: `make audit-pages`, or `python -m scripts.audit_pages [PATTERN]`.

Measures as on a phone with slow 4G. The exit status is 1 if a page has a performance below 95 or an accessibility below
100. Other work on the machine lowers the performance, so the best of three runs counts. PATTERN is a regular expression
of the paths. Requires Chromium; installs Lighthouse from the npm registry into scripts/lighthouse.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripts.demo_site import PUBLIC, SIGNED_OUT, add_other_items, dashboard_paths, demo_site, signed_in
from tests.support.browser import chromium
from tests.support.npm_tools import modules, node, run

_FOLDER = Path(__file__).with_name("lighthouse")
_LIMITS = {"performance": 95, "accessibility": 100}
_SANDBOXED = ("/dashboard/admin/brand/preview", "/dashboard/domains/1/brand/preview")
"""Frames without scripts, in which axe-core cannot run. They show the same pages as the paths of PUBLIC."""
_RUNS = 3
_OPTIONS = (
    *("--quiet", "--output=json", "--only-categories=performance,accessibility", "--disable-full-page-screenshot"),
    *("--ignore-status-code", "--chrome-flags=--headless --no-sandbox"),
)
_METRICS = ("first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift")


def main() -> None:
    """Start the demo, measure its pages, print a line for each, and exit with the result."""
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    os.environ["CHROME_PATH"] = chromium()
    with demo_site() as site, tempfile.TemporaryDirectory() as temporary:
        add_other_items(site, Path(temporary))
        own = Path(temporary) / "headers.json"
        with signed_in(site) as client:
            own.write_text(json.dumps({"Cookie": f"waypost={client.cookies['waypost']}"}))
        pages: list[tuple[str, Path | None]] = [(path, own) for path in dashboard_paths() if path not in _SANDBOXED]
        pages += [(path, None) for path in (*SIGNED_OUT, *PUBLIC)]
        results = [_audit(site.base, *page) for page in pages if pattern.search(page[0])]
    print(f"{len(results)} pages, {results.count(False)} below the limits")
    sys.exit(0 if results and all(results) else 1)


def _audit(base: str, path: str, headers: Path | None) -> bool:
    """Print the best scores of a page; return whether they are high enough."""
    best: dict[str, Any] = {}
    for _ in range(_RUNS):
        report = _report(base + path, headers)
        if not best or _score(report, "performance") > _score(best, "performance"):
            best = report
        if _is_enough(best):
            break
    scores = " ".join(f"{_score(best, category):>4}" for category in _LIMITS)
    metrics = " ".join(f"{best['audits'][name].get('displayValue', '-'):>8}" for name in _METRICS)
    print(f"{scores} {metrics}  {path}{'' if _is_enough(best) else '  BELOW'}", flush=True)
    for audit in best["audits"].values():
        if not _is_enough(best) and audit.get("score") == 0 and audit["id"] in _accessibility_audits(best):
            print(f"           {audit['title']}")
    return _is_enough(best)


def _report(url: str, headers: Path | None) -> dict[str, Any]:
    options = (*_OPTIONS, *([f"--extra-headers={headers}"] if headers else ()))
    output = run(node(), modules(_FOLDER) / "lighthouse" / "cli" / "index.js", url, *options, codes=(0, 1))
    report: dict[str, Any] = json.loads(output)
    return report


def _accessibility_audits(report: dict[str, Any]) -> set[str]:
    return {reference["id"] for reference in report["categories"]["accessibility"]["auditRefs"]}


def _score(report: dict[str, Any], category: str) -> int:
    """Return a score from 0 to 100; 0 if the page could not be measured."""
    return round(100 * (report["categories"][category]["score"] or 0))


def _is_enough(report: dict[str, Any]) -> bool:
    return all(_score(report, category) >= limit for category, limit in _LIMITS.items())


if __name__ == "__main__":
    main()
