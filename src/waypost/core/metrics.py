"""Metrics for Prometheus. Each process counts in memory and saves its counts to a file once a second.

A scrape adds up the files of all processes of this machine, so that any worker answers for all of them. The file of a
process has its final size from the start, so that counts are saved on a full disk too. It has two slots, which are
written in turns: a reader uses the newest complete one.
"""

import errno
import json
import os
import struct
import threading
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

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
    "database_damaged",
]
HistogramName = Literal["api", "dashboard", "visit"]
QueueName = Literal["emails", "webhooks"]

_SUFFIX = ".counts"
_QUEUES: tuple[QueueName, ...] = get_args(QueueName)
_SLOT_BYTES = 16_384
_SLOT_HEADER = struct.Struct(">IIQ")
"""Of a slot: checksum and length of its counts, and the number of the save."""
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
    "database_damaged": ("Statements that found damaged data in the database.", ""),
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
        self.path = folder / f"{os.getpid()}{part}{_SUFFIX}"
        self._counts: Counter[str] = Counter()
        self._saves = 0
        self._is_changed = False
        self._lock = threading.Lock()
        self._saving = threading.Lock()  # a second one, so that counting never waits for the disk
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # a full disk; `save` tries again
            _write_slot(self.path, self._saves, b"{}")

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

    def set_queue(self, name: QueueName, length: int) -> None:
        """Store how many entries wait in a queue of this process."""
        with self._lock:
            self._counts[f"queue:{name}"] = length
            self._is_changed = True

    def save(self) -> None:
        """Publish the counts to the other processes. Raises OSError; the next call then tries again."""
        with self._saving:
            with self._lock:
                if not self._is_changed:
                    return
                self._is_changed = False
                content = json.dumps(self._counts).encode()
            self._saves += 1
            try:
                _write_slot(self.path, self._saves, content)
            except OSError:
                self._is_changed = True
                raise

    def counts(self) -> Counter[str]:
        """Return the counts, which may not be saved yet."""
        with self._lock:
            return self._counts.copy()


def clear(folder: Path) -> None:
    """Delete the counts of processes of an earlier start, also of older versions."""
    for path in folder.iterdir() if folder.is_dir() else ():
        path.unlink(missing_ok=True)


def exposition(folder: Path, gauges: Mapping[str, Gauge], own: Meter | None = None) -> bytes:
    """Return the counts of all processes, and `gauges` by name, in the text format of Prometheus.

    The counts of `own` need not be saved.
    """
    return generate_latest(_MetricsCollector(sum_of_processes(folder, own), gauges))


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


def sum_of_processes(folder: Path, own: Meter | None = None) -> Counter[str]:
    """Return the counts of all processes of this machine by `name:label`. Those of `own` need not be saved."""
    counts = own.counts() if own else Counter[str]()
    for path in folder.glob(f"*{_SUFFIX}"):
        if own is None or path != own.path:
            with suppress(OSError):  # the process has just ended
                counts.update(_read_slots(path.read_bytes()))
    return counts


def queue_lengths(folder: Path, own: Meter) -> Mapping[QueueName, int]:
    """Return how many entries wait in the queues of all running processes of this machine."""
    lengths = Counter({name: own.counts()[f"queue:{name}"] for name in _QUEUES})
    for path in folder.glob(f"*{_SUFFIX}"):
        if path != own.path and _is_running(path):
            with suppress(OSError):  # the process has just ended
                counts = _read_slots(path.read_bytes())
                lengths.update({name: counts.get(f"queue:{name}", 0) for name in _QUEUES})
    return lengths


def _is_running(path: Path) -> bool:
    """Return whether the process of a file still runs: a killed one leaves its last lengths."""
    process = "".join(takewhile(str.isdigit, path.name))
    try:
        os.kill(int(process), 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True


def _write_slot(path: Path, number: int, content: bytes) -> None:
    """Write a slot of a file, which gets its final size with the first one. Raises OSError."""
    header = _SLOT_HEADER.pack(zlib.crc32(content), len(content), number)
    slot = (header + content).ljust(_SLOT_BYTES, b"\0")
    assert len(slot) == _SLOT_BYTES, "too many labels"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(fd).st_size < 2 * _SLOT_BYTES and os.pwrite(fd, bytes(2 * _SLOT_BYTES), 0) < 2 * _SLOT_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.pwrite(fd, slot, number % 2 * _SLOT_BYTES)
    finally:
        os.close(fd)


def _read_slots(data: bytes) -> Mapping[str, int]:
    """Return the counts in the newest complete slot of a file; none if it has none yet."""
    newest, counts = -1, b"{}"
    for start in (0, _SLOT_BYTES):
        slot = data[start : start + _SLOT_BYTES]
        if len(slot) == _SLOT_BYTES:
            checksum, length, number = _SLOT_HEADER.unpack_from(slot)
            content = slot[_SLOT_HEADER.size : _SLOT_HEADER.size + length]
            if number > newest and length and zlib.crc32(content) == checksum:
                newest, counts = number, content
    saved: dict[str, int] = json.loads(counts)
    return saved
