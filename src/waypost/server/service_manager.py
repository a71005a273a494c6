"""State of the service for systemd, as sd_notify(3) describes it. Nothing is sent without NOTIFY_SOCKET."""

import os
import socket
import time
from contextlib import suppress

_SECONDS = 1.0


def tell_ready() -> None:
    """All workers serve, after a start or a reload."""
    _send("READY=1")


def tell_reloading() -> None:
    """A reload begins. `tell_ready` ends it."""
    _send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")


def tell_stopping() -> None:
    """The service stops."""
    _send("STOPPING=1")


def _send(state: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address.startswith("@"):  # an abstract socket of Linux
        address = "\0" + address[1:]
    if address:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(_SECONDS)
            manager.sendto(state.encode(), address)
