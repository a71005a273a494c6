"""E-mails are stored before they are sent, sent once by all processes, and sent again after failures and crashes."""

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, event, select, update
from structlog.testing import capture_logs

from tests.support.brands import data_url, logo
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.load import until
from tests.support.mailbox import mailbox
from tests.support.server import free_port
from tests.support.threads import join
from waypost.core import clock
from waypost.core.metrics import Meter, queue_lengths
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import emails
from waypost.email_reports import ops
from waypost.http import mail, mail_queue
from waypost.http.mail import Mailer
from waypost.http.smtp import Email
from waypost.media.branding import store as brands
from waypost.media.branding.brand import DATA_PREFIX, Brand

pytestmark = ON_BOTH_DATABASES
_EMAIL = Email("zoe@example.com", "Hello", "Text", "Acme", "<p>Text</p>")


class _Killed(BaseException):
    """The process ends."""


def _settings(port: int) -> Settings:
    values = {"smtp_url": f"smtp://127.0.0.1:{port}", "smtp_tls": "off", "mail_from": "go@example.com"}
    return Settings.model_validate(values)


def _stored(database: Database) -> Sequence[Any]:
    return database.read(lambda tx: tx.execute(select(emails).order_by(emails.c.id)).mappings().all())


def _send(settings: Settings, database: Database) -> bool:
    with closing(Mailer(settings, database, brands.logo_of_installation)) as mailer:
        return mailer.send_due(threading.Event())


def _kill_at(point: str, name: str) -> None:
    if point == name:
        raise _Killed


def _enqueue(database: Database, settings: Settings, email: Email = _EMAIL, account: int | None = None) -> None:
    database.write(lambda tx: mail.enqueue(tx, settings, email, account=account))


def test_e_mail_of_a_transaction_that_is_rolled_back_is_not_sent(database: Database) -> None:
    def fail(tx: Connection) -> None:
        mail.enqueue(tx, _settings(1), _EMAIL)
        raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        database.write(fail)
    assert _stored(database) == []


