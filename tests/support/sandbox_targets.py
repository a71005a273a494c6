"""Functions that tests run in a child process, as those that interpret a stranger's content."""

import json
import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

from waypost.core.errors import Kind, Problem
from waypost.core.sandbox.channel import Channel


def echo(channel: Channel) -> None:
    """Answer each message with itself."""
    while True:
        message = channel.receive()
        channel.send(message.value, message.data)


def describe(channel: Channel) -> None:
    """Send what the child has of its parent."""
    channel.send(
        {
            "variables": dict(os.environ),
            "descriptors": len(list(Path("/proc/self/fd").iterdir())),
            "folder": str(Path.cwd()),
            "niceness": os.getpriority(os.PRIO_PROCESS, 0),
            "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
        }
    )


def fill_memory(channel: Channel) -> None:
    """Take memory without end."""
    values = []
    while True:
        values.append(bytearray(1 << 20))


def compute(channel: Channel) -> None:
    """Use the processor without end."""
    while True:
        pass


def sleep(channel: Channel) -> None:
    """Never answer."""
    channel.send(os.getpid())
    while True:
        time.sleep(3600)


def crash(channel: Channel) -> None:
    """End like a parser with a bad pointer."""
    os.kill(os.getpid(), signal.SIGSEGV)


def fail(channel: Channel) -> None:
    """Have a fault of the program."""
    raise LookupError("of the program")


def refuse(channel: Channel) -> None:
    """Refuse the content."""
    raise Problem(Kind.INVALID, "Line 3 is bad.", field="column")


def miss(channel: Channel) -> None:
    """Read a file that is not there."""
    Path("/no/such/file").read_bytes()


def write(channel: Channel) -> None:
    """Write a file that is larger than allowed."""
    with Path(channel.receive().value).open("wb", buffering=0) as file:
        for _ in range(64):
            file.write(bytes(1 << 20))


def answer_raw(channel: Channel) -> None:
    """Send the bytes of the request as they are, like a child that a stranger has taken over."""
    message = channel.receive()
    for _ in range(message.value):
        channel.connection.sendall(message.data)


def drip(channel: Channel) -> None:
    """Send a message so slowly that it never ends."""
    channel.connection.sendall(b"\x00\x00\x01\x00\x00\x00\x00\x00\x00")
    while True:
        channel.connection.sendall(b" ")
        time.sleep(0.05)


def work(channel: Channel) -> None:
    """Answer each task with the id of this process. "wait" is never answered, "fill" and "crash" end it."""
    failures: dict[str, Callable[[], object]] = {
        "wait": signal.pause,
        "fill": lambda: fill_memory(channel),
        "crash": lambda: crash(channel),
    }
    while True:
        task = channel.receive().value
        if task in failures:
            failures[task]()
        channel.send(os.getpid())


def send_record(channel: Channel) -> None:
    """Read a file of an import as a child that a file has taken over: with the service and the record of its path."""
    opened, values = json.loads(Path(channel.receive().value["path"]).read_text())
    channel.send({"name": "A file", "ignored": [], "service": opened})
    records = [[[{"line": 1, **values}, False]], []]
    while channel.receive().value["action"] == "records":
        channel.send(records.pop(0))
