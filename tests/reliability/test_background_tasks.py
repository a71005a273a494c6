"""The background tasks of a worker continue after an unexpected error."""

from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.load import until
from waypost.admin import account_deletion, health
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server import asgi
from waypost.server.app import build
from waypost.storage.cleanup import StorageCleaner
from waypost.visits.cache import CacheInvalidator

_TASKS = {
    "follow change log": ("_CHANGE_LOG_SECONDS", CacheInvalidator, "follow"),
    "maintain journal": ("_JOURNAL_SECONDS", Database, "check_file"),
    "clean storage": ("_STORAGE_SECONDS", StorageCleaner, "run_due"),
    "check storage": ("_STORAGE_CHECK_SECONDS", StorageCleaner, "check_store"),
    "check writing": ("_WRITE_CHECK_SECONDS", health, "write_fault"),
    "delete accounts": ("_DELETION_SECONDS", account_deletion, "delete_due"),
}
"""The interval and the work of each task."""


def _failing_twice(work: Callable[..., Any], runs: list[int]) -> Callable[..., Any]:
    """Return `work` with an error in its first two runs. `runs` has the number of each run."""

    def run(*arguments: Any, **options: Any) -> Any:
        runs.append(len(runs))
        if len(runs) <= 2:
            raise RuntimeError("unexpected")
        return work(*arguments, **options)

    return run


@ON_SQLITE
@pytest.mark.parametrize("task", _TASKS)
def test_background_task_continues_after_an_error_that_is_logged_once(
    task: str, settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    interval, owner, name = _TASKS[task]
    runs: list[int] = []
    monkeypatch.setattr(asgi, interval, 0.01)
    monkeypatch.setattr(owner, name, _failing_twice(getattr(owner, name), runs))
    with capture_logs() as logged, AsgiClient(build(settings, database)):
        until(lambda: len(runs) > 3)
    entries = [entry for entry in logged if entry["event"] == "background task failed"]
    assert [(entry["task"], entry["log_level"], bool(entry["exc_info"])) for entry in entries] == [
        (task, "error", True)
    ]
