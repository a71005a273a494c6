"""Threads of tests: wait for them with a time limit, and run servers in them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer

_SECONDS = 60
_POLL_SECONDS = 0.01  # so long a server takes to notice its end


def join(*threads: threading.Thread) -> None:
    """Wait until the threads end. Fail after a minute."""
    for thread in threads:
        thread.join(_SECONDS)
        assert not thread.is_alive(), f"{thread.name} did not end within {_SECONDS} s"


@contextmanager
def in_thread(server: BaseServer) -> Iterator[None]:
    """Run a server in a thread in the block; close it at the end."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            join(thread)
