"""The memory for redirects: its size, and which of them it evicts."""

from pathlib import Path

import pytest

from waypost.server import app
from waypost.visits.cache import Cache, HotResponse

_ROOM = 100
_REDIRECT = HotResponse(b"location: https://example.com/\r\n", b"1\tlink\t1", 1 << 62)


def _cache() -> Cache:
    """Return a cache with room for about a hundred redirects."""
    probe = Cache()
    _visit(probe, "name0000")
    return Cache(probe.hot_bytes * _ROOM)


def _visit(cache: Cache, alias: str) -> None:
    """Do what the fast path does with a visit."""
    response = cache.hot.get(b"/" + alias.encode())
    if response is None:
        response = HotResponse(_REDIRECT.unique, _REDIRECT.journal_target, _REDIRECT.until_ms)
        cache.put_hot(("", alias), response, version=cache.version)
    else:
        response.is_used = True


def test_memory_for_redirects_is_bounded() -> None:
    cache = _cache()
    for number in range(5 * _ROOM):
        _visit(cache, f"name{number:04}")
    assert len(cache.hot) == _ROOM


def test_popular_redirects_survive_visits_to_many_others() -> None:
    cache = _cache()
    popular = [f"best{number:04}" for number in range(10)]
    for number in range(20 * _ROOM):
        _visit(cache, f"name{number:04}")
        if number % 5 == 0:
            for alias in popular:
                _visit(cache, alias)
    assert all(b"/" + alias.encode() in cache.hot for alias in popular)


def test_replaced_and_invalidated_redirects_free_their_memory() -> None:
    cache = Cache()
    for _ in range(3):
        cache.put_hot(("brand.example", "spring"), _REDIRECT, version=0)
    assert (len(cache.hot), cache.hot_bytes > 0) == (1, True)
    cache.invalidate([("brand.example", "spring")])
    assert (len(cache.hot), cache.hot_bytes) == (0, 0)
    cache.put_hot(("", "spring"), _REDIRECT, version=cache.version)
    cache.invalidate(None)
    assert (len(cache.hot), cache.hot_bytes) == (0, 0)


@pytest.mark.parametrize(("limit", "expected"), [("512\n", 512), ("max\n", None), (None, None)])
def test_machine_memory_respects_limit_of_container(tmp_path: Path, limit: str | None, expected: int | None) -> None:
    file = tmp_path / "memory.max"
    if limit is not None:
        file.write_text(limit)
    machine = app.machine_bytes(tmp_path / "no such file")
    assert app.machine_bytes(file) == (expected or machine)
    assert 32_000_000 <= app.default_cache_bytes() <= 256_000_000
