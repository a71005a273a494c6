"""Notices by e-mail of a process that is killed with SIGKILL: none is lost, and none is stored twice."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from tests.conftest import Person
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db import audit_log, audit_sequence, last_backup
from waypost.db.database import Database
from waypost.db.schema import accounts, click_times, emails, notice_items
from waypost.email_reports import notice_content, notices, scheduler, surges
from waypost.http import mail

_SECONDS = 60
_DAY, _HOUR = 86_400, 3600
_STEPS: dict[str, tuple[Any, str]] = {
    "event read": (notices, "add"),
    "surges found": (surges, "find"),
    "position moved": (notices, "advance"),
    "items taken": (notices, "take"),
    "e-mail stored": (mail, "enqueue"),
}


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _killed_after(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        function(*args, **options)
        _kill()

    return call


def _step(url: str, settings: Settings, *, is_killed_after_commit: bool = False) -> None:
    """Make notices of events, and store the e-mails that are due."""
    stop = threading.Event()
    with closing(Database(url)) as database:
        audit_sequence.Sequencer(database, [notices.follow]).step()
        if is_killed_after_commit:
            _kill_after_commit(database)
        scheduler.send_notices(settings, database, stop)


def _kill_after_commit(database: Database) -> None:
    """End this process as soon as an e-mail is committed."""
    write = database.write

    def call(*args: Any, **options: Any) -> Any:
        result = write(*args, **options)
        if stored(database):
            _kill()
        return result

    setattr(database, "write", call)  # noqa: B010  # mypy refuses an assignment


def stored(database: Database) -> list[str]:
    """Return the subjects of the e-mails that wait."""
    return list(database.read(lambda tx: tx.execute(select(emails.c.subject)).scalars().all()))


def killed_step(step: str, url: str, data_dir: str) -> None:
    """Make the step in this process, which ends after it: the body of a child process."""
    settings = _with_mail(Settings(data_dir=data_dir, database_url=url))
    if step in _STEPS:
        module, name = _STEPS[step]
        setattr(module, name, _killed_after(getattr(module, name)))
    _step(url, settings, is_killed_after_commit=step == "committed")


def _with_mail(settings: Settings) -> Settings:
    return Settings.model_validate({**settings.model_dump(), "smtp_url": "smtp://127.0.0.1:1"})


def _cause_all_kinds(ana: Person) -> None:
    """Let an hour have many clicks, a backup fail, a domain fail, and a link die an hour ago."""
    hour = (clock.now() - 600) // _HOUR * _HOUR - _HOUR
    clicks = {"kind": "account", "item": ana.account, "account": ana.account, "at": hour, "clicks": 500}
    link = ana.add("url", url="https://shop.example/sale")

    def work(tx: Any) -> None:
        tx.execute(update(accounts).values(registered=hour - 60 * _DAY))
        tx.execute(insert(click_times).values(clicks))
        last_backup.record_failure(tx, "No space left on device")
        audit_log.record(tx, ana.account, "domain.failed", 4, label="a.example", after={"problem": "expiring"})
        notices.add(tx, ana.account, "dead", [notices.Item(link, {"url": "https://shop.example/sale"})])
        tx.execute(update(notice_items).values(created=clock.now() - _HOUR))

    ana.write(work)


@pytest.mark.parametrize("step", [*_STEPS, "committed"])
def test_notices_of_a_killed_process_are_stored_once(
    ana: Person, settings: Settings, database_url: str, step: str
) -> None:
    _cause_all_kinds(ana)
    arguments = (step, database_url, str(settings.data_dir))
    process = multiprocessing.get_context("spawn").Process(target=killed_step, args=arguments)
    process.start()
    process.join(_SECONDS)
    assert process.exitcode == -signal.SIGKILL
    for _ in range(2):
        _step(database_url, _with_mail(settings))
    subjects = [subject.partition(": ")[2] for subject in stored(ana.database)]
    kinds: list[notices.Kind] = ["dead", "surge", "domain", "backup"]
    assert sorted(subjects) == sorted(notice_content.LABELS[kind] for kind in kinds)
