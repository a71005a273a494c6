"""Generate deploy/grafana-dashboard.json, the dashboard of the metrics for Grafana.

usage: .venv/bin/python scripts/generate_grafana.py        (or: make docs)

tests/docs/test_monitoring.py fails when the generated file is outdated.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

TARGET = Path(__file__).resolve().parent.parent / "deploy" / "grafana-dashboard.json"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_NODES = '{job="$job", instance=~"$instance"}'
_COLUMNS = 24


class Panel(NamedTuple):
    """A panel. `queries` are expressions by legend; `$nodes` in them stands for the selected nodes."""

    title: str
    queries: Mapping[str, str]
    unit: str = "short"
    type: str = "timeseries"
    width: int = 8
    description: str = ""


def _rate(metric: str, by: str = "") -> str:
    return f"sum{f' by ({by})' if by else ''} (rate({metric}$nodes[$__rate_interval]))"


def _percentiles(metric: str) -> dict[str, str]:
    buckets = f"sum by (le) (rate({metric}_seconds_bucket$nodes[$__rate_interval]))"
    return {f"{percent} %": f"histogram_quantile(0.{percent}, {buckets})" for percent in (50, 95, 99)}


_STATES: Sequence[Panel] = (
    Panel("Nodes that answer", {"": 'sum(up{job="$job", instance=~"$instance"})'}),
    Panel("Database", {"": "min(waypost_database_up$nodes)"}, "bool_yes_no"),
    Panel("File storage", {"": "min(waypost_storage_up$nodes)"}, "bool_yes_no"),
    Panel("Clicks lost, 24 h", {"": "sum(increase(waypost_clicks_lost_total$nodes[24h]))"}),
    Panel("Internal errors, 24 h", {"": "sum(increase(waypost_errors_total$nodes[24h]))"}),
    Panel("Since the last backup", {"": "time() - max(waypost_last_backup_timestamp_seconds$nodes)"}, "s"),
)
_SECTIONS: Mapping[str, Sequence[Panel]] = {
    "Visits": (
        Panel(
            "Redirects",
            {"{{path}}": _rate("waypost_redirects_total", "path")},
            "reqps",
            description="hot: from memory. record: decided from the record of the link. full: everything else.",
        ),
        Panel("Refused visits", {"{{why}}": _rate("waypost_refusals_total", "why")}, "reqps"),
        Panel("Time of visits outside the fast path", _percentiles("waypost_visit"), "s"),
        Panel("Names read from the database", {"names": _rate("waypost_cache_misses_total")}, "reqps"),
        Panel("Redirects in memory", {"{{instance}}": "waypost_hot_names$nodes"}),
        Panel("Memory of these redirects", {"{{instance}}": "waypost_hot_bytes$nodes"}, "bytes"),
    ),
    "Clicks": (
        Panel("Clicks counted", {"clicks": _rate("waypost_clicks_ingested_total")}, "reqps"),
        Panel(
            "Journal that is not counted yet",
            {"{{instance}}": "waypost_journal_lag_bytes$nodes"},
            "bytes",
            description="Normally below the clicks of a few seconds. It grows while the database does not answer.",
        ),
        Panel(
            "Clicks lost, lines damaged",
            {
                "lost": "sum(increase(waypost_clicks_lost_total$nodes[$__rate_interval]))",
                "damaged": "sum(increase(waypost_journal_torn_total$nodes[$__rate_interval]))",
            },
        ),
    ),
    "API and dashboard": (
        Panel("API requests by status", {"{{status}}": _rate("waypost_api_requests_total", "status")}, "reqps"),
        Panel("Time of API requests", _percentiles("waypost_api"), "s"),
        Panel("Time of the dashboard", _percentiles("waypost_dashboard"), "s"),
    ),
    "Machine": (
        Panel("Requests rejected by load shedding", {"{{instance}}": _rate("waypost_shed_total", "instance")}, "reqps"),
        Panel("Free space of the data folder", {"{{instance}}": "waypost_disk_free_bytes$nodes"}, "bytes"),
        Panel("Versions", {"{{version}}": "count by (version) (waypost_info$nodes)"}, description="Nodes by version."),
    ),
    "Dead links": (
        Panel("Checks", {"{{result}}": _rate("waypost_link_checks_total", "result")}, "reqps", width=12),
        Panel("Links with a dead destination", {"links": "max(waypost_dead_links$nodes)"}, width=12),
    ),
}


def dashboard() -> str:
    """Return the dashboard as JSON."""
    panels: list[dict[str, Any]] = []
    width = _COLUMNS // len(_STATES)
    y = _add_row(panels, [panel._replace(type="stat", width=width) for panel in _STATES], y=0, height=4)
    for title, section in _SECTIONS.items():
        place = {"x": 0, "y": y, "w": _COLUMNS, "h": 1}
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "collapsed": False, "gridPos": place})
        y = _add_row(panels, section, y=y + 1, height=8)
    content = {
        "title": "waypost",
        "uid": "waypost",
        "tags": ["waypost"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": panels,
    }
    return json.dumps(content, indent=2) + "\n"


def _variables() -> list[dict[str, Any]]:
    instances = {"query": 'label_values(up{job="$job"}, instance)', "refId": "instances"}
    jobs = {"query": "label_values(waypost_info, job)", "refId": "jobs"}
    common = {"type": "query", "datasource": _SOURCE, "refresh": 2, "sort": 1}
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        {"name": "job", "label": "Job", "query": jobs, **common},
        {"name": "instance", "label": "Node", "query": instances, "multi": True, "includeAll": True, **common},
    ]


def _add_row(panels: list[dict[str, Any]], row: Sequence[Panel], *, y: int, height: int) -> int:
    """Append panels from left to right, in as many rows as they need. Return the position below them."""
    x = 0
    for panel in row:
        if x + panel.width > _COLUMNS:
            x, y = 0, y + height
        place = {"x": x, "y": y, "w": panel.width, "h": height}
        panels.append({"id": len(panels) + 1, **_panel(panel), "gridPos": place})
        x += panel.width
    return y + height


def _panel(panel: Panel) -> dict[str, Any]:
    targets = [
        {
            "datasource": _SOURCE,
            "expr": query.replace("$nodes", _NODES),
            "legendFormat": legend,
            "refId": chr(65 + place),
        }
        for place, (legend, query) in enumerate(panel.queries.items())
    ]
    return {
        "type": panel.type,
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }


if __name__ == "__main__":
    TARGET.write_text(dashboard())
