"""The time that one request waits for other servers."""

import threading

import pytest

from waypost.api.request_budget import RequestBudget
from waypost.errors import Problem


def test_slow_servers_use_up_time_of_request() -> None:
    budget = RequestBudget(max_fetch_seconds=0.01)
    with budget.fetch("logo", 8) as seconds:
        assert seconds <= 0.01
        threading.Event().wait(0.02)
    with pytest.raises(Problem, match="at most 0 seconds for other servers") as caught, budget.fetch("logo", 8):
        pass
    assert caught.value.field == "logo"