def test_e_mail_is_sent_once_by_two_nodes(database: Database, database_url: str) -> None:
    with mailbox() as (port, received), closing(Database(database_url)) as other:
        settings = _settings(port)
        for number in range(20):
            _enqueue(database, settings, _EMAIL._replace(subject=f"Number {number}"))
        threads = [threading.Thread(target=_send, args=(settings, node)) for node in (database, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            join(thread)
    assert sorted(email["subject"] for email in received) == sorted(f"Number {number}" for number in range(20))
    assert _stored(database) == []


@pytest.mark.parametrize("point", ["claimed", "sent"])
def test_e_mail_of_a_killed_process_is_sent_after_the_lease_with_the_same_id(database: Database, point: str) -> None:
    with mailbox() as (port, received), time_machine.travel(clock.now(), tick=False) as now:
        settings = _settings(port)
        with closing(
            Mailer(settings, database, brands.logo_of_installation, fault_point=partial(_kill_at, point))
        ) as mailer:
            mailer.send_later(lambda: _EMAIL)
        (row,) = _stored(database)
        assert (row["attempts"], len(received)) == (1, int(point == "sent"))
        assert _send(settings, database)
        assert len(received) == int(point == "sent")
        now.shift(mail_queue.LEASE_SECONDS)
        assert _send(settings, database)
    assert {email["message-id"] for email in received} == {row["uid"]}
    assert (len(received), _stored(database)) == (1 + int(point == "sent"), [])


def test_e_mail_of_a_process_that_is_killed_before_the_attempt_is_sent_by_the_job(database: Database) -> None:
    with mailbox() as (port, received):
        settings = _settings(port)
        with closing(
            Mailer(settings, database, brands.logo_of_installation, fault_point=partial(_kill_at, "stored"))
        ) as mailer:
            mailer.send_later(lambda: _EMAIL)
        assert (len(_stored(database)), received) == (1, [])
        assert _send(settings, database)
    assert (len(received), _stored(database)) == (1, [])


def test_e_mails_are_stored_while_the_server_does_not_answer(database: Database) -> None:
    silent = socket.create_server(("127.0.0.1", 0))  # connections wait in its backlog
    with closing(Mailer(_settings(silent.getsockname()[1]), database, brands.logo_of_installation)) as mailer, silent:
        for _ in range(250):
            mailer.send_later(lambda: _EMAIL)
        until(lambda: len(_stored(database)) == 250)
    assert sorted(row["attempts"] for row in _stored(database)) == [0] * 249 + [1]


def test_e_mail_waits_for_a_server_that_is_down_and_is_given_up_at_the_end_of_its_life(database: Database) -> None:
    settings = _settings(free_port())
    with time_machine.travel(clock.now(), tick=False) as now, capture_logs() as logs:
        _enqueue(database, settings, _EMAIL._replace(life=3600))
        assert not _send(settings, database)
        for pause in mail_queue.RETRY_SECONDS[:3]:
            (row,) = _stored(database)
            assert row["due"] == clock.now() + pause
            now.shift(pause)
            assert not _send(settings, database)
        assert _stored(database) == []
    assert [entry["retry"] for entry in logs] == [60, 300, 1800, 0]


@pytest.mark.parametrize(("answer", "left"), [(b"550 no such user\r\n", 0), (b"450 later\r\n", 1)])
def test_refused_recipient_is_given_up_if_the_refusal_is_permanent(
    database: Database, answer: bytes, left: int
) -> None:
    with mailbox(answer) as (port, received):
        _enqueue(database, _settings(port))
        assert _send(_settings(port), database)
    assert (len(_stored(database)), received) == (left, [])


@pytest.mark.parametrize(
    "hostile",
    [
        {"to": "zoe@example.com\r\nBcc: eve@example.com"},
        {"subject": "Hi\r\nBcc: eve@example.com"},
        {"unsubscribe": "https://a.example/\r\nBcc: eve@example.com"},
        {"service": "Acme\nBcc: eve@example.com"},
    ],
)
def test_line_break_in_a_header_is_not_sent(database: Database, hostile: dict[str, Any]) -> None:
    with mailbox() as (port, received):
        _enqueue(database, _settings(port), _EMAIL._replace(**hostile))
        _enqueue(database, _settings(port))
        assert _send(_settings(port), database)
    assert [email["to"] for email in received] == ["zoe@example.com"]
    assert _stored(database) == []


def test_address_with_an_international_domain_is_sent_in_ascii(database: Database) -> None:
    with mailbox() as (port, received):
        _enqueue(database, _settings(port), _EMAIL._replace(to="zoe@bücher.example"))
        _send(_settings(port), database)
    assert received[0]["to"] == "zoe@xn--bcher-kva.example"


def test_logo_is_that_of_the_brand_when_the_e_mail_is_sent(database: Database) -> None:
    old, new = (data_url(logo(ink=ink)) for ink in ("#ff0000", "#00ff00"))

    def write_as_older_node(tx: Connection) -> None:
        tx.execute(update(emails).where(emails.c.subject == "Older").values(logo=old))

    with mailbox() as (port, received):
        database.write(lambda tx: brands.set_of_installation(tx, Brand("Acme", "", old)))
        shows_logo = _EMAIL._replace(html='<img src="cid:logo">', logo=old)
        for email in (shows_logo, shows_logo._replace(subject="Older"), _EMAIL):
            _enqueue(database, _settings(port), email)
        assert [row["logo"] for row in _stored(database)] == ["", "", ""]
        database.write(write_as_older_node)
        database.write(lambda tx: brands.set_of_installation(tx, Brand("Acme", "", new)))
        _send(_settings(port), database)
    sent = new.removeprefix(DATA_PREFIX)
    assert [email["base64"] for email in received] == [sent, sent, ""]


def test_e_mails_of_a_deleted_account_are_deleted(database: Database) -> None:
    for account in (7, 8, None):
        _enqueue(database, _settings(1), account=account)
    database.write(lambda tx: mail_queue.remove_account(tx, 7))
    assert [row["account"] for row in _stored(database)] == [8, None]


def test_job_deletes_e_mails_that_are_too_old_and_publishes_how_many_are_due(
    database: Database, settings: Settings
) -> None:
    for life in (0, 3600, 3600):
        _enqueue(database, _settings(1), _EMAIL._replace(life=life))
    stop, meter = threading.Event(), Meter(settings.metrics_dir)
    thread = threading.Thread(target=mail.run, args=(settings, database, stop, brands.logo_of_installation))
    thread.start()
    try:
        until(lambda: queue_lengths(settings.metrics_dir, meter)["emails"] == 2)
        assert [row["attempts"] for row in _stored(database)] == [0, 0]
    finally:
        stop.set()
        join(thread)


def test_without_an_smtp_server_nothing_is_stored(database: Database) -> None:
    _enqueue(database, Settings())
    assert _stored(database) == []


def test_e_mail_of_a_clock_that_was_ahead_is_sent_once_the_clock_is_right(database: Database) -> None:
    stop = threading.Event()
    with mailbox() as (port, received):
        with time_machine.travel(clock.now() + 30 * 86_400, tick=False):
            _enqueue(database, _settings(port))
        thread = threading.Thread(target=mail.run, args=(_settings(port), database, stop, brands.logo_of_installation))
        thread.start()
        until(lambda: received)
        stop.set()
        join(thread)
    assert _stored(database) == []


def test_statements_of_the_queue_and_of_reports_use_an_index(database: Database) -> None:
    index_of = {
        mail_queue.find_due: "emails_due",
        mail_queue.count_due: "emails_due",
        mail_queue.has_impossible: "emails_due",
        mail_queue.correct_impossible: "emails_due",
        mail_queue.has_expired: "emails_expires",
        mail_queue.delete_expired: "emails_expires",
        ops.find_due: "email_reports_due",
        ops.has_old: "email_reports_unconfirmed",
        ops.delete_unconfirmed: "email_reports_unconfirmed",
    }

    def plan(tx: Connection, query: Callable[[Connection], object]) -> str:
        statements: list[Any] = []
        is_sqlite = tx.dialect.name == "sqlite"
        if not is_sqlite:
            tx.exec_driver_sql("SET LOCAL enable_seqscan = off")
        event.listen(tx, "before_cursor_execute", lambda *arguments: statements.append(arguments[2:4]))
        query(tx)
        ((sql, values),) = tuple(statements)
        explain = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
        return str(tx.exec_driver_sql(f"{explain} {sql}", values).all())

    for query, index in index_of.items():
        assert index in database.write(partial(plan, query=query)), query
