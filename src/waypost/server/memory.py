"""The memory of this machine or container."""

import os
from pathlib import Path

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_SHARE = 0.01
_LEAST, _MOST = 32_000_000, 256_000_000


def machine_bytes(limit: Path = _CGROUP_LIMIT) -> int:
    """Return the memory of the machine, or the limit of the container if that is lower."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, int(limit.read_text("ascii")))
    except (OSError, ValueError):  # no limit
        return machine


def default_cache_bytes() -> int:
    """Return how much memory each worker uses for redirects by default."""
    return min(max(_LEAST, round(machine_bytes() * _SHARE)), _MOST)
