"""Child processes that interpret the content of strangers: their limits, and what they know of the parent."""

import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.load import until
from tests.support.threads import join
from waypost.core.errors import Kind, Problem
from waypost.core.sandbox import process
from waypost.core.sandbox.channel import MAX_DATA, MAX_TEXT, MAX_VALUES
from waypost.core.sandbox.process import Limits, Sandbox

_TARGETS = "tests.support.sandbox_targets"
_LIMITS = Limits()
_HEADER = struct.Struct("!BII")


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    before = _children()  # the process of other tests may keep servers, and a child for pictures
    yield
    assert _children() <= before


def _children() -> set[psutil.Process]:
    """Child processes of this one, also those that ended and were not reaped."""
    return set(psutil.Process().children())


def _failure(target: str, limits: Limits = _LIMITS, value: Any = None, data: bytes = b"") -> Problem:
    with process.start(f"{_TARGETS}:{target}", limits, field="avatar") as sandbox:
        if value is not None:
            sandbox.send(value, data)
        with pytest.raises(Problem) as caught:
            _drain(sandbox)
    return caught.value


def _drain(sandbox: Sandbox) -> None:
    while True:
        sandbox.receive()


def test_messages_and_bytes_come_back_unchanged() -> None:
    with process.start(f"{_TARGETS}:echo", Limits()) as sandbox:
        for value, data in (({"a": ["ü", 1, None, "\ud800"]}, b""), ([], b"\0" * (1 << 20)), ("x" * 1_000_000, b"y")):
            assert sandbox.call(value, data)[:2] == (value, data)


def test_child_has_no_secret_and_no_descriptor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WAYPOST_DATABASE_URL", "postgresql://user:secret@db/waypost")
    with (tmp_path / "file").open("wb") as file, process.start(f"{_TARGETS}:describe", Limits()) as sandbox:
        os.set_inheritable(file.fileno(), True)  # noqa: FBT003  # has no keyword
        child = sandbox.receive().value
    assert not [name for name in child["variables"] if name.startswith("WAYPOST")]
    assert child["descriptors"] == 5  # of the standard streams, the channel, and this list
    assert (child["folder"], child["core"]) == ("/", 0)
    assert child["niceness"] > os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.parametrize(
    ("target", "limits", "message"),
    [
        ("fill_memory", Limits(), "too much memory"),
        ("compute", Limits(processor=1), "takes too long"),
        ("sleep", Limits(wall=1), "takes too long"),
        ("drip", Limits(wall=1), "takes too long"),
        ("crash", Limits(), "It is damaged"),
    ],
)
def test_child_that_exceeds_limit_is_problem_of_field(target: str, limits: Limits, message: str) -> None:
    problem = _failure(target, limits)
    assert (problem.kind, problem.field) == (Kind.INVALID, "avatar")
    assert message in problem.message


def test_problem_of_child_reaches_parent() -> None:
    problem = _failure("refuse")
    assert (problem.kind, problem.field, problem.message) == (Kind.INVALID, "column", "Line 3 is bad.")


def test_missing_file_and_full_disk_reach_parent(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"), process.start(f"{_TARGETS}:miss", Limits()) as sandbox:
        sandbox.receive()
    file = tmp_path / "file"
    with pytest.raises(OSError, match="File too large"):  # noqa: SIM117  # the sandbox is started before the error
        with process.start(f"{_TARGETS}:write", Limits(file_bytes=1 << 20)) as sandbox:
            sandbox.call(str(file))
    assert file.stat().st_size <= 1 << 20


def test_fault_of_program_is_no_problem_of_file() -> None:
    with pytest.raises(RuntimeError), process.start(f"{_TARGETS}:fail", Limits()) as sandbox:
        sandbox.receive()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(_HEADER.pack(0, MAX_TEXT + 1, 0), id="text is too long"),
        pytest.param(_HEADER.pack(0, 2, MAX_DATA + 1), id="data is too long"),
        pytest.param(_HEADER.pack(0, 3 * MAX_VALUES, 0) + b"[]," * MAX_VALUES, id="too many values"),
        pytest.param(_HEADER.pack(0, 2, 0) + b"{]", id="not JSON"),
        pytest.param(_HEADER.pack(0, 200_000, 0) + b"[" * 200_000, id="too deep"),
        pytest.param(_HEADER.pack(9, 2, 0) + b"[]", id="unknown kind"),
        pytest.param(_HEADER.pack(1, 2, 0) + b"[]", id="problem without a kind"),
        pytest.param(_HEADER.pack(0, 100, 0) + b"[", id="incomplete"),
    ],
)
def test_broken_message_is_problem_of_file(data: bytes) -> None:
    assert "It is damaged" in _failure("answer_raw", value=1, data=data).message


def test_killed_child_frees_thread_that_waits() -> None:
    failures: list[BaseException] = []
    with process.start(f"{_TARGETS}:sleep", Limits()) as sandbox:
        sandbox.receive()

        def wait() -> None:
            with pytest.raises(Problem) as caught:
                sandbox.receive()
            failures.append(caught.value)

        thread = threading.Thread(target=wait)
        thread.start()
        sandbox.kill()
        join(thread)
    assert len(failures) == 1


def test_end_of_process_ends_its_children() -> None:
    with process.start(f"{_TARGETS}:sleep", Limits()) as sandbox:
        sandbox.receive()
        process.end_all()
        with pytest.raises(Problem):
            sandbox.receive()


_PARENT = f"""
from waypost.core.sandbox import process
with process.start("{_TARGETS}:sleep", process.Limits()) as sandbox:
    print(sandbox.receive().value, flush=True)
    sandbox.receive()
"""


def test_child_ends_with_killed_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    until(lambda: not Path(f"/proc/{child}").exists() or "\nState:\tZ" in Path(f"/proc/{child}/status").read_text())
