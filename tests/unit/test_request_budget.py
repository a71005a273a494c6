"""The budget of one request: the time that it waits for other servers, for all copies of its context."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from waypost.api.context import RequestBudget, RequestContext
from waypost.core.errors import Problem


def test_slow_servers_use_up_time_of_request() -> None:
    budget = RequestBudget(max_fetch_seconds=0.01)
    with budget.fetch("logo", 8) as seconds:
        assert seconds <= 0.01
        threading.Event().wait(0.02)
    with pytest.raises(Problem, match="at most 0 seconds for other servers") as caught, budget.fetch("logo", 8):
        pass
    assert caught.value.field == "logo"


def test_copies_of_a_context_share_its_budget() -> None:
    resources: Any = None  # a budget needs none
    context = RequestContext(1, resources, can_change_login=True)
    before = replace(context, can_change_login=False)
    budget = context.budget
    assert before.budget is budget
    assert replace(context, can_change_login=False).budget is budget
    assert RequestContext(1, resources, can_change_login=True).budget is not budget
