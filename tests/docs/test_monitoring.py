"""Metrics, alert rules, the Grafana dashboard and log events fit the service and its documentation."""

import ast
import json
import re
import runpy
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.support.server import serving
from tests.support.source import ROOT, SOURCE
from tests.support.system_packages import program
from waypost.core import metrics

ALERTS, DASHBOARD = ROOT / "deploy" / "alerts.yaml", ROOT / "deploy" / "grafana-dashboard.json"
PAGE, LOGS = ROOT / "docs" / "monitoring.md", ROOT / "docs" / "logs.md"
_LEVELS = {"debug", "info", "warning", "error", "exception"}
_ADDED_BY_PROMETHEUS = {"instance", "job"}


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The labels of each metric of a running service with all counters."""
    folder = tmp_path_factory.mktemp("node")
    with serving(folder, dead_links_days=7) as server:
        meter = metrics.Meter(folder / "metrics", "test")
        for name, (_, label) in metrics._COUNTERS.items():
            meter.count(name, "x" if label else "")
        meter.save()
        text = server.call("GET", "/metrics").text
    labels: dict[str, set[str]] = {"up": set()}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


def _rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def _queries() -> list[str]:
    """All expressions of the rules and the dashboard, with the variables of Grafana filled in."""
    targets = [target for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel.get("targets", ())]
    expressions = [*(rule["expr"] for rule in _rules()), *(target["expr"] for target in targets)]
    return [query.replace("$__rate_interval", "1m") for query in expressions]


def _selectors(node: Any) -> Iterator[promql_parser.VectorSelector]:
    """Yield the selectors in a parsed expression."""
    if isinstance(node, promql_parser.MatrixSelector):
        node = node.vector_selector
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    children = [getattr(node, name, None) for name in ("expr", "lhs", "rhs", "param")]
    for child in (*children, *getattr(node, "args", ())):
        if child is not None:
            yield from _selectors(child)


@pytest.mark.parametrize("query", _queries())
def test_query_reads_metrics_and_labels_of_the_service(query: str, exposed: dict[str, set[str]]) -> None:
    parsed = promql_parser.parse(query)
    selectors = list(_selectors(parsed))
    assert len(selectors) == len(re.findall(r"\b(?:waypost_\w+|up)\b", query))
    for selector in selectors:
        assert selector.name in exposed
        known = exposed[selector.name] | _ADDED_BY_PROMETHEUS
        assert {matcher.name for matcher in selector.matchers.matchers} <= known
        grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
        assert grouped <= known | {"le"}


def test_each_alert_has_its_section() -> None:
    documented = re.findall(r"^### (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert sorted(documented) == sorted(rule["alert"] for rule in _rules())
    for rule in _rules():
        assert rule["annotations"]["runbook"] == f"docs/monitoring.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in ("critical", "warning")


def test_rules_alert_on_each_fault_and_not_on_a_healthy_node(tmp_path: Path) -> None:
    promtool = program("promtool", "prometheus")
    for path in (ALERTS, ROOT / "tests" / "docs" / "alerts_test.yaml"):
        shutil.copy(path, tmp_path)
    for command in (["check", "rules", ALERTS.name], ["test", "rules", "alerts_test.yaml"]):
        completed = subprocess.run([promtool, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert completed.returncode == 0, completed.stdout + completed.stderr


def test_grafana_dashboard_is_up_to_date() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_grafana.py"))
    assert DASHBOARD.read_text() == generator["dashboard"](), "run make docs"
    places = [panel["gridPos"] for panel in json.loads(DASHBOARD.read_text())["panels"]]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))  # no panel covers another
    assert max(x for x, _ in cells) < 24


def test_every_metric_is_documented_with_its_labels(exposed: dict[str, set[str]]) -> None:
    families = {re.sub(r"_(bucket|sum|count)$", "", name): labels - {"le"} for name, labels in exposed.items()}
    families = {name: labels for name, labels in families.items() if name != "up" and not name.endswith("_created")}
    rows = re.findall(r"^\| (`waypost_\w+`(?:, `waypost_\w+`)*) \| ([^|]*)\|", PAGE.read_text(), re.MULTILINE)
    documented = {
        name: set(re.findall(r"`(\w+)`", labels)) for names, labels in rows for name in re.findall(r"`(\w+)`", names)
    }
    assert documented == families


def test_every_log_event_is_documented_with_its_fields() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| (\w+) \| ([^|]*)\| .+ \|$", LOGS.read_text(), re.MULTILINE)
    documented = {
        (event, level): (set(re.findall(r"`([^`]+)`", loggers)), set(re.findall(r"`(\w+)`", fields)))
        for event, loggers, level, fields in rows
    }
    logged: dict[tuple[str, str], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for path in SOURCE.rglob("*.py"):
        for event, logger, level, names in _logged(ast.parse(path.read_text())):
            loggers, fields = logged[event, "error" if level == "exception" else level]
            loggers.add(logger)
            fields.update(names)
    assert documented == dict(logged)


def _logged(tree: ast.Module) -> Iterator[tuple[str, str, str, set[str]]]:
    """Yield the event, logger, level and fields of each log call of a module."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    loggers = {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "structlog.get_logger"
    }
    dicts = {
        ast.unparse(node.targets[0]): node.value.keys
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
    }
    for call in calls:
        logger, _, level = ast.unparse(call.func).rpartition(".")
        if logger not in loggers or level not in _LEVELS:
            continue
        fields: set[str] = set()
        for keyword in call.keywords:
            keys = dicts[ast.unparse(keyword.value)] if keyword.arg is None else [ast.Constant(keyword.arg)]
            fields.update(ast.literal_eval(key) for key in keys if key is not None)
        yield ast.literal_eval(call.args[0]), loggers[logger], level, fields
