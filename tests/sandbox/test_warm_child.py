"""A child that runs many tasks: when it is kept, when a new one starts, and how tasks wait."""

import threading
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.support.load import until
from tests.support.threads import join
from waypost.core.sandbox import process
from waypost.core.sandbox.process import Busy, Ended, Limits, WarmChild


@pytest.fixture(autouse=True)
def _children_end() -> Iterator[None]:
    yield
    process.end_all()


def _warm_child(**options: Any) -> WarmChild:
    defaults: dict[str, Any] = {"max_tasks": 100, "idle_seconds": 60, "max_waiting": 10, "wait_seconds": 60}
    limits = options.pop("limits", Limits())
    return WarmChild("tests.support.sandbox_targets:work", limits, **{**defaults, **options})


def test_tasks_share_child_up_to_number_of_tasks() -> None:
    child = _warm_child(max_tasks=3)
    pids = [child.call("", b"").value for _ in range(7)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]


@pytest.mark.parametrize("task", ["fill", "crash"])
def test_task_that_ends_child_fails_alone(task: str) -> None:
    child = _warm_child()
    first = child.call("", b"").value
    with pytest.raises(Ended):
        child.call(task, b"")
    assert child.call("", b"").value != first


def test_child_that_was_killed_without_task_is_replaced() -> None:
    child = _warm_child()
    first = child.call("", b"").value
    process.end_all()
    assert child.call("", b"").value != first


def test_child_without_tasks_ends() -> None:
    pid = _warm_child(idle_seconds=0.1).call("", b"").value
    until(lambda: not psutil.pid_exists(pid))


def test_child_survives_thread_that_used_it_first() -> None:
    child = _warm_child()
    pids: list[int] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: pids.append(child.call("", b"").value))
        thread.start()
        join(thread)
    assert pids[0] == pids[1]


def test_tasks_above_queue_are_refused() -> None:
    child = _warm_child(max_waiting=1)
    errors: list[Exception] = []

    def run() -> None:
        try:
            child.call("wait", b"")
        except (Busy, Ended) as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]  # one runs, one waits
    for thread in threads:
        thread.start()
    until(lambda: errors)
    assert isinstance(errors[0], Busy)
    while any(thread.is_alive() for thread in threads):
        process.end_all()
        threads[0].join(0.02)
    assert isinstance(errors[-1], Ended)


def test_task_that_waits_too_long_is_refused() -> None:
    child = _warm_child(wait_seconds=-60, limits=Limits(wall=60))
    with pytest.raises(Busy):
        child.call("wait", b"")
