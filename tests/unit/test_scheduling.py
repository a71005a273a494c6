"""Redirects come before requests of the API and the ingester, as the kernel sees their threads."""

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from sqlalchemy import literal, select

from waypost.api.threads import RequestThreads
from waypost.db.database import Database

_SCRIPT = """
import json, os, threading, anyio
from waypost import scheduling
from waypost.api.threads import RequestThreads

def look():
    thread = threading.get_native_id()
    with open(f"/proc/self/task/{{thread}}/sched") as file:
        text = file.read()
    return os.getpriority(os.PRIO_PROCESS, thread), os.sched_getscheduler(thread), text

{prepare}
print(json.dumps([look(), anyio.run(RequestThreads().run, look), anyio.run(anyio.to_thread.run_sync, look)]))
"""
_SLICE = re.compile(r"^se\.slice\s*:\s*(\d+)$", re.MULTILINE)
_OF_THIS_PROCESS = Path("/proc/self/sched")
pytestmark = pytest.mark.skipif(
    not (_OF_THIS_PROCESS.exists() and _SLICE.search(_OF_THIS_PROCESS.read_text())),
    reason="the kernel does not show the slices of threads: Linux does since 6.12",
)


class Thread(NamedTuple):
    """The priority of a thread. The slice is in nanoseconds."""

    niceness: int
    policy: int
    slice: int


def _threads(prepare: str) -> list[Thread]:
    """Return the event loop, a thread of the API and another one, in a new process that runs `prepare` first."""
    command = [sys.executable, "-c", _SCRIPT.format(prepare=prepare)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [
        Thread(niceness, policy, int(_SLICE.findall(details)[0])) for niceness, policy, details in json.loads(printed)
    ]


def test_event_loop_of_worker_comes_before_its_requests() -> None:
    event_loop, request, other = _threads("scheduling.run_first()")
    assert event_loop == Thread(os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, 100_000)
    assert request == Thread(19, os.SCHED_BATCH, other.slice)
    assert other.slice > event_loop.slice
    assert other[:2] == (event_loop.niceness, os.SCHED_OTHER)


def test_service_started_with_low_priority_keeps_it() -> None:
    event_loop, request, other = _threads("os.nice(5); scheduling.run_first()")
    assert event_loop.niceness == other.niceness == os.getpriority(os.PRIO_PROCESS, 0) + 5
    assert request.niceness == 19


def test_api_worker_and_its_requests_have_the_same_priority() -> None:
    event_loop, request, other = _threads("scheduling.run_api_process()")
    assert event_loop == request == other
    assert event_loop[:2] == (19, os.SCHED_BATCH)


def test_ingester_comes_before_requests_of_the_api() -> None:
    assert _threads("scheduling.run_ingester()")[0][:2] == (10, os.SCHED_BATCH)


def test_only_threads_of_the_api_let_redirects_continue_before_a_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yields: list[int] = []
    monkeypatch.setattr(os, "sched_yield", lambda: yields.append(threading.get_native_id()))
    with closing(Database(f"sqlite:///{tmp_path / 'waypost.db'}")) as database:

        def read_twice() -> int:
            for _ in range(2):
                database.read(lambda tx: tx.scalar(select(literal(1))))
            return threading.get_native_id()

        read_twice()
        thread = anyio.run(RequestThreads().run, read_twice)
    assert yields == [thread, thread]
