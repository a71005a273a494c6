"""Metrics for Prometheus. Each process counts in memory and saves its counts to a file once a second.

A scrape adds up the files of all processes of this machine, so that any worker answers for all of them.
"""

import json
import os
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from waypost import atomic_files

CounterName = Literal[
    "redirects",
    "cache_misses",
    "refusals",
    "api_requests",
    "clicks_lost",
    "clicks_ingested",
    "journal_torn",
    "link_checks",
    "shed",
    "errors",
]
HistogramName = Literal["api", "dashboard", "visit"]

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
# Help text and label name ("" for none) of every counter.
_COUNTERS: Mapping[CounterName, tuple[str, str]] = {
    "redirects": (
        "Visits answered with a redirect. Path hot: the response was in memory; record: decided from the link's or"
        " code's record; full: everything else.",
        "path",
    ),
    "cache_misses": ("Visits to names whose record had to be read from the database.", ""),
    "refusals": ("Visits refused, by reason.", "why"),
    "api_requests": ("Requests to the API, by status.", "status"),
    "clicks_lost": ("Clicks that could not be written to the journal.", ""),
    "clicks_ingested": ("Visits counted from the journal.", ""),
    "journal_torn": ("Journal lines that could not be read.", ""),
    "link_checks": ("Checks of the destinations of links, by result.", "result"),
    "shed": ("Requests rejected by load shedding.", ""),
    "errors": ("Requests that failed with an internal error.", ""),
}
_HISTOGRAMS: Mapping[HistogramName, str] = {
    "api": "Seconds to answer an API request.",
    "dashboard": "Seconds to answer a request to the dashboard.",
    "visit": "Seconds to answer a visit outside the fast path.",
}


class Gauge(NamedTuple):
    """A value read at the time of the scrape."""

    help: str
    value: float
    labels: Mapping[str, str] = MappingProxyType({})


class Meter:
    """Counts of one process. `part` distinguishes several meters of a process."""

    def __init__(self, folder: Path, part: str = "") -> None:
        self._path = folder / f"{os.getpid()}{part}.json"
        self._counts: Counter[str] = Counter()
        self._is_changed = False
        self._lock = threading.Lock()
        self._saving = threading.Lock()  # a second one, so that counting never waits for the disk
        folder.mkdir(parents=True, exist_ok=True)

    def count(self, name: CounterName, label: str = "", by: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[f"{name}:{label}"] += by
            self._is_changed = True

    def time(self, name: HistogramName, seconds: float) -> None:
        """Add a duration to a histogram."""
        with self._lock:
            self._counts[f"{name}_bucket:{bisect_left(_BUCKETS, seconds)}"] += 1
            self._counts[f"{name}_micros:"] += round(seconds * 1e6)
            self._is_changed = True

    def save(self) -> None:
        """Publish the counts to the other processes. Raises OSError; the next call then tries again."""
        with self._saving:
            with self._lock:
                if not self._is_changed:
                    return
                self._is_changed = False
                content = json.dumps(self._counts).encode()
            try:
                with atomic_files.replacing(self._path) as file:
                    file.write(content)
            except OSError:
                self._is_changed = True
                raise


def clear(folder: Path) -> None:
    """Delete the counts of processes of an earlier start."""
    for pattern in ("*.json", f"*{atomic_files.SUFFIX}"):
        for path in folder.glob(pattern) if folder.is_dir() else ():
            path.unlink(missing_ok=True)


def exposition(folder: Path, gauges: Mapping[str, Gauge]) -> bytes:
    """Return the counts of all processes, and `gauges` by name, in the text format of Prometheus."""
    return generate_latest(_MetricsCollector(_sum_of_processes(folder), gauges))


class _MetricsCollector(Collector):
    """The metrics of all processes, for prometheus-client."""

    def __init__(self, counts: Counter[str], gauges: Mapping[str, Gauge]) -> None:
        self._counts = counts
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        for name, (help_text, label) in _COUNTERS.items():
            family = CounterMetricFamily(f"waypost_{name}", help_text, labels=[label] if label else [])
            for value, count in self._samples(name):
                family.add_metric([value] if label else [], count)
            yield family
        for histogram, help_text in _HISTOGRAMS.items():
            yield self._histogram(histogram, help_text)
        for gauge_name, gauge in self._gauges.items():
            gauge_family = GaugeMetricFamily(f"waypost_{gauge_name}", gauge.help, labels=list(gauge.labels))
            gauge_family.add_metric(list(gauge.labels.values()), gauge.value)
            yield gauge_family

    def _samples(self, name: CounterName) -> Iterable[tuple[str, int]]:
        """Return the label values and counts. A counter without a label always has one sample."""
        samples = [(key.partition(":")[2], n) for key, n in sorted(self._counts.items()) if key.startswith(f"{name}:")]
        return samples or ([] if _COUNTERS[name][1] else [("", 0)])

    def _histogram(self, name: HistogramName, help_text: str) -> Metric:
        total, buckets = 0, []
        for position, bound in enumerate((*map(str, _BUCKETS), "+Inf")):
            total += self._counts[f"{name}_bucket:{position}"]
            buckets.append((bound, total))
        seconds = self._counts[f"{name}_micros:"] / 1e6
        return HistogramMetricFamily(f"waypost_{name}_seconds", help_text, buckets=buckets, sum_value=seconds)


def _sum_of_processes(folder: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for path in folder.glob("*.json"):
        with suppress(OSError, ValueError):  # the metrics of one process are missing for a moment
            counts.update(json.loads(path.read_text()))
    return counts
