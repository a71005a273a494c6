"""Numbers for the operator's Prometheus: each process counts for itself and saves its counts once a second.

Whoever is asked adds up what all processes of this machine saved, so one answer speaks for every worker.
"""

import json
import os
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import CollectorRegistry

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Every counter there is: its help, and the name of its one label ("" for none).
COUNTERS = {
    "redirects": ("Visits answered with a redirect, by path: lane is the fast one.", "path"),
    "refusals": ("Visits refused, by reason.", "why"),
    "api_requests": ("Requests to the API, by status.", "status"),
    "clicks_lost": ("Clicks that could not be written to the journal.", ""),
    "clicks_ingested": ("Visits counted from the journal.", ""),
    "journal_torn": ("Journal lines that could not be read.", ""),
    "link_checks": ("Checks of the destinations of links, by result.", "result"),
    "shed": ("Requests refused at once because too many waited already.", ""),
    "errors": ("Requests that ended in a fault of the service.", ""),
}
TIMES = {"api": "Seconds to answer an API request.", "visit": "Seconds to answer a visit outside the fast lane."}


class Meter:
    """The counts of this process; of a part of it that has a name."""

    def __init__(self, folder: Path, part: str = "") -> None:
        self._path = folder / f"{os.getpid()}{part}.json"
        self._counts: Counter[str] = Counter()
        self._changed = False
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def count(self, name: str, label: str = "", by: int = 1) -> None:
        """Add to a counter of COUNTERS."""
        with self._lock:
            self._counts[f"{name}:{label}"] += by
            self._changed = True

    def time(self, name: str, seconds: float) -> None:
        """Note how long something of TIMES took."""
        with self._lock:
            self._counts[f"{name}_bucket:{bisect_left(BUCKETS, seconds)}"] += 1
            self._counts[f"{name}_micros:"] += round(seconds * 1e6)
            self._changed = True

    def save(self) -> None:
        """Let the other processes see the counts."""
        with self._lock:
            if not self._changed:
                return
            self._changed = False
            told = json.dumps(self._counts)
        new = self._path.with_suffix(".new")
        new.write_text(told)
        new.replace(self._path)


def clear(folder: Path) -> None:
    """Forget what the processes of an earlier start counted."""
    for path in folder.glob("*.json") if folder.is_dir() else ():
        path.unlink(missing_ok=True)


def exposition(folder: Path, gauges: dict[str, tuple[str, float]]) -> bytes:
    """The text that Prometheus reads: the counts of all processes, and `gauges` by name with help and value."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Sum(_all(folder), gauges))
    return generate_latest(registry)


class _Sum:
    """What prometheus-client asks for its metrics."""

    def __init__(self, counts: Counter[str], gauges: dict[str, tuple[str, float]]) -> None:
        self._counts = counts
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        for name, (words, label) in COUNTERS.items():
            family = CounterMetricFamily(f"waypost_{name}", words, labels=[label] if label else [])
            for value, n in self._of(name):
                family.add_metric([value] if label else [], n)
            yield family
        for name, words in TIMES.items():
            yield self._histogram(name, words)
        for name, (words, now) in self._gauges.items():
            yield GaugeMetricFamily(f"waypost_{name}", words, value=now)

    def _of(self, name: str) -> Iterable[tuple[str, int]]:
        found = [(key.partition(":")[2], n) for key, n in sorted(self._counts.items()) if key.startswith(f"{name}:")]
        return found or ([] if COUNTERS[name][1] else [("", 0)])

    def _histogram(self, name: str, words: str) -> Metric:
        running, buckets = 0, []
        for place, bound in enumerate((*map(str, BUCKETS), "+Inf")):
            running += self._counts[f"{name}_bucket:{place}"]
            buckets.append((bound, running))
        seconds = self._counts[f"{name}_micros:"] / 1e6
        return HistogramMetricFamily(f"waypost_{name}_seconds", words, buckets=buckets, sum_value=seconds)


def _all(folder: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for path in folder.glob("*.json"):
        try:
            counts.update(json.loads(path.read_text()))
        except (OSError, ValueError):
            continue  # the metrics of one process are missing for a moment
    return counts
