"""The metrics are complete under parallel scrapes, and while the disk is full."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.server import Server, at_once, processes, serving
from waypost.core.metrics import Meter, sum_of_processes

_THREADS, _SCRAPES = 12, 25


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("node")) as server:
        yield server


def _total(text: str, name: str) -> int:
    return round(sum(float(value) for value in re.findall(rf"^waypost_{name}_total(?:{{.*}})? (\S+)$", text, re.M)))


def test_parallel_scrapes_all_succeed_and_counts_never_decrease(node: Server) -> None:
    def scrape(_thread: int) -> list[int]:
        counts = []
        for _ in range(_SCRAPES):
            node.call("GET", "/api/account")  # without a key, so it changes the counts only
            response = node.call("GET", "/metrics")
            assert response.status_code == 200, response.text
            counts.append(_total(response.text, "api_requests"))
        return counts

    for counts in at_once([partial(scrape, thread) for thread in range(_THREADS)]):
        assert counts == sorted(counts)
    assert _total(node.call("GET", "/metrics").text, "api_requests") == _THREADS * _SCRAPES


def test_parallel_scrapes_count_each_cache_miss_once(node: Server) -> None:
    before = _total(node.call("GET", "/metrics").text, "cache_misses")

    def visit_and_scrape(thread: int) -> None:
        for number in range(_SCRAPES):
            assert node.call("GET", f"/unknown-{thread}-{number}").status_code == 404
            node.call("GET", "/metrics")

    at_once([partial(visit_and_scrape, thread) for thread in range(_THREADS)])
    after = _total(node.call("GET", "/metrics").text, "cache_misses")
    assert after - before == _THREADS * _SCRAPES


def test_metrics_are_answered_while_they_cannot_be_saved(node: Server, tmp_path: Path) -> None:
    folder = node.log.parent / "metrics"
    folder.rename(tmp_path / "metrics")
    try:
        response = node.call("GET", "/metrics")
        assert (response.status_code, "waypost_disk_free_bytes" in response.text) == (200, True)
    finally:
        (tmp_path / "metrics").rename(folder)


def test_start_deletes_unfinished_files_of_metrics(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    abandoned = tmp_path / "metrics" / "1.json.killed.partial"
    abandoned.write_text("{")
    with serving(tmp_path) as server:
        assert processes(server)[0]
        assert not abandoned.exists()


def test_counts_are_saved_by_the_next_call_after_a_failed_one(tmp_path: Path) -> None:
    meter = Meter(tmp_path / "metrics")
    meter.count("errors")
    (tmp_path / "metrics").rename(tmp_path / "away")
    with pytest.raises(FileNotFoundError):
        meter.save()
    (tmp_path / "away").rename(tmp_path / "metrics")
    meter.save()
    assert sum_of_processes(tmp_path / "metrics") == {"errors:": 1}


def test_interrupted_save_keeps_the_counts_of_the_last_one(tmp_path: Path) -> None:
    meter = Meter(tmp_path)
    for _ in range(3):
        meter.count("errors")
        meter.save()
    complete = meter.path.read_bytes()
    meter.count("errors")
    meter.save()
    written = meter.path.read_bytes()
    torn = next(position for position, pair in enumerate(zip(complete, written, strict=True)) if len(set(pair)) == 2)
    for end in range(torn + 1, torn + 30):
        meter.path.write_bytes(written[:end] + complete[end:])
        assert sum_of_processes(tmp_path)["errors:"] in (3, 4)
