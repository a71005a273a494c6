"""Time left until a file expires, in whole units."""

import pytest

from waypost.items.files.public import time_left

NOW = 1_800_000_000


@pytest.mark.parametrize("seconds", [1, 59, 60, 119, 120, 3599, 3600, 86_399, 86_400, 3 * 86_400 + 5])
def test_time_left_is_the_same_until_its_end(seconds: int) -> None:
    left = time_left(NOW + seconds, NOW)
    assert NOW <= left.until <= NOW + seconds
    assert time_left(NOW + seconds, left.until) == left
    if left.until < NOW + seconds:
        assert time_left(NOW + seconds, left.until + 1) != left
