"""Wait for threads with a time limit."""

import threading

_SECONDS = 60


def join(*threads: threading.Thread) -> None:
    """Wait until the threads end. Fail after a minute."""
    for thread in threads:
        thread.join(_SECONDS)
        assert not thread.is_alive(), f"{thread.name} did not end within {_SECONDS} s"
