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
from sqlalchemy import Connection, select

from waypost.api.threads import RequestThreads
from waypost.db.database import Database

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
_SCRIPT = """
import json, os, threading, anyio
from pathlib import Path
from waypost import scheduling
from waypost.api.threads import RequestThreads

def look():
    thread = threading.get_native_id()
    details = Path(f"/proc/self/task/{{thread}}/sched")
    text = details.read_text() if details.exists() else ""
    return os.getpriority(os.PRIO_PROCESS, thread), os.sched_getscheduler(thread), text

{prepare}
print(json.dumps([look(), anyio.run(RequestThreads().run, look), anyio.run(anyio.to_thread.run_sync, look)]))
"""
_SLICE = re.compile(r"^se\.slice\s*:\s*(\d+)$", re.MULTILINE)


class Thread(NamedTuple):
    """The priority of a thread. The slice is in nanoseconds; 0 before Linux 6.12, which does not show it."""

    niceness: int
    policy: int
    slice: int


def _threads(prepare: str) -> list[Thread]:
    """Return the event loop, a thread of the API and another one, in a new process that runs `prepare` first."""
    command = [sys.executable, "-c", _SCRIPT.format(prepare=prepare)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    threads = json.loads(printed)
    return [Thread(niceness, policy, int((_SLICE.findall(text) or [0])[0])) for niceness, policy, text in threads]


def _lowered(niceness: int) -> int:
    """Return the niceness of this process, lowered by `niceness`."""
    return min(max(os.getpriority(os.PRIO_PROCESS, 0), 0) + niceness, 19)


def test_event_loop_of_worker_comes_before_its_requests() -> None:
    event_loop, request, other = _threads("scheduling.run_first()")
    assert event_loop[:2] == (os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER | os.SCHED_RESET_ON_FORK)
    assert request[:2] == (19, os.SCHED_BATCH)
    assert other[:2] == (_lowered(0), os.SCHED_OTHER)
    if event_loop.slice:
        assert event_loop.slice == 100_000 < request.slice == other.slice


def test_service_started_with_low_priority_keeps_it() -> None:
    event_loop, request, other = _threads("os.nice(5); scheduling.run_first()")
    assert event_loop.niceness == other.niceness == _lowered(5)
    assert request.niceness == 19


def test_process_in_background_and_its_requests() -> None:
    process, request, other = _threads("scheduling.run_in_background()")
    assert process == other
    assert process[:2] == (_lowered(10), os.SCHED_BATCH)
    assert request[:2] == (19, os.SCHED_BATCH)


def test_last_process_and_its_requests_have_the_same_priority() -> None:
    process, request, other = _threads("scheduling.run_last()")
    assert process == request == other
    assert process[:2] == (19, os.SCHED_BATCH)


def test_refused_priority_is_no_failure() -> None:
    refuse = "def refuse(*_): raise PermissionError\nos.nice = os.sched_setscheduler = refuse\nscheduling.run_last()"
    assert len(set(_threads(refuse))) == 1


def test_only_threads_of_the_api_let_redirects_continue_and_never_in_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yields: list[int] = []
    counts: list[int] = []
    monkeypatch.setattr(os, "sched_yield", lambda: yields.append(threading.get_native_id()))
    with closing(Database(f"sqlite:///{tmp_path / 'waypost.db'}")) as database:

        def select_twice(tx: Connection) -> None:
            for _ in range(2):
                counts.append(len(yields))
                tx.execute(select(1))

        def use() -> int:
            database.read(select_twice)
            database.write(select_twice)
            return threading.get_native_id()

        use()
        assert yields == []
        counts.clear()
        thread = anyio.run(RequestThreads().run, use)
    assert counts == [1, 2, 4, 4]
    assert set(yields) == {thread}
